"""Drivers in a process of their own: `mine:process=own`. Nothing that such a driver does can end or spoil a run.

Drivers of other packages run like that unless their spec says `process=shared`. A driver that exits, crashes or says
nothing for so long is an outcome of its case; its process is started again for the next one. What it prints is kept
for that outcome, and is in no report.
"""

from __future__ import annotations

import pickle
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from cts.base.child_process import ChildProcess, Ended
from cts.base.errors import CtsError, HarnessTrouble
from cts.device.driver import Job, Outcome, Status, SweepJob
from cts.device.driver_options import among, parse, seconds
from cts.plugins.served import CALLS, STREAMS, Call, Gave, Given, Open, Opened, Raised, Returned, Stream, Wants, read
from cts.spirv.lowering import Made, OfCase, OfSweep

if TYPE_CHECKING:
    from cts.device.capabilities import Capabilities

#: How long a driver may take to answer, in seconds, where its spec does not say.
PATIENCE = 120.0

#: How long it may take to close.
CLOSING = 10.0

#: A job with which the process has been killed from outside so often is given up.
MAX_KILLS = 5

#: What the process runs: modules are where they are for the suite.
_PROGRAM = "import sys; sys.path[:] = {!r}; from cts.plugins.served import main; main()"
_NOUN = "the driver's process"
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
    """The process has ended, or says nothing; `how` is "killed" where that was done to it."""

    def __init__(self, status: Status, what: str, how: str = "died") -> None:
        super().__init__(what)
        self.status = status
        self.how = how


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
        self._process: ChildProcess[Any] | None = None
        #: How often the process had to be started again.
        self.restarts = 0
        opened = self._start()
        self.name = opened.name
        offered: dict[str, Callable[..., Any]] = {
            **{name: self._calling(name) for name in CALLS},
            **{name: self._streaming(name) for name in STREAMS},
        }
        # As attributes of the instance: what a driver can do is asked by its methods.
        self.__dict__.update({name: method for name, method in offered.items() if name in opened.methods})
        if "run_module" in opened.methods:
            self.__dict__["run_module"] = lambda job: self._outcome("run_module", job)

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
            self._process = ChildProcess([sys.executable, "-c", _PROGRAM.format(sys.path)], read, noun=_NOUN)
        except OSError as e:
            raise HarnessTrouble("driver-failed", f"no process can be started: {e}", self._spec) from e
        try:
            self._send(Open(self._inner))
            reply = self._receive(self._seconds)
        except _Gone as e:
            if e.how == "killed" and tries > 1:
                return self._start(tries - 1)
            raise HarnessTrouble("driver-failed", str(e), f"driver {self._spec!r}", _REMEDY) from e
        if isinstance(reply, Raised):
            self._abandon()
            raise reply.error(f"driver {self._spec!r} does not start")
        assert isinstance(reply, Opened)
        return reply

    def _send(self, message: Any) -> None:
        assert self._process is not None
        self._process.send(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))

    def _receive(self, seconds: float) -> Any:
        """The next reply. Raises _Gone."""
        process = self._process
        assert process is not None
        reply = process.receive(seconds)
        if reply is not None and not isinstance(reply, Ended):
            return reply
        words = process.last_words()
        last_lines = f"\nlast lines of the driver:\n{words}" if words else ""
        self._abandon()
        if reply is None:
            raise _Gone(Status.TIMEOUT, f"the driver gave no answer for {seconds:g} s{last_lines}")
        if reply.how == "garbage":
            raise _Gone(Status.ERROR, f"the driver's process sent what cannot be read: {reply.detail}{last_lines}")
        raise _Gone(Status.CRASH, f"{reply.detail}{last_lines}", reply.how)

    def _abandon(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process = None

    def _ready(self) -> None:
        """Start the process again where it has ended. Raises CtsError."""
        if self._process is None:
            self._start()
            self.restarts += 1

    def _value(self, method: str, *arguments: Any, seconds: float | None = None) -> Any:
        """What a method returns. Raises BadInput and HarnessTrouble."""
        self._ready()
        try:
            self._send(Call(method, arguments))
            reply = self._receive(seconds or self._seconds)
        except _Gone as e:
            raise HarnessTrouble("driver-failed", f"{e} in {method}", f"driver {self._spec!r}", _REMEDY) from e
        if isinstance(reply, Raised):
            raise reply.error(f"{method} of driver {self._spec!r} fails")
        assert isinstance(reply, Returned)
        return reply.value

    def _calling(self, name: str) -> Callable[..., Any]:
        return lambda *arguments: self._value(name, *arguments)

    def _streaming(self, name: str) -> Callable[[Iterable[Any]], Iterator[Any]]:
        return lambda jobs: self._stream(name, jobs)

    def _outcome(self, method: str, job: Any) -> Outcome:
        """What becomes of one job. Never raises for what the driver does."""
        portable = _portable(job)
        for _ in range(MAX_KILLS):
            try:
                self._ready()
                self._send(Call(method, (portable,)))
                reply = self._receive(self._seconds)
            except CtsError as e:
                return Outcome(Status.ERROR, detail=f"the driver's process cannot be started again: {e}")
            except _Gone as e:
                gone = e
                if e.how == "killed":
                    continue
                return Outcome(e.status, detail=str(e))
            outcome: Outcome = _returned(reply)
            return outcome
        return Outcome(Status.ERROR, detail=f"{gone}, from outside, {MAX_KILLS} times in this case: out of memory?")

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
                        self._send(Stream(method))
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
                    if job is not None:
                        waiting.append(job)
                    self._send(Given(None if job is None else _portable(job), last=job is None))
                elif isinstance(reply, Gave):
                    if waiting:
                        waiting.popleft()
                    yield _returned(reply)
                elif isinstance(reply, Raised):
                    ended = True
                    raise HarnessTrouble("driver-failed", reply.text)
                else:
                    ended = True
                    return
        finally:
            if not ended:
                self._abandon()

    def _settled(self, method: str, waiting: list[Any], gone: _Gone) -> Iterator[Outcome]:
        """What becomes of jobs with which the process has ended: of one, that it did; several run one by one."""
        if len(waiting) == 1 and gone.how != "killed":
            yield Outcome(gone.status, detail=str(gone))
            return
        blamed = gone.how == "killed"
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


def _portable(job: Any) -> Any:
    """A job that can be sent: with a module that can be."""
    if isinstance(job, (Job, SweepJob)) and not isinstance(job.module, (OfCase, OfSweep, Made)):
        return replace(job, module=Made(job.module()))
    return job


def _returned(reply: Any) -> Any:
    """What came back of a job: an outcome, or what a driver has returned in the place of one."""
    value = reply if isinstance(reply, Raised) else reply.value
    return Outcome(Status.ERROR, detail=value.text) if isinstance(value, Raised) else value
