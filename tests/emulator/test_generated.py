"""Generated cases: every combination of variants leaves the memory, and the matrices, that the oracle expects."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cts import registry
from cts.capabilities import everything
from cts.driver import Job, Status
from cts.drivers.emulator import create
from cts.drivers.emulator.options import ORDERS, STORES, SUBGROUP_SIZES, TILES
from cts.model import GUARD_BYTES, Case, initial_memory

OPTIONS = st.fixed_dictionaries(
    {
        "subgroup_size": st.sampled_from(SUBGROUP_SIZES).map(str),
        "tile": st.sampled_from(list(TILES)),
        "order": st.sampled_from(list(ORDERS)),
        "stores": st.sampled_from(list(STORES)),
    }
)


def no_module() -> Any:
    raise AssertionError("the emulator runs cases, not modules")


@settings(max_examples=150, derandomize=True, deadline=None)
@given(case=registry.area("tensor_addressing")(everything()), options=OPTIONS)
def test_variants_agree_with_the_oracle(case: Case, options: dict[str, str]) -> None:
    expected = registry.oracle().expect(case)
    before = initial_memory(case)
    outcome = create(options).run(Job(case, before, no_module))
    assert outcome.status is Status.DONE, outcome.detail
    for name, data in outcome.memory.items():
        memory = before[name].copy()
        memory[GUARD_BYTES:-GUARD_BYTES] = expected.buffers[name].exact
        np.testing.assert_array_equal(data, memory, name)
    for name, bits in outcome.matrices.items():
        np.testing.assert_array_equal(bits, expected.matrices[name], name)
