"""Runs in flight on one device: sent ahead, answered in order, and accounted for whatever the worker does.

A worker that dies, hangs or breaks the protocol ends only the run that caused it:
the worker is started again and the other runs in flight are sent again. The cause is known
when only one run had begun; otherwise each of the suspects is run alone.
"""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from typing import TypeAlias

from cts.base.child_process import Ended
from cts.base.errors import HarnessTrouble
from cts.base.heartbeat import heartbeat
from cts.device.driver import Status
from cts.device.stops import STOPPED
from cts.drivers.vulkan.start import MAX_KILLS, Opening, WorkerProcess, open_device
from cts.drivers.vulkan.worker.protocol import Done, Failed, Phase, Progress, Reply, Run, pipeline_command

#: Seconds before each attempt to start a worker again: a GPU that hung can need some to recover.
_PAUSES = (0.0, 1.0, 5.0, 15.0)

#: Seconds of patience that a new worker has at least: several processes of a run may create their devices one after the
#: other, and NVIDIA's takes a second.
WARM_UP = 30.0

#: A run that has no more than these seconds of patience ends before anybody asks for its phase.
SHORT = 5.0

_STATUS = {
    "timeout": Status.TIMEOUT,
    "device-lost": Status.DEVICE_LOST,
    "rejected": Status.CRASH,
    "unsupported": Status.UNSUPPORTED,
    "out-of-memory": Status.ERROR,
    "no-device": Status.ERROR,
    "error": Status.ERROR,
}


@dataclass(frozen=True)
class Loss:
    """A run that has no result, and why; `what` names the place and quotes the last that the worker wrote.

    `refused`: Vulkan returned an error, and neither crashed nor hung. `lacking` is all that is unsupported, if known.
    """

    status: Status
    what: str
    messages: tuple[str, ...] = ()
    refused: bool = False
    lacking: tuple[str, ...] = ()


Result: TypeAlias = Done | Loss


@dataclass(frozen=True)
class Limits:
    """Seconds that the worker may take: to create a pipeline, and to answer after a fence's own limit."""

    pipeline: float = 60.0
    grace: float = 5.0


@dataclass
class _Suspicion:
    """A crash with several runs in flight: if none of them crashes alone, the last one tried is taken for its cause."""

    what: str
    runs: set[int]


@dataclass
class _Ticket:
    """A run in flight. `loss` is its result if that is known before its answer is due.

    `kills` is how often the worker was killed from outside while it ran. After `patience` seconds, None for no limit,
    it is set aside.
    """

    run: Run
    patience: float | None = None
    phase: Phase | None = None
    loss: Loss | None = None
    suspicion: _Suspicion | None = None
    kills: int = 0

    @property
    def alone(self) -> bool:
        """Whether no other run is to be in flight with it, so that what happens is its own doing."""
        return self.suspicion is not None or self.kills > 0

    def advance(self, phase: Phase) -> bool:
        """Advance to a phase; returns False if the job had reached it before."""
        if self.phase in (phase, "dispatch"):
            return False
        self.phase = phase
        return True

    def phase_text(self) -> str:
        """What it is doing, in words."""
        if self.phase is None:
            return "before the run had begun"
        return f"in {pipeline_command(self.run)}" if self.phase == "pipeline" else "between vkQueueSubmit and the fence"


