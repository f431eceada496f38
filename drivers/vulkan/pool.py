"""One device with several workers, so that a driver that compiles on one core at a time uses all cores.

Drivers of a process that open the same device in the same way, such as those of several shader stages, share them.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import replace
from typing import TypeAlias

from cts.base.errors import HarnessTrouble
from cts.drivers.vulkan.session import Limits, Result, Session
from cts.drivers.vulkan.start import Opening
from cts.drivers.vulkan.worker.protocol import Description, Run

#: The most workers by default: each is a Python with a Vulkan driver loaded, some 150 MB.
MAX_WORKERS = 8

#: Pipelines whose worker is remembered: no worker keeps more.
_REMEMBERED = 256

#: The arguments of Pool.
_Making: TypeAlias = tuple[Opening, int, Limits, "int | None"]

#: A module and its specialization: each pair is compiled separately.
_Pipeline: TypeAlias = tuple[bytes, tuple[tuple[int, bytes], ...]]


class Pool:
    """Sessions on the same device, for any number of drivers.

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
        self._numbers = 0
        self._order: deque[Session] = deque()
        self._results: dict[int, Result] = {}
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

    def number(self) -> int:
        """The id of a run, which no other one has."""
        self._numbers += 1
        return self._numbers

    def submit(self, run: Run, patience: float | None = None) -> None:
        """Take a run, which may be set aside. Runs of one pipeline go to the worker that has it."""
        pipeline = (run.module, tuple(sorted(run.specialization.items())))
        session = self._homes.get(pipeline) or self._idlest()
        self._homes[pipeline] = session
        self._homes.move_to_end(pipeline)
        if len(self._homes) > _REMEMBERED:
            self._homes.popitem(last=False)
        self._order.append(session)
        session.submit(run, patience)

    def result_of(self, number: int) -> Result:
        """The result of a run, for which those of older ones are waited for. Raises nothing that a worker does."""
        while number not in self._results:
            done, result = self._order.popleft().next()
            self._results[done] = result
        return self._results.pop(number)

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


#: What each pool was made of, and how many drivers have it.
_shared: dict[_Making, tuple[Pool, int]] = {}


def shared(opening: Opening, window: int, limits: Limits, workers: int | None) -> Pool:
    """The pool that a driver of this process has made so already, or a new one; `give_back` ends it with its last user.

    Raises HarnessTrouble like Pool.
    """
    making = opening, window, limits, workers
    pool, users = _shared.get(making) or (Pool(*making), 0)
    _shared[making] = pool, users + 1
    return pool


def give_back(pool: Pool) -> None:
    """A driver needs a pool no more. Its runs that have no result yet get none."""
    making = next(m for m, (pool_, _) in _shared.items() if pool_ is pool)
    _, users = _shared.pop(making)
    if users > 1:
        _shared[making] = pool, users - 1
    else:
        pool.close()


def _suitable(description: Description) -> int:
    return min(description.processors, MAX_WORKERS) if description.device.type == "cpu" else 1
