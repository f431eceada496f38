"""Parts of a run that any process can carry out: some cases, or some examples of an area, on drivers that it has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from cts.deadline import NO_DEADLINE, Deadline
from cts.judging.batch import block_size
from cts.judging.events import Emit, Event
from cts.judging.judge import OpenDriver
from cts.oracle.expectation import Oracle
from cts.plugins import registry
from cts.running.cases import run_cases
from cts.running.corpus import Entry
from cts.running.explore import Explorer
from cts.running.profiles import Profile
from cts.running.results import not_run
from cts.running.survey import Attempted, Seen
from cts.sweeps.judging import Judged, State, judge_sets, together
from cts.sweeps.selection import Chosen, SweepEntry, opened
from cts.verdict import Verdict


@dataclass(frozen=True)
class Cases:
    """Case files, each with the specs of its drivers; with `last` those that quarantines leave for last."""

    entries: tuple[tuple[Entry, tuple[str, ...]], ...]
    last: bool = False


@dataclass(frozen=True)
class Examples:
    """Examples of an area by their numbers, of drivers with equal capabilities, on those of `specs`."""

    area: str
    group: tuple[str, ...]
    numbers: range
    specs: tuple[str, ...]
    last: bool = False


@dataclass(frozen=True)
class Sets:
    """Parameter sets of a universe, those of the chosen ones from `start` to `stop`, on the drivers of these specs."""

    entry: SweepEntry
    chosen: Chosen
    start: int
    stop: int
    specs: tuple[str, ...]


Task: TypeAlias = Cases | Examples | Sets


@dataclass(eq=False)
class Answer:
    """What a task came to: what became of examples, or of sets by the spec of a driver, places of entries that are left
    for last, events to tell.
    """

    seen: list[Seen] = field(default_factory=list)
    sets: dict[str, Judged] = field(default_factory=dict)
    for_last: list[int] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)


def described_task(task: Task) -> str:
    """A task in words."""
    match task:
        case Cases():
            names = [entry.name for entry, _ in task.entries]
            return names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
        case Examples():
            return f"examples {task.numbers.start} to {task.numbers.stop - 1} of {task.area}"
        case Sets():
            return f"sets {task.start} to {task.stop - 1} of {task.entry.name}"


def not_done(task: Task, why: str) -> Answer:
    """The answer to a task that was not carried out: nothing of it has run."""
    match task:
        case Cases():
            results: list[Event] = [
                not_run(spec, entry.area, entry.name, why, generated=False)
                for entry, specs in task.entries
                for spec in specs
            ]
            return Answer(events=results)
        case Examples():
            attempts = dict.fromkeys(task.specs, Attempted(Verdict.NOT_RUN, why))
            return Answer(seen=[Seen(number, attempts=attempts) for number in task.numbers])
        case Sets():
            states = np.full(task.stop - task.start, State.NOT_RUN, np.uint8)
            return Answer(sets={spec: Judged(states, details={State.NOT_RUN: why}) for spec in task.specs})


class TaskRunner:
    """Carries out tasks in this process, with drivers of its own, and tells `emit` of it."""

    def __init__(
        self,
        drivers: Sequence[OpenDriver],
        oracle: Oracle,
        profile: Profile,
        emit: Emit,
        reruns: int,
        time_is_up: Deadline = NO_DEADLINE,
    ) -> None:
        self._time_is_up = time_is_up
        self._drivers = {driver.spec: driver for driver in drivers}
        self._oracle = oracle
        self._profile = profile
        self._emit = emit
        self._reruns = reruns
        self._explorers: dict[tuple[str, tuple[str, ...]], Explorer] = {}

    def perform(
        self, tasks: Iterable[Task], stale: Callable[[Task], bool] = lambda task: False
    ) -> Iterator[tuple[Task, Answer]]:
        """Each task with its answer, carried out when it is asked for; an empty one if it is `stale` then."""
        for task in tasks:
            yield task, Answer() if stale(task) else self.answer(task)

    def answer(self, task: Task) -> Answer:
        """Carry out one task."""
        if isinstance(task, Examples):
            return Answer(seen=list(self._explorer(task).judge(task.numbers, task.specs, last=task.last)))
        if isinstance(task, Sets):
            return Answer(sets={spec: self._judged_sets(task, self._drivers[spec]) for spec in task.specs})
        drivers = [[self._drivers[spec] for spec in specs] for _, specs in task.entries]
        entries = [(entry, some) for (entry, _), some in zip(task.entries, drivers, strict=True)]
        size = block_size(list(self._drivers.values()))
        for_last = run_cases(
            entries, self._oracle, self._emit, self._reruns, size, last=task.last, time_is_up=self._time_is_up
        )
        return Answer(for_last=for_last)

    def _judged_sets(self, task: Sets, driver: OpenDriver) -> Judged:
        """The sets of a task, part by part."""
        numbers = task.chosen.numbers(task.start, task.stop)
        return together([judge_sets(*some, driver, self._oracle) for some in opened(task.entry.path).by_part(numbers)])

    def _explorer(self, task: Examples) -> Explorer:
        """The one of the task's area, which remembers what it has judged."""
        key = task.area, task.group
        if key not in self._explorers:
            drivers = [self._drivers[spec] for spec in task.group]
            source = registry.area(task.area)(drivers[0].capabilities)
            self._explorers[key] = Explorer(
                source,
                drivers,
                self._oracle,
                self._profile,
                self._emit,
                task.area,
                self._reruns,
                self._time_is_up,
            )
        return self._explorers[key]
