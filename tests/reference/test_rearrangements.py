"""What a compiler may make of a few operations, by hand: the least and greatest results, and what lies between."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest

from cts.case.model import ComponentType
from cts.case.oracle.expectation import Freedom
from cts.reference.matrices.products import multiplied_floats
from cts.reference.numeric.floats import Floats
from cts.reference.numeric.modes import Mode
from cts.reference.numeric.value import Value
from cts.reference.vectors.training import Accumulation

F16, F32 = ComponentType.float16, ComponentType.float32
LOOSE, STRICT = Floats(loose=True), Floats(loose=False, ieee=True)
TINY = 2.0**-24


def of(component: ComponentType, *numbers: float) -> Value:
    return Value(component, np.array(numbers, component.dtype).view(component.bits_dtype))


def bounds(value: Value) -> tuple[float, float]:
    low, high = value.interval
    return float(low.item()), float(high.item())


def bits(value: Value) -> list[str]:
    return [hex(int(np.float32(end).view(np.uint32))) for end in bounds(value)]


def shaped(value: Value, *shape: int) -> Value:
    return value.map(lambda a: a.reshape(shape))


def accumulated(before: float, terms: Sequence[float]) -> Value:
    """What a float16 becomes, to which invocations add."""
    sums = Accumulation(F16, 1, 1)
    nowhere: npt.NDArray[np.int64] = np.zeros((1, 1, 1, 1), np.int64)
    for term in terms:
        sums.add(shaped(of(F16, term), 1, 1, 1, 1), nowhere, None)
    return sums.finished(shaped(of(F16, before), 1, 1))[0]


def test_a_quotient_of_a_sum_may_be_that_of_each_term() -> None:
    # An H100 computes (a + 13) / 3 as a * (1 / 3) + 13 * (1 / 3).
    total = LOOSE.add(of(F32, -1019), of(F32, 13))
    low, high = bounds(LOOSE.div(total, of(F32, 3)))
    third = np.float32(1) / np.float32(3)
    assert low <= float(np.float32(-1019) * third + np.float32(13) * third) <= high
    alone = bounds(LOOSE.div(of(F32, -1006), of(F32, 3)))
    assert low < alone[0] and alone[1] < high


def test_small_sums_are_bounded_by_all_their_orders() -> None:
    folded = LOOSE.sub(LOOSE.add(of(F16, 0.5), of(F16, 30000)), of(F16, 30000))
    assert bounds(folded) == (0, 16)


def test_what_may_overflow_in_another_order_may_be_anything() -> None:
    difference = LOOSE.sub(of(F16, 60000), of(F16, 60000))
    assert bounds(difference) == (0, 0)
    assert (LOOSE.mul(difference, of(F16, 2)).flags & Freedom.ANY).all()
    assert not (LOOSE.mul(LOOSE.sub(of(F16, 600), of(F16, 600)), of(F16, 2)).flags & Freedom.ANY).any()


def test_a_divisor_may_be_multiplied_out() -> None:
    # (x / d) / (3 - y) as x / (3 * d - y * d): the difference cancels.
    near = LOOSE.sub(of(F16, 3), of(F16, 2.998))
    alone, twice = LOOSE.div(of(F16, 1), near), LOOSE.div(LOOSE.div(of(F16, 1), of(F16, 1.5)), near)
    width, wide = (high - low for low, high in (bounds(alone), bounds(twice)))
    assert wide > 100 * width


def test_ulp_bounds_hold_the_numbers_within_them_and_no_more() -> None:
    assert bits(STRICT.div(of(F32, 1), of(F32, 1))) == ["0x3f7ffffe", "0x3f800001"]
    assert bits(STRICT.exp(of(F32, 0))) == ["0x3f7ffffd", "0x3f800001"]


def test_magnitudes_have_no_sign() -> None:
    assert not np.signbit(STRICT.abs(of(F16, -0.0)).core).any()


@pytest.mark.parametrize("operation", ["div", "mul"])
def test_quotients_and_products_keep_signs_and_infinities_in_a_mode(operation: str) -> None:
    kept = Floats(loose=False, modes={F16: Mode(specials=True)})
    result = getattr(kept, operation)(of(F16, -np.inf), of(F16, 2))
    assert np.isneginf(result.core[0]).all() and not result.flags.any()
    assert getattr(Floats(loose=False), operation)(of(F16, -np.inf), of(F16, 2)).flags.all()


@pytest.mark.parametrize(
    ("before", "terms", "expected"),
    [
        (0, (2048, 1, 1), [2048, 2050, 2052]),
        (2048, (1, 1), [2048, 2050, 2052]),
        (3 * TINY, (5 * TINY,), [0, 3 * TINY, 5 * TINY, 8 * TINY]),
        (0, (3 * TINY,), [0, 3 * TINY]),
        (1, (2, 3), [6]),
    ],
)
def test_few_additions_are_judged_in_every_order(before: float, terms: Sequence[float], expected: list[float]) -> None:
    sums = accumulated(before, terms)
    assert bounds(sums) == (expected[0], expected[-1])
    if sums.free is not None:
        low, high = (float(end.item()) for end in sums.core)
        assert {low, high} <= set(expected)
        assert sums.free.step is not None and (np.fmod(expected, sums.free.step.item()) == 0).all()


def test_sums_of_denormals_are_between_those_of_each_sign() -> None:
    a, b = shaped(of(F16, *[2.0**-14] * 16), 1, 16), shaped(of(F16, *[2.0**-10] * 16), 16, 1)
    low, high = bounds(multiplied_floats(a, b, shaped(of(F16, 0), 1, 1)))
    assert low == 0 and 16 * TINY <= high < 40 * TINY
