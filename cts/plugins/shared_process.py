"""Drivers of other packages in the process of the suite: `mine:process=shared`.

What they print goes to standard error. Nothing else that they do to the process can be undone: see
`cts.plugins.own_process`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import redirect_stdout
from typing import Any

from cts.device.driver import DriverFactory, Job, Outcome
from cts.plugins.served import CALLS, STREAMS


class Quiet:
    """A driver, built and called with standard output redirected."""

    def __init__(self, factory: DriverFactory, options: dict[str, str]) -> None:
        with redirect_stdout(sys.stderr):
            self._driver = factory(options)
        self.name = self._driver.name
        for name in (*CALLS, *STREAMS):
            method = getattr(self._driver, name, None)
            if callable(method):
                self.__dict__[name] = _streaming(method) if name in STREAMS else _calling(method)

    def capabilities(self) -> Any:
        return _calling(self._driver.capabilities)()

    def run(self, job: Job) -> Outcome:
        with redirect_stdout(sys.stderr):
            return self._driver.run(job)

    def close(self) -> None:
        _calling(self._driver.close)()


def _calling(method: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        with redirect_stdout(sys.stderr):
            return method(*arguments)

    return call


def _streaming(method: Callable[..., Iterable[Any]]) -> Callable[..., Iterator[Any]]:
    def stream(jobs: Iterable[Any]) -> Iterator[Any]:
        with redirect_stdout(sys.stderr):
            values = iter(method(jobs))
        while True:
            with redirect_stdout(sys.stderr):
                value = next(values, stream)
            if value is stream:
                return
            yield value

    return stream
