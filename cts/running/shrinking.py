"""A driver's finding is made smaller: first the draws of its case, then the case."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from cts.base.deadline import NO_DEADLINE, Deadline
from cts.base.errors import BadInput
from cts.case.model import Case
from cts.case.oracle.expectation import Expectation, Oracle
from cts.findings.reduction.cost import size
from cts.findings.reduction.evidence import tells
from cts.findings.reduction.minimize import minimize
from cts.findings.reduction.progress import Budget
from cts.judging.batch import judge_all
from cts.judging.effects import known_by_condition
from cts.judging.events import Emit
from cts.judging.judge import Attempt, OpenDriver, excluded_from_shrinking
from cts.judging.reduction_record import Reduction, Stopped
from cts.judging.verdict import Verdict
from cts.running.drawing import Draws, Example, Undrawn, checked_expectation
from cts.running.profiles import Profile

#: How many draws are tried to make a finding simpler, before its case is reduced: each of them runs on the driver. Half
#: as many as for a fault, which runs nowhere.
TRIALS = 200


@dataclass(frozen=True, eq=False)
class Failing:
    """A case that does not pass, and how; `reduction` says how it became smaller after its draws had."""

    case: Case
    attempt: Attempt
    expectation: Expectation | None
    reduction: Reduction | None = None


class NotReduced(Exception):
    """A case stays unreduced: it is flaky, as `detail` says, or has the verdict that it had."""

    def __init__(self, verdict: Verdict, detail: str = "") -> None:
        super().__init__(detail or verdict.value)
        self.verdict = verdict
        self.detail = detail


class Shrinker:
    """Makes the finding of one driver smaller: first its draws, then its case.

    Both keep to the verdict that it began with, so that it never slips from a driver's failure into an error of ours.
    The time that they have begins with the first of them.
    """

    def __init__(
        self, driver: OpenDriver, oracle: Oracle, profile: Profile, emit: Emit, time_is_up: Deadline = NO_DEADLINE
    ) -> None:
        self._driver = driver
        self._oracle = oracle
        self._profile = profile
        self._emit = emit
        self._limit = time_is_up.within(profile.reduce_seconds)
        #: Draws have the first third of the time.
        self._draws_limit = self._limit.within(profile.reduce_seconds / 3)

    def shrunk(self, draws: Draws, number: int, case: Case, verdict: Verdict) -> Failing:
        """The smallest that was found, from the draws of the example of a number.

        Raises NotReduced, KeyboardInterrupt.
        """
        return self._smaller(case, verdict, lambda first: self._of_draws(draws, number, first))

    def reduced(self, case: Case, verdict: Verdict) -> Failing:
        """As `shrunk`, of a case that has no draws."""
        return self._smaller(case, verdict, lambda first: first)

    def _smaller(self, case: Case, verdict: Verdict, of_draws: Callable[[Failing], Failing]) -> Failing:
        """The case by simpler draws, then by the reducer, if it ends again as it did."""
        again = self._attempt(case)
        if again is None:
            raise _flaky(verdict, Verdict.NOT_RUN)
        if again.attempt.verdict is Verdict.ERROR and verdict is not Verdict.ERROR:
            raise NotReduced(verdict)  # that it could not be run says nothing of it
        if again.attempt.verdict is not verdict:
            raise _flaky(verdict, again.attempt.verdict)
        simpler = of_draws(again)
        return simpler if verdict is Verdict.ERROR else self._minimized(simpler)

    def _attempt(self, case: Case) -> Failing | None:
        """A case on the driver, unless it is a fault of ours or one that shrinking avoids."""
        if excluded_from_shrinking(self._driver, case):
            return None
        (judged,) = judge_all([case], [self._driver], lambda c: checked_expectation(c, self._oracle))
        attempt = judged.attempts[0]
        if attempt.verdict is Verdict.ERROR and judged.expectation is None:
            return None
        return Failing(case, attempt, judged.expectation)

    def _of_draws(self, draws: Draws, number: int, first: Failing) -> Failing:
        """The case of the simplest draws that end alike, and whose failure says what is wrong if the first one's did.

        Smaller examples may belong to any shard.
        """
        verdict, telling = first.attempt.verdict, _tells(first)
        tried: dict[str, Failing | None] = {first.case.content_hash: first}

        def alike(candidate: Example) -> Failing | None:
            if isinstance(candidate, Undrawn):
                return None
            identity = candidate.content_hash
            if identity not in tried and self._draws_limit():
                return None
            if identity not in tried:
                attempted = self._attempt(candidate)
                like = attempted is not None and self._is(verdict, attempted) and (not telling or _tells(attempted))
                tried[identity] = attempted if like else None
            return tried[identity]

        return draws.simplest(number, alike, TRIALS) or first

    def _is(self, verdict: Verdict, attempted: Failing) -> bool:
        if attempted.attempt.verdict is not verdict:
            return False
        return known_by_condition(self._driver, attempted.case, attempted.attempt) is None

    def _minimized(self, failing: Failing) -> Failing:
        """Reduce the case, avoiding known failures and cases that are left for last."""
        verdict = failing.attempt.verdict
        if self._limit():
            whole = size(failing.case)
            return replace(failing, reduction=Reduction(Stopped.TIME_LIMIT, whole, whole, runs=0))
        try:
            budget = Budget(self._limit.left, self._profile.reductions)
            minimized = minimize(failing.case, self._driver, self._oracle, budget, self._emit, [failing.attempt])
        except BadInput as e:
            raise NotReduced(Verdict.FLAKY, e.what) from e
        if minimized.reduction.stopped is Stopped.INTERRUPTED:
            raise KeyboardInterrupt
        if minimized.verdict is not verdict:
            raise _flaky(verdict, minimized.verdict)
        if not minimized.reduction.steps:
            return replace(failing, reduction=minimized.reduction)
        expectation = self._oracle.expect(minimized.case)
        return Failing(minimized.case, minimized.attempt, expectation, minimized.reduction)


def _tells(failing: Failing) -> bool:
    """Whether the finding describes the failure."""
    return failing.expectation is not None and tells(failing.case, failing.attempt, failing.expectation)


def _flaky(first: Verdict, again: Verdict) -> NotReduced:
    return NotReduced(Verdict.FLAKY, f"{first.value} at first, {again.value} when the same case was run again")
