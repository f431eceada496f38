"""A driver in a process of its own: what that process does. See `cts.plugins.own_process`.

It reads pickled requests from its standard input, and writes pickled replies to its standard output. Whatever the
driver prints goes to its standard error.
"""

from __future__ import annotations

import ctypes
import faulthandler
import os
import pickle
import signal
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

from cts.base.errors import BadInput, CtsError, HarnessTrouble, described

#: What Linux sends to a process whose parent has ended.
_SET_DEATH_SIGNAL = 1


class Open(NamedTuple):
    """Build the driver of a spec. Answered by `Opened`."""

    spec: str


class Call(NamedTuple):
    """Call a method with one argument, or none. Answered by `Returned`."""

    method: str
    arguments: tuple[Any, ...] = ()


class Stream(NamedTuple):
    """Call a method that takes jobs and yields what becomes of them: any `Wants` and `Gave`, then `Returned`."""

    method: str


class Given(NamedTuple):
    """A job for a stream, or that there are no more."""

    job: Any = None
    last: bool = False


class Opened(NamedTuple):
    """The driver is there, with these methods."""

    name: str
    methods: tuple[str, ...]


class Wants(NamedTuple):
    """The stream asks for its next job."""


class Gave(NamedTuple):
    """What became of the oldest job of a stream that had none yet."""

    value: Any


class Returned(NamedTuple):
    """What a call returned, or that a stream has ended."""

    value: Any = None


class Raised(NamedTuple):
    """What a call raised: an error of ours by its parts, another one by its text."""

    kind: str
    parts: tuple[str, ...]

    @classmethod
    def from_error(cls, error: BaseException) -> Raised:
        """An exception, ready to be sent."""
        if isinstance(error, CtsError):
            kind = "input" if isinstance(error, BadInput) else "trouble"
            return cls(kind, (error.code, error.what, error.where, error.remedy))
        return cls(type(error).__name__, (described(error), str(error)))

    @property
    def text(self) -> str:
        """All of it, for a verdict's detail."""
        return str(self.error("")) if self.kind in ("input", "trouble") else self.parts[0]

    def error(self, what: str) -> CtsError:
        """The error in the form that is sent; `what` names the failed call."""
        if self.kind in ("input", "trouble"):
            return (BadInput if self.kind == "input" else HarnessTrouble)(*self.parts)
        return HarnessTrouble("driver-failed", f"{what}: {self.kind}: {self.parts[1]}", "", "what the message asks for")


def write(stream: BinaryIO, message: Any) -> None:
    """Send a message."""
    stream.write(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))
    stream.flush()


def read(stream: BinaryIO) -> Any:
    """The next message; None at the end."""
    try:
        return pickle.load(stream)  # noqa: S301 - the other end is this suite
    except EOFError:
        return None


#: Optional methods of drivers that return a value, and those that take jobs and yield what becomes of them.
CALLS = (
    "identity", "run_module", "lacks_for", "layer", "judge_module", "report", "stages", "answers", "lacks_conversions"
)  # fmt: skip
STREAMS = ("run_many", "run_modules", "run_sweeps", "convert")


def main() -> None:
    """Serve one driver until the input ends."""
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    faulthandler.enable()
    _end_with_parent()
    driver: Any = None
    while (request := read(source)) is not None:
        try:
            if isinstance(request, Open):
                driver = _opened(request)
                methods = tuple(name for name in (*CALLS, *STREAMS) if callable(getattr(driver, name, None)))
                reply: Any = Opened(str(driver.name), methods)
            elif isinstance(request, Call):
                reply = Returned(getattr(driver, request.method)(*request.arguments))
            else:
                for value in getattr(driver, request.method)(_jobs(source, sink)):
                    _send(sink, Gave(value))
                reply = Returned()
        except BaseException as e:  # noqa: BLE001 - whatever a driver raises is an outcome
            reply = Raised.from_error(e)
        _send(sink, reply)
    # Threads that the driver has left would keep the process.
    os._exit(0)


def _opened(request: Open) -> Any:
    from cts.plugins import registry

    return registry.driver(request.spec)


def _jobs(source: BinaryIO, sink: BinaryIO) -> Iterator[Any]:
    """The jobs of a stream, each when the driver asks for it."""
    while True:
        write(sink, Wants())
        request = read(source)
        if request is None or request.last:
            return
        yield request.job


def _send(sink: BinaryIO, reply: Any) -> None:
    """Send a reply; if it cannot be sent, send an error."""
    try:
        data = pickle.dumps(reply, pickle.HIGHEST_PROTOCOL)
    except Exception as e:  # noqa: BLE001 - a driver may return anything
        what = HarnessTrouble("driver-reply", f"what the driver returned cannot be sent: {type(e).__name__}: {e}")
        data = pickle.dumps(Gave(Raised.from_error(what)) if isinstance(reply, Gave) else Raised.from_error(what))
    sink.write(data)
    sink.flush()


def _end_with_parent() -> None:
    """Where the system can do that: end when the suite has ended, whatever the driver is at."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
