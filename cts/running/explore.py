"""Generated cases on drivers: find a failing case, make it smaller, keep the smaller one.

Drivers of equal capabilities see the same examples, generated and judged by the oracle once. An example that cannot
be judged is a fault of the suite, not of a driver: the next one follows, and of faults of one kind the first is shrunk.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import msgspec
import numpy as np

from cts.choices import Source
from cts.deadline import NO_DEADLINE, Deadline
from cts.judging.batch import block_size, judge_all
from cts.judging.events import Emit, Shrinking, ignore
from cts.judging.finding import finding
from cts.judging.judge import Attempt, OpenDriver, excluded_from_shrinking, judged_event
from cts.judging.reruns import RERUNS, rerun_findings
from cts.known.baseline import generated_name
from cts.model import Case
from cts.oracle.expectation import Expectation, Oracle
from cts.reduction.narrowing import narrowed
from cts.running.drawing import Fault, Undrawn, checked_expectation, example
from cts.running.operand_sets import Given, judge_given, parameter_sets
from cts.running.profiles import Profile
from cts.running.shrinking import Failing, Shrinker
from cts.running.survey import Attempted, Found, Omitted, Seen
from cts.sweeps.judging import have_verdict, wrong
from cts.verdict import Verdict


class Explorer:
    """Judges the examples of an area on drivers in one process, each case once."""

    def __init__(
        self,
        source: Source[Case],
        drivers: Sequence[OpenDriver],
        oracle: Oracle,
        profile: Profile,
        emit: Emit = ignore,
        area: str = "",
        reruns: int = RERUNS,
        time_is_up: Deadline = NO_DEADLINE,
    ) -> None:
        self._time_is_up = time_is_up
        self._source = source
        self._drivers = list(drivers)
        self._oracle = oracle
        self._profile = profile
        self._emit = emit
        self._area = area
        self._reruns = reruns
        self._hashes: set[str] = set()
        #: The parameter sets of the example that they were drawn for last.
        self._given: tuple[int, Given | None] | None = None

    def judge(self, numbers: Sequence[int], specs: Iterable[str], *, last: bool = False) -> Iterator[Seen]:
        """What becomes of the examples of these numbers, in their order, on the drivers of these specs.

        What a quarantine leaves for last runs only where that is said. A driver is given nothing after its first
        finding, but for what is in the same block.
        """
        wanted = set(specs)
        alive = [d for d in self._drivers if d.spec in wanted]
        size = block_size(alive)
        for start in range(0, len(numbers), size):
            if not alive:
                return
            yield from self._block(numbers[start : start + size], alive, last=last)

    def _block(self, numbers: Sequence[int], alive: list[OpenDriver], *, last: bool) -> Iterator[Seen]:
        """What becomes of examples that run together on the drivers, of which those with a finding are removed."""
        drawn = [self._drawn(number, alive, last=last) for number in numbers]
        faults: dict[int, Fault] = {}

        def expect(case: Case) -> Expectation:
            try:
                return checked_expectation(case, self._oracle)
            except Fault as fault:
                faults[id(case)] = fault
                raise

        cases = [one for one in drawn if not isinstance(one, Seen)]
        judged = iter(judge_all([case for _, case in cases], alive, expect, self._judged, self._time_is_up))
        drivers = tuple(alive)
        for one in drawn:
            if isinstance(one, Seen):
                yield one
                continue
            number, case = one
            together = next(judged)
            fault = faults.get(id(case))
            attempts = {}
            for driver, attempt in zip(drivers, together.attempts, strict=True):
                # A fault of ours is no driver's error.
                if driver in alive and (fault is None or attempt.verdict is not Verdict.ERROR):
                    attempted = self._attempted(driver, number, case, attempt, together.expectation)
                    if self._profile.sets and attempt.verdict is Verdict.PASS and not self._time_is_up():
                        attempted = self._on_sets(driver, number, attempted, case)
                    attempts[driver.spec] = attempted
                    if attempts[driver.spec].found is not None:
                        alive.remove(driver)
            yield Seen(number, fault=fault, case=case if fault is not None else None, attempts=attempts)

    def _drawn(self, number: int, drivers: Sequence[OpenDriver], *, last: bool) -> Seen | tuple[int, Case]:
        drawn = example(self._source, self._profile.seed, number)
        if isinstance(drawn, Undrawn):
            return Seen(number, fault=drawn.fault)
        if not self._profile.shard.has(drawn):
            return Seen(number, Omitted.OTHER_SHARD)
        if last:
            return number, drawn
        if drawn.content_hash in self._hashes:
            return Seen(number, Omitted.REPEATED)
        self._hashes.add(drawn.content_hash)
        if any(d.quarantine.last(drawn) for d in drivers):
            return Seen(number, Omitted.FOR_LAST)
        return number, drawn

    def _judged(self, driver: OpenDriver, case: Case, attempt: Attempt) -> None:
        self._emit(judged_event(driver, self._area, case, attempt, keep=True))

    def _attempted(
        self, driver: OpenDriver, number: int, case: Case, attempt: Attempt, expectation: Expectation | None
    ) -> Attempted:
        if attempt.verdict in (Verdict.PASS, Verdict.UNSUPPORTED, Verdict.NOT_RUN):
            return Attempted(attempt.verdict, attempt.detail, attempt.seconds, lacks=attempt.lacks)
        rule = driver.baseline.known_by_condition(case, attempt.verdict)
        if rule is None:
            driver, attempt = narrowed(driver, case, attempt, expectation, self._time_is_up)
            rule = driver.baseline.known_by_condition(case, attempt.verdict)
        if rule is not None:
            return Attempted(attempt.verdict, attempt.detail, attempt.seconds, rule.text)
        found = self._found(driver, number, Failing(case, attempt, expectation))
        return Attempted(attempt.verdict, attempt.detail, attempt.seconds, found=found)

    def _on_sets(self, driver: OpenDriver, number: int, passed: Attempted, case: Case) -> Attempted:
        """A case that passes, with other parameter sets: how many were judged, or the first that does not pass."""
        sets = self._sets_of(number, case)
        if sets is None:
            return passed
        judged = judge_given(sets, self._profile.sets, driver, self._oracle)
        states, seconds = judged.states, passed.seconds + judged.seconds
        count = int(have_verdict(states).sum())
        for place in np.flatnonzero(wrong(states)).tolist():
            one = sets.sweep(np.array([place])).case(0)
            (again,) = judge_all([one], [driver], self._oracle.expect, self._judged)
            if again.attempts[0].verdict is not Verdict.PASS:
                attempted = self._attempted(driver, number, one, again.attempts[0], again.expectation)
                return replace(attempted, seconds=seconds, sets=count)
        return replace(passed, seconds=seconds, sets=count)

    def _sets_of(self, number: int, case: Case) -> Given | None:
        """Drawn once for all drivers."""
        if self._given is None or self._given[0] != number:
            drawn = parameter_sets(self._source, self._profile.seed, number, case, self._profile.sets)
            self._given = number, drawn
        return self._given[1]

    def _found(self, driver: OpenDriver, number: int, failing: Failing) -> Found:
        shrunk, whole = not excluded_from_shrinking(driver, failing.case), failing.case
        if shrunk:
            self._emit(Shrinking(driver.spec, self._area))
            shrinker = Shrinker(driver, self._oracle, self._profile, self._emit, self._time_is_up)
            failing = shrinker.shrunk(self._source, number, failing)
            expectation, time_is_up = failing.expectation, self._time_is_up
            again = rerun_findings(driver, failing.case, expectation, failing.attempt, self._reruns, time_is_up)
            driver, again = narrowed(driver, failing.case, again, expectation, time_is_up)
            failing = replace(failing, attempt=again)
        case = msgspec.structs.replace(failing.case, name=generated_name(self._area, failing.case))
        attempt = failing.attempt
        shown = finding(case, attempt, failing.expectation, self._oracle)
        found = None
        if whole.content_hash != case.content_hash:
            found = msgspec.structs.replace(whole, name=generated_name(self._area, whole))
        shown = msgspec.structs.replace(
            shown, shrunk=shrunk, reduction=failing.reduction, found=found, driver=driver.narrowed
        )
        rule = driver.baseline.known(case, attempt.verdict)
        runs = {v.value: n for v, n in attempt.runs.items()}
        return Found(attempt.verdict, attempt.detail, shown, runs, rule.text if rule is not None else "")
