"""The smallest case that ends like a given one on a driver, within a budget."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import msgspec
from msgspec import structs

from cts.base.errors import BadInput
from cts.case.model import Case
from cts.case.model.plain import plain
from cts.case.oracle.expectation import Expectation, Oracle
from cts.device.driver import BatchDriver
from cts.findings.reduction.cost import size
from cts.findings.reduction.evidence import Evidence, evidence, is_sized, is_weaker, tells
from cts.findings.reduction.interface import Candidate
from cts.findings.reduction.passes import PASSES
from cts.findings.reduction.progress import Budget, Progress, stopped_by
from cts.findings.reduction.progress import report as progress_report
from cts.findings.reduction.reducer import reduce_by
from cts.judging.batch import judge_many
from cts.judging.effects import known_by_condition
from cts.judging.events import Emit, Reduced, ignore
from cts.judging.judge import Attempt, OpenDriver, excluded_from_shrinking, judge, refusal
from cts.judging.known.quarantine import Rule
from cts.judging.reduction_record import Reduction, Stopped
from cts.judging.verdict import Verdict

#: Candidates that a driver with `run_many` gets at a time.
TOGETHER = 8


@dataclass(frozen=True)
class Minimized:
    """The minimized case, and how it came about.

    `attempt` is the last run of `case`, which ends as the original did.
    """

    case: Case
    attempt: Attempt
    reduction: Reduction
    seconds: float

    @property
    def verdict(self) -> Verdict:
        return self.attempt.verdict


def minimize(
    case: Case,
    driver: OpenDriver,
    oracle: Oracle,
    budget: Budget | None = None,
    emit: Emit = ignore,
    seen: Sequence[Attempt] = (),
) -> Minimized:
    """The smallest valid case found that gets the same kind of verdict from the driver, twice in a row.

    A crash stays a crash (with its fault code, if the driver gives one); a failure stays a failure, and if guesses
    described it, they still do. A smaller case with as many instructions keeps a failure's evidence
    (`evidence.py`). Tensors keep dimensions other than 0. The result is never larger than the case, and
    depends on nothing but the driver's answers and the budget. Cases that the driver's quarantine leaves for last are
    not run, and a case that the baseline explains differently is not taken: a known failure must not replace this one.
    `emit` gets the size of the best case after each step; an interruption (Ctrl-C) ends the search and keeps the best
    case so far. Raises BadInput if the case passes, cannot be run or does not end the same way twice; `seen` are runs
    that were made already.
    """
    search = _Search(driver, oracle, budget or Budget(), emit, _original(case, driver, oracle, seen))
    return search.state(stopped_by(lambda: reduce_by(case, search.first)))


def _original(case: Case, driver: OpenDriver, oracle: Oracle, seen: Sequence[Attempt]) -> Minimized:
    refused = refusal(driver, case)
    if refused is not None:
        what = f"{driver.spec} does not run the case: {refused.detail}"
        raise BadInput("not-minimized", what, case.name, "a driver that can run it")
    start = time.monotonic()
    expectation = oracle.expect(case)
    attempts = [*seen, *(judge(driver, case, expectation) for _ in range(2 - len(seen)))]
    verdicts = [a.verdict for a in attempts]
    if Verdict.FLAKY in verdicts or attempts[0].kind != attempts[1].kind:
        what = f"the case is flaky on {driver.spec}: first {verdicts[0].value}, then {verdicts[1].value}"
        raise BadInput("flaky", what, case.name, "a case that ends the same way each time")
    if verdicts[0] in (Verdict.PASS, Verdict.UNSUPPORTED, Verdict.NOT_RUN):
        ends = "passes" if verdicts[0] is Verdict.PASS else f"ends in {verdicts[0].value}"
        what = f"the case {ends} on {driver.spec}"
        raise BadInput("not-minimized", what, case.name, "give a case that fails, crashes or times out")
    reduction = Reduction(Stopped.COMPLETE, size(case), size(case), runs=len(attempts))
    return Minimized(case, attempts[0], reduction, time.monotonic() - start)


def _evidence(case: Case, attempt: Attempt) -> Evidence | None:
    return None if attempt.divergence is None else evidence(case, attempt.divergence)


def _written(case: Case) -> bytes:
    return msgspec.json.encode(plain(case))


class _Question(NamedTuple):
    """A candidate that can be judged, with its allowed memory."""

    candidate: Candidate
    expectation: Expectation


class _Search:
    """Runs candidates in order and takes the first that still ends the same way; remembers the best."""

    def __init__(self, driver: OpenDriver, oracle: Oracle, budget: Budget, emit: Emit, original: Minimized) -> None:
        self.driver = driver
        self.oracle = oracle
        self.emit = emit
        self.case, self.attempt = original.case, original.attempt
        self.kind = original.attempt.kind
        self.known = self._known_failure(original.case)
        #: The baseline entry that matches the case by its effect, if any entry does.
        self.explained = known_by_condition(driver, original.case, original.attempt)
        self.evidence = _evidence(original.case, original.attempt)
        expectation = oracle.expect(original.case)
        self.tells, self.is_sized = tells(original.case, original.attempt, expectation), is_sized(original.case)
        start = time.monotonic() - original.seconds
        self.progress = Progress(budget, original.reduction.before, original.reduction.runs, start)
        self.progress.tried.add(_written(original.case))
        self.together = TOGETHER if isinstance(driver.driver, BatchDriver) else 1

    def first(self, candidates: Iterator[Candidate]) -> Candidate | None:
        """The first candidate that ends as the original did, twice. Raises _Ended."""
        questions = self._questions(candidates)
        while block := list(islice(questions, self.progress.left(self.together))):
            attempts = judge_many(self.driver, [(q.candidate.case, q.expectation) for q in block])
            self.progress.run_of.update(q.candidate.by for q in block)
            for question, attempt in zip(block, attempts, strict=True):
                self.progress.runs += 1
                if self._is_taken(question, attempt):
                    self._take(question.candidate, attempt)
                    return question.candidate
            self._report()
        return None

    def _is_taken(self, question: _Question, attempt: Attempt) -> bool:
        case = question.candidate.case
        return (
            attempt.kind == self.kind
            and known_by_condition(self.driver, case, attempt) == self.explained
            and self._convinces(question, attempt)
            and self._repeats(case, question.expectation)
        )

    def _take(self, candidate: Candidate, attempt: Attempt) -> None:
        self.case, self.attempt = candidate.case, attempt
        self.evidence = _evidence(candidate.case, attempt)
        self.progress.take(candidate.by, size(candidate.case))
        self._report()

    def _report(self) -> None:
        instructions, _, length = self.progress.size
        self.emit(Reduced(self.driver.spec, self.attempt.verdict, instructions, length, self.progress.runs))

    def state(self, stopped: Stopped = Stopped.COMPLETE) -> Minimized:
        """The state of the search so far."""
        reduction = self.progress.record(stopped, (p.name for p in PASSES))
        return Minimized(self.case, self.attempt, reduction, time.monotonic() - self.progress.start)

    def _questions(self, candidates: Iterator[Candidate]) -> Iterator[_Question]:
        """Candidates that are new, wanted, valid and supported, with their allowed memory."""
        for candidate in candidates:
            case = candidate.case
            if not self.progress.is_new(_written(case)):
                continue
            self.progress.left()
            if self.is_sized and not is_sized(case):
                continue  # a tensor without dimensions would be another case
            if self._may_run(case) and refusal(self.driver, case) is None:
                expectation = self._expectation(case)
                if expectation is not None:
                    yield _Question(candidate, expectation)

    def _may_run(self, case: Case) -> bool:
        return not excluded_from_shrinking(self.driver, case) and self._known_failure(case) in (None, self.known)

    def _known_failure(self, case: Case) -> Rule | None:
        """The entry of the driver's baseline that explains this verdict of a case."""
        return self.driver.baseline.known_by_condition(case, self.attempt.verdict)

    def _expectation(self, case: Case) -> Expectation | None:
        """None for a case that breaks a rule or is too large to be judged."""
        try:
            return None if self.oracle.violations(case) else self.oracle.expect(case)
        except BadInput:
            return None

    def _convinces(self, question: _Question, attempt: Attempt) -> bool:
        """Whether guesses still describe the failure and, unless it has fewer instructions, its evidence is as good."""
        case = question.candidate.case
        if self.tells and not tells(case, attempt, question.expectation):
            return False
        if self.evidence is None or size(case)[0] < self.progress.size[0]:
            return True
        shown = _evidence(case, attempt)
        return shown is not None and not is_weaker(shown, self.evidence)

    def _repeats(self, case: Case, expectation: Expectation) -> bool:
        self.progress.runs += 1
        again = judge(self.driver, case, expectation).kind == self.kind
        self.progress.flaky += not again
        return again


def renamed(minimized: Minimized) -> Case:
    """The case under a name of its own, without a description that may no longer be true."""
    case = minimized.case
    if not minimized.reduction.steps:
        return case
    return structs.replace(case, name=f"{case.name}.minimized", covers=(), description="")


def report(minimized: Minimized) -> str:
    """The result and why the search ended; which pass took each step; the candidates that each pass ran."""
    return progress_report(minimized.reduction, minimized.verdict, minimized.seconds)
