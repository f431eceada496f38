"""Generated cases, lowered and executed, against the oracle: memory and every matrix on the way."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from cts.base.choices import strategy
from cts.case.model import Case, Return
from cts.case.oracle.expectation import Freedom
from cts.drivers.interpreter import create
from cts.judging.judge import OpenDriver, judge
from cts.judging.verdict import Verdict
from cts.plugins import registry

DRIVERS = {
    size: OpenDriver("interpreter", d := create({"subgroup_size": str(size)}), d.capabilities())
    for size in (1, 32, 128)
}


def check(size: int, case: Case) -> None:
    expectation = registry.oracle().expect(case)
    attempt = judge(DRIVERS[size], case, expectation)
    assert attempt.verdict is Verdict.PASS, f"{attempt.detail} {attempt.divergence}"
    assert attempt.outcome is not None
    if any(isinstance(i, Return) for i in case.program):
        return  # who has ended has no value of what follows
    for name, bits in expectation.matrices.items():
        spread = expectation.spreads.get(name)
        if name not in attempt.outcome.matrices:
            assert spread is not None and (spread.flags & Freedom.ANY != 0).all(), f"{name} has no value"
            continue  # in an arm that nobody takes
        same = attempt.outcome.matrices[name] == bits
        # What may be several values is judged where it comes to memory.
        assert (same if spread is None else same | (spread.lo != spread.hi) | (spread.flags != 0)).all(), name


@pytest.mark.parametrize(("size", "examples"), [(32, 150), (1, 30), (128, 30)])
def test_generated_cases(size: int, examples: int) -> None:
    @settings(
        max_examples=examples, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck)
    )
    @given(strategy(registry.area("tensor_addressing")(DRIVERS[size].capabilities)))
    def agrees(case: Case) -> None:
        check(size, case)

    agrees()
