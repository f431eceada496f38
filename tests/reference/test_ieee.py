"""Infinities, NaNs, signs of zero and denormals (NU-012, NU-013, NU-020..NU-023): by hand, one rule after the other."""

from __future__ import annotations

import numpy as np
import pytest

from cts.case.model import ComponentType as T
from cts.case.model import encode
from cts.case.oracle.expectation import Freedom
from cts.reference.matrices.compute import passed
from cts.reference.matrices.products import multiplied_floats
from cts.reference.numeric import conversions, transcendental
from cts.reference.numeric.expression import hull
from cts.reference.numeric.floats import Floats
from cts.reference.numeric.undefined import Watch
from cts.reference.numeric.value import Value
from tests.reference.allowed_values import allowed

IEEE, STRICT = Floats(loose=False, ieee=True), Floats(loose=False)
INF, MINUS_INF, NAN, MINUS_ZERO = "0x7c00", "0xfc00", "0x7e01", "0x8000"
#: A denormal.
TINY = 2.0**-20
Operand = float | str
ANYTHING = ["-inf", "...", "inf", "nan"]


def value(*numbers: Operand, component: T = T.float16) -> Value:
    return Value(component, encode(component, list(numbers)))


@pytest.mark.family(
    ("operation", "operands", "expected"),
    [
        ("add", (INF, 1), ["inf"]),
        ("add", (INF, MINUS_INF), ["nan"]),
        ("add", (INF, INF), ["inf"]),
        ("add", (NAN, 1), ["nan"]),
        ("add", (1, -1), ["0"]),
        ("add", (0, MINUS_ZERO), ["0"]),
        ("add", (MINUS_ZERO, MINUS_ZERO), ["-0"]),
        ("add", (65504, 65504), ["65504", "inf"]),
        ("add", (-65504, -32), ["-inf", "-65504"]),
        ("sub", (0, 0), ["0"]),
        ("sub", (MINUS_ZERO, 0), ["-0"]),
        ("sub", (INF, INF), ["nan"]),
        ("sub", (1, INF), ["-inf"]),
        ("mul", (0, -1), ["-0"]),
        ("mul", (MINUS_ZERO, -1), ["0"]),
        ("mul", (INF, -2), ["-inf"]),
        ("mul", (INF, 0), ["nan"]),
        ("mul", (MINUS_INF, MINUS_ZERO), ["nan"]),
        ("mul", (256, -256), ["-inf", "-65504"]),
        # The denormal may be flushed, and then the product is NaN.
        ("mul", (INF, TINY), ["inf", "nan"]),
        ("neg", (0,), ["-0"]),
        ("neg", (MINUS_ZERO,), ["0"]),
        ("neg", (INF,), ["-inf"]),
        ("neg", (NAN,), ["nan"]),
        ("abs", (MINUS_ZERO,), ["0"]),
        ("abs", (MINUS_INF,), ["inf"]),
        ("min", (0, MINUS_ZERO), ["-0"]),
        ("min", (MINUS_ZERO, 0), ["-0"]),
        ("max", (MINUS_ZERO, 0), ["0"]),
        ("max", (0, MINUS_ZERO), ["0"]),
        ("min", (INF, 3), ["3"]),
        ("max", (MINUS_INF, 3), ["3"]),
        ("max", (INF, MINUS_INF), ["inf"]),
        ("div", (0, -3), ["-0"]),
        ("div", (MINUS_ZERO, -3), ["0"]),
        ("div", (1, 0), ["inf"]),
        ("div", (1, MINUS_ZERO), ["-inf"]),
        ("div", (INF, MINUS_ZERO), ["-inf"]),
        ("div", (MINUS_INF, 2), ["-inf"]),
        # What is not mathematically defined, or no precision is promised for, is free.
        ("div", (0, 0), ANYTHING),
        ("div", (NAN, 2), ANYTHING),
        ("div", (1, INF), ["0"]),
        ("div", (1, MINUS_INF), ["-0"]),
        ("div", (INF, INF), ANYTHING),
        ("div", (1, TINY), ANYTHING),
        ("div", (65504, 0.5), ["65504", "inf"]),
        ("exp", (INF,), ["inf"]),
        ("exp", (MINUS_INF,), ["0"]),
        ("exp", (NAN,), ANYTHING),
        ("fma", (INF, 1, 1), ["inf"]),
        ("fma", (INF, 0, 1), ANYTHING),
        ("fma", (256, 256, -1), ANYTHING),
        ("fma", (0, -1, MINUS_ZERO), ["-0"]),
    ],
)
def test_arithmetic_is_that_of_ieee_754(operation: str, operands: tuple[Operand, ...], expected: list[str]) -> None:
    given = [value(o, 1.0) for o in operands]
    found = getattr(IEEE, operation)(*given)
    assert allowed(found) == expected
    # An ordinary element beside it stays as it was.
    assert allowed(found, 1) == allowed(getattr(IEEE, operation)(*(value(1.0) for _ in given)))


