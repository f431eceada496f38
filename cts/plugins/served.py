"""A driver in a process of its own: what that process does. See `cts.plugins.own_process` and `cts.plugins.wire`.

It reads requests from its standard input, and writes replies to its standard output. Whatever the driver prints goes to
its standard error.
"""

from __future__ import annotations

import ctypes
import faulthandler
import os
import signal
import sys
from collections import deque
from collections.abc import Iterator
from typing import Any

from cts.base.printable import said
from cts.plugins import registry
from cts.plugins.wire import (
    CALLS,
    STREAMS,
    Call,
    Gave,
    Given,
    Open,
    Opened,
    Reply,
    Request,
    Returned,
    Stream,
    Wants,
    arguments_of,
    checked,
    frame,
    packed,
    raised,
    reading,
    unpacked,
)

#: What Linux sends to a process whose parent has ended.
_SET_DEATH_SIGNAL = 1


class _Ours:
    """The driver's end of the stream. `number` is that of the last message."""

    def __init__(self) -> None:
        self._source, self._sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
        self._read = reading(Request)
        self._process = os.getpid()
        self.number = 0

    def read(self) -> Any:
        """The next message; None at the end."""
        request = self._read(self._source)
        self.number = self.number if request is None else request.number
        return request

    def send(self, reply: Reply) -> None:
        """Send a reply. A copy of this process, which a driver has forked and returned from, ends instead."""
        if os.getpid() != self._process:
            os._exit(0)
        try:
            data = frame(reply)
        except Exception as e:  # noqa: BLE001 - a driver may return anything
            data = frame(raised(reply.number, e))
        self._sink.write(data)
        self._sink.flush()


def main() -> None:
    """Serve one driver until the input ends."""
    ours = _Ours()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    faulthandler.enable()
    _end_with_parent()
    driver: Any = None
    while (request := ours.read()) is not None:
        number = request.number
        reply: Reply
        try:
            match request:
                case Open(_, spec):
                    driver = registry.driver(spec)
                    methods = tuple(name for name in (*CALLS, *STREAMS) if callable(getattr(driver, name, None)))
                    reply = Opened(number, said(driver.name), methods)
                case Call(_, method, arguments):
                    value = getattr(driver, method)(*arguments_of(arguments, method))
                    reply = Returned(number, packed(checked(value, CALLS[method].returns)))
                case Stream(_, method):
                    _stream(ours, driver, method)
                    reply = Returned(ours.number, packed(None))
                case _:
                    continue  # for a stream that has broken off
        except BaseException as e:  # noqa: BLE001 - whatever a driver raises is an outcome
            reply = raised(ours.number, e)
        ours.send(reply)
    # Threads that the driver has left would keep the process.
    os._exit(0)


def _stream(ours: _Ours, driver: Any, method: str) -> None:
    """Have a driver take jobs, and send what becomes of each."""
    owed: deque[int] = deque()
    for value in getattr(driver, method)(_jobs(ours, method, owed)):
        if not owed:
            raise ValueError("the driver returned more outcomes than it was given cases")
        ours.send(Gave(owed.popleft(), packed(checked(value, STREAMS[method].returns))))
    if owed:
        raise ValueError(f"the driver returned no outcome of {len(owed)} cases")


def _jobs(ours: _Ours, method: str, owed: deque[int]) -> Iterator[Any]:
    """The jobs of a stream, each when the driver asks for it."""
    while True:
        ours.send(Wants(ours.number))
        given = ours.read()
        if not isinstance(given, Given) or not given.jobs:
            return
        owed.append(given.number)
        yield unpacked(given.jobs[0], STREAMS[method].takes)


def _end_with_parent() -> None:
    """Where the system can do that: end when the suite has ended, whatever the driver is at."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
