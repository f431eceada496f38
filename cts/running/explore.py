"""Generated cases on drivers: draw examples, judge them, count the results, and reduce failing cases.

Drivers of equal capabilities see the same examples, generated and judged by the oracle once. An example that cannot
be judged is a fault of the suite, not of a driver: the next one follows.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import replace

import msgspec
import numpy as np

from cts.base.choices import Source
from cts.base.deadline import NO_DEADLINE, TIME_IS_UP, Deadline
from cts.case.model import Case, dumps_case
from cts.case.model.sweep import Bytes
from cts.case.oracle.expectation import Expectation, Oracle
from cts.device.driver import Outcome, Status
from cts.findings.reduction.narrowing import narrowed
from cts.judging.batch import block_size, judge_all
from cts.judging.cause import suspected
from cts.judging.compare import compare
from cts.judging.effects import known
from cts.judging.events import Emit, ExamplesJudged, Kept, Shrinking, ignore
from cts.judging.finding import LISTED, finding
from cts.judging.judge import Attempt, OpenDriver, excluded_from_shrinking, judged_event
from cts.judging.known.baseline import generated_name
from cts.judging.reruns import RERUNS, rerun_findings
from cts.judging.verdict import Verdict
from cts.running.compiling import size_of
from cts.running.counts import Counts
from cts.running.deadline import patience
from cts.running.drawing import Draws, Fault, Undrawn, checked_expectation
from cts.running.operand_sets import Given, judge_given, parameter_sets
from cts.running.policy import FIRST_FINDING, WATCH, Policy
from cts.running.profiles import Profile
from cts.running.shrinking import NotReduced, Shrinker
from cts.running.survey import ReportedFinding
from cts.running.sweeps.states import have_verdict, wrong

#: Wrong elements that are listed of a case in a run that goes on after findings.
FEW_LISTED = 8

#: Of the other parameter sets of a case that do not pass, how many are judged again, as cases.
WRONG_SETS = 3

_PROCESS = f"{platform.node()} {os.getpid()}"


class Explorer:
    """Judges the examples of an area on drivers in one process, each case once.

    Known failures of the drivers in `among` (default: `drivers`) are drawn less often.
    """

    def __init__(
        self,
        source: Source[Case],
        drivers: Sequence[OpenDriver],
        oracle: Oracle,
        profile: Profile,
        policy: Policy = FIRST_FINDING,
        emit: Emit = ignore,
        area: str = "",
        reruns: int = RERUNS,
        time_is_up: Deadline = NO_DEADLINE,
        among: Sequence[OpenDriver] | None = None,
    ) -> None:
        self._time_is_up = time_is_up
        self._draws = Draws(source, profile.seed, avoided(drivers if among is None else among, profile))
        self._drivers = list(drivers)
        self._oracle = oracle
        self._profile = profile
        self._policy = policy
        self._emit = emit
        self._area = area
        self._reruns = reruns
        self._hashes: set[str] = set()
        self._slow: Set[str] = frozenset()
        self._rare: Mapping[str, int] = {}
        #: The parameter sets of the example that they were drawn for last.
        self._given: tuple[int, Given | None] | None = None

    def judge(
        self,
        numbers: Sequence[int],
        specs: Iterable[str],
        slow: Set[str] = frozenset(),
        rare: Mapping[str, int] | None = None,
        *,
        last: bool = False,
    ) -> list[ExamplesJudged]:
        """The results of the examples of these numbers, in order, on the drivers of these specs.

        Of cases of `rare` sizes one in so many runs, and the others are passed over.

        Cases that a quarantine leaves for last run only if asked for, and so do cases of `slow` sizes and those on
        which a driver works for longer than its patience. If a driver ends with its first finding, later examples are
        not counted; nor are examples that were not started for lack of time.
        """
        wanted, self._slow, self._rare = set(specs), slow, rare or {}
        counts = [Counts(d, self._area, numbers[0], last=last) for d in self._drivers if d.spec in wanted]
        restarts = [count.driver.restarts for count in counts]
        if self._policy.keep:
            self._hashes.clear()  # answers must not depend on earlier tasks of the process
        size = block_size([count.driver for count in counts])
        for start in range(0, len(numbers), size):
            going = [count for count in counts if not count.ended]
            if not going:
                break
            self._block(numbers[start : start + size], going, last=last)
        since = [count.driver.restarts - before for count, before in zip(counts, restarts, strict=True)]
        return [count.event(_PROCESS, more) for count, more in zip(counts, since, strict=True)]

    def _block(self, numbers: Sequence[int], going: Sequence[Counts], *, last: bool) -> None:
        """Run examples together and count their results."""
        first, drivers = going[0], [counted.driver for counted in going]
        drawn = [(number, self._drawn(number, first, drivers, last=last)) for number in numbers]
        faults: dict[int, Fault] = {}

        def expect(case: Case) -> Expectation:
            start = time.perf_counter()
            try:
                return checked_expectation(case, self._oracle)
            except Fault as fault:
                faults[id(case)] = fault
                raise
            finally:
                first.seconds["oracle"] += time.perf_counter() - start

        cases = [counted for _, counted in drawn if isinstance(counted, Case)]
        hasty = [replace(driver, patience=patience(self._time_is_up, last=last)) for driver in drivers]
        judged = iter(judge_all(cases, hasty, expect, self._judged, self._time_is_up))
        for number, counted in drawn:
            together = next(judged) if isinstance(counted, Case) else None
            for place, counts in enumerate(going):
                if counts.ended:
                    continue
                counts.covered, counts.drawn = number, counts.drawn + 1
                if together is None or isinstance(counted, str):
                    counts.omit(number, counted)
                elif (fault := faults.get(id(together.case))) is not None:
                    counts.fault(number, fault, together.case)
                else:
                    self._count(counts, number, together.case, together.attempts[place], together.expectation)

    def _drawn(self, number: int, first: Counts, drivers: Sequence[OpenDriver], *, last: bool) -> Case | Fault | str:
        """The case of a number, or the fault or the reason why it is not judged."""
        start = time.perf_counter()
        drawn = self._draws.example(number)
        first.seconds["draw"] += time.perf_counter() - start
        if isinstance(drawn, Undrawn):
            return drawn.fault
        if not self._profile.shard.has(drawn) or size_of(drawn).product > self._profile.largest:
            return Counts.ELSEWHERE
        if last:
            return drawn
        if drawn.content_hash in self._hashes:
            return Counts.REPEATED
        self._hashes.add(drawn.content_hash)
        if any(d.quarantine.last(drawn) for d in drivers):
            return Counts.FOR_LAST
        if not self._slow and not self._rare:
            return drawn
        size = str(size_of(drawn))
        if number % self._rare.get(size, 1):
            return Counts.ELSEWHERE
        # Some are tried all the same: others of their size may be fast.
        return Counts.SLOW if number % WATCH and size in self._slow else drawn

    def _judged(self, driver: OpenDriver, case: Case, attempt: Attempt) -> None:
        self._emit(judged_event(driver, self._area, case, attempt))

    def _count(
        self, counts: Counts, number: int, case: Case, attempt: Attempt, expectation: Expectation | None
    ) -> None:
        """Count a case that was judged, and other parameter sets of one that passes."""
        if attempt.verdict is Verdict.NOT_RUN and attempt.detail.startswith(TIME_IS_UP):
            counts.cut(number)
            return
        if attempt.set_aside:
            counts.set_aside(number, case, attempt.seconds)
            return
        counts.took(case, attempt.seconds)
        if attempt.verdict is Verdict.UNSUPPORTED:
            counts.unsupported += 1
            counts.lacks.update(attempt.lacks)
        elif attempt.verdict is Verdict.NOT_RUN:
            counts.not_run[attempt.detail] += 1
            counts.match(case, attempt)
        else:
            timed = attempt.outcome is not None and bool(attempt.outcome.seconds)
            counts.ran(case, attempt.seconds, timed=timed)
            if attempt.outcome is not None:
                counts.measure(number, attempt.outcome.statistics)
            if attempt.verdict is Verdict.PASS:
                if self._profile.sets and not self._time_is_up():
                    attempt = self._on_sets(counts, number, case, attempt)
            else:
                attempt = self._failed(counts, number, case, attempt, expectation)
            counts.came_to(case, attempt.verdict)
            counts.match(case, attempt)

    def _failed(
        self, counts: Counts, number: int, case: Case, attempt: Attempt, expectation: Expectation | None
    ) -> Attempt:
        """Count a case that did not pass: as known, or by its suspected cause. The first cases of a cause are kept."""
        driver, going_on = counts.driver, self._policy.keep > 0
        shrink = not excluded_from_shrinking(driver, case)
        case = msgspec.structs.replace(case, name=generated_name(self._area, case))
        rule = known(driver, case, attempt)
        if rule is None:
            driver, attempt = narrowed(driver, case, attempt, expectation, self._time_is_up)
            rule = known(driver, case, attempt)
        if rule is not None:
            counts.known[rule.text] += 1
            return attempt
        if going_on:  # if the area ends with it, it runs again during its reduction
            attempt = rerun_findings(driver, case, expectation, attempt, self._reruns, self._time_is_up)
        shown = finding(case, attempt, expectation, self._oracle, FEW_LISTED if going_on else LISTED)
        shown = msgspec.structs.replace(shown, driver=driver.narrowed, shrunk=shrink)
        runs = {verdict.value: n for verdict, n in attempt.runs.items()}
        size = len(dumps_case(case))
        counts.fail(
            Kept(suspected(attempt, shown), number, attempt.verdict, attempt.detail, shown, size, runs),
            end=not going_on,
        )
        return attempt

    def _on_sets(self, counts: Counts, number: int, case: Case, passed: Attempt) -> Attempt:
        """A case that passes, with other parameter sets: itself, or the first of these that does not pass."""
        sets = self._sets_of(number, case)
        if sets is None:
            return passed
        start = time.perf_counter()
        judged = judge_given(sets, self._profile.sets, counts.driver, self._oracle)
        counts.seconds["sets"] += time.perf_counter() - start
        counts.sets += int(have_verdict(judged.states).sum())
        for place in np.flatnonzero(wrong(judged.states))[:WRONG_SETS].tolist():
            alone = sets.sweep(np.array([place])).case(0)
            (again,) = judge_all([alone], [counts.driver], self._oracle.expect, self._judged)
            attempt = again.attempts[0]
            if attempt.verdict is Verdict.PASS and again.expectation is not None:
                attempt = among_others(alone, attempt, again.expectation, judged.left.get(place))
            passed = self._failed(counts, number, alone, attempt, again.expectation)
            if counts.ended:
                break
        return passed

    def _sets_of(self, number: int, case: Case) -> Given | None:
        """Drawn once for all drivers."""
        if self._given is None or self._given[0] != number:
            drawn = parameter_sets(self._draws, number, case, self._profile.sets)
            self._given = number, drawn
        return self._given[1]

    def reduced(self, spec: str, kept: Kept, seconds: float, found: ReportedFinding | None = None) -> ReportedFinding:
        """A kept case, reduced and run again; unchanged if shrinking avoids it, or if it does not fail again.

        A reduction goes on with what an earlier one had `found`.
        """
        driver = next(d for d in self._drivers if d.spec == spec)
        whole = kept.finding.case
        if kept.verdict is Verdict.FLAKY or not kept.finding.shrunk:
            return ReportedFinding.from_kept(kept)
        self._emit(Shrinking(spec, self._area))
        if kept.finding.driver:
            driver = self._narrowed_again(driver, whole)
        shrinker = Shrinker(driver, self._oracle, self._profile, self._emit, self._time_is_up.within(seconds))
        try:
            if found is not None:
                failing = shrinker.reduced(found.finding.case, found.verdict)
            else:
                failing = shrinker.shrunk(self._draws, kept.number, whole, kept.verdict)
        except NotReduced as e:
            return found or ReportedFinding.from_kept(kept, e.verdict, e.detail)
        expectation = failing.expectation
        attempt = rerun_findings(driver, failing.case, expectation, failing.attempt, self._reruns, self._time_is_up)
        driver, attempt = narrowed(driver, failing.case, attempt, expectation, self._time_is_up)
        case = msgspec.structs.replace(failing.case, name=generated_name(self._area, failing.case))
        shown = msgspec.structs.replace(
            finding(case, attempt, expectation, self._oracle),
            reduction=failing.reduction,
            found=whole if whole.content_hash != case.content_hash else None,
            driver=driver.narrowed,
        )
        rule = known(driver, case, attempt)
        runs = {verdict.value: n for verdict, n in attempt.runs.items()}
        return ReportedFinding(attempt.verdict, attempt.detail, shown, runs, rule.text if rule is not None else "")

    def _narrowed_again(self, driver: OpenDriver, case: Case) -> OpenDriver:
        """The driver with the fewest transforms that show the failure: another process may have found it."""
        (judged,) = judge_all([case], [driver], self._oracle.expect)
        return narrowed(driver, case, judged.attempts[0], judged.expectation, self._time_is_up)[0]


def avoided(drivers: Sequence[OpenDriver], profile: Profile) -> Callable[[Case], bool] | None:
    """The condition for cases to draw less often: conditions of the drivers' baselines and quarantines match them.

    Entries that say what a bug leaves hide nothing else, so their cases are drawn like others.
    """
    of_drivers = ((*d.baseline.rules, *d.quarantine.rules) for d in drivers) if profile.steer else ()
    matches = {r.match: None for rules in of_drivers for r in rules if r.match.condition is not None and not r.leaves}
    return (lambda case: any(match.matches_case(case) for match in matches)) if matches else None


def among_others(case: Case, alone: Attempt, expectation: Expectation, left: Mapping[str, Bytes] | None) -> Attempt:
    """The failure, among other sets, of a set that passes alone; with the memory that it left there, if known."""
    detail = "a parameter set fails among others in a dispatch, and passes alone"
    if left is None:
        return replace(alone, verdict=Verdict.FLAKY, detail=detail)
    outcome, divergence = Outcome(Status.DONE, dict(left)), compare(case, expectation, left)
    return replace(alone, verdict=Verdict.FLAKY, detail=detail, outcome=outcome, divergence=divergence)
