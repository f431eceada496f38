"""Universes on drivers: the sets to judge, their results, and what failing sets have in common."""

from __future__ import annotations

import base64
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise, zip_longest

import msgspec
import numpy as np

from cts.base.deadline import Deadline
from cts.base.printable import said
from cts.case.model import Case
from cts.case.model.sweep import AREA, sweep_name
from cts.judging.events import Cause, Emit, Result, SetsJudged, UniverseSwept
from cts.judging.judge import OpenDriver
from cts.judging.verdict import Verdict
from cts.running.profiles import Profile
from cts.running.sweeps.judging import Judged
from cts.running.sweeps.selection import Chosen, SweepEntry, opened
from cts.running.sweeps.states import UNSUPPORTED, VERDICTS, State, States, wrong
from cts.running.sweeps.support import lacks
from cts.running.tasks import Answer, FindCauses, Sets

#: Sets of one task: the most that an interruption loses, and the batch that a process gets. A process compiles the
#: template of each of its sets, so that few processes should share a template.
TASK_SETS = 65_536

#: Sets of the first task of a universe, and how many times as many the next one has: most bugs show in few sets.
FIRST_SETS, GROWTH = 1024, 4


def chosen_sets(entry: SweepEntry, profile: Profile) -> Chosen:
    """The sets of a universe that a run of this profile has."""
    assert profile.seed is not None, "profile() settles the seed"
    shard = profile.shard.index - 1, profile.shard.count
    return Chosen(opened(entry.path).size, entry.max_sets, profile.seed, shard)


class Progress:
    """What became of the sets of a universe on a driver, so far: a universe may have more sets than fit into memory."""

    def __init__(self, count: int) -> None:
        self.counts: Counter[State] = Counter({State.PENDING: count})
        self.excluded: Counter[str] = Counter()
        self.details: dict[State, str] = {}
        self.seconds = 0.0
        self._count = count
        self._states: States | None = None
        #: Ranges of places whose sets have all one state.
        self._alike: list[tuple[int, int, State]] = []

    @property
    def states(self) -> States:
        """The state of each set."""
        if self._states is None:
            self._states = np.zeros(self._count, np.uint8)
        for start, stop, state in self._alike:
            self._states[start:stop] = state
        self._alike.clear()
        return self._states

    @property
    def differs(self) -> bool:
        """Whether some set does not pass."""
        return any(self.counts[state] for state in VERDICTS if state is not State.PASS)

    def pending(self, start: int, stop: int) -> int:
        """The first place in [start, stop) whose set is not judged, or else `stop`."""
        for first, after, _ in self._alike:
            if first <= start < after:
                start = min(after, stop)
        if self._states is None or start == stop:
            return start
        pending = self._states[start:stop] == State.PENDING
        return start + int(pending.argmax()) if pending.any() else stop

    def put(self, start: int, judged: Judged) -> None:
        """Note what became of the sets from a place on."""
        some = self.states[start : start + len(judged.states)]
        self.counts.subtract(_counted(some))
        some[:] = judged.states
        self.counts.update(_counted(judged.states))
        self.excluded.update(judged.excluded)
        self.details = judged.details | self.details
        self.seconds += judged.seconds

    def fill(self, start: int, stop: int, state: State) -> None:
        """Note that the sets of a range, none of which is judged, have all one state."""
        self._alike.append((start, stop, state))
        self.counts.subtract({State.PENDING: stop - start})
        self.counts[state] += stop - start


