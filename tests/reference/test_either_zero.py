"""A choice whose condition is not decided: of two zeros both signs are allowed (NU-020)."""

from __future__ import annotations

import numpy as np
import pytest

from cts.case.model import ComponentType
from cts.reference.numeric.expression import hull
from cts.reference.numeric.value import Value

F32 = ComponentType.float32


def value(*numbers: float) -> Value:
    return Value(F32, np.array(numbers, np.float32).view(np.uint32))


@pytest.mark.parametrize(
    ("a", "b", "low", "high"),
    [
        (-0.0, 0.0, -0.0, 0.0),
        (0.0, -0.0, -0.0, 0.0),
        (-0.0, -0.0, -0.0, -0.0),
        (0.0, 0.0, 0.0, 0.0),
        (-0.0, 3.0, -0.0, 3.0),
        (0.0, -3.0, -3.0, 0.0),
        (-3.0, -0.0, -3.0, -0.0),
        (-2.0, -2.0, -2.0, -2.0),
        (np.nan, -0.0, -0.0, -0.0),
    ],
)
def test_both_zeros_are_allowed(a: float, b: float, low: float, high: float) -> None:
    found = hull(value(a), value(b), ("a reason",), ieee=True).core
    assert [float(x[0]) for x in found] == [low, high]
    assert [bool(np.signbit(x[0])) for x in found] == [bool(np.signbit(low)), bool(np.signbit(high))]
