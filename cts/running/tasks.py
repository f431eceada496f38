"""Parts of a run that any process can carry out on its drivers, and their answers.

An `Executor` carries tasks out: this process (`TaskRunner`), several on this machine (`cts.running.processes`), or the
workers of a Dask scheduler (`cts.running.on_dask`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import numpy as np

from cts.base.deadline import NO_DEADLINE, Deadline
from cts.base.errors import HarnessTrouble
from cts.case.oracle.expectation import Oracle
from cts.judging.batch import block_size
from cts.judging.events import Cause, Emit, Event, ExamplesJudged, Kept, Result
from cts.judging.judge import OpenDriver
from cts.plugins import registry
from cts.running.cases import run_cases
from cts.running.causes import Causes
from cts.running.corpus import Entry
from cts.running.deadline import NO_ANSWER
from cts.running.explore import Explorer
from cts.running.policy import Policy
from cts.running.profiles import Profile
from cts.running.results import not_run
from cts.running.survey import ReportedFinding
from cts.running.sweeps.judging import Judged, judge_sets, together
from cts.running.sweeps.selection import Chosen, SweepEntry, opened
from cts.running.sweeps.states import State, States

#: Tasks that a line names: more do not fit on it.
NAMED = 4


@dataclass(frozen=True)
class Cases:
    """Case files, each with the specs of its drivers; with `last` also cases left for last, and none is set aside."""

    entries: tuple[tuple[Entry, tuple[str, ...]], ...]
    last: bool = False


@dataclass(frozen=True)
class Examples:
    """Examples of an area by number, for a group of drivers with equal capabilities, run on `specs` of it.

    Cases of `slow` sizes are set aside, without being run; with `last` no case is. Of `rare` sizes one case in so many
    runs.
    """

    area: str
    group: tuple[str, ...]
    numbers: range
    specs: tuple[str, ...]
    last: bool = False
    slow: frozenset[str] = frozenset()
    rare: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Reduction:
    """Reduce a case that was kept on a driver, in so many seconds; `found` is what an earlier reduction came to."""

    area: str
    group: tuple[str, ...]
    spec: str
    kept: Kept
    seconds: float
    found: ReportedFinding | None = None


@dataclass(frozen=True)
class Sets:
    """Chosen parameter sets of a universe, from `start` to `stop`, on the drivers of these specs."""

    entry: SweepEntry
    chosen: Chosen
    start: int
    stop: int
    specs: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class FindCauses:
    """Find what the sets of a universe that do not pass on a driver have in common.

    `states` has the state of each chosen set.
    """

    entry: SweepEntry
    chosen: Chosen
    spec: str
    states: States


Task: TypeAlias = Cases | Examples | Reduction | Sets | FindCauses


@dataclass(eq=False)
class Answer:
    """The answer to a task, by its kind; places of entries left for last, entries set aside on a driver; events.

    `why` is the reason why the task was not carried out, else "".
    """

    judged: list[ExamplesJudged] = field(default_factory=list)
    found: ReportedFinding | None = None
    sets: dict[str, Judged] = field(default_factory=dict)
    causes: list[tuple[Cause, Result]] = field(default_factory=list)
    for_last: list[int] = field(default_factory=list)
    set_aside: list[tuple[Entry, str]] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    why: str = ""


class Executor(Protocol):
    """Carries out tasks. A source of tasks yields None when no task is ready before the next answer."""

    @property
    def size(self) -> int:
        """How many tasks are carried out at a time."""
        ...

    def perform(
        self, tasks: Iterable[Task | None], stale: Callable[[Task], bool] = lambda task: False
    ) -> Iterator[tuple[Task, Answer]]:
        """Each task with its answer, an empty one if it is `stale` by the time it begins.

        Raises BadInput or HarnessTrouble if no process can carry out tasks.
        """
        ...


def takes_long(task: Task) -> bool:
    """Whether a task may take tens of seconds: no other one waits behind it."""
    return isinstance(task, Reduction | FindCauses) or (isinstance(task, Examples | Cases) and task.last)


def described_task(task: Task) -> str:
    """A task in words."""
    match task:
        case Cases():
            names = [entry.name for entry, _ in task.entries]
            return names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
        case Examples():
            return f"examples {task.numbers.start} to {task.numbers.stop - 1} of {task.area}"
        case Reduction():
            return f"the reduction of {task.kept.finding.case.name}"
        case Sets():
            return f"sets {task.start} to {task.stop - 1} of {task.entry.name}"
        case FindCauses():
            return f"the causes of {task.entry.name}"


def unanswered(tasks: Sequence[Task], seconds: float, where: str = "") -> HarnessTrouble:
    """The error that nothing has come of these tasks so many seconds after the time of the run."""
    named = "; ".join(map(described_task, tasks[:NAMED]))
    more = f"; and {len(tasks) - NAMED} more" if len(tasks) > NAMED else ""
    what = f"no answer {seconds:g} s after the time of the run was up: {named}{more}"
    return HarnessTrouble(NO_ANSWER, what, where, "--resume, which does the rest")


def not_done(task: Task, why: str) -> Answer:
    """The answer to a task that was not carried out: nothing of it has run."""
    match task:
        case Cases():
            results: list[Event] = [
                not_run(spec, entry.area, entry.name, why, generated=False)
                for entry, specs in task.entries
                for spec in specs
            ]
            return Answer(events=results, why=why)
        case Examples():
            count = len(task.numbers)
            judged = [
                ExamplesJudged(spec, task.area, task.numbers.start, count, task.last, not_run={why: count})
                for spec in task.specs
            ]
            return Answer(judged=judged, why=why)
        case Sets():
            states = np.full(task.stop - task.start, State.NOT_RUN, np.uint8)
            return Answer(sets={spec: Judged(states, details={State.NOT_RUN: why}) for spec in task.specs}, why=why)
        case _:
            return Answer(why=why)


class TaskRunner:
    """Carries out tasks in this process, with its own drivers, and passes events to `emit`."""

    size = 1

    def __init__(
        self,
        drivers: Sequence[OpenDriver],
        oracle: Oracle,
        profile: Profile,
        policy: Policy,
        emit: Emit,
        reruns: int,
        time_is_up: Deadline = NO_DEADLINE,
    ) -> None:
        self._time_is_up = time_is_up
        self._drivers = {driver.spec: driver for driver in drivers}
        self._oracle = oracle
        self._profile = profile
        self._policy = policy
        self._emit = emit
        self._reruns = reruns
        self._explorers: dict[tuple[str, tuple[str, ...]], Explorer] = {}

    def perform(
        self, tasks: Iterable[Task | None], stale: Callable[[Task], bool] = lambda task: False
    ) -> Iterator[tuple[Task, Answer]]:
        """Each task with its answer, carried out when it is asked for; an empty one if it is `stale` then."""
        for task in tasks:
            assert task is not None, "all answers are known"
            yield task, Answer() if stale(task) else self.answer(task)

    def answer(self, task: Task) -> Answer:
        """Carry out one task."""
        match task:
            case Examples():
                explorer = self._explorer(task.area, task.group)
                return Answer(judged=explorer.judge(task.numbers, task.specs, task.slow, task.rare, last=task.last))
            case Reduction():
                explorer = self._explorer(task.area, task.group)
                return Answer(found=explorer.reduced(task.spec, task.kept, task.seconds, task.found))
            case Sets():
                return Answer(sets={spec: self._judged_sets(task, self._drivers[spec]) for spec in task.specs})
            case FindCauses():
                return Answer(causes=self._causes(task))
            case Cases():
                for_last, set_aside = self._cases(task)
                return Answer(for_last=for_last, set_aside=set_aside)

    def _cases(self, task: Cases) -> tuple[list[int], list[tuple[Entry, str]]]:
        drivers = [[self._drivers[spec] for spec in specs] for _, specs in task.entries]
        entries = [(entry, some) for (entry, _), some in zip(task.entries, drivers, strict=True)]
        size = block_size(list(self._drivers.values()))
        return run_cases(
            entries, self._oracle, self._emit, self._reruns, size, last=task.last, time_is_up=self._time_is_up
        )

    def _judged_sets(self, task: Sets, driver: OpenDriver) -> Judged:
        """The sets of a task, part by part."""
        numbers = task.chosen.numbers(task.start, task.stop)
        parts = opened(task.entry.path).by_part(numbers)
        return together([judge_sets(*some, driver, self._oracle, self._time_is_up) for some in parts])

    def _causes(self, task: FindCauses) -> list[tuple[Cause, Result]]:
        universe, driver = opened(task.entry.path), self._drivers[task.spec]
        finder = Causes(universe, driver, self._oracle, self._profile, self._emit, self._reruns, self._time_is_up)
        return finder.find(task.chosen, task.states)

    def _explorer(self, area: str, group: tuple[str, ...]) -> Explorer:
        """The explorer of an area, which remembers judged cases."""
        key = area, group
        if key not in self._explorers:
            drivers = [self._drivers[spec] for spec in group]
            source = registry.area(area)(drivers[0].capabilities)
            among = [d for d in self._drivers.values() if d.capabilities == drivers[0].capabilities]
            self._explorers[key] = Explorer(
                source, drivers, self._oracle, self._profile, self._policy, self._emit, area, self._reruns,
                self._time_is_up, among,
            )  # fmt: skip
        return self._explorers[key]