@pytest.mark.parametrize(
    ("operation", "operands"),
    [
        ("add", (INF, 1)),
        ("add", (NAN, 1)),
        ("add", (65504, 65504)),
        ("neg", (INF,)),
        ("mul", (INF, 0)),
        ("min", (NAN, 1)),
        ("div", (1, 0)),
    ],
)
def test_without_it_they_are_free(operation: str, operands: tuple[Operand, ...]) -> None:
    assert allowed(getattr(STRICT, operation)(*(value(o) for o in operands))) == ANYTHING
    assert allowed(STRICT.neg(value(0))) == ["-0", "0"]


@pytest.mark.parametrize(
    ("a", "b", "either", "number"),
    [(NAN, 1, ["1", "nan"], ["1"]), (1, NAN, ["1", "nan"], ["1"]), (NAN, NAN, ["nan"], ["nan"])],
)
def test_minima_with_a_nan(a: Operand, b: Operand, either: list[str], number: list[str]) -> None:
    for f in (IEEE.min, IEEE.max):
        assert allowed(f(value(a), value(b))) == either
        assert allowed(f(value(a), value(b), True)) == number


def test_a_nan_that_may_be_passes_on() -> None:
    maybe = IEEE.min(value(NAN), value(1))
    assert allowed(IEEE.add(maybe, value(1))) == ["2", "nan"]
    assert allowed(IEEE.max(maybe, value(3), True)) == ["3"]
    assert allowed(passed(maybe, True)) == ["1", "nan"]


def test_an_interval_that_touches_zero_is_kept_whole() -> None:
    """The number that a minimum chooses beside a NaN may be anything between two neighbours, of which zero is one."""
    product = IEEE.fma(value(2.0**-15), value(2.0**-24), value(2.0**-24))
    found = IEEE.min(value(NAN), product, True)
    assert allowed(found) == allowed(product) == ["-0", "0", f"{2.0**-24:g}", f"{2.0**-23:g}"]


def test_comparisons_with_specials() -> None:
    nan, inf, one = value(NAN), value(INF), value(1)
    for operation, with_nan, with_inf in (
        ("lt", 0, 0), ("le", 0, 0), ("gt", 0, 1), ("ge", 0, 1), ("eq", 0, 0), ("ne", 1, 1),
    ):  # fmt: skip
        found = IEEE.compare(operation, nan, one)
        assert found.flags[0] == 0 and found.bits[0] == with_nan
        found = IEEE.compare(operation, inf, one)
        assert found.flags[0] == 0 and found.bits[0] == with_inf
        assert STRICT.compare(operation, nan, one).flags[0] != 0
    assert IEEE.compare("eq", inf, inf).bits[0] == 1
    assert IEEE.compare("lt", IEEE.min(nan, one), one).flags[0] != 0
    # 65504 or infinity, less 65504.
    zero_or_infinity = IEEE.add(IEEE.add(value(65504), value(5)), value(-65504))
    assert allowed(zero_or_infinity) == ["-0", "0", "inf"]
    assert IEEE.compare("gt", zero_or_infinity, one).flags[0] != 0
    assert IEEE.compare("ge", zero_or_infinity, value(0)).flags[0] == 0


def test_between_the_results_of_bounds_all_is_a_result() -> None:
    """-infinity or a number between -65504 and -65472, plus 65472."""
    several = IEEE.add(IEEE.add(value(-65504), value(2)), value(-2))
    assert allowed(several) == ["-inf", "-65504", "-65472"]
    assert allowed(IEEE.add(several, value(65472))) == ["-inf", "...", "0"]


def test_functions_of_infinity() -> None:
    """NU-022: what GLSL.std.450 says of them."""
    v = value(INF, MINUS_INF, 0, MINUS_ZERO, -1, NAN)
    logarithm = transcendental.log(v, True)
    assert [allowed(logarithm, n) for n in range(6)] == [["inf"], ["nan"], ["-inf"], ["-inf"], ["nan"], ANYTHING]
    tanh = transcendental.tanh(v, True)
    assert [allowed(tanh, n) for n in (0, 1, 5)] == [["1"], ["-1"], ANYTHING]
    assert allowed(transcendental.atan(v, True)) == ANYTHING
    step = transcendental.step(value(1, 1, NAN, INF, MINUS_INF), value(NAN, INF, 1, 3, MINUS_INF), True)
    assert [allowed(step, n) for n in range(5)] == [["1"], ["1"], ["1"], ["0"], ["1"]]
    assert allowed(transcendental.log(value(TINY), True))[0] == "-inf"


