"""Whether a failure is one that an entry of a baseline knows, judged by the wrong elements in memory."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial

import numpy as np

from cts.base.memory import GUARD_BYTES
from cts.case.model import Case
from cts.case.model.sweep import Bytes
from cts.device.driver import Driver, Status
from cts.features import parse, view
from cts.features.deviations import parse_deviation
from cts.judging.compare import Differing
from cts.judging.deviations import owned
from cts.judging.judge import Attempt, OpenDriver, job
from cts.judging.known.quarantine import Rule
from cts.plugins import registry


def known(driver: OpenDriver, case: Case, attempt: Attempt) -> Rule | None:
    """The entry of the driver's baseline that lists this failure, and whose effect it has, or None."""
    rule = driver.baseline.known(case, attempt.verdict, partial(has_effect, case=case, attempt=attempt))
    return rule or _together(driver.baseline.rules, case, attempt)


def known_by_condition(driver: OpenDriver, case: Case, attempt: Attempt) -> Rule | None:
    """The same, without the name and the hash of the case."""
    rule = driver.baseline.known_by_condition(case, attempt.verdict, partial(has_effect, case=case, attempt=attempt))
    return rule or _together([r for r in driver.baseline.rules if r.match.cases is None], case, attempt)


def _together(rules: Sequence[Rule], case: Case, attempt: Attempt) -> Rule | None:
    """The first of several entries that together explain a failure: each says what it leaves, and nothing else."""
    if attempt.divergence is None or attempt.outcome is None:
        return None
    computed = [r for r in rules if r.leaves and not r.effect and not r.model and r.match.matches_case(case)]
    bugs = [parse_deviation(rule.leaves).at(case) for rule in computed]
    if sum(map(bool, bugs)) < 2 or not owned(case, bugs, attempt.outcome.memory, attempt.divergence):
        return None
    return next(rule for rule, bug in zip(computed, bugs, strict=True) if bug)


def has_effect(rule: Rule, case: Case, attempt: Attempt) -> bool:
    """Whether the wrong elements are as an entry says: in its buffers, and with the values that its model leaves."""
    if attempt.divergence is None:
        return False
    groups = attempt.divergence.groups
    if rule.effect:
        holds = parse(rule.effect, kind="Memory").test
        if not all(holds(view(case).view.memory(group.buffer)) for group in groups):
            return False
    if rule.leaves:
        assert attempt.outcome is not None, "what differs is in its memory"
        if not owned(case, [parse_deviation(rule.leaves).at(case)], attempt.outcome.memory, attempt.divergence):
            return False
    if not rule.model:
        return True
    outcome = _model(rule.model).run(job(case, _model(rule.model).capabilities().subgroup_size))
    if outcome.status is not Status.DONE:
        return False
    return all(_is_left(group, outcome.memory[group.buffer]) for group in groups)


def _is_left(group: Differing, memory: Bytes) -> bool:
    """Whether memory holds the actual values of a group at the group's elements."""
    size = group.component.size
    places = GUARD_BYTES + group.offsets[:, None] + np.arange(size)
    actual = np.ascontiguousarray(group.actual).view(np.uint8).reshape(len(group), size)
    return bool((memory[places] == actual).all())


@lru_cache(maxsize=8)
def _model(mutant: str) -> Driver:
    """The emulator with a planted bug. Raises BadInput for one that it has not."""
    return registry.driver(f"emulator:mutant={mutant}")
