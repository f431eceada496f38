"""Generated cases on drivers, driven by Hypothesis: find a failing case, shrink it, keep the shrunk one.

Drivers of equal capabilities see the same examples, generated and judged by the oracle once; each
driver's finding is then shrunk for itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from cts.batch import Told, block_size, judge_all, nobody
from cts.errors import BadInput, HarnessTrouble
from cts.expectation import Expectation, Oracle
from cts.judge import Attempt, OpenDriver, describe, is_spared
from cts.minimize import INTERRUPTED, Budget, minimize
from cts.model import Case
from cts.profiles import Profile
from cts.seeding import same_examples_everywhere
from cts.verdict import Verdict

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


@dataclass(eq=False)
class Explored:
    """What became of one area on one driver.

    `examples` counts cases judged until the end or the first finding, without those of shrinking.
    `case` is the shrunk case where the verdict is a finding or ERROR and a case is to blame; what a
    quarantine leaves for last, or what the run dies with, is not shrunk. `not_run` counts what a
    quarantine leaves out, by reason, and `known` the failures that a baseline lists by a condition,
    which end nothing.
    """

    attempt: Attempt = field(default_factory=lambda: Attempt(Verdict.PASS))
    case: Case | None = None
    expectation: Expectation | None = None
    examples: int = 0
    unsupported: int = 0
    seconds: float = 0.0
    not_run: Counter[str] = field(default_factory=Counter)
    known: Counter[str] = field(default_factory=Counter)


class _Found(Exception):
    """A failing example, for Hypothesis to shrink."""


class _Enough(Exception):
    """Nothing is left to explore."""


class _Flaky(Exception):
    """A failing example that passes when it is repeated."""


Watch = Callable[[str], None]


def _unwatched(spec: str) -> None:
    pass


def explore(
    strategy: SearchStrategy[Case],
    drivers: Sequence[OpenDriver],
    oracle: Oracle,
    profile: Profile,
    on_example: Watch = _unwatched,
    on_shrink: Watch = _unwatched,
    told: Told = nobody,
) -> dict[str, Explored]:
    """Run `profile.max_examples` cases of the strategy on each driver; results by driver spec.

    Drivers that can take many cases at once get blocks of them, so that cases after a finding may have run, too.
    `on_example` is called with the driver's spec after each example, `on_shrink` when shrinking begins;
    `told` hears of every example that has run, as soon as it is judged.
    """
    survey = _Survey(drivers, oracle, on_example, told)
    results = survey.results
    trouble = _hypothesis(strategy, profile, survey.add, shrink=False)
    survey.flush()
    survey.quarantined()
    if trouble is not None:
        for driver in survey.alive:
            results[driver.spec].attempt = Attempt(Verdict.ERROR, trouble)
    shrunk: dict[int, Explored] = {}
    for driver in drivers:
        explored = results[driver.spec]
        if explored.case is None or is_spared(driver, explored.case):
            continue
        # Drivers share an attempt where the error is the oracle's or the generator's.
        same = id(explored.attempt)
        if same in shrunk:
            first = shrunk[same]
            explored.attempt, explored.case, explored.expectation = first.attempt, first.case, first.expectation
            continue
        shrunk[same] = explored
        on_shrink(driver.spec)
        _shrink(strategy, driver, oracle, profile, explored, survey.passed[driver.spec])
    for explored in results.values():
        if explored.attempt.verdict is Verdict.PASS and not explored.examples:
            explored.attempt = _nothing_ran(explored)
    return results


def drawn(strategy: SearchStrategy[Case], profile: Profile) -> list[Case]:
    """The cases that a run of this profile explores. Raises HarnessTrouble where the strategy fails."""
    found: list[Case] = []
    trouble = _hypothesis(strategy, profile, found.append, shrink=False)
    if trouble is not None:
        raise HarnessTrouble("generator-failed", trouble, f"example {len(found) + 1}", "a strategy of valid cases")
    return found


class _Survey:
    """The examples of an area on several drivers, each until its first finding."""

    def __init__(self, drivers: Sequence[OpenDriver], oracle: Oracle, on_example: Watch, told: Told) -> None:
        self.results = {d.spec: Explored() for d in drivers}
        self.alive = list(drivers)
        self.passed: dict[str, set[str]] = {d.spec: set() for d in drivers}
        self._oracle = oracle
        self._on_example = on_example
        self._told = told
        self._size = block_size(drivers)
        self._block: list[Case] = []
        self._kept: list[Case] = []

    def add(self, case: Case) -> None:
        """Take one example. Raises _Enough when no driver is left."""
        if not self.alive:
            raise _Enough
        if any(d.quarantine.last(case) for d in self.alive):
            self._kept.append(case)
            return
        self._block.append(case)
        if len(self._block) == self._size:
            self.flush()
        if not self.alive:
            raise _Enough

    def quarantined(self) -> None:
        """Run what a quarantine leaves for last, one by one."""
        for case in self._kept:
            self._block.append(case)
            self.flush()

    def flush(self) -> None:
        """Run the examples taken."""
        block, self._block = self._block, []
        drivers = list(self.alive)
        for judged in judge_all(block, drivers, lambda case: checked_expectation(case, self._oracle), self._told):
            for driver, attempt in zip(drivers, judged.attempts, strict=True):
                if driver in self.alive:
                    self._count(driver, judged.case, attempt, judged.expectation)

    def _count(self, driver: OpenDriver, case: Case, attempt: Attempt, expectation: Expectation | None) -> None:
        explored = self.results[driver.spec]
        explored.seconds += attempt.seconds
        self._on_example(driver.spec)
        if attempt.verdict is Verdict.UNSUPPORTED:
            explored.unsupported += 1
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


def _nothing_ran(explored: Explored) -> Attempt:
    if explored.not_run:
        return Attempt(Verdict.NOT_RUN, "; ".join(explored.not_run))
    if explored.unsupported:
        return Attempt(Verdict.UNSUPPORTED, f"the driver supports none of {explored.unsupported} generated cases")
    return Attempt(Verdict.ERROR, "the area generated no case for this driver")


def _attempt(case: Case, driver: OpenDriver, oracle: Oracle) -> tuple[Attempt, Expectation | None]:
    """One case on one driver, but for what shrinking keeps away from."""
    if is_spared(driver, case):
        return Attempt(Verdict.NOT_RUN, "left for last by the quarantine, or the run dies with it"), None
    (judged,) = judge_all([case], [driver], lambda case: checked_expectation(case, oracle))
    return judged.attempts[0], judged.expectation


def checked_expectation(case: Case, oracle: Oracle) -> Expectation:
    """The expectation of a generated case. Raises HarnessTrouble where the case breaks a rule: the generator's bug."""
    violations = oracle.violations(case)
    if violations:
        first = violations[0]
        raise HarnessTrouble(
            "generated-invalid",
            f"a generated case breaks {first.rule}: {first.what}",
            first.path,
            "this is a bug in cts/generators or cts/reference; please report it",
        )
    return oracle.expect(case)


