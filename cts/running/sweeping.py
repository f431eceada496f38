"""Universes on drivers: which sets are to be judged, what became of them, and what the failing ones have in common."""

from __future__ import annotations

import base64
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import msgspec
import numpy as np

from cts.judging.batch import judge_all
from cts.judging.events import Cause, Emit, Progress, Result, SetsJudged, Shrinking, UniverseSwept
from cts.judging.finding import finding
from cts.judging.judge import OpenDriver
from cts.judging.reruns import rerun_findings
from cts.known.quarantine import Rule
from cts.model import Case
from cts.oracle.expectation import Oracle
from cts.running.deadline import Deadline
from cts.running.profiles import Profile
from cts.running.shrinking import Failing, Shrinker
from cts.running.tasks import Answer, Sets
from cts.sweeps.contents import Numbers
from cts.sweeps.judging import VERDICTS, State, States
from cts.sweeps.regions import Column, Region, regions
from cts.sweeps.selection import Chosen, SweepEntry, opened
from cts.sweeps.universe import Universe
from cts.verdict import Verdict

#: Sets of one task: what is lost, at most, when a run is interrupted, and what a process gets at a time.
TASK_SETS = 32_768

#: How many sets of a region are tried alone, the smallest first, to find one that fails there, too.
TRIED = 8

AREA = "sweep"


@dataclass(eq=False)
class _Progress:
    """What became of the chosen sets on one driver."""

    states: States
    excluded: Counter[str] = field(default_factory=Counter)
    details: dict[State, str] = field(default_factory=dict)
    seconds: float = 0.0


def chosen_sets(entry: SweepEntry, profile: Profile) -> Chosen:
    """The sets of a universe that a run of this profile has."""
    assert profile.seed is not None, "profile() settles the seed"
    shard = profile.shard.index - 1, profile.shard.count
    return Chosen(opened(entry.path).size, entry.max_sets, profile.seed, shard)


