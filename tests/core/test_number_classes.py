"""Classes of numbers: named if most wrong elements are of them, and if the expected values are known."""

from __future__ import annotations

import numpy as np
import pytest

from cts.case.model import ComponentType
from cts.case.oracle.expectation import Freedom
from cts.judging.number_classes import NumberClass, certain, classes

F16 = ComponentType.float16


def bits(*values: int) -> np.ndarray:
    return np.array(values, np.uint16)


@pytest.mark.parametrize(
    ("actual", "expected", "kind"),
    [
        (bits(0x0000, 0x8000, 0x3C00), bits(0x8000, 0x0000, 0x4000), NumberClass.SIGN_OF_ZERO),
        (bits(0x0000, 0x3C00, 0x3C00), bits(0x7E01, 0x7E00, 0x4000), NumberClass.EXPECTED_NAN),
        (bits(0x7E01, 0xFE00, 0x3C00), bits(0x3C00, 0x0000, 0x4000), NumberClass.ACTUAL_NAN),
        (bits(0x7C00, 0x7BFF, 0x3C00), bits(0x7BFF, 0x7C00, 0x4000), NumberClass.INFINITIES),
        (bits(0x0000, 0x8000, 0x3C00), bits(0x0001, 0x83FF, 0x4000), NumberClass.DENORMALS),
        (bits(0x3C00, 0x3C00, 0x3C00), bits(0x7BFF, 0xFBFF, 0x4000), NumberClass.SATURATION),
    ],
)
def test_a_class_of_two_of_three_elements_is_named(actual: np.ndarray, expected: np.ndarray, kind: NumberClass) -> None:
    found = list(classes(F16, actual, expected, np.ones(3, bool)))
    assert (kind, 2, 3) in [(f.kind, f.count, f.wrong) for f in found]
    one = list(classes(F16, np.repeat(actual, [1, 1, 2]), np.repeat(expected, [1, 1, 2]), np.ones(4, bool)))
    assert kind not in {f.kind for f in one}


def test_ties_are_halfway_between_two_numbers() -> None:
    """Of float16, 2049 is halfway between 2048 and 2050; 2050 is a number, and 2049.5 is no tie."""
    exact = np.array([2049.0, 2051.0, 2050.0, 2049.5])
    actual, expected = bits(0x6801, 0x6801, 0x6800, 0x6800), bits(0x6800, 0x6802, 0x6801, 0x6801)
    found = list(classes(F16, actual[:3], expected[:3], np.ones(3, bool), exact[:3]))
    assert [(f.kind, f.count) for f in found] == [(NumberClass.TIES, 2)]
    assert list(classes(F16, actual[2:], expected[2:], np.ones(2, bool), exact[2:])) == []


def test_integers_saturate_at_both_ends() -> None:
    actual, expected = np.array([1, 2], np.uint8), np.array([0x7F, 0x80], np.uint8)
    found = list(classes(ComponentType.int8, actual, expected, np.ones(2, bool)))
    assert [(f.kind, f.count) for f in found] == [(NumberClass.SATURATION, 2)]
    assert list(classes(ComponentType.uint8, actual, np.array([0, 0], np.uint8), np.ones(2, bool))) == []


def test_elements_with_several_allowed_values_are_of_no_class() -> None:
    lo, hi = bits(0x0000, 0x0000, 0x7E00), bits(0x0000, 0x3C00, 0x7E00)
    flags = np.array([Freedom.EITHER_ZERO, 0, Freedom.NAN], np.uint8)
    sure = certain(F16, lo, hi, flags)
    assert sure.tolist() == [False, False, True]
    assert [f.kind for f in classes(F16, bits(0x8000, 0x8000, 0x3C00), lo, sure)] == []
