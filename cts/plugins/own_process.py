"""Drivers in a process of their own: `mine:process=own`. Nothing that such a driver does can end or spoil a run.

Drivers of other packages run like that unless their spec says `process=shared`. A driver that exits, crashes or says
nothing for so long is an outcome of its case; its process is started again for the next one. So it is if it answers
another message than the last; then the last one is sent again. What it prints is kept for that outcome, and is in no
report.
"""

from __future__ import annotations

import logging
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from cts.base.child_process import ChildProcess, Ended
from cts.base.errors import CtsError, HarnessTrouble
from cts.device.driver import Job, Outcome, Status
from cts.device.driver_options import among, parse, seconds
from cts.plugins.wire import (
    CALLS,
    OF_ALL,
    STREAMS,
    Call,
    Gave,
    Given,
    Open,
    Opened,
    Raised,
    Reply,
    Request,
    Returned,
    Stream,
    Wants,
    error_of,
    frame,
    packed,
    reading,
    unpacked,
)

if TYPE_CHECKING:
    from cts.device.capabilities import Capabilities

#: How long a driver may take to answer, in seconds, where its spec does not say.
PATIENCE = 120.0

#: How long it may take to close.
CLOSING = 10.0

#: A job with which the process has been killed from outside so often, or has answered something else, is given up.
MAX_KILLS = 5

#: What the process runs: modules are where they are for the suite.
_PROGRAM = "import sys; sys.path[:] = {!r}; from cts.plugins.served import main; main()"
_NOUN = "the driver's process"
_log = logging.getLogger("cts")
_REMEDY = "what the message asks for; with process=shared the driver runs in the suite's own process"


class Options(msgspec.Struct, frozen=True):
    """Options that every driver has."""

    process: Annotated[
        str,
        among(
            "where the driver runs",
            {"own": "in a process of its own, which may end as it likes", "shared": "in the suite's, for debuggers"},
            absent="own for drivers of other packages",
        ),
    ] = "own"
    process_timeout: Annotated[float, seconds("for an answer of that process, after which it is ended")] = PATIENCE


def patience_of(given: dict[str, str], driver: str) -> float | None:
    """How long the process of a driver may take to answer; None where it is to share that of the suite.

    `given` are those options of a spec that are for its process. Raises BadInput.
    """
    options = parse(Options, given, driver)
    return options.process_timeout if options.process == "own" else None


class _Gone(Exception):
    """The process has ended, or says nothing. `again`: that says nothing of the last message, which is sent again."""

    def __init__(self, status: Status, what: str, *, again: bool = False) -> None:
        super().__init__(what)
        self.status = status
        self.again = again


