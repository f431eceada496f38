"""Generated cases on drivers, driven by Hypothesis: find a failing case, shrink it, keep the shrunk one.

Drivers of equal capabilities see the same examples, generated and judged by the oracle once; each
driver's finding is then shrunk for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from cts.errors import HarnessTrouble
from cts.expectation import Expectation, Oracle
from cts.judge import Attempt, OpenDriver, describe, judge, unsupported
from cts.model import Case
from cts.profiles import Profile
from cts.reduce import reduce
from cts.seeding import same_examples_everywhere
from cts.verdict import Verdict

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


@dataclass(eq=False)
class Explored:
    """What became of one area on one driver.

    `examples` counts cases judged until the end or the first finding, without those of shrinking.
    `case` is the shrunk case where the verdict is not PASS or UNSUPPORTED and a case is to blame.
    """

    attempt: Attempt = field(default_factory=lambda: Attempt(Verdict.PASS))
    case: Case | None = None
    expectation: Expectation | None = None
    examples: int = 0
    unsupported: int = 0
    seconds: float = 0.0


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
) -> dict[str, Explored]:
    """Run `profile.max_examples` cases of the strategy on each driver; results by driver spec.

    `on_example` is called with the driver's spec after each example, `on_shrink` when shrinking begins.
    """
    results = {d.spec: Explored() for d in drivers}
    alive = list(drivers)
    passed: dict[str, set[str]] = {d.spec: set() for d in drivers}

    def test(case: Case) -> None:
        if not alive:
            raise _Enough
        attempts = _attempts(case, alive, oracle)
        identity = case.content_hash
        for driver, (attempt, expectation) in zip(list(alive), attempts, strict=True):
            explored = results[driver.spec]
            explored.seconds += attempt.seconds
            on_example(driver.spec)
            if attempt.verdict is Verdict.UNSUPPORTED:
                explored.unsupported += 1
                continue
            explored.examples += 1
            if attempt.verdict is Verdict.PASS:
                passed[driver.spec].add(identity)
            else:
                explored.attempt, explored.case, explored.expectation = attempt, case, expectation
                alive.remove(driver)
        if not alive:
            raise _Enough

    trouble = _hypothesis(strategy, profile, test, shrink=False)
    if trouble is not None:
        for driver in alive:
            results[driver.spec].attempt = Attempt(Verdict.ERROR, trouble)
    shrunk: dict[int, Explored] = {}
    for driver in drivers:
        explored = results[driver.spec]
        if explored.case is None:
            continue
        # Drivers share an attempt where the error is the oracle's or the generator's.
        same = id(explored.attempt)
        if same in shrunk:
            first = shrunk[same]
            explored.attempt, explored.case, explored.expectation = first.attempt, first.case, first.expectation
            continue
        shrunk[same] = explored
        on_shrink(driver.spec)
        _shrink(strategy, driver, oracle, profile, explored, passed[driver.spec])
    for explored in results.values():
        if explored.attempt.verdict is Verdict.PASS and not explored.examples:
            explored.attempt = _nothing_ran(explored)
    return results


def _nothing_ran(explored: Explored) -> Attempt:
    if explored.unsupported:
        return Attempt(Verdict.UNSUPPORTED, f"the driver supports none of {explored.unsupported} generated cases")
    return Attempt(Verdict.ERROR, "the area generated no case for this driver")


def _attempts(case: Case, drivers: Sequence[OpenDriver], oracle: Oracle) -> list[tuple[Attempt, Expectation | None]]:
    """One attempt per driver; generation that breaks a rule and a failing oracle are ERROR for all."""
    refusals = [unsupported(d, case) for d in drivers]
    expectation: Expectation | None = None
    ours: Attempt | None = None
    if any(r is None for r in refusals):
        try:
            expectation = checked_expectation(case, oracle)
        except Exception as e:  # noqa: BLE001 - our own bug: shown as ERROR with its case
            ours = Attempt(Verdict.ERROR, describe(e))
    attempts = []
    for driver, refusal in zip(drivers, refusals, strict=True):
        attempt = refusal or ours
        if attempt is None:
            assert expectation is not None
            attempt = judge(driver, case, expectation)
        attempts.append((attempt, expectation))
    return attempts


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

    What is left is reduced by structure. Both keep to the verdict that shrinking began with, so
    that it never slips from a driver's failure into an error of ours.
    """
    original, verdict = explored.case, explored.attempt.verdict
    assert original is not None
    found = False

    def fails(case: Case) -> bool:
        nonlocal found
        ((attempt, expectation),) = _attempts(case, [driver], oracle)
        if attempt.verdict is not verdict:
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
        ((attempt, _),) = _attempts(original, [driver], oracle)
        if attempt.verdict is not verdict:
            detail = f"{verdict.value} at first, {attempt.verdict.value} when the same case was run again"
            explored.attempt = replace(explored.attempt, verdict=Verdict.FLAKY, detail=detail)
            return
    if explored.case is not None and verdict is not Verdict.ERROR:
        reduce(explored.case, lambda case: not oracle.violations(case) and fails(case))


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