class SweepRun:
    """One universe on drivers that have no result of it yet."""

    def __init__(
        self, entry: SweepEntry, drivers: Sequence[OpenDriver], profile: Profile, emit: Emit, time_is_up: Deadline
    ) -> None:
        self.entry = entry
        self.universe = opened(entry.path)
        self.chosen = chosen_sets(entry, profile)
        self.specs = tuple(d.spec for d in drivers)
        self._drivers = drivers
        self._emit = emit
        self._time_is_up = time_is_up
        self._causes: dict[str, list[tuple[Cause, Result]]] = {}
        self._progress = {spec: Progress(self.chosen.count) for spec in self.specs}
        #: The parts that each driver was asked about.
        self._asked = 0

    def resume(self, events: Iterable[SetsJudged]) -> None:
        """Take over sets that an interrupted run has judged."""
        for event in events:
            if event.universe == self.entry.name and event.driver in self._progress:
                details = {State[name]: text for name, text in event.details.items()}
                progress = self._progress[event.driver]
                if event.states == UNSUPPORTED:
                    progress.fill(event.start, event.start + event.count, State.UNSUPPORTED)
                    progress.details |= details
                else:
                    states = unpacked(event.states, event.count)
                    progress.put(event.start, Judged(states, Counter(event.excluded), details, event.seconds))
                self._emit(event)

    def tasks(self) -> Iterator[Sets]:
        """The sets to judge, a batch at a time, while there is time; the first batches are small.

        Drivers are asked about each template first: no task has sets of a template that no driver supports.
        """
        for start, stop in pairwise(self._ends()):
            if self._time_is_up():
                return
            self._ask(stop)
            first = min(progress.pending(start, stop) for progress in self._progress.values())
            pending = tuple(spec for spec in self.specs if self._progress[spec].pending(first, stop) < stop)
            if pending:
                yield Sets(self.entry, self.chosen, first, stop, pending)

    def _ask(self, stop: int) -> None:
        """Ask the drivers about the templates of the sets before a place, and note what they do not support."""
        while self._asked < len(self.universe.parts) and self._place(self._asked) < stop:
            part = self._asked
            for driver in self._drivers:
                start, after = self._place(part), self._place(part + 1)
                progress = self._progress[driver.spec]
                if progress.pending(start, after) == start < after and (missing := lacks(driver, self._template(part))):
                    progress.fill(start, after, State.UNSUPPORTED)
                    progress.details.setdefault(State.UNSUPPORTED, said(missing))
                    self._tell(driver.spec, start, after - start, UNSUPPORTED, {"UNSUPPORTED": missing})
            self._asked += 1

    def _template(self, part: int) -> Case:
        return self.universe.parts[part].template

    def _place(self, part: int) -> int:
        return self.chosen.place_of(part * self.universe.part_size)

    def _ends(self) -> Iterator[int]:
        """The boundaries of tasks: those of the universe's parts, or within a part that is too large for a task."""
        parts = len(self.universe.parts)
        ends = [self._place(part) for part in range(1, parts)] + [self.chosen.count]
        at, most = 0, min(FIRST_SETS, TASK_SETS)
        yield at
        for end, after in zip_longest(ends, ends[1:]):
            if after is not None and after - at <= most:
                continue  # small parts share a task
            while at < end:
                pieces = -(-(end - at) // most)
                at = end if pieces == 1 else at + (end - at) // pieces
                most = min(TASK_SETS, GROWTH * most)
                yield at

    @property
    def differs(self) -> bool:
        """Whether some set does not pass on some driver."""
        return any(progress.differs for progress in self._progress.values())

    def take(self, task: Sets, answer: Answer) -> None:
        """Keep the results of sets, and emit them."""
        for event in answer.events:
            self._emit(event)
        for spec, judged in answer.sets.items():
            ended = np.flatnonzero(judged.states)  # sets for which there was no time are the last ones
            if ended.size:
                self._note(spec, task.start, replace(judged, states=judged.states[: int(ended[-1]) + 1]))

    def _note(self, spec: str, start: int, judged: Judged) -> None:
        self._progress[spec].put(start, judged)
        details = {state.name: text for state, text in judged.details.items()}
        excluded, seconds = dict(judged.excluded), round(judged.seconds, 6)
        self._tell(spec, start, len(judged.states), packed(judged.states), details, excluded, seconds)

    def _tell(
        self,
        spec: str,
        start: int,
        count: int,
        states: str,
        details: dict[str, str],
        excluded: dict[str, int] | None = None,
        seconds: float = 0.0,
    ) -> None:
        self._emit(SetsJudged(spec, self.entry.name, start, count, states, excluded or {}, details, seconds))

    @property
    def has_causes(self) -> bool:
        """Whether causes of wrong sets have been searched."""
        return bool(self._causes)

    def cause_tasks(self) -> Iterator[FindCauses]:
        """Tasks that find what failing sets have in common, one for each driver on which sets fail."""
        for spec in self.specs:
            if self._progress[spec].differs:
                yield FindCauses(self.entry, self.chosen, spec, self._progress[spec].states)

    def take_causes(self, task: FindCauses, answer: Answer) -> None:
        """Keep the causes of wrong sets."""
        for event in answer.events:
            self._emit(event)
        self._causes[task.spec] = answer.causes or [self._unknown(task.spec, answer.why)]

    def _unknown(self, spec: str, why: str) -> tuple[Cause, Result]:
        """The result for sets that do not pass when no cause was found."""
        name = sweep_name(self.entry.name)
        states = self._progress[spec].states[wrong(self._progress[spec].states)]
        verdict, detail = VERDICTS[State(int(states[0]))], f"{len(states):,} parameter sets; not looked into: {why}"
        result = Result(spec, AREA, name, True, verdict, examples=0, unsupported=0, seconds=0.0, detail=detail)
        return Cause(name, detail, len(states), verdict, ""), result

    def finish(self, why: str) -> Iterator[Result]:
        """The results: one for the universe, and one more for each further cause; `why` some sets were not judged."""
        for driver in self._drivers:
            yield from self._results(driver, self._progress[driver.spec], why)

    def _results(self, driver: OpenDriver, progress: Progress, why: str) -> Iterator[Result]:
        counts = +progress.counts
        not_run = {}
        if State.NOT_RUN in counts:
            not_run[progress.details[State.NOT_RUN]] = counts[State.NOT_RUN]
        if State.PENDING in counts:
            not_run[why] = counts[State.PENDING]
        causes = self._causes.get(driver.spec) or ([self._unknown(driver.spec, why)] if progress.differs else [])
        swept = UniverseSwept(
            driver.spec,
            self.entry.name,
            self.universe.size,
            self.chosen.count,
            counts.get(State.PASS, 0),
            dict(progress.excluded.most_common()),
            counts.get(State.UNSUPPORTED, 0),
            not_run,
            tuple(cause for cause, _ in causes),
            round(progress.seconds, 6),
        )
        self._emit(swept)
        judged = sum(n for state, n in counts.items() if state in VERDICTS)
        passing = Verdict.PASS if judged else Verdict.UNSUPPORTED if swept.unsupported else Verdict.NOT_RUN
        unsupported = progress.details.get(State.UNSUPPORTED, "")
        whole = Result(
            driver.spec,
            AREA,
            sweep_name(self.entry.name),
            True,
            passing,
            judged,
            swept.unsupported,
            swept.seconds,
            unsupported if passing is Verdict.UNSUPPORTED else "; ".join(not_run) if not judged else "",
            not_run=not_run,
            lacks={unsupported: swept.unsupported} if unsupported else {},
            verdicts={VERDICTS[state].value: n for state, n in counts.items() if state in VERDICTS},
        )
        if not causes:
            yield whole
        for place, (_, failed) in enumerate(causes):
            if place:
                yield failed
            else:
                yield msgspec.structs.replace(
                    failed,
                    examples=whole.examples,
                    unsupported=whole.unsupported,
                    seconds=whole.seconds,
                    not_run=whole.not_run,
                    lacks=whole.lacks,
                    verdicts=whole.verdicts,
                )


def packed(states: States) -> str:
    """The states of sets as a text."""
    return base64.b64encode(zlib.compress(states.tobytes())).decode()


def unpacked(text: str, count: int) -> States:
    """The states of a text."""
    if text == UNSUPPORTED:
        return np.full(count, State.UNSUPPORTED, np.uint8)
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), np.uint8)


def _counted(states: States) -> dict[State, int]:
    """How many sets have each state."""
    return {State(state): int(n) for state, n in enumerate(np.bincount(states)) if n}