def _shrink(
    strategy: SearchStrategy[Case],
    driver: OpenDriver,
    oracle: Oracle,
    profile: Profile,
    explored: Explored,
    passed: Set[str],
) -> None:
    """Repeat the examples and let Hypothesis shrink the failing one; those that have passed cost generation only.

    What is left is minimised, within the profile's `reductions`. Both keep to the verdict that shrinking began with, so
    that it never slips from a driver's failure into an error of ours.
    """
    original, verdict = explored.case, explored.attempt.verdict
    assert original is not None
    found = False

    def fails(case: Case) -> bool:
        nonlocal found
        attempt, expectation = _attempt(case, driver, oracle)
        if attempt.verdict is not verdict or driver.baseline.known_by_condition(case, verdict) is not None:
            return False
        found = True
        explored.attempt, explored.case, explored.expectation = attempt, case, expectation
        return True

    def test(case: Case) -> None:
        if case.content_hash not in passed and fails(case):
            raise _Found

    try:
        trouble = _hypothesis(strategy, profile, test, shrink=True)
    except _Flaky:
        detail = f"{verdict.value} at first, not when the same case was run again"
        explored.attempt = replace(explored.attempt, verdict=Verdict.FLAKY, detail=detail)
        return
    if trouble is not None:
        explored.attempt = Attempt(Verdict.ERROR, trouble)
        return
    if not found:
        attempt, _ = _attempt(original, driver, oracle)
        if attempt.verdict is not verdict:
            _flaky(explored, verdict, attempt.verdict)
            return
    if verdict is not Verdict.ERROR:
        _minimize(driver, oracle, profile, explored)


def _minimize(driver: OpenDriver, oracle: Oracle, profile: Profile, explored: Explored) -> None:
    """Make the case of a finding smaller, away from what is known or left for last. Raises KeyboardInterrupt."""
    case, verdict = explored.case, explored.attempt.verdict
    assert case is not None

    def wanted(case: Case) -> bool:
        return not is_spared(driver, case) and driver.baseline.known_by_condition(case, verdict) is None

    try:
        found = minimize(case, driver, oracle, Budget(steps=profile.reductions), wanted=wanted)
    except BadInput as e:
        explored.attempt = replace(explored.attempt, verdict=Verdict.FLAKY, detail=e.what)
        return
    if found.stopped == INTERRUPTED:
        raise KeyboardInterrupt
    if found.verdict is not verdict:
        _flaky(explored, verdict, found.verdict)
    elif found.after < found.before:
        explored.attempt, explored.case, explored.expectation = found.attempt, found.case, oracle.expect(found.case)


def _flaky(explored: Explored, first: Verdict, again: Verdict) -> None:
    detail = f"{first.value} at first, {again.value} when the same case was run again"
    explored.attempt = replace(explored.attempt, verdict=Verdict.FLAKY, detail=detail)


def _hypothesis(
    strategy: SearchStrategy[Case], profile: Profile, test: Callable[[Case], None], *, shrink: bool
) -> str | None:
    """Run `test` on examples until it raises. Returns what went wrong with generation itself, in words.

    The same profile and the same behaviour of `test` give the same examples in the same order.
    Raises _Flaky where a failing example passes when it is repeated.
    """
    import hypothesis
    from hypothesis import HealthCheck, Phase
    from hypothesis.errors import Flaky

    settings = hypothesis.settings(
        max_examples=profile.max_examples,
        phases=(Phase.generate, Phase.shrink) if shrink else (Phase.generate,),
        database=None,  # a finding is kept as a case file
        deadline=None,  # drivers have their own time limits
        derandomize=False,  # the seed is ours, and printed
        report_multiple_bugs=False,
        print_blob=False,
        # How long a driver takes says nothing about the strategies.
        suppress_health_check=(HealthCheck.too_slow,),
    )

    @hypothesis.seed(profile.seed)
    @settings
    @hypothesis.given(strategy)
    def generated(case: Case) -> None:
        test(case)

    try:
        with same_examples_everywhere():
            generated()
    except (_Found, _Enough):
        return None
    except Flaky as e:
        raise _Flaky from e
    except Exception as e:  # noqa: BLE001 - a bug of a generator: shown as ERROR
        return describe(e)
    return None