@pytest.mark.parametrize(
    ("number", "target", "saturate", "expected"),
    [
        (INF, T.float16, False, ["inf"]),
        (MINUS_INF, T.bfloat16, False, ["-inf"]),
        (NAN, T.bfloat16, False, ["nan"]),
        (INF, T.float8_e4m3fn, False, ["nan"]),
        (INF, T.float8_e5m2, False, ["inf"]),
        (MINUS_INF, T.float8_e5m2, False, ["-inf"]),
        (INF, T.float8_e4m3fn, True, ["448"]),
        (MINUS_INF, T.float8_e4m3fn, True, ["-448"]),
        (INF, T.float8_e5m2, True, ["57344"]),
        (NAN, T.float8_e4m3fn, True, ["nan"]),
        (NAN, T.float8_e5m2, True, ["nan"]),
        (MINUS_ZERO, T.float8_e4m3fn, False, ["-0"]),
        (600, T.float8_e4m3fn, False, ["nan"]),
        (1, T.bfloat16, False, ["1"]),
    ],
)
def test_conversions(number: Operand, target: T, saturate: bool, expected: list[str]) -> None:
    """NU-020, NU-033."""
    given = value(number)
    if target is T.float16:
        given = conversions.float_to_float(given, T.bfloat16, False, True)
    found = conversions.float_to_float(given, target, saturate, True)
    assert allowed(found) == expected
    assert number in (1, 600) or target is T.float16 or allowed(conversions.float_to_float(given, target)) != expected


def test_a_conversion_that_overflows() -> None:
    greatest = value(3.4028234663852886e38, component=T.float32)
    assert allowed(conversions.float_to_float(greatest, T.float16, False, True)) == ["65504", "inf"]
    number = Value(T.uint32, encode(T.uint32, [2**32 - 1]))
    assert allowed(conversions.converted(number, T.float16, Watch(), ieee=True)) == ["65504", "inf"]
    assert allowed(conversions.converted(number, T.float16, Watch())) == ANYTHING
    both = conversions.float_to_float(greatest, T.float16, False, True)
    assert allowed(conversions.float_to_float(both, T.float8_e4m3fn, True, True)) == ["448"]
    assert allowed(conversions.float_to_float(both, T.float8_e4m3fn, False, True)) == ["nan"]
    assert allowed(IEEE.sub(both, both)) == ANYTHING
    assert allowed(IEEE.neg(both)) == ["-inf", "-65504"]


@pytest.mark.parametrize("ieee", [False, True])
def test_a_zero_beside_what_overflows_float8(ieee: bool) -> None:
    """A denormal that may be flushed, times a great number, is 0 or out of range."""
    floats = IEEE if ieee else STRICT
    product = floats.mul(value("0x00000001", component=T.float32), value(2.0**127, component=T.float32))
    large = floats.mul(product, value(2.0**100, component=T.float32))
    for target, beyond in ((T.float8_e4m3fn, "nan"), (T.float8_e5m2, "inf")):
        found = conversions.float_to_float(large, target, False, ieee)
        assert allowed(found) == ["-0", "0", beyond]
    nan = conversions.float_to_float(large, T.float8_e4m3fn, False, True)
    assert IEEE.compare("ne", nan, nan).flags[0] != 0
    wide = conversions.float_to_float(nan, T.float16, False, True)
    assert allowed(IEEE.add(wide, value(1))) == ["1", "nan"]


def test_float8_specials_widen() -> None:
    found = conversions.float_to_float(value("0x7c", "0x7d", "0x80", component=T.float8_e5m2), T.float16, False, True)
    assert [allowed(found, n) for n in range(3)] == [["inf"], ["nan"], ["-0"]]


@pytest.mark.parametrize("floats", [STRICT, IEEE, Floats(loose=True)], ids=["strict", "ieee", "undecorated"])
def test_a_denormal_is_kept_or_zero_and_nothing_between(floats: Floats) -> None:
    """NU-013."""
    tiny, one = value(TINY), value(1)
    kept = ["-0", "0", f"{TINY:g}"]
    assert allowed(passed(tiny, floats.ieee)) == kept
    assert allowed(floats.mul(tiny, one)) == kept
    assert allowed(floats.mul(passed(tiny), one)) == kept
    assert allowed(floats.neg(tiny)) == [f"{-TINY:g}", "-0", "0"]
    assert allowed(floats.add(tiny, value(0))) == kept
    assert allowed(floats.max(tiny, value(0))) == kept
    assert allowed(floats.mul(value(2.0**-10), value(2.0**-10))) == kept
    # The greater operand may be flushed: then the smaller is the sum.
    assert allowed(floats.add(value(2.0**-14), tiny))[0] == f"{2.0**-14:g}"
    wide = conversions.float_to_float(tiny, T.float32, False, floats.ieee)
    assert allowed(conversions.float_to_float(wide, T.float16, False, floats.ieee)) == kept
    # The sum of two denormals, of which each may be flushed; undecorated, anything between one and two of them.
    both = allowed(floats.add(tiny, tiny))
    assert both == ["-0", "...", f"{2 * TINY:g}"] if floats.loose else ["-0", "0", f"{TINY:g}", f"{2 * TINY:g}"]