class SweepRun:
    """One universe on drivers that have no result of it yet."""

    def __init__(
        self,
        entry: SweepEntry,
        drivers: Sequence[OpenDriver],
        oracle: Oracle,
        profile: Profile,
        emit: Emit,
        reruns: int,
        time_is_up: Deadline,
    ) -> None:
        self.entry = entry
        self.universe = opened(entry.path)
        self.chosen = chosen_sets(entry, profile)
        self.specs = tuple(d.spec for d in drivers)
        self._drivers = drivers
        self._oracle = oracle
        self._profile = profile
        self._emit = emit
        self._reruns = reruns
        self._time_is_up = time_is_up
        self._progress = {spec: _Progress(np.zeros(self.chosen.count, np.uint8)) for spec in self.specs}

    def resume(self, events: Iterable[SetsJudged]) -> None:
        """What an interrupted run has judged already."""
        for event in events:
            if event.universe == self.entry.name and event.driver in self._progress:
                progress = self._progress[event.driver]
                progress.states[event.start : event.start + event.count] = _unpacked(event.states)
                progress.excluded.update(event.excluded)
                progress.details = {State[n]: text for n, text in event.details.items()} | progress.details
                progress.seconds += event.seconds
                self._emit(Progress(event.driver, f"{AREA}.{self.entry.name}", event.count))

    def tasks(self) -> Iterator[Sets]:
        """The sets to judge, so many at a time, as long as there is time."""
        for start in range(0, self.chosen.count, TASK_SETS):
            stop = min(start + TASK_SETS, self.chosen.count)
            pending = tuple(s for s in self.specs if not self._progress[s].states[start:stop].all())
            if self._time_is_up():
                return
            if pending:
                yield Sets(self.entry, self.chosen, start, stop, pending)

    def take(self, task: Sets, answer: Answer) -> None:
        """Keep what became of sets, and tell of it."""
        for event in answer.events:
            self._emit(event)
        for spec, judged in answer.sets.items():
            progress = self._progress[spec]
            progress.states[task.start : task.stop] = judged.states
            progress.excluded.update(judged.excluded)
            progress.details = judged.details | progress.details
            progress.seconds += judged.seconds
            self._emit(
                SetsJudged(
                    spec,
                    self.entry.name,
                    task.start,
                    task.stop - task.start,
                    _packed(judged.states),
                    dict(judged.excluded),
                    {state.name: text for state, text in judged.details.items()},
                    round(judged.seconds, 6),
                )
            )
            self._emit(Progress(spec, f"{AREA}.{self.entry.name}", task.stop - task.start))

    def finish(self, why: str) -> Iterator[Result]:
        """The results: one for the universe, and one more for each further cause; `why` some sets were not judged."""
        for driver in self._drivers:
            yield from self._results(driver, self._progress[driver.spec], why)

    def _results(self, driver: OpenDriver, progress: _Progress, why: str) -> Iterator[Result]:
        states = progress.states
        counts = {State(s): int(n) for s, n in zip(*np.unique(states, return_counts=True), strict=True)}
        not_run = {}
        if State.NOT_RUN in counts:
            not_run[progress.details[State.NOT_RUN]] = counts[State.NOT_RUN]
        if State.PENDING in counts:
            not_run[why] = counts[State.PENDING]
        causes = list(self._causes(driver, progress))
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
            f"{AREA}.{self.entry.name}",
            True,
            passing,
            judged,
            swept.unsupported,
            swept.seconds,
            unsupported if passing is Verdict.UNSUPPORTED else "; ".join(not_run) if not judged else "",
            not_run=not_run,
            lacks={unsupported: swept.unsupported} if unsupported else {},
        )
        if not causes:
            yield whole
        for place, (cause, failed) in enumerate(causes):
            counted = whole if place == 0 else _uncounted(whole)
            yield msgspec.structs.replace(
                counted,
                name=cause.name,
                verdict=cause.verdict,
                detail=failed.detail,
                finding=failed.finding,
                runs=failed.runs,
                known=cause.known,
            )

    def _causes(self, driver: OpenDriver, progress: _Progress) -> Iterator[tuple[Cause, Result]]:
        """The regions of the sets that do not pass, each with the result of its smallest case."""
        judged = np.flatnonzero(np.isin(progress.states, [int(s) for s in VERDICTS]))
        if (progress.states[judged] == State.PASS).all():
            return
        numbers = self._numbers(judged)
        columns, labels = values_of(self.universe, numbers)
        number = 0
        for state, verdict in VERDICTS.items():
            fails = progress.states[judged] == state
            if verdict is Verdict.PASS or not fails.any():
                continue
            for region in regions(columns, labels, fails):
                number += 1
                name = f"{AREA}.{self.entry.name}" + (f".{number}" if number > 1 else "")
                self._emit(Shrinking(driver.spec, f"{AREA}.{self.entry.name}"))
                yield self._cause(driver, name, region, verdict, numbers, columns, labels)

    def _cause(
        self,
        driver: OpenDriver,
        name: str,
        region: Region,
        verdict: Verdict,
        numbers: Numbers,
        columns: dict[str, Column],
        labels: dict[str, tuple[str, ...]],
    ) -> tuple[Cause, Result]:
        """A region with its smallest set that fails alone as well."""
        size = sum(np.abs(columns[name]) for name in columns)[region.sets]  # type: ignore[index]
        order = region.sets[np.argsort(size, kind="stable")]
        failing, place = None, int(order[0])
        for candidate in order[:TRIED].tolist():
            failing = self._failing(driver, self._case(int(numbers[candidate]), "dynamic"))
            if failing.attempt.verdict is not Verdict.PASS:
                place = candidate
                break
        assert failing is not None
        values = ", ".join(
            f"{axis} {labels[axis][column[place]] if axis in labels else column[place]}"
            for axis, column in columns.items()
        )
        sets = f"{len(region.sets):,} parameter sets: {region.text}"
        if failing.attempt.verdict is Verdict.PASS:
            detail = f"{sets}; {verdict.value} among others in a dispatch, pass alone"
            failing = replace(failing, attempt=replace(failing.attempt, verdict=Verdict.FLAKY, detail=detail))
            result = self._result(driver, failing, detail)
            return Cause(name, region.text, len(region.sets), Verdict.FLAKY, values), result
        constness = {
            kind: self._failing(driver, self._case(int(numbers[place]), kind)).attempt.verdict.value
            for kind in ("literal", "spec")
        }
        known = driver.baseline.known(failing.case, failing.attempt.verdict)
        if known is None:
            shrinker = Shrinker(None, driver, self._oracle, self._profile, self._emit)
            failing = shrinker.reduced(failing)
            known = driver.baseline.known(failing.case, failing.attempt.verdict)
        also = "; ".join(f"with {_KINDS[kind]} {seen}" for kind, seen in constness.items())
        detail = "; ".join(filter(None, [sets, f"the smallest: {values}", also, failing.attempt.detail]))
        result = self._result(driver, failing, detail)
        return Cause(name, region.text, len(region.sets), result.verdict, values, constness, _text(known)), result

    def _result(self, driver: OpenDriver, failing: Failing, detail: str) -> Result:
        """What is shown of a case."""
        attempt = rerun_findings(driver, failing.case, failing.expectation, failing.attempt, self._reruns)
        shown = finding(failing.case, attempt, failing.expectation, self._oracle)
        name = f"{AREA}.{self.entry.name}.{failing.case.content_hash}"
        case = msgspec.structs.replace(failing.case, name=name)
        shown = msgspec.structs.replace(shown, case=case, reduction=failing.reduction)
        runs = {v.value: n for v, n in attempt.runs.items()}
        return Result(driver.spec, AREA, "", True, attempt.verdict, 0, 0, 0.0, detail, shown, runs=runs)

    def _failing(self, driver: OpenDriver, case: Case) -> Failing:
        (judged,) = judge_all([case], [driver], self._oracle.expect)
        return Failing(case, judged.attempts[0], judged.expectation)

    def _case(self, number: int, constness: Literal["dynamic", "literal", "spec"]) -> Case:
        ((part, numbers),) = self.universe.by_part(np.array([number]))
        return part.sweep(numbers).case(0, constness)

    def _numbers(self, places: Numbers) -> Numbers:
        return self.chosen.numbers(0, self.chosen.count)[places]