@dataclass
class Session:
    """One device behind one worker at a time; `window` runs are sent ahead.

    Raises HarnessTrouble where the worker cannot be started at all. Later, that is the result of runs.
    """

    opening: Opening
    window: int = 1
    limits: Limits = Limits()
    restarts: int = 0
    _waiting: deque[_Ticket] = field(default_factory=deque)
    _sent: OrderedDict[int, _Ticket] = field(default_factory=OrderedDict)
    _results: deque[tuple[int, Result]] = field(default_factory=deque)
    _since: float = 0.0
    _given_up: str = ""
    _worker: WorkerProcess | None = None
    #: Whether the worker has answered: before that, it may have to create its device.
    _warm: bool = False

    def __post_init__(self) -> None:
        self._worker, self.description = open_device(self.opening)

    @property
    def pending(self) -> int:
        """Runs whose result `next` has not handed out."""
        return len(self._waiting) + len(self._sent) + len(self._results)

    @property
    def pid(self) -> int | None:
        """The process id of the worker's command."""
        return self._worker.pid if self._worker else None

    def submit(self, run: Run, patience: float | None = None) -> None:
        """Take a run; ids must differ. Returns at once. It is set aside if its turn lasts longer than `patience`."""
        self._waiting.append(_Ticket(run, patience))
        if self._worker is not None:
            self._pump(self._worker)

    def next(self) -> tuple[int, Result]:
        """The result of the oldest run. Never raises for anything a worker does."""
        while not self._results:
            worker = self._worker or self._restart()
            if worker is None:
                ticket = self._waiting.popleft()
                self._results.append((ticket.run.id, ticket.loss or Loss(Status.ERROR, self._given_up)))
                continue
            self._pump(worker)
            self._step(worker)
        return self._results.popleft()

    def close(self) -> None:
        """End the worker. Runs that have no result yet get none."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None

    def _pump(self, worker: WorkerProcess) -> None:
        """Send what may be sent: a suspect only alone, others up to the window."""
        while self._waiting:
            ticket = self._waiting[0]
            if ticket.loss is None:
                live = [t for t in self._sent.values() if t.loss is None]
                alone = ticket.alone or any(t.alone for t in live)
                if len(live) >= (1 if alone else self.window):
                    return
                if not self._sent:
                    self._since = time.monotonic()
                worker.ask(ticket.run)
            self._sent[ticket.run.id] = self._waiting.popleft()

    def _step(self, worker: WorkerProcess) -> None:
        """Wait for one reply, or for what happens instead."""
        head = next(iter(self._sent.values()))
        if head.loss is not None:
            self._settle(head, head.loss)
            return
        limit = head.run.timeout + self.limits.grace if head.phase == "dispatch" else self.limits.pipeline
        patience = limit if head.patience is None else max(head.patience, 0.0 if self._warm else WARM_UP)
        hasty, limit = patience < limit, min(patience, limit)
        reply = worker.receive(self._since + limit - time.monotonic())
        if reply is None and hasty:
            what = f"set aside after {limit:g} s {head.phase_text()}"
            self._settle(head, Loss(Status.SET_ASIDE, what))
            self._abandon(worker)
        elif reply is None:
            what = f"no answer for {limit:g} s {head.phase_text()}"
            self._settle(head, Loss(Status.TIMEOUT, self._quote(worker, what)))
            self._abandon(worker)
        elif isinstance(reply, Ended):
            self._bury(worker, reply)
        else:
            self._take(worker, head, reply)

    def _take(self, worker: WorkerProcess, head: _Ticket, reply: Reply) -> None:
        if isinstance(reply, Progress) and reply.id in self._sent and self._sent[reply.id].advance(reply.phase):
            if reply.id == head.run.id:
                self._since = time.monotonic()
                if head.patience is None or head.patience > SHORT:
                    heartbeat.entered("compiling" if reply.phase == "pipeline" else "running")
        elif isinstance(reply, Done) and reply.id == head.run.id:
            self._warm = True
            self._settle(head, reply)
        elif isinstance(reply, Failed) and reply.id == head.run.id:
            what, refused = self._quote(worker, reply.what), reply.status == "rejected"
            self._settle(head, Loss(_STATUS[reply.status], what, reply.messages, refused))
            if reply.status in ("timeout", "device-lost"):
                self._abandon(worker)
        else:
            what = f"expected the result of run {head.run.id}, got {_brief(reply)}"
            self._settle(head, Loss(Status.ERROR, self._quote(worker, f"the worker broke the protocol: {what}")))
            self._abandon(worker)

    def _bury(self, worker: WorkerProcess, end: Ended) -> None:
        """Find the run that caused the worker's end."""
        live = [t for t in self._sent.values() if t.loss is None]
        suspects = [t for t in live if t.phase is not None] or live
        if end.how == "killed":
            self._note_kill(worker, end, suspects)
            self._abandon(worker)
            return
        if end.how == "garbage":
            suspects = live[:1]
            loss = Loss(Status.ERROR, self._quote(worker, f"the worker broke the protocol: {end.detail}"))
        else:
            words = self._quote(worker, "")
            where = f"{STOPPED}{worker.stopped}" if worker.stopped else ""
            loss = Loss(Status.CRASH, f"{end.detail} {suspects[0].phase_text()}{where}{words}")
        if len(suspects) == 1:
            suspects[0].loss = loss
        else:
            runs = {t.run.id for t in suspects}
            what = f"{len(runs)} runs were under way when this happened, and none does it alone: {loss.what}"
            suspicion = _Suspicion(what, runs)
            for ticket in suspects:
                ticket.suspicion = suspicion
        self._abandon(worker)

    def _note_kill(self, worker: WorkerProcess, end: Ended, suspects: list[_Ticket]) -> None:
        """Runs with which the worker was killed from outside run again: one kill says nothing of them."""
        for ticket in suspects:
            ticket.kills += 1
            if ticket.kills >= MAX_KILLS:
                what = f"{end.detail}, from outside, {ticket.kills} times {ticket.phase_text()}: out of memory?"
                ticket.loss = Loss(Status.ERROR, self._quote(worker, what))

    def _settle(self, ticket: _Ticket, result: Result) -> None:
        """The oldest run has its result."""
        suspicion = ticket.suspicion
        if suspicion is not None:
            suspicion.runs.discard(ticket.run.id)
            if isinstance(result, Loss) and result.status is Status.CRASH:
                suspicion.runs.clear()
                suspicion.what = ""
            elif not suspicion.runs and suspicion.what:
                result = Loss(Status.CRASH, suspicion.what)
        del self._sent[ticket.run.id]
        self._since = time.monotonic()
        self._results.append((ticket.run.id, result))

    def _abandon(self, worker: WorkerProcess) -> None:
        """Kill this worker; the runs that it has not answered will be sent again."""
        worker.kill()
        self._worker, self._warm = None, False
        for ticket in reversed(self._sent.values()):
            ticket.phase = None
            self._waiting.appendleft(ticket)
        self._sent.clear()

    def _restart(self) -> WorkerProcess | None:
        """A new worker, or None when the device is given up."""
        if self._given_up:
            return None
        trouble = ""
        for pause in _PAUSES:
            time.sleep(pause)
            try:
                self._worker, description = open_device(self.opening, self.description)
            except HarnessTrouble as e:
                trouble = str(e)
                continue
            self.restarts += 1
            self.description = description
            return self._worker
        self._given_up = f"the worker could not be started again, {len(_PAUSES)} times: {trouble}"
        return None

    def _quote(self, worker: WorkerProcess, what: str) -> str:
        words = worker.last_words()
        return f"{what}\nlast lines of the worker:\n{words}" if words else what


def _brief(reply: Reply) -> str:
    text = str(reply)
    return text if len(text) < 300 else f"{text[:300]}..."
