"""The smallest case that ends like a given one on a driver: reduction by structure and details, within a budget."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

import msgspec
from msgspec import structs

from cts.batch import judge_many
from cts.driver import BatchDriver
from cts.errors import BadInput
from cts.events import Emit, Reduced, ignore
from cts.expectation import Expectation, Oracle
from cts.judge import Attempt, OpenDriver, judge, refusal
from cts.model import Case
from cts.model.plain import plain
from cts.reduce import reduce_all, size
from cts.telling import Telling, telling, tells_less
from cts.verdict import Verdict

#: Candidates that a driver with `run_many` gets at a time.
TOGETHER = 8


@dataclass(frozen=True)
class Budget:
    """How long to go on: `seconds` of time, `steps` of cases given to the driver; None: until nothing is left."""

    seconds: float | None = None
    steps: int | None = None


@dataclass(frozen=True)
class Minimized:
    """What is left of a case.

    `attempt` is the last run of `case`, which ends as the original did. `before` and `after` are
    `cts.reduce.size`; `steps` counts runs. `stopped` says why reduction ended before its time, or is
    empty; `flaky` counts smaller cases that were not taken because they ended like it only sometimes.
    """

    case: Case
    attempt: Attempt
    before: tuple[int, int, int]
    after: tuple[int, int, int]
    steps: int
    seconds: float
    stopped: str = ""
    flaky: int = 0

    @property
    def verdict(self) -> Verdict:
        return self.attempt.verdict


Wanted = Callable[[Case], bool]

#: Why a search ended that Ctrl-C ended.
INTERRUPTED = "interrupted"


def _any(case: Case) -> bool:
    return True


class _Spent(Exception):
    """The budget is used up."""


def minimize(
    case: Case,
    driver: OpenDriver,
    oracle: Oracle,
    budget: Budget | None = None,
    emit: Emit = ignore,
    wanted: Wanted = _any,
) -> Minimized:
    """The smallest valid case found that gets the same kind of verdict from the driver, twice in a row.

    A crash stays a crash (of one fault code, where the driver gives one), a failure a failure; and as
    long as no instruction less is left, a failure goes on telling what it tells (`cts.telling`). The
    result is never larger than the case, and depends on nothing but the driver's answers and the
    budget. Only cases that are `wanted` are run. `emit` is told after each step how small the
    best is; an interruption (Ctrl-C) ends the search and keeps the best so far. Raises BadInput where the case
    passes, cannot be run or does not end the same way twice.
    """
    search = _Search(driver, oracle, budget or Budget(), emit, wanted, _original(case, driver, oracle))
    stopped = ""
    try:
        reduce_all(search.best.case, search.first)
    except _Spent:
        stopped = "the budget is used up"
    except KeyboardInterrupt:
        stopped = INTERRUPTED
    return search.state(stopped)


def _original(case: Case, driver: OpenDriver, oracle: Oracle) -> Minimized:
    refused = refusal(driver, case)
    if refused is not None:
        what = f"{driver.spec} does not run the case: {refused.detail}"
        raise BadInput("not-minimized", what, case.name, "a driver that can run it")
    start = time.monotonic()
    expectation = oracle.expect(case)
    attempts = [judge(driver, case, expectation) for _ in range(2)]
    verdicts = [a.verdict for a in attempts]
    if Verdict.FLAKY in verdicts or _kind(attempts[0]) != _kind(attempts[1]):
        what = f"{driver.spec} gives {verdicts[0].value} at first and then {verdicts[1].value}: it is flaky"
        raise BadInput("flaky", what, case.name, "a case that ends the same way each time")
    if verdicts[0] in (Verdict.PASS, Verdict.UNSUPPORTED, Verdict.NOT_RUN):
        what = f"{driver.spec} gives {verdicts[0].value}"
        raise BadInput("not-minimized", what, case.name, "a case that fails, crashes or times out there")
    measure = size(case)
    return Minimized(case, attempts[0], measure, measure, 2, time.monotonic() - start)


def _kind(attempt: Attempt) -> tuple[Verdict, str]:
    """What must stay the same of a verdict."""
    fault = None if attempt.outcome is None else attempt.outcome.fault
    return attempt.verdict, "" if fault is None else fault.code


def _telling(case: Case, attempt: Attempt) -> Telling | None:
    return None if attempt.divergence is None else telling(case, attempt.divergence)


def _written(case: Case) -> bytes:
    return msgspec.json.encode(plain(case))


class _Search:
    """Tries candidates in order and takes the first that still ends the same way; remembers the best."""

    def __init__(
        self,
        driver: OpenDriver,
        oracle: Oracle,
        budget: Budget,
        emit: Emit,
        wanted: Wanted,
        original: Minimized,
    ) -> None:
        self.driver = driver
        self.oracle = oracle
        self.budget = budget
        self.emit = emit
        self.wanted = wanted
        self.best = original
        self.kind = _kind(original.attempt)
        self.told = _telling(original.case, original.attempt)
        self.steps = original.steps
        self.flaky = 0
        self.start = time.monotonic() - original.seconds
        #: Cases as they are written: some reductions write the same thing shorter.
        self.tried = {_written(original.case)}
        self.together = TOGETHER if isinstance(driver.driver, BatchDriver) else 1

    def first(self, candidates: Iterator[Case]) -> Case | None:
        """The first candidate that ends as the original did, twice. Raises _Spent."""
        questions = self._questions(candidates)
        while block := list(islice(questions, self._left())):
            attempts = judge_many(self.driver, block)
            for (case, expectation), attempt in zip(block, attempts, strict=True):
                self.steps += 1
                if _kind(attempt) == self.kind and self._tells(case, attempt) and self._repeats(case, expectation):
                    self.best = replace(self.best, case=case, attempt=attempt, after=size(case))
                    self.told = _telling(case, attempt)
                    self._reduced()
                    return case
            self._reduced()
        return None

    def _reduced(self) -> None:
        instructions, _, length = self.best.after
        self.emit(Reduced(self.driver.spec, self.best.verdict, instructions, length, self.steps))

    def state(self, stopped: str = "") -> Minimized:
        """What is known so far."""
        seconds = time.monotonic() - self.start
        return replace(self.best, steps=self.steps, seconds=seconds, stopped=stopped, flaky=self.flaky)

    def _left(self) -> int:
        """How many cases to run next; at least one. Raises _Spent."""
        seconds, steps = self.budget.seconds, self.budget.steps
        if seconds is not None and time.monotonic() - self.start >= seconds:
            raise _Spent
        if steps is not None and self.steps >= steps:
            raise _Spent
        return self.together if steps is None else min(self.together, steps - self.steps)

    def _questions(self, candidates: Iterator[Case]) -> Iterator[tuple[Case, Expectation]]:
        """Candidates that are new, wanted, valid and supported, with what is allowed."""
        for case in candidates:
            written = _written(case)
            if written in self.tried:
                continue
            self.tried.add(written)
            self._left()
            if self.wanted(case) and refusal(self.driver, case) is None:
                expectation = self._expectation(case)
                if expectation is not None:
                    yield case, expectation

    def _expectation(self, case: Case) -> Expectation | None:
        """None for a case that breaks a rule or is too large to be judged."""
        try:
            return None if self.oracle.violations(case) else self.oracle.expect(case)
        except BadInput:
            return None

    def _tells(self, case: Case, attempt: Attempt) -> bool:
        """Whether a case that fails has fewer instructions than the best, or shows as much of what is wrong."""
        if self.told is None or size(case)[0] < self.best.after[0]:
            return True
        told = _telling(case, attempt)
        return told is not None and not tells_less(told, self.told)

    def _repeats(self, case: Case, expectation: Expectation) -> bool:
        self.steps += 1
        again = _kind(judge(self.driver, case, expectation)) == self.kind
        self.flaky += not again
        return again


def renamed(minimized: Minimized) -> Case:
    """The case under a name of its own, without a description that may no longer be true."""
    case = minimized.case
    if minimized.after == minimized.before:
        return case
    return structs.replace(case, name=f"{case.name}.minimized", covers=(), description="")


def report(minimized: Minimized) -> str:
    """One line: what became of the case and why the search ended."""
    before, after = minimized.before, minimized.after
    text = (
        f"{minimized.steps} runs in {minimized.seconds:.1f} s; {minimized.verdict.value} with "
        f"{after[0]} of {before[0]} instructions, extents {after[1]} of {before[1]}, length {after[2]} of {before[2]}"
    )
    if minimized.flaky:
        text += f"; {minimized.flaky} smaller cases were flaky and not taken"
    if minimized.stopped:
        text += f"; {minimized.stopped}: this is the best so far"
    return text
