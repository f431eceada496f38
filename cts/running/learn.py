"""Learning from a finding on a driver which cases fail like it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cts.base.deadline import NO_DEADLINE, Deadline
from cts.base.errors import BadInput
from cts.case.model import Case
from cts.case.oracle.expectation import Oracle
from cts.findings.learning.deviating import DeviationLearner, LearntDeviation, Ran
from cts.findings.learning.learner import Learner, Learnt
from cts.findings.learning.neighbours import neighbours
from cts.judging.batch import judge_all
from cts.judging.effects import known_by_condition
from cts.judging.events import ignore
from cts.judging.judge import OpenDriver, excluded_from_shrinking, judge, refusal
from cts.judging.verdict import Verdict
from cts.plugins import registry
from cts.running.drawing import in_turn

#: Runs for a finding that passes or fails, and for one that ends a process or a device.
RUNS, FATAL_RUNS = 400, 60

#: Runs for a deviation. Each run is chosen, so that few tell much; conditions need several times as many.
DEVIATION_RUNS = 60

#: Verdicts that are no answer: a case with one says neither that it fails alike nor that it does not.
_SILENT = (Verdict.UNSUPPORTED, Verdict.NOT_RUN, Verdict.ERROR, Verdict.FLAKY)


def areas_of(case: Case) -> list[str]:
    """The areas that draw cases like this one: the area in its name, else all."""
    names = registry.names("cts.areas")
    parts = case.name.split(".")
    return [part for part in parts[:2] if part in names][:1] or names


def learn(
    case: Case,
    driver: OpenDriver,
    oracle: Oracle,
    areas: Sequence[str],
    seed: int,
    budget: int | None = None,
    tell: Callable[[int], None] = ignore,
    time_is_up: Deadline = NO_DEADLINE,
) -> tuple[Verdict, Learnt]:
    """The verdict of a finding, and the expression for cases that get the same.

    `budget` is a number of runs, by default RUNS, or FATAL_RUNS if the finding is a crash or a timeout; `tell` gets the
    number of runs made. Cases that the driver's quarantine leaves out or for last are not run, and failures that its
    baseline explains do not count. Raises BadInput if the case passes, cannot be run, or does not end the same way
    twice, and if no condition separates failing cases from passing ones.
    """
    verdict = _verdict(case, driver, oracle)
    budget = budget or (RUNS if verdict is Verdict.FAIL else FATAL_RUNS)
    made = failed = 0

    def fails(cases: Sequence[Case]) -> list[bool | None]:
        nonlocal made, failed
        answers: list[bool | None] = []
        for judged in judge_all(cases, [driver], oracle.expect, ignore, time_is_up):
            (attempt,) = judged.attempts
            is_known = known_by_condition(driver, judged.case, attempt) is not None
            silent = is_known or attempt.verdict in _SILENT
            answers.append(None if silent else attempt.verdict is verdict)
        made, failed = made + len(cases), failed + answers.count(True)
        tell(made)
        return answers

    def may_run(one: Case) -> bool:
        return refusal(driver, one) is None and not excluded_from_shrinking(driver, one)

    def valid(one: Case) -> bool:
        try:
            return may_run(one) and not oracle.violations(one) and oracle.expect(one) is not None
        except BadInput:  # too large to be judged
            return False

    drawn = (one for _, one in in_turn(areas, driver.capabilities, seed) if may_run(one))
    learnt = Learner(case, drawn, neighbours(case, valid), fails, budget).learn()
    if learnt is None:
        what = f"of {made} other cases {failed} get the verdict {verdict.value}: no condition tells which"
        remedy = "--area with another one, or more --max-runs"
        if made == failed:
            remedy = "an entry for all cases of the driver"
        raise BadInput("nothing-learnt", what, case.name, remedy)
    return verdict, learnt


def learn_deviation(
    case: Case, driver: OpenDriver, oracle: Oracle, areas: Sequence[str], seed: int, budget: int = DEVIATION_RUNS
) -> LearntDeviation | None:
    """How a driver deviates in a case that fails, learnt in so many runs; None if the vocabulary cannot say it.

    Raises BadInput if the case does not fail.
    """
    expectation = oracle.expect(case)
    attempt = judge(driver, case, expectation)
    if attempt.verdict is not Verdict.FAIL or attempt.outcome is None:
        return None

    def run(cases: Sequence[Case]) -> list[Ran | None]:
        answers: list[Ran | None] = []
        for judged in judge_all(cases, [driver], oracle.expect):
            (one,) = judged.attempts
            silent = one.verdict not in (Verdict.PASS, Verdict.FAIL) or one.outcome is None
            silent = silent or known_by_condition(driver, judged.case, one) is not None
            answers.append(None if silent or one.outcome is None else (one.verdict is Verdict.FAIL, one.outcome.memory))
        return answers

    def may_run(one: Case) -> bool:
        return refusal(driver, one) is None and not excluded_from_shrinking(driver, one)

    drawn = (one for _, one in in_turn(areas, driver.capabilities, seed) if may_run(one))
    return DeviationLearner(case, attempt.outcome.memory, drawn, run, budget).learn()


def _verdict(case: Case, driver: OpenDriver, oracle: Oracle) -> Verdict:
    refused = refusal(driver, case)
    if refused is not None:
        what = f"{driver.spec} does not run the case: {refused.detail}"
        raise BadInput("not-learnt", what, case.name, "a driver that can run it")
    expectation = oracle.expect(case)
    first, again = (judge(driver, case, expectation).verdict for _ in range(2))
    if first is not again:
        what = f"the case is flaky on {driver.spec}: first {first.value}, then {again.value}"
        raise BadInput("flaky", what, case.name, "a case that ends the same way each time")
    if not first.is_finding:
        ends = "passes" if first is Verdict.PASS else f"ends in {first.value}"
        raise BadInput("not-learnt", f"the case {ends} on {driver.spec}", case.name, "give a failing case")
    return first
