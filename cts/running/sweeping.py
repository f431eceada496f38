"""Universes on drivers: the sets to judge, their results, and what failing sets have in common."""

from __future__ import annotations

import base64
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, zip_longest

import msgspec
import numpy as np

from cts.base.deadline import Deadline
from cts.case.model.sweep import AREA, sweep_name
from cts.judging.events import Cause, Emit, Result, SetsJudged, UniverseSwept
from cts.judging.judge import OpenDriver
from cts.judging.verdict import Verdict
from cts.running.profiles import Profile
from cts.running.sweeps.judging import Judged
from cts.running.sweeps.selection import Chosen, SweepEntry, opened
from cts.running.sweeps.states import VERDICTS, State, States, wrong
from cts.running.tasks import Answer, FindCauses, Sets

#: Sets of one task: the most that an interruption loses, and the batch that a process gets. A process compiles the
#: template of each of its sets, so that few processes should share a template.
TASK_SETS = 65_536


def chosen_sets(entry: SweepEntry, profile: Profile) -> Chosen:
    """The sets of a universe that a run of this profile has."""
    assert profile.seed is not None, "profile() settles the seed"
    shard = profile.shard.index - 1, profile.shard.count
    return Chosen(opened(entry.path).size, entry.max_sets, profile.seed, shard)


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
        self._progress = {spec: Judged(np.zeros(self.chosen.count, np.uint8)) for spec in self.specs}

    def resume(self, events: Iterable[SetsJudged]) -> None:
        """Take over sets that an interrupted run has judged."""
        for event in events:
            if event.universe == self.entry.name and event.driver in self._progress:
                details = {State[name]: text for name, text in event.details.items()}
                before = Judged(unpacked(event.states), Counter(event.excluded), details, event.seconds)
                self._progress[event.driver].merge_at(event.start, before)
                self._emit(event)

    def tasks(self) -> Iterator[Sets]:
        """The sets to judge, a batch at a time, while there is time."""
        for start, stop in pairwise(self._ends()):
            pending = tuple(s for s in self.specs if not self._progress[s].states[start:stop].all())
            if self._time_is_up():
                return
            if pending:
                yield Sets(self.entry, self.chosen, start, stop, pending)

    def _ends(self) -> Iterator[int]:
        """The boundaries of tasks: those of the universe's parts, or within a part that is too large for a task."""
        parts = len(self.universe.parts)
        ends = [self.chosen.place_of(part * self.universe.part_size) for part in range(1, parts)] + [self.chosen.count]
        at = 0
        yield at
        for end, after in zip_longest(ends, ends[1:]):
            if after is not None and after - at <= TASK_SETS:
                continue  # small parts share a task
            pieces = -(-(end - at) // TASK_SETS)
            yield from (at + (end - at) * piece // pieces for piece in range(1, pieces + 1))
            at = end

    @property
    def differs(self) -> bool:
        """Whether some set does not pass on some driver."""
        return any(wrong(progress.states).any() for progress in self._progress.values())

    def take(self, task: Sets, answer: Answer) -> None:
        """Keep the results of sets, and emit them."""
        for event in answer.events:
            self._emit(event)
        for spec, judged in answer.sets.items():
            self._progress[spec].merge_at(task.start, judged)
            self._emit(
                SetsJudged(
                    spec,
                    self.entry.name,
                    task.start,
                    task.stop - task.start,
                    packed(judged.states),
                    dict(judged.excluded),
                    {state.name: text for state, text in judged.details.items()},
                    round(judged.seconds, 6),
                )
            )

    @property
    def has_causes(self) -> bool:
        """Whether causes of wrong sets have been searched."""
        return bool(self._causes)

    def cause_tasks(self) -> Iterator[FindCauses]:
        """Tasks that find what failing sets have in common, one for each driver on which sets fail."""
        for spec in self.specs:
            if wrong(self._progress[spec].states).any():
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

    def _results(self, driver: OpenDriver, progress: Judged, why: str) -> Iterator[Result]:
        states = progress.states
        counts = {State(s): int(n) for s, n in zip(*np.unique(states, return_counts=True), strict=True)}
        not_run = {}
        if State.NOT_RUN in counts:
            not_run[progress.details[State.NOT_RUN]] = counts[State.NOT_RUN]
        if State.PENDING in counts:
            not_run[why] = counts[State.PENDING]
        causes = self._causes.get(driver.spec) or ([self._unknown(driver.spec, why)] if wrong(states).any() else [])
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


def unpacked(text: str) -> States:
    """The states of a text."""
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), np.uint8)
