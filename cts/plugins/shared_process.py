"""Drivers of other packages in the process of the suite: `mine:process=shared`.

What they print goes to standard error. Nothing else that they do to the process can be undone: see
`cts.plugins.own_process`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import redirect_stdout
from typing import Any

from cts.base.errors import HarnessTrouble
from cts.device.driver import DriverFactory, Job, Outcome
from cts.plugins.wire import CALLS, OF_ALL, STREAMS, checked, outcome_of


class Quiet:
    """A driver, built and called with standard output redirected."""

    def __init__(self, factory: DriverFactory, options: dict[str, str]) -> None:
        with redirect_stdout(sys.stderr):
            self._driver = factory(options)
        self.name = self._driver.name
        for name in (*CALLS.keys() - OF_ALL, *STREAMS):
            method = getattr(self._driver, name, None)
            if callable(method):
                self.__dict__[name] = _streaming(name, method) if name in STREAMS else _calling(name, method)

    def capabilities(self) -> Any:
        return _calling("capabilities", self._driver.capabilities)()

    def run(self, job: Job) -> Outcome:
        with redirect_stdout(sys.stderr):
            return outcome_of(self._driver.run(job))

    def close(self) -> None:
        with redirect_stdout(sys.stderr):
            self._driver.close()


def _calling(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        with redirect_stdout(sys.stderr):
            value = method(*arguments)
        try:
            return checked(value, CALLS[name].returns)
        except ValueError as e:
            raise HarnessTrouble("driver-failed", f"{name}: {e}", "", "what the message asks for") from e

    return call


def _streaming(name: str, method: Callable[..., Iterable[Any]]) -> Callable[..., Iterator[Any]]:
    def stream(jobs: Iterable[Any]) -> Iterator[Any]:
        with redirect_stdout(sys.stderr):
            values = iter(method(jobs))
        while True:
            with redirect_stdout(sys.stderr):
                value = next(values, stream)
            if value is stream:
                return
            yield checked(value, STREAMS[name].returns)

    return stream