def test_a_result_below_the_least_normal_number_may_be_flushed_even_if_it_rounds_to_it() -> None:
    found = IEEE.mul(value(2.0**-14), value(1 - 2.0**-11))
    assert allowed(found) == ["-0", "0", f"{2.0**-14 - 2.0**-24:g}", f"{2.0**-14:g}"]


@pytest.mark.parametrize(("x", "y"), [(4.0, 2.0), (1.0, 1.0), (3.0, 1.5)])
def test_quotients_that_are_powers_of_two_have_the_lesser_ulp(x: float, y: float) -> None:
    """NU-011: ulp(x) is the least distance of numbers around x; 2.5 ULP are five steps below and two above."""
    exact = x / y
    found = IEEE.div(value(x), value(y))
    spacing = exact * 2.0**-11
    low, high = (float(f"{found.free.lo[0]}"), float(f"{found.free.hi[0]}")) if found.free else (exact, exact)
    assert low == exact - 2 * spacing - spacing / 1 or low >= exact - 2.5 * spacing - spacing
    assert high <= exact + 2.5 * spacing + 2 * spacing


@pytest.mark.parametrize(
    ("a", "b", "c", "expected"),
    [
        ((INF, 1), (1, 1), 0, ["inf"]),
        ((INF, 1), (-1, 1), 0, ["-inf"]),
        ((INF, 1), (0, 1), 0, ["nan"]),
        ((INF, MINUS_INF), (1, 1), 0, ["nan"]),
        ((NAN, 1), (0, 1), 0, ["nan"]),
        ((1, 1), (1, 1), MINUS_INF, ["-inf"]),
        ((INF, 1), (1, 1), MINUS_INF, ["nan"]),
        ((1, 1), (1, 1), NAN, ["nan"]),
        ((1, 2), (3, 4), 5, ["16"]),
        # Finite terms that overflow may meet infinity as the other infinity.
        ((INF, -65504), (1, 2), 0, ANYTHING),
        # A denormal may be flushed: 0 times infinity.
        ((INF, 1), (TINY, 1), 0, ANYTHING),
    ],
)
def test_specials_go_through_multiply_adds(
    a: tuple[Operand, ...], b: tuple[Operand, ...], c: Operand, expected: list[str]
) -> None:
    """NU-023 (policy)."""
    left, right, more = value(*a).map(lambda v: v[None, :]), value(*b).map(lambda v: v[:, None]), value(c)
    more = more.map(lambda v: v[:, None])
    found = multiplied_floats(left, right, more, ieee=True).map(lambda v: v[0])
    assert allowed(found) == expected
    loose = multiplied_floats(left, right, more).map(lambda v: v[0])
    assert allowed(loose) == (["16"] if expected == ["16"] else ANYTHING)


def test_what_one_of_two_values_may_be() -> None:
    found = hull(value(NAN, INF, 1, MINUS_ZERO), value(2, 1, 3, 0), (), True)
    assert allowed(found) == ["2", "nan"]
    assert allowed(found, 1)[0] == "1" and allowed(found, 1)[-1] == "inf"
    assert allowed(found, 3) == ["-0", "0"]
    assert hull(value(NAN), value(2), ()).flags[0] & Freedom.ANY


def test_moving_a_value() -> None:
    """NU-014, NU-020: an infinity and the sign of zero are kept, NaN as some NaN; else they are free."""
    v = value(INF, MINUS_ZERO, NAN, 1)
    found = passed(v, True)
    assert [allowed(found, n) for n in range(4)] == [["inf"], ["-0"], ["nan"], ["1"]]
    loose = passed(v)
    assert [allowed(loose, n) for n in range(4)] == [ANYTHING, ["-0", "0"], ["nan"], ["1"]]


def test_nothing_warns() -> None:
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 1 << 16, 4000).astype(np.uint16)
    a, b, c = (Value(T.float16, rng.permutation(bits)) for _ in range(3))
    for floats in (IEEE, STRICT):
        results = [floats.add(a, b), floats.mul(a, b), floats.div(a, b), floats.fma(a, b, c), floats.exp(a)]
        results += [floats.min(a, b), floats.max(a, b, True), floats.neg(a), floats.abs(a)]
        results += [transcendental.log(a, floats.ieee), transcendental.tanh(a, floats.ieee)]
        results += [transcendental.step(a, b, floats.ieee), transcendental.atan(a, floats.ieee)]
        for result in results:
            floats.mul(floats.add(result, c), b)
