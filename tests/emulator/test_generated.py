"""Generated cases: all variants leave memory, and elements with one allowed value, as the oracle expects."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cts.base.choices import strategy
from cts.case.model import Case, If, Loop, initial_memory
from cts.case.oracle.expectation import Expectation
from cts.device.capabilities import everything
from cts.device.driver import Job, Outcome, Status
from cts.device.driver_options import options_of
from cts.drivers.emulator import create
from cts.drivers.emulator.options import Options
from cts.judging.compare import compare
from cts.plugins import registry

OPTIONS = st.fixed_dictionaries(
    {option.name: st.sampled_from(list(option.values)) for option in options_of(Options) if option.area}
)


def no_module() -> Any:
    raise AssertionError("the emulator runs cases, not modules")


def agrees(case: Case, expected: Expectation, outcome: Outcome) -> None:
    assert outcome.status is Status.DONE, outcome.detail
    assert compare(case, expected, outcome.memory) is None
    if any(isinstance(i, (Loop, If)) for i in case.program):
        return  # what a matrix holds in instances that skip its definition is nobody's business
    for name, bits in outcome.matrices.items():
        spread = expected.spreads.get(name)
        certain = np.ones(bits.shape, bool) if spread is None else (spread.lo == spread.hi) & (spread.flags == 0)
        np.testing.assert_array_equal(bits[certain], expected.matrices[name][certain], name)


@pytest.mark.parametrize("area", registry.names("cts.areas"))
def test_variants_agree_with_the_oracle(area: str) -> None:
    @settings(max_examples=100, derandomize=True, deadline=None)
    @given(case=strategy(registry.area(area)(everything())), options=OPTIONS)
    def agree(case: Case, options: dict[str, str]) -> None:
        outcome = create(options).run(Job(case, initial_memory(case), no_module))
        agrees(case, registry.oracle().expect(case), outcome)

    agree()