class OwnProcess:
    """The driver of a spec, whose methods it has. Raises BadInput and HarnessTrouble where it cannot be built.

    `inner` is its spec in that process.
    """

    #: That its process ends says nothing of the suite's, and the other way round.
    own_process = True

    def __init__(self, spec: str, inner: str, seconds: float) -> None:
        self._spec = spec
        self._inner = inner
        self._seconds = seconds
        self._process: ChildProcess[Reply] | None = None
        #: The number of the last message, and of those with jobs of a stream that have no outcome yet.
        self._number = 0
        self._owed: deque[int] = deque()
        self._warned = False
        #: How often the process had to be started again.
        self.restarts = 0
        opened = self._start()
        self.name = opened.name
        offered: dict[str, Callable[..., Any]] = {
            **{name: self._calling(name) for name in CALLS},
            **{name: self._streaming(name) for name in STREAMS},
            "run_module": lambda job: self._outcome("run_module", job),
        }
        # As attributes of the instance: what a driver can do is asked by its methods.
        own = {*opened.methods} - OF_ALL
        self.__dict__.update({name: method for name, method in offered.items() if name in own})

    def capabilities(self) -> Capabilities:
        capabilities: Capabilities = self._value("capabilities")
        return capabilities

    def run(self, job: Job) -> Outcome:
        return self._outcome("run", job)

    def close(self) -> None:
        """Have the driver close, and end its process, with all that it has started. Raises HarnessTrouble."""
        process = self._process
        if process is None:
            return
        try:
            self._value("close", seconds=min(CLOSING, self._seconds))
        finally:
            process.kill()
            self._process = None

    def _start(self, tries: int = MAX_KILLS) -> Opened:
        try:
            self._process = ChildProcess([sys.executable, "-c", _PROGRAM.format(sys.path)], _read, noun=_NOUN)
        except OSError as e:
            raise HarnessTrouble("driver-failed", f"no process can be started: {e}", self._spec) from e
        try:
            self._send(Open, self._inner)
            reply = self._receive(self._seconds)
        except _Gone as e:
            if e.again and tries > 1:
                return self._start(tries - 1)
            raise HarnessTrouble("driver-failed", str(e), f"driver {self._spec!r}", _REMEDY) from e
        if isinstance(reply, Opened):
            return reply
        self._abandon()
        if isinstance(reply, Raised):
            raise error_of(reply, f"driver {self._spec!r} does not start")
        raise HarnessTrouble("driver-failed", f"{_NOUN} gave no name", f"driver {self._spec!r}", _REMEDY)

    def _send(self, kind: Callable[..., Request], *parts: Any) -> None:
        """Send a message with the next number. Raises HarnessTrouble for one that is too long."""
        assert self._process is not None
        data = frame(kind(self._number + 1, *parts))
        self._number += 1
        self._process.send(data)

    def _receive(self, seconds: float) -> Reply:
        """The answer to the last message. Raises _Gone."""
        process = self._process
        assert process is not None
        reply = process.receive(seconds)
        if reply is not None and not isinstance(reply, Ended):
            awaited = next(iter(self._owed), 0) if isinstance(reply, Gave) else self._number
            if reply.number == awaited:
                return reply
            raise self._strayed(f"an answer to message {reply.number} in the place of {awaited}")
        words = process.last_words()
        said = f"\nlast lines of the driver:\n{words}" if words else ""
        self._abandon()
        if reply is None:
            raise _Gone(Status.TIMEOUT, f"the driver gave no answer for {seconds:g} s{said}")
        if reply.how == "garbage":
            raise _Gone(Status.ERROR, f"the driver's process sent what cannot be read: {reply.detail}{said}")
        again = reply.how == "killed"
        raise _Gone(Status.CRASH, f"{reply.detail}{', from outside' * again}{said}", again=again)

    def _strayed(self, what: str) -> _Gone:
        """An answer to another message than the last, which may be about any case: the process is done with."""
        self._abandon()
        if not self._warned:
            self._warned = True
            remedy = "one answer to each call, by the process that was called"
            _log.warning("%s", HarnessTrouble("driver-answers", what, f"driver {self._spec!r}", remedy))
        return _Gone(Status.ERROR, f"the driver gave {what}", again=True)

    def _abandon(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process = None
        self._owed.clear()

    def _ready(self) -> None:
        """Start the process again where it has ended. Raises CtsError."""
        if self._process is None:
            self._start()
            self.restarts += 1

    def _value(self, method: str, *arguments: Any, seconds: float | None = None) -> Any:
        """What a method returns. Raises BadInput and HarnessTrouble."""
        where = f"driver {self._spec!r}"
        for _ in range(MAX_KILLS):
            self._ready()
            try:
                reply = self._asked(method, arguments, seconds or self._seconds)
            except _Gone as e:
                gone = e
                if e.again and method != "close":
                    continue
                break
            if isinstance(reply, Raised):
                raise error_of(reply, f"{method} of driver {self._spec!r} fails")
            try:
                return _value(reply, CALLS[method].returns)
            except ValueError as e:
                raise HarnessTrouble("driver-failed", f"{method} returned a wrong value: {e}", where, _REMEDY) from e
        raise HarnessTrouble("driver-failed", f"{gone} in {method}", where, _REMEDY) from gone

    def _asked(self, method: str, arguments: tuple[Any, ...], seconds: float) -> Reply:
        self._send(Call, method, packed(arguments))
        return self._receive(seconds)

    def _calling(self, name: str) -> Callable[..., Any]:
        return lambda *arguments: self._value(name, *arguments)

    def _streaming(self, name: str) -> Callable[[Iterable[Any]], Iterator[Any]]:
        return lambda jobs: self._stream(name, jobs)

    def _outcome(self, method: str, job: Any) -> Outcome:
        """What becomes of one job. Never raises for what the driver does."""
        for _ in range(MAX_KILLS):
            try:
                self._ready()
                reply = self._asked(method, (job,), self._seconds)
            except CtsError as e:
                return Outcome(Status.ERROR, detail=f"the driver cannot be given the case: {e}")
            except _Gone as e:
                gone = e
                if e.again:
                    continue
                return Outcome(e.status, detail=str(e))
            result: Outcome = self._result(method, reply)
            return result
        return Outcome(Status.ERROR, detail=f"{gone}; {MAX_KILLS} times in this case: out of memory?")

    def _result(self, method: str, reply: Reply) -> Any:
        """What came back of a job. A value of another type is an error of the driver, whose process is begun anew."""
        if isinstance(reply, Raised):
            return Outcome(Status.ERROR, detail=str(error_of(reply, method)) if reply.parts[1] else reply.parts[0])
        try:
            return _value(reply, (CALLS.get(method) or STREAMS[method]).returns)
        except ValueError as e:
            self._abandon()
            return Outcome(Status.ERROR, detail=f"the driver's process returned a wrong value: {e}")

    def _stream(self, method: str, jobs: Iterable[Any]) -> Iterator[Any]:
        """What becomes of jobs, each given to the driver when it asks for it.

        Jobs that it had when its process ended run alone. Raises what the driver raises, as HarnessTrouble.
        """
        source, waiting, ended = iter(jobs), deque[Any](), True
        try:
            while True:
                try:
                    if ended:
                        self._ready()
                        self._send(Stream, method)
                        ended = False
                    reply = self._receive(self._seconds)
                except _Gone as e:
                    ended = True
                    if not waiting:
                        waiting.extend(islice(source, 1))
                        if not waiting:
                            return
                    yield from self._settled(method, list(waiting), e)
                    waiting.clear()
                    continue
                if isinstance(reply, Wants):
                    job = next(source, None)
                    self._send(Given, () if job is None else (packed(job),))
                    if job is not None:
                        waiting.append(job)
                        self._owed.append(self._number)
                elif isinstance(reply, Gave):
                    waiting.popleft()
                    self._owed.popleft()
                    yield self._result(method, reply)
                    ended = self._process is None
                    if ended:
                        gone = _Gone(Status.ERROR, "the driver's process returned a wrong value before", again=True)
                        yield from self._settled(method, list(waiting), gone)
                        waiting.clear()
                else:
                    ended = True
                    self._owed.clear()
                    if isinstance(reply, Raised):
                        raise error_of(reply, method)
                    return
        finally:
            if not ended:
                self._abandon()

    def _settled(self, method: str, waiting: list[Any], gone: _Gone) -> Iterator[Outcome]:
        """What becomes of jobs with which the process has ended: of one, that it did; several run one by one."""
        if len(waiting) == 1 and not gone.again:
            yield Outcome(gone.status, detail=str(gone))
            return
        blamed = gone.again
        for place, job in enumerate(waiting, 1):
            outcome = self._alone(method, job)
            blamed = blamed or outcome.status is gone.status
            if place == len(waiting) and not blamed:
                what = f"{len(waiting)} cases were under way when this happened, and none does it alone: {gone}"
                outcome = Outcome(gone.status, detail=what)
            yield outcome

    def _alone(self, method: str, job: Any) -> Outcome:
        if isinstance(job, Job):
            return self.run(job)
        (outcome,) = self._stream(method, [job])
        assert isinstance(outcome, Outcome)
        return outcome


_read = reading(Reply)


def _value(reply: Reply, kind: Any) -> Any:
    """The value of an answer. Raises ValueError."""
    if not isinstance(reply, (Returned, Gave)):
        raise ValueError(f"a message {type(reply).__name__}")
    return unpacked(reply.value, kind)
