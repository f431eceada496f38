"""A device whose compiler takes known times, and processes with a simulated clock: nobody waits for either."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from cts.case.model import Case
from cts.device.capabilities import Capabilities
from cts.device.driver import Driver, Job, Outcome, Status
from cts.running.tasks import Answer, Task, TaskRunner

#: Seconds that it costs to end a worker and to start another one.
RESTART = 2.0

#: Seconds after which a pipeline is given up.
LIMIT = 60.0


class Compiling:
    """A driver that says that each case took as long as `seconds` says; `spent` are those of all its runs."""

    name = "compiling"

    def __init__(self, driver: Driver, seconds: Callable[[Case], float]) -> None:
        self._driver, self._seconds = driver, seconds
        self.spent = 0.0
        #: What was given to it: content hash, seconds that the case takes, and the patience.
        self.runs: list[tuple[str, float, float | None]] = []

    def capabilities(self) -> Capabilities:
        return self._driver.capabilities()

    def run(self, job: Job) -> Outcome:
        seconds, patience = self._seconds(job.case), LIMIT if job.patience is None else job.patience
        self.runs.append((job.case.content_hash, seconds, job.patience))
        if seconds > patience:
            self.spent += patience + RESTART
            status = Status.TIMEOUT if job.patience is None else Status.SET_ASIDE
            return Outcome(status, detail=f"no answer for {patience:g} s", seconds={"pipeline": patience + RESTART})
        self.spent += seconds
        return replace(self._driver.run(job), seconds={"pipeline": seconds})

    def close(self) -> None:
        self._driver.close()


@dataclass
class Clock:
    """Seconds, which pass when somebody says so."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Simulated:
    """An executor: `size` processes with a device each, whose tasks are carried out here, at once.

    Answers come in the order in which such processes would be ready. `host` are the milliseconds of drawing a case and
    of its oracle, by area.
    """

    runner: TaskRunner
    driver: Compiling
    size: int
    clock: Clock = field(default_factory=Clock)
    host: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    #: Seconds in which processes had nothing to do, and those of tasks by kind.
    idle: float = 0.0
    busy: dict[str, float] = field(default_factory=dict)

    def perform(
        self, tasks: Iterable[Task | None], stale: Callable[[Task], bool] = lambda task: False
    ) -> Iterator[tuple[Task, Answer]]:
        source, number, waiting = iter(tasks), 0, False
        flying: list[tuple[float, int, Task]] = []
        while True:
            while not waiting and len(flying) < self.size:
                task = next(source, None)
                if task is None:
                    waiting = True  # until there is an answer, or for ever
                    break
                number += 1
                heapq.heappush(flying, (self.clock.now + self._carried_out(task, stale), number, task))
            if not flying:
                return
            end, _, task = heapq.heappop(flying)
            self.idle += (self.size - len(flying) - 1) * (end - self.clock.now)
            self.clock.now = max(self.clock.now, end)
            waiting = False
            yield task, self._answers.pop(id(task))

    def __post_init__(self) -> None:
        self._answers: dict[int, Answer] = {}

    def _carried_out(self, task: Task, stale: Callable[[Task], bool]) -> float:
        """The seconds of a task, whose answer is there."""
        before = self.driver.spent
        answer = Answer() if stale(task) else self.runner.answer(task)
        seconds = self.driver.spent - before
        judged = []
        for one in answer.judged:
            draw, oracle = (1e-3 * one.drawn * ms for ms in self.host.get(one.area, (1.0, 1.0)))
            seconds += draw + oracle
            times: dict[str, Any] = {"draw": draw, "oracle": oracle, "driver": one.seconds.get("driver", 0.0)}
            judged.append(msgspec.structs.replace(one, seconds=times, where="simulated"))
        answer.judged[:] = judged
        self._answers[id(task)] = answer
        kind = type(task).__name__ + (" last" if getattr(task, "last", False) else "")
        self.busy[kind] = self.busy.get(kind, 0.0) + seconds
        return seconds
