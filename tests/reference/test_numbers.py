"""Values of single operations: what is exact, what is an interval, what may be anything, and what is undefined."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cts.case.model import ComponentType as T
from cts.case.model import Microscaling, decode, encode
from cts.case.oracle.expectation import Freedom
from cts.reference.common.memory import interval_bits
from cts.reference.matrices.compute import passed
from cts.reference.numeric import conversions, integers, microscaling
from cts.reference.numeric.floats import Floats
from cts.reference.numeric.formats import above, below, lowest_bit, real, ulp
from cts.reference.numeric.undefined import Watch
from cts.reference.numeric.value import FREE, Free, Value, anything, where

STRICT, LOOSE = Floats(loose=False), Floats(loose=True)
FLOATS = [t for t in T if t.is_float]
ZERO = FREE | Freedom.EITHER_ZERO
ANY = FREE | Freedom.ANY


def value(component: T, *numbers: float | str) -> Value:
    return Value(component, encode(component, list(numbers)))


def allowed(v: Value) -> list[tuple[float, float]]:
    """The numbers that bound every element, as the component type has them."""
    assert v.component is not None
    if v.free is None:
        number = decode(v.component, v.bits).astype(np.float64).tolist()
        return list(zip(number, number, strict=True))
    low, high = interval_bits(v.component, v.free.flags, v.free.lo, v.free.hi)
    exact = v.free.flags == 0
    bounds = (decode(v.component, np.where(exact, v.bits, b)).astype(np.float64).tolist() for b in (low, high))
    return list(zip(*bounds, strict=True))


@pytest.mark.parametrize("floats", [STRICT, LOOSE], ids=["strict", "undecorated"])
def test_representable_results_are_exact(floats: Floats) -> None:
    a, b = value(T.float16, 1, 1024, -0.5), value(T.float16, 2, 1, 0.25)
    assert allowed(floats.add(a, b)) == [(3, 3), (1025, 1025), (-0.25, -0.25)]
    assert allowed(floats.sub(a, b)) == [(-1, -1), (1023, 1023), (-0.75, -0.75)]
    assert allowed(floats.mul(a, b)) == [(2, 2), (1024, 1024), (-0.125, -0.125)]
    assert all(floats.add(a, b).flags == 0)


@pytest.mark.parametrize("floats", [STRICT, LOOSE], ids=["strict", "undecorated"])
def test_one_inexact_operation_gives_either_neighbour(floats: Floats) -> None:
    total = floats.add(value(T.float16, 2048, -2048), value(T.float16, 1, -1))
    assert allowed(total) == [(2048, 2050), (-2050, -2048)]
    product = floats.mul(value(T.float32, 1 + 2**-23), value(T.float32, 1 + 2**-23))
    assert allowed(product) == [(1 + 2**-22, 1 + 2**-22 + 2**-23)]
    # Far apart: float64 alone would not see that the sum is inexact.
    assert allowed(floats.add(value(T.float32, 1), value(T.float32, 2**-80))) == [(1, 1 + 2**-23)]


def test_zeros_of_arithmetic_have_either_sign() -> None:
    v = STRICT.sub(value(T.float16, 3, 0), value(T.float16, 3, "0x8000"))
    assert v.flags.tolist() == [ZERO, ZERO]


def test_denormals_may_be_flushed() -> None:
    least = 2.0**-14
    result = STRICT.mul(value(T.float16, least, least / 2), value(T.float16, 0.5, 2))
    # Zero or the number, and nothing between them.
    assert allowed(result) == [(least / 2, least / 2), (least, least)]
    assert result.flags.tolist() == [ZERO, ZERO]


def test_either_of_two_denormals_may_be_the_greatest() -> None:
    """A comparison may flush what the move of an operand then keeps: -1 and -2 times the least denormal, and -0."""
    least = 2.0**-24
    greatest = STRICT.max(value(T.float16, -least, -least, least), value(T.float16, -2 * least, "0x8000", 2.0**-14))
    assert allowed(greatest) == [(-2 * least, -least), (-least, -least), (2.0**-14, 2.0**-14)]
    assert greatest.flags.tolist() == [ZERO, ZERO, 0]


def test_a_maximum_takes_for_zero_what_is_near_it_alone() -> None:
    """1 / 3 * 3 - 1 may lie far below 0; its maximum with 0 no farther than denormals."""
    third = STRICT.div(value(T.float16, 1), value(T.float16, 3))
    around = STRICT.sub(STRICT.mul(third, value(T.float16, 3)), value(T.float16, 1))
    ((low, high),) = allowed(around)
    assert low < -(2.0**-12) < 0 < high
    ((least, greatest),) = allowed(STRICT.max(around, value(T.float16, 0)))
    assert -(2.0**-14) <= least <= 0 and greatest == high


def test_specials_and_overflow_are_not_portable() -> None:
    a = value(T.float16, 65504, "0x7c00", "0x7e00", 256)
    for result in (STRICT.mul(a, value(T.float16, 2, 0, 1, 256)), LOOSE.add(a, a)):
        assert (result.flags[:3] == ANY).all()
    assert STRICT.mul(a, a).flags[3] == ANY


def test_division_and_exp_have_their_ulp() -> None:
    (low, high), (zero, _) = allowed(STRICT.div(value(T.float32, 1, 0), value(T.float32, 3, 3)))
    third = np.float32(1) / np.float32(3)
    assert low < third < high
    assert (high - low) / float(ulp(T.float32, np.array([1 / 3]))[0]) <= 6
    assert zero == 0
    assert STRICT.div(value(T.float32, 1), value(T.float32, 0)).flags[0] == ANY
    ((low, high),) = allowed(STRICT.exp(value(T.float16, 1)))
    assert low < math.e < high and high - low <= 8 * 2.0**-9


def test_minimum_and_maximum_are_exact() -> None:
    a, b = value(T.float16, 1, -3), value(T.float16, 2, -4)
    assert allowed(STRICT.min(a, b)) == [(1, 1), (-4, -4)]
    assert allowed(LOOSE.max(LOOSE.add(a, b), b)) == [(3, 3), (-4, -4)]


def test_comparisons_of_intervals_may_be_undecided() -> None:
    inexact = STRICT.add(value(T.float16, 2048, 2048, 2048), value(T.float16, 1, 1, 1))
    less = STRICT.compare("lt", inexact, value(T.float16, 4096, 2048, 2050))
    assert less.flags.tolist() == [0, 0, FREE]
    assert less.bits[:2].tolist() == [1, 0]


def test_undecorated_programs_may_drop_roundings_and_rearrange() -> None:
    """NU-018: (x + 2048) - 2048 in float16 is x on a real driver, and 0 or 2 as written."""
    x, big = value(T.float16, 0.3125), value(T.float16, 2048)
    ((low, high),) = allowed(LOOSE.sub(LOOSE.add(x, big), big))
    assert low <= 0 and high >= 2
    assert allowed(STRICT.sub(STRICT.add(x, big), big)) == [(0, 2)]
    # As long as no order of evaluation rounds, nothing is free.
    assert allowed(LOOSE.sub(LOOSE.add(value(T.float16, 3), value(T.float16, 64)), value(T.float16, 65))) == [(2, 2)]


def test_undecorated_bound_holds_other_orders() -> None:
    """a + (b + c) for (a + b) + c, in numbers where that matters."""
    a, b, c = (value(T.float16, n) for n in (1.0, -1.0, 2.0**-12))
    ((low, high),) = allowed(LOOSE.add(LOOSE.add(a, b), c))
    assert low <= 0.0 <= 2.0**-12 <= high
    assert allowed(STRICT.add(STRICT.add(a, b), c)) == [(2.0**-12, 2.0**-12)]


def test_conversions_round_either_way() -> None:
    watch = Watch()
    third = value(T.float32, 1.0 + 2.0**-20)
    assert allowed(conversions.converted(third, T.float16, watch)) == [(1, 1 + 2.0**-10)]
    assert allowed(conversions.converted(third, T.bfloat16, watch)) == [(1, 1 + 2.0**-7)]
    assert allowed(conversions.converted(value(T.int32, 2049, 2048), T.float16, watch)) == [(2048, 2050), (2048, 2048)]
    assert conversions.converted(value(T.float32, 1e6), T.float16, watch).flags[0] == ANY
    assert watch.found == []


def test_float8_out_of_range() -> None:
    """NU-033, AM-29."""
    x = value(T.float32, 448, 460, 480, -1e4)
    found = conversions.float_to_float(x, T.float8_e4m3fn)
    nan = FREE | Freedom.NAN
    assert found.flags.tolist() == [0, ANY, nan, nan]
    saturated = conversions.float_to_float(x, T.float8_e4m3fn, saturate=True)
    assert saturated.bits.tolist() == [0x7E, 0x7E, 0x7E, 0xFE] and not saturated.flags.any()
    infinite = conversions.float_to_float(value(T.float32, 57344, 60000, 65536, -1e6), T.float8_e5m2)
    assert infinite.flags.tolist() == [0, ANY, 0, 0]
    assert infinite.bits[[0, 2, 3]].tolist() == [0x7B, 0x7C, 0xFC]
    from_integers = conversions.integer_to_float(value(T.int32, 448, 100000), T.float8_e4m3fn, saturate=True)
    assert from_integers.bits.tolist() == [0x7E, 0x7E]


def test_float8_denormals_are_kept_in_float16() -> None:
    """NU-015."""
    found = conversions.float_to_float(value(T.float8_e5m2, 2.0**-16, 3.0), T.float16)
    assert not found.flags.any()
    assert real(T.float16, found.bits).tolist() == [2.0**-16, 3.0]


def test_float_to_integer() -> None:
    """NU-016."""
    watch = Watch()
    found = conversions.float_to_integer(value(T.float32, 2.75, -2.75, 127), T.int8, watch)
    assert found.bits.view(np.int8).tolist() == [2, -2, 127]
    assert watch.found == []
    conversions.float_to_integer(value(T.float32, 128, "0x7fc00000", 5), T.int8, watch)
    conversions.float_to_integer(value(T.float32, -1), T.uint8, watch)
    assert [(u.rule, u.elements.tolist()) for u in watch.found] == [("NU-016", [True, True, False]), ("NU-016", [True])]


def test_integers_of_inexact_floats_keep_their_bounds() -> None:
    watch = Watch()
    inexact = STRICT.add(value(T.float16, 2048), value(T.float16, 1))
    whole = conversions.float_to_integer(inexact, T.int32, watch)
    assert allowed(whole) == [(2048, 2050)]
    assert allowed(integers.binary("add", whole, value(T.int32, 5), watch)) == [(2053, 2055)]
    assert allowed(integers.binary("max", whole, value(T.int32, 2049), watch)) == [(2049, 2050)]
    assert allowed(integers.binary("and", whole, value(T.int32, 127), watch)) == [(0, 127)]
    assert integers.binary("and", whole, value(T.int32, -2), watch).flags[0] == ANY
    unsigned = conversions.float_to_integer(inexact, T.uint32, watch)
    assert allowed(integers.binary("mod", unsigned, value(T.uint32, 13), watch)) == [(0, 12)]
    assert integers.binary("mod", value(T.uint32, 13), unsigned, watch).flags[0] == ANY
    assert allowed(conversions.bitcast(unsigned, T.uint32)) == [(2048, 2050)]
    assert conversions.bitcast(unsigned, T.int32).flags[0] == ANY
    assert integers.binary("or", whole, value(T.int32, 1), watch).flags[0] == ANY
    assert watch.found == []


@pytest.mark.parametrize("type_", [t for t in Microscaling if t is not Microscaling.float8_e8m0])
def test_a_pattern_that_is_not_known_is_a_number_of_its_type(type_: Microscaling) -> None:
    every = microscaling.numbers(type_, np.arange(1 << type_.width, dtype=np.uint16))
    made = microscaling.converted(anything(T.uint8, (1,), ("unknown",)), type_, T.float32, Watch(), True, {})
    assert allowed(made) == [(every.min(), every.max())]


def test_a_scale_that_is_not_known_may_be_nan() -> None:
    def made(lower: int, upper: int) -> Value:
        one = conversions.float_to_integer(STRICT.add(value(T.float16, 2048), value(T.float16, 1)), T.int32, watch)
        for operation, number in (("sub", 2048), ("min", upper - lower), ("add", lower)):
            one = integers.binary(operation, one, value(T.int32, number), watch)
        return microscaling.converted(integers.resized(one, T.uint8, True), scale, T.float32, watch, True, {})

    watch, scale = Watch(), Microscaling.float8_e8m0
    assert allowed(made(124, 126)) == [(0.125, 0.5)]
    assert made(253, 255).flags[0] == ANY
    unknown = microscaling.converted(anything(T.uint8, (1,), ("unknown",)), scale, T.float32, watch, True, {})
    assert unknown.flags[0] == ANY and watch.found == []


def test_integer_arithmetic_wraps() -> None:
    watch = Watch()
    a, b = value(T.int8, 127, -128, -7), value(T.int8, 1, -1, 3)
    assert integers.binary("add", a, b, watch).bits.view(np.int8).tolist() == [-128, 127, -4]
    assert integers.binary("mul", a, b, watch).bits.view(np.int8).tolist() == [127, -128, -21]
    assert integers.negated(a).bits.view(np.int8).tolist() == [-127, -128, 7]
    big = value(T.uint32, 2**32 - 1)
    assert integers.binary("mul", big, big, watch).bits.tolist() == [1]
    assert integers.binary("shr", value(T.int32, -8), value(T.int32, 1), watch).bits.view(np.int32).tolist() == [-4]
    assert integers.resized(value(T.int8, -1), T.int32, signed=True).bits.tolist() == [2**32 - 1]
    assert integers.resized(value(T.int8, -1), T.int32, signed=False).bits.tolist() == [255]
    assert watch.found == []


def test_undefined_integer_operations_are_reported() -> None:
    watch = Watch()
    zero, least = value(T.int32, 0), value(T.int32, -(2**31))
    integers.binary("div", value(T.uint32, 1), value(T.uint32, 0), watch)
    integers.signed_quotient(T.int32, least, value(T.int32, -1), watch)
    integers.signed_quotient(T.int32, least, zero, watch)
    integers.binary("shl", value(T.uint8, 1), value(T.uint8, 8), watch)
    assert [u.rule for u in watch.found] == ["NU-004", "NU-004", "NU-004", "TA-073"]
    watch = Watch()
    quotient = integers.signed_quotient(T.int8, value(T.int8, -7, 7), value(T.int8, 2, -2), watch)
    assert quotient.bits.view(np.int8).tolist() == [-3, -3]
    assert watch.found == []


@pytest.mark.parametrize("component", FLOATS)
def test_neighbours_are_next_to_each_other(component: T) -> None:
    rng = np.random.default_rng(3)
    fmt = component.format
    numbers = rng.standard_normal(500) * np.exp2(rng.uniform(np.log2(fmt.least) - 4, np.log2(fmt.greatest) - 3, 500))
    low, high = below(component, numbers), above(component, numbers)
    assert (low <= numbers).all() and (numbers <= high).all()
    inexact = low != high
    np.testing.assert_array_equal((high - low)[inexact], ulp(component, numbers)[inexact])
    np.testing.assert_array_equal(below(component, low), low)


def test_lowest_bit_is_the_greatest_power_of_two_that_divides() -> None:
    assert lowest_bit(np.array([6.0, -0.75, 1024.0, 2.0**-149])).tolist() == [2.0, 0.25, 1024.0, 2.0**-149]
    assert np.isinf(lowest_bit(np.array([0.0, np.inf]))).all()


def test_a_choice_between_values_that_are_equal_by_definition_keeps_their_groups() -> None:
    group = np.array([5, 5], np.int64)
    bound = Free(np.array([FREE, FREE], np.uint8), np.array([1.0, 1.0]), np.array([2.0, 2.0]), ("policy",), group)
    a = Value(T.float32, encode(T.float32, [1, 1]), bound)
    assert (both := where(np.array([True, False]), a, a)).free is not None
    assert both.free.group is not None and both.free.group.tolist() == [5, 5]
    assert (one := where(np.array([True, False]), a, value(T.float32, 7, 7))).free is not None
    assert one.free.group is not None and one.free.group.tolist() == [5, 0]
    assert one.flags.tolist() == [FREE, 0]


@pytest.mark.parametrize("component", FLOATS)
def test_every_nan_is_one_quiet_nan_and_nothing_warns_of_it(component: T) -> None:
    # Infinities and every NaN of the type, signalling ones as well: which warn where they are widened depends on
    # the processor. Of float32, those around the quiet bit.
    width = 8 * component.size
    tops = np.arange(1 << min(width, 16), dtype=np.uint32) << np.uint32(max(width - 16, 0))
    bits = np.concatenate([tops, tops | 1]).astype(component.bits_dtype)
    with np.errstate(invalid="raise", divide="raise"):
        numbers = real(component, bits)
        v = Value(component, bits)
        for result in (STRICT.neg(v), STRICT.add(v, v), LOOSE.mul(v, v), passed(v)):
            ulp(component, result.interval[0])
    assert len(np.unique(numbers[np.isnan(numbers)].view(np.uint64))) == 1
    assert np.isnan(numbers).any()


def test_a_rounding_to_a_denormal_is_multiplied_by_what_follows() -> None:
    """NU-017: half a unit of the least denormals, times 8824, is more than any relative error of the quotient."""
    quotient = LOOSE.div(value(T.float16, 2.0**-10), value(T.float16, 8824))
    ((low, high),) = allowed(LOOSE.mul(value(T.float16, 8824), quotient))
    assert low <= 2.0**-10 <= high and high >= float(np.float16(8824 * 2.0**-23))
