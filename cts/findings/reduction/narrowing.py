"""Which transforms, and which passes of an optimiser, matter: a driver with the fewest with which a case ends alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from cts.base.deadline import NO_DEADLINE, Deadline
from cts.case.model import Case
from cts.case.oracle.expectation import Expectation, Oracle
from cts.judging.judge import Attempt, OpenDriver, excluded_from_shrinking, job_for, judge, refusal
from cts.judging.verdict import Verdict
from cts.plugins.transform import ListedTransform, Transform, Transformed, TransformFailed

Item = TypeVar("Item")

#: How many runs it may take, and how many seconds until the last of them begins.
RUNS, SECONDS = 200, 20


def narrowed(
    driver: OpenDriver,
    case: Case,
    attempt: Attempt,
    expectation: Expectation | None,
    time_is_up: Deadline = NO_DEADLINE,
) -> tuple[OpenDriver, Attempt]:
    """The driver with the fewest transforms and parts of them with which the case ends as it did, and its attempt.

    A transform's draws are first settled for the case, so that they stay the same when the case changes. If the driver
    has no such transforms, or does not end so again, the given driver and attempt are returned. The narrowed driver
    shares the underlying driver with the given one, and closing either closes it.
    """
    if not attempt.verdict.is_finding or attempt.verdict is Verdict.FLAKY or expectation is None:
        return driver, attempt
    if not isinstance(driver.driver, Transformed) or excluded_from_shrinking(driver, case) or time_is_up():
        return driver, attempt
    try:
        settled = driver.driver.settled(job_for(driver, case))
    except TransformFailed:
        return driver, attempt
    search = _Search(driver, case, attempt, expectation, settled, time_is_up.within(SECONDS))
    if not search.ends_alike(settled.transforms):
        return driver, attempt
    return search.found()


def narrowed_for(driver: OpenDriver, case: Case, oracle: Oracle) -> OpenDriver:
    """The driver narrowed after a run of the case, with the narrower spec; unchanged if the case may not run."""
    if not isinstance(driver.driver, Transformed) or refusal(driver, case) is not None:
        return driver
    expectation = oracle.expect(case)
    narrow, _ = narrowed(driver, case, judge(driver, case, expectation), expectation)
    return replace(narrow, spec=narrow.narrowed or narrow.spec, narrowed="")


class _Search:
    """Tries fewer parts of one transform after the other; `transforms` are the fewest so far."""

    def __init__(
        self,
        driver: OpenDriver,
        case: Case,
        attempt: Attempt,
        expectation: Expectation,
        settled: Transformed,
        time_is_up: Deadline,
    ) -> None:
        self._driver = driver
        self._case = case
        self._attempt = attempt
        self._expectation = expectation
        self._settled = settled
        self._transforms = settled.transforms
        self._runs = 0
        self._time_is_up = time_is_up

    def ends_alike(self, transforms: Sequence[Transform]) -> bool:
        """Whether the case ends as it did with these transforms; False once it has run too often, or too long."""
        if self._runs >= RUNS or self._time_is_up():
            return False
        self._runs += 1
        driver = replace(self._driver, driver=self._settled.with_transforms(transforms))
        attempt = judge(driver, self._case, self._expectation)
        if attempt.kind != self._attempt.kind:
            return False
        self._attempt = replace(attempt, runs=self._attempt.runs)
        return True

    def found(self) -> tuple[OpenDriver, Attempt]:
        """The driver with the fewest transforms, and the fewest parts of them, and its attempt."""
        self._transforms = _fewest(self._transforms, self.ends_alike)
        for place, transform in enumerate(self._transforms):
            if isinstance(transform, ListedTransform):
                self._narrow(place, transform)
        transformed = self._settled.with_transforms(self._transforms)
        spec = self._driver.spec.partition("|")[0] + transformed.suffix
        if spec == (self._driver.narrowed or self._driver.spec):
            return self._driver, self._attempt
        names = self._driver.spec, spec, transformed.identity()
        baseline = self._driver.listed.for_driver(*names, stage=self._driver.capabilities.stage)
        return replace(self._driver, driver=transformed, narrowed=spec, baseline=baseline), self._attempt

    def _narrow(self, place: int, transform: ListedTransform) -> None:
        """Fewer parts of the transform at a place; if a remaining part stands for several, fewer of these."""

        def alike(parts: Sequence[str]) -> bool:
            return self.ends_alike(self._with(place, transform.with_parts(parts)))

        fewest = transform.with_parts(_fewest(transform.parts, alike))
        expanded = fewest.expanded()
        if expanded.parts != fewest.parts and alike(expanded.parts):
            fewest = expanded.with_parts(_fewest(expanded.parts, alike))
        self._transforms = self._with(place, fewest)

    def _with(self, place: int, transform: Transform) -> tuple[Transform, ...]:
        return (*self._transforms[:place], transform, *self._transforms[place + 1 :])


def _fewest(items: Sequence[Item], alike: Callable[[Sequence[Item]], bool]) -> tuple[Item, ...]:
    """A minimal list of items by Zeller's delta debugging: no run of them can be left out; at least one item.

    >>> _fewest("abcdefgh", lambda some: {"c", "g"} <= set(some))
    ('c', 'g')
    """
    left, size = tuple(items), max(len(items) // 2, 1)
    while len(left) > 1:
        start, before = 0, len(left)
        while start < len(left) and len(left) > 1:
            fewer = left[:start] + left[start + size :]
            if fewer and alike(fewer):
                left = fewer
            else:
                start += size
        if size == 1 and len(left) == before:
            break
        size = max(min(size // 2, len(left) // 2), 1) if len(left) == before or size > 1 else 1
    return left
