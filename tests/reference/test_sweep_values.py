"""Sweeps of programs that compute: what a set gives does not depend on the contents that others have."""

from __future__ import annotations

import numpy as np
import pytest

from cts.case.model import Case, dynamic_words, initial_bits, written
from cts.case.model.sweep import Sweep
from cts.reference.sweeping import judged_together
from tests.generators.samples import sample
from tests.reference.sweeps import assert_as_by_case

#: Areas, how many of their cases are looked at, and how many of these, at least, are judged together.
AREAS = {
    "conversions": (40, 15),
    "matrix_arithmetic": (30, 18),
    "vector_arithmetic": (40, 8),
    "vector_multiply": (40, 2),
    "block_loads": (10, 1),
}


def with_contents(case: Case, seed: int) -> Sweep:
    """The case with its own data, with some bytes changed, and with random bits, in buffers that it only reads."""
    rng = np.random.default_rng(seed)
    data = {}
    for name, buffer in case.buffers.items():
        if name not in written(case):
            rows = np.tile(initial_bits(buffer).view(np.uint8), (5, 1))
            rows[1, rng.integers(0, rows.shape[1], 3)] = rng.integers(0, 256, 3)
            rows[2:4] = rng.integers(0, 256, rows[2:4].shape)
            data[name] = rows
    return Sweep(case, np.repeat(dynamic_words(case)[None], 5, axis=0), data)


@pytest.mark.parametrize("area", AREAS)
def test_generated_programs_with_other_contents(area: str) -> None:
    together, (cases, least) = 0, AREAS[area]
    for number, case in enumerate(sample(cases, area=area)):
        if judged_together(case):
            assert_as_by_case(with_contents(case, number))
            together += 1
    assert together >= least
