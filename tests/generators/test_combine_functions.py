"""Combine functions of generated programs give one result in any order."""

from __future__ import annotations

import numpy as np

from cts.generators.parts.combine_functions import combinings
from cts.model import Case, Combine, MatrixReduce, decode, initial_bits
from tests.generators.devices import LAVAPIPE
from tests.generators.samples import sample


def has_negative_zeros(case: Case) -> bool:
    for buffer in case.buffers.values():
        if buffer.type.is_float:
            with np.errstate(invalid="ignore"):
                values = decode(buffer.type, initial_bits(buffer)).astype(np.float64)
            if (np.signbit(values) & (values == 0)).any():
                return True
    return False


def test_nothing_is_picked_of_zeros_of_both_signs() -> None:
    """CM-023: which of two equal numbers a maximum gives depends on the order, and shows in the bits."""
    cases = sample(1500, LAVAPIPE, "matrix_programs")
    reducing = [c for c in cases if has_negative_zeros(c) and any(isinstance(i, MatrixReduce) for i in c.program)]
    assert reducing
    for case in reducing:
        used = {i.combine for i in case.program if isinstance(i, MatrixReduce)}
        functions = [f for name, f in case.functions.items() if name in used and isinstance(f, Combine)]
        floats = [f for f in functions if f.type.is_float]
        assert not [f.body for f in floats if f.body in {c.body for c in combinings(f.type) if c.picks}]