_KINDS = {"literal": "literal operands", "spec": "operands that are specialization constants"}


def _uncounted(result: Result) -> Result:
    """The same without what is counted once for a universe."""
    return msgspec.structs.replace(result, examples=0, unsupported=0, seconds=0.0, not_run={}, lacks={})


def values_of(universe: Universe, numbers: Numbers) -> tuple[dict[str, Column], dict[str, tuple[str, ...]]]:
    """The value of every axis for sets of these ascending numbers; texts of axes that are not numbers."""
    columns: dict[str, list[Column]] = {}
    labels: dict[str, tuple[str, ...]] = {}
    for axis in universe.parts[0].fixed:
        texts = dict.fromkeys(str(part.fixed[axis]) for part in universe.parts)
        labels[axis] = tuple(texts)
    for part, within in universe.by_part(numbers):
        values = part.values(within)
        for axis, texts in labels.items():
            values[axis] = np.full(len(within), texts.index(str(part.fixed[axis])), np.int64)
        for axis, column in values.items():
            columns.setdefault(axis, []).append(column)
    return {axis: np.concatenate(parts) for axis, parts in columns.items()}, labels


def _packed(states: States) -> str:
    return base64.b64encode(zlib.compress(states.tobytes())).decode()


def _unpacked(text: str) -> States:
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), np.uint8)


def _text(rule: Rule | None) -> str:
    return rule.text if rule is not None else ""
