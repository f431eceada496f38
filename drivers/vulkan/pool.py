"""One device with several workers, so that a driver that compiles on one core at a time uses all cores."""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import replace
from typing import TypeAlias

from cts.drivers.vulkan.session import Limits, Result, Session
from cts.drivers.vulkan.start import Opening
from cts.drivers.vulkan.worker.protocol import Description, Run
from cts.errors import HarnessTrouble

#: The most workers by default: each is a Python with a Vulkan driver loaded, some 150 MB.
MAX_WORKERS = 8

#: Pipelines whose worker is remembered: no worker keeps more.
_REMEMBERED = 256

#: A module and its specialization: each pair is compiled separately.
_Pipeline: TypeAlias = tuple[bytes, tuple[tuple[int, bytes], ...]]


class Pool:
    """Sessions on the same device; results come in the order in which runs were taken, whoever ran them.

    Workers beyond the first are started when there is something for them to do. `workers` None means one
    for each processor where the device is one of them, and a single one otherwise: processes on a GPU
    only share its time. Raises HarnessTrouble where the first worker cannot be started.
    """

    def __init__(
        self, opening: Opening, window: int = 1, limits: Limits | None = None, workers: int | None = 1
    ) -> None:
        self._limits = limits or Limits()
        self._window = window
        first = Session(opening, window, self._limits)
        self._opening = replace(opening, device=first.description.device.uuid)
        self._sessions = [first]
        self._workers = workers or _suitable(first.description)
        self._order: deque[Session] = deque()
        self._homes: OrderedDict[_Pipeline, Session] = OrderedDict()

    @property
    def description(self) -> Description:
        """Everything the device reports."""
        return self._sessions[0].description

    @property
    def window(self) -> int:
        """How many runs are worth having in flight."""
        return self._window * self._workers

    @property
    def restarts(self) -> int:
        """How often a worker has been replaced."""
        return sum(session.restarts for session in self._sessions)

    @property
    def pids(self) -> list[int]:
        """The process ids of the workers' commands that are alive."""
        return [session.pid for session in self._sessions if session.pid is not None]

    def submit(self, run: Run) -> None:
        """Take a run; ids must differ. Runs of one pipeline go to the worker that has it."""
        pipeline = (run.module, tuple(sorted(run.specialization.items())))
        session = self._homes.get(pipeline) or self._idlest()
        self._homes[pipeline] = session
        self._homes.move_to_end(pipeline)
        if len(self._homes) > _REMEMBERED:
            self._homes.popitem(last=False)
        self._order.append(session)
        session.submit(run)

    def next(self) -> tuple[int, Result]:
        """The result of the oldest run. Never raises for anything a worker does."""
        return self._order.popleft().next()

    def close(self) -> None:
        """End all workers. Runs that have no result yet get none."""
        for session in self._sessions:
            session.close()

    def _idlest(self) -> Session:
        idlest = min(self._sessions, key=lambda session: session.pending)
        if idlest.pending == 0 or len(self._sessions) >= self._workers:
            return idlest
        try:
            self._sessions.append(Session(self._opening, self._window, self._limits))
        except HarnessTrouble:
            # The workers that have started take over the work of one that cannot start.
            self._workers = len(self._sessions)
            return idlest
        return self._sessions[-1]


def _suitable(description: Description) -> int:
    return min(description.processors, MAX_WORKERS) if description.device.type == "cpu" else 1
