"""Generated cases on drivers, driven by Hypothesis: find a failing case, shrink it, keep the shrunk one.

Drivers of equal capabilities see the same examples, generated and judged by the oracle once; each
driver's finding is then shrunk separately. An example that cannot be judged is a fault of the suite, not of a
driver: the next one follows, and of faults of one kind the first is shrunk.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from cts.errors import BadInput
from cts.judging.batch import OnJudged, block_size, judge_all
from cts.judging.events import Emit, Progress, Shrinking, ignore
from cts.judging.judge import Attempt, OpenDriver, excluded_from_shrinking, judged_event
from cts.judging.reduction_record import Reduction, Stopped
from cts.model import Case
from cts.oracle.expectation import Expectation, Oracle
from cts.reduction.minimize import Budget, minimize
from cts.running.deadline import NO_DEADLINE, Deadline
from cts.running.drawing import Example, Fault, Faults, Faulty, Flaky, Stop, Undrawn, checked_expectation, for_each
from cts.running.profiles import Profile
from cts.running.shard import Shard
from cts.verdict import Verdict

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


@dataclass(eq=False)
class Exploration:
    """What became of an area: by driver spec, and what is wrong with its examples, by kind."""

    results: dict[str, Explored]
    faults: dict[str, Faulty]


@dataclass(eq=False)
class Explored:
    """What became of one area on one driver.

    `examples` counts cases judged until the end or the first finding, without those of shrinking.
    `case` is the shrunk case where the verdict is a finding or ERROR; what a quarantine leaves for last,
    or what the run dies with, is not shrunk. `reduction` says how the case became smaller after Hypothesis
    had shrunk its draws. `not_run` counts what was left out, by reason, and `known` the failures that a
    baseline lists by a condition, which end nothing.
    """

    attempt: Attempt = field(default_factory=lambda: Attempt(Verdict.PASS))
    case: Case | None = None
    expectation: Expectation | None = None
    reduction: Reduction | None = None
    examples: int = 0
    unsupported: int = 0
    lacks: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    not_run: Counter[str] = field(default_factory=Counter)
    known: Counter[str] = field(default_factory=Counter)


def explore(
    strategy: SearchStrategy[Case],
    drivers: Sequence[OpenDriver],
    oracle: Oracle,
    profile: Profile,
    emit: Emit = ignore,
    area: str = "",
    known: Set[str] = frozenset(),
    time_is_up: Deadline = NO_DEADLINE,
) -> Exploration:
    """Run the cases of the profile's shard, of `profile.max_examples` of the strategy, on each driver.

    Drivers that can take many cases at once get blocks of them, so that cases after a finding may have run, too.
    `emit` is told of every example that has run, as soon as it is judged, of progress, and of shrinking, in events of
    this `area`. A fault whose kind is in `known` already is counted, not shrunk. No example is begun once `time_is_up`
    says why; what was found is still made smaller.
    """
    survey = _Survey(drivers, oracle, emit, area, profile.shard, time_is_up)
    faults, ended = survey.faults, ""
    try:
        for_each(strategy, profile, survey.add)
    except Fault as fault:
        faults.add(fault, None, survey.drawn + 1)
        ended = "the generator fails"
    survey.flush()
    survey.quarantined()
    ended = ended or survey.late
    if faults.too_many and survey.drawn < profile.max_examples:
        ended = f"{faults.total} of the first {survey.drawn} examples are faults of the generator"
    if set(faults.by_kind) - known:
        emit(Shrinking("", area))
        faults.shrink(strategy, profile, survey.expect, known)
    for driver in drivers:
        explored = survey.results[driver.spec]
        if ended and driver in survey.alive:
            explored.not_run[ended] += profile.max_examples - survey.drawn
        if explored.case is not None and not excluded_from_shrinking(driver, explored.case):
            emit(Shrinking(driver.spec, area))
            _shrink(strategy, driver, oracle, profile, explored, survey.passed[driver.spec], emit)
        if explored.attempt.verdict is Verdict.PASS and not explored.examples:
            explored.attempt = _nothing_ran(explored, faults, survey.of_other_shards)
    return Exploration(survey.results, faults.by_kind)


class _Survey:
    """The examples of an area on several drivers, each until its first finding."""

    def __init__(
        self,
        drivers: Sequence[OpenDriver],
        oracle: Oracle,
        emit: Emit,
        area: str,
        shard: Shard,
        time_is_up: Deadline,
    ) -> None:
        self.results = {d.spec: Explored() for d in drivers}
        self.faults = Faults()
        self.alive = list(drivers)
        self.passed: dict[str, set[str]] = {d.spec: set() for d in drivers}
        self.drawn = 0
        self.of_other_shards = 0
        #: Why no more examples are begun, where that is for lack of time.
        self.late = ""
        self._shard = shard
        self._time_is_up = time_is_up
        self._oracle = oracle
        self._emit = emit
        self._area = area
        # An event takes the content hash of its case, which takes time.
        self._on_judged: OnJudged = ignore if emit is ignore else self._judged
        self._size = block_size(drivers)
        self._block: list[tuple[int, Case]] = []
        self._kept: list[tuple[int, Case]] = []

    def add(self, example: Example) -> None:
        """Take one example. Raises Stop when no driver is left, the time is up, or the generator fails too often."""
        self.late = self._time_is_up()
        if not self.alive or self.faults.too_many or self.late:
            raise Stop
        self.drawn += 1
        if isinstance(example, Undrawn):
            self.faults.add(example.fault, None, self.drawn)
        elif not self._shard.has(example):
            self.of_other_shards += 1
            for driver in self.alive:
                self._emit(Progress(driver.spec, self._area, 1))
        elif any(d.quarantine.last(example) for d in self.alive):
            self._kept.append((self.drawn, example))
        else:
            self._block.append((self.drawn, example))
            if len(self._block) == self._size:
                self.flush()
        if not self.alive or self.faults.too_many:
            raise Stop

    def expect(self, case: Case) -> Expectation:
        """What a case leaves in memory. Raises Fault where it is no case to judge."""
        return checked_expectation(case, self._oracle)

    def quarantined(self) -> None:
        """Run what a quarantine leaves for last, one by one."""
        for numbered in self._kept:
            self._block.append(numbered)
            self.flush()

    def flush(self) -> None:
        """Run the examples taken."""
        block, self._block = self._block, []
        drivers = list(self.alive)
        faults: dict[int, Fault] = {}

        def expect(case: Case) -> Expectation:
            try:
                return self.expect(case)
            except Fault as fault:
                faults[id(case)] = fault
                raise

        together = judge_all([case for _, case in block], drivers, expect, self._on_judged)
        for (number, case), judged in zip(block, together, strict=True):
            fault = faults.get(id(case))
            if fault is not None:
                self.faults.add(fault, case, number)
            for driver, attempt in zip(drivers, judged.attempts, strict=True):
                # A fault of ours is no driver's error.
                if driver in self.alive and (fault is None or attempt.verdict is not Verdict.ERROR):
                    self._count(driver, case, attempt, judged.expectation)

    def _judged(self, driver: OpenDriver, case: Case, attempt: Attempt) -> None:
        self._emit(judged_event(driver, self._area, case, attempt, keep=True))

    def _count(self, driver: OpenDriver, case: Case, attempt: Attempt, expectation: Expectation | None) -> None:
        explored = self.results[driver.spec]
        explored.seconds += attempt.seconds
        self._emit(Progress(driver.spec, self._area, 1))
        if attempt.verdict is Verdict.UNSUPPORTED:
            explored.unsupported += 1
            explored.lacks.update(attempt.lacks)
        elif attempt.verdict is Verdict.NOT_RUN:
            explored.not_run[attempt.detail] += 1
        else:
            explored.examples += 1
            if attempt.verdict is Verdict.PASS:
                self.passed[driver.spec].add(case.content_hash)
            elif (rule := driver.baseline.known_by_condition(case, attempt.verdict)) is not None:
                explored.known[rule.text] += 1
            else:
                explored.attempt, explored.case, explored.expectation = attempt, case, expectation
                self.alive.remove(driver)


def _nothing_ran(explored: Explored, faults: Faults, of_other_shards: int) -> Attempt:
    if faults.total:
        return Attempt(Verdict.NOT_RUN, "the generator has faults, and no case for this driver beside them")
    if explored.not_run:
        return Attempt(Verdict.NOT_RUN, "; ".join(explored.not_run))
    if explored.unsupported:
        return Attempt(Verdict.UNSUPPORTED, f"the driver supports none of {explored.unsupported} generated cases")
    if of_other_shards:
        return Attempt(Verdict.NOT_RUN, f"all {of_other_shards} generated cases are of other shards")
    return Attempt(Verdict.ERROR, "the area generated no case for this driver")


def _attempt(case: Case, driver: OpenDriver, oracle: Oracle) -> tuple[Attempt, Expectation | None]:
    """One case on one driver, unless shrinking avoids it."""
    if excluded_from_shrinking(driver, case):
        return Attempt(Verdict.NOT_RUN, "left for last by the quarantine, or the run dies with it"), None
    (judged,) = judge_all([case], [driver], lambda case: checked_expectation(case, oracle))
    attempt = judged.attempts[0]
    if attempt.verdict is Verdict.ERROR and judged.expectation is None:
        return Attempt(Verdict.NOT_RUN, attempt.detail), None  # a fault of ours
    return attempt, judged.expectation


def _shrink(
    strategy: SearchStrategy[Case],
    driver: OpenDriver,
    oracle: Oracle,
    profile: Profile,
    explored: Explored,
    passed: Set[str],
    emit: Emit,
) -> None:
    """Repeat the examples and let Hypothesis shrink the failing one; those that have passed are generated but not run.

    What is left is minimised, within the profile's `reductions`. Both keep to the verdict that shrinking began with, so
    that it never slips from a driver's failure into an error of ours.
    """
    original, verdict = explored.case, explored.attempt.verdict
    assert original is not None
    reproduced = False

    def fails(case: Case) -> bool:
        nonlocal reproduced
        attempt, expectation = _attempt(case, driver, oracle)
        if attempt.verdict is not verdict or driver.baseline.known_by_condition(case, verdict) is not None:
            return False
        reproduced = True
        explored.attempt, explored.case, explored.expectation = attempt, case, expectation
        return True

    def test(example: Example) -> None:
        if isinstance(example, Undrawn) or example.content_hash in passed:
            return
        # Smaller examples than the first one that fails are of any shard.
        if (reproduced or profile.shard.has(example)) and fails(example):
            raise Stop

    try:
        # Where generation fails, that has been told; the finding stays as it is.
        with suppress(Fault):
            for_each(strategy, profile, test, shrink=True)
    except Flaky:
        detail = f"{verdict.value} at first, not when the same case was run again"
        explored.attempt = replace(explored.attempt, verdict=Verdict.FLAKY, detail=detail)
        return
    if not reproduced:
        attempt, _ = _attempt(original, driver, oracle)
        if attempt.verdict is not verdict:
            _flaky(explored, verdict, attempt.verdict)
            return
    if verdict is not Verdict.ERROR:
        _minimize(driver, oracle, profile, explored, emit)


def _minimize(driver: OpenDriver, oracle: Oracle, profile: Profile, explored: Explored, emit: Emit) -> None:
    """Make the case of a finding smaller, away from what is known or left for last. Raises KeyboardInterrupt."""
    case, verdict = explored.case, explored.attempt.verdict
    assert case is not None

    def wanted(case: Case) -> bool:
        return not excluded_from_shrinking(driver, case) and driver.baseline.known_by_condition(case, verdict) is None

    try:
        minimized = minimize(case, driver, oracle, Budget(runs=profile.reductions), emit, wanted)
    except BadInput as e:
        explored.attempt = replace(explored.attempt, verdict=Verdict.FLAKY, detail=e.what)
        return
    if minimized.reduction.stopped is Stopped.INTERRUPTED:
        raise KeyboardInterrupt
    if minimized.verdict is not verdict:
        _flaky(explored, verdict, minimized.verdict)
        return
    explored.reduction = minimized.reduction
    if minimized.reduction.steps:
        explored.attempt, explored.case, explored.expectation = (
            minimized.attempt,
            minimized.case,
            oracle.expect(minimized.case),
        )


def _flaky(explored: Explored, first: Verdict, again: Verdict) -> None:
    detail = f"{first.value} at first, {again.value} when the same case was run again"
    explored.attempt = replace(explored.attempt, verdict=Verdict.FLAKY, detail=detail)
