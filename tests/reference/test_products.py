"""Multiplications and reductions: exact where any order is, else the bound; equal elements are one."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

from cts.case.model import Combine, Helper, Parameter, ReduceMode, encode
from cts.case.model import ComponentType as T
from cts.case.oracle.expectation import Freedom, Policy
from cts.reference.matrices.products import multiplied_floats, multiplied_integers
from cts.reference.matrices.reductions import Reduction, operation_of, reduced
from cts.reference.numeric.floats import Floats
from cts.reference.numeric.undefined import Watch
from cts.reference.numeric.value import FREE, Value

RNG = np.random.default_rng(11)


def matrix(component: T, numbers: npt.ArrayLike) -> Value:
    array = np.asarray(numbers)
    return Value(component, encode(component, array.reshape(-1)).reshape(1, 1, *array.shape))


def three(values: list[Value]) -> tuple[Value, Value, Value]:
    a, b, c = values
    return a, b, c


def small(rows: int, cols: int, limit: int = 8) -> npt.NDArray[np.float64]:
    return RNG.integers(-limit, limit, (rows, cols)) / 2


@pytest.mark.parametrize("component", [T.float16, T.float32, T.bfloat16, T.float8_e4m3fn])
def test_small_numbers_multiply_exactly(component: T) -> None:
    a, b, c = small(3, 16), small(16, 5), small(3, 5)
    result = T.float16 if component is T.float16 else T.float32
    found = multiplied_floats(matrix(component, a), matrix(component, b), matrix(result, c))
    expected = a @ b + c
    assert (found.flags[0, 0] == np.where(expected == 0, FREE | Freedom.EITHER_ZERO, 0)).all()
    np.testing.assert_array_equal(found.bits.view(result.dtype)[0, 0][expected != 0], expected[expected != 0])


def test_inexact_sums_are_bounded_around_the_exact_one() -> None:
    a, b = RNG.standard_normal((2, 32)).astype(np.float16), RNG.standard_normal((32, 2)).astype(np.float16)
    found = multiplied_floats(matrix(T.float16, a), matrix(T.float16, b), matrix(T.float16, np.zeros((2, 2))))
    assert found.free is not None
    assert found.reasons[0] == "order and precision are free (NU-010), gamma_33 at float16"
    assert isinstance(found.reasons[0], Policy)
    wide = a.astype(np.float64) @ b.astype(np.float64)
    sizes = np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64)
    bound = 33 * 2.0**-10 / (1 - 33 * 2.0**-10) * sizes
    low, high = found.free.lo[0, 0], found.free.hi[0, 0]
    assert (low <= wide - 0.99 * bound).all() and (wide + 0.99 * bound <= high).all()
    assert (high - low <= 2.1 * bound + 2.0**-9 * np.abs(wide)).all()


def test_exactness_is_judged_row_by_column() -> None:
    a = small(2, 16)
    a[1, 3] = 1 + 2.0**-10
    found = multiplied_floats(
        matrix(T.float16, a), matrix(T.float16, np.ones((16, 2)) * 3), matrix(T.float16, np.ones((2, 2)) * 512)
    )
    assert found.flags[0, 0].tolist() == [[0, 0], [FREE, FREE]]


def test_float8_products_have_13_bits_at_most() -> None:
    """448 * 448 and one: exact in float32, but not in what tensor cores keep."""
    a, b, c = (
        matrix(T.float8_e4m3fn, [[448.0, 1.0]]),
        matrix(T.float8_e4m3fn, [[448.0], [1.0]]),
        matrix(T.float32, [[0.0]]),
    )
    assert multiplied_floats(a, b, c).flags[0, 0, 0, 0] == FREE
    ones = matrix(T.float8_e4m3fn, [[16.0, 1.0]])
    assert multiplied_floats(ones, matrix(T.float8_e4m3fn, [[16.0], [1.0]]), c).flags[0, 0, 0, 0] == 0


def test_overflow_and_specials_reach_their_row_and_column_only() -> None:
    a, b = small(3, 4), small(4, 3) + 8
    a[1, 0] = np.inf
    with np.errstate(invalid="ignore"):
        found = multiplied_floats(matrix(T.float16, a), matrix(T.float16, b), matrix(T.float16, np.ones((3, 3))))
    unbounded = found.flags[0, 0] & Freedom.ANY != 0
    assert unbounded.tolist() == [[False] * 3, [True] * 3, [False] * 3]
    large = matrix(T.float16, [[60000.0, -60000.0]])
    found = multiplied_floats(large, matrix(T.float16, [[1.0], [1.0]]), matrix(T.float16, [[0.0]]))
    assert found.flags.item() & Freedom.ANY


TYPES = (T.int8, T.uint8, T.int32, T.int32)


@pytest.mark.parametrize(
    "types", [TYPES, (T.uint8, T.int8, T.uint32, T.uint32), (T.uint16, T.uint16, T.int32, T.int32)]
)
def test_integers_are_exact_and_wrap(types: tuple[T, ...]) -> None:
    bits = [
        RNG.integers(0, 2 ** (8 * t.size), shape).astype(t.bits_dtype)
        for t, shape in zip(types, ((3, 50), (50, 4), (3, 4)), strict=False)
    ]
    values = [Value(t, b[None, None]) for t, b in zip(types, bits, strict=False)]
    found = multiplied_integers(*three(values), types, False, Watch())
    a, b, c = (v.view(t.dtype).astype(object) for t, v in zip(types, bits, strict=False))
    np.testing.assert_array_equal(found.bits[0, 0], (a @ b + c) % 2**32)


def test_sums_past_2_to_the_63_wrap_too() -> None:
    types = (T.uint32, T.uint32, T.uint32, T.uint32)
    full = [Value(T.uint32, np.full((1, 1, *shape), 2**32 - 1, np.uint32)) for shape in ((1, 64), (64, 1), (1, 1))]
    found = multiplied_integers(*three(full), types, False, Watch())
    assert found.bits.item() == (64 * (2**32 - 1) ** 2 + 2**32 - 1) % 2**32
    watch = Watch()
    multiplied_integers(*three(full), types, True, watch)
    assert [u.rule for u in watch.found] == ["NU-002"]


def test_saturation_is_of_the_last_addition() -> None:
    """NU-002."""
    watch = Watch()
    a, b = matrix(T.int8, [[100, 100]]), matrix(T.int8, [[100], [100]])
    for c, expected in ((2**31 - 1, 2**31 - 1), (-(2**31), -(2**31) + 20000), (5, 20005)):
        found = multiplied_integers(a, b, matrix(T.int32, [[c]]), TYPES, True, watch)
        assert found.bits.view(np.int32).item() == expected
    assert watch.found == []


def reduce(
    component: T, body: str, numbers: npt.ArrayLike, mode: tuple[ReduceMode, ...], loose: bool = False
) -> tuple[Value, Watch]:
    watch = Watch()
    reduction = Reduction(Combine(type=component, body=body), Floats(loose), watch)
    return reduced(matrix(component, numbers), mode, reduction), watch


ROW, COLUMN, SQUARE = (ReduceMode.Row,), (ReduceMode.Column,), (ReduceMode.Square,)


def test_reductions_by_mode() -> None:
    """CM-022."""
    numbers = np.arange(24).reshape(4, 6) - 9
    for mode, expected in (
        (ROW, numbers.sum(1, keepdims=True)),
        (COLUMN, numbers.sum(0, keepdims=True)),
        ((*ROW, *COLUMN), numbers.sum(keepdims=True)),
        (SQUARE, numbers.reshape(2, 2, 3, 2).sum((1, 3))),
    ):
        for component in (T.int32, T.float32):
            found, watch = reduce(component, "x + y", numbers, mode)
            np.testing.assert_array_equal(found.bits.view(component.dtype)[0, 0], expected)
            assert watch.found == []


@pytest.mark.parametrize(("body", "combine"), [("max(x, y)", max), ("min(y, x)", min), ("x * y", lambda a, b: a * b)])
def test_exact_functions(body: str, combine: object) -> None:
    numbers = np.array([[1, 2, -4, 8, -1, 2]])
    expected = math.prod([1, 2, -4, 8, -1, 2]) if "*" in body else combine(numbers[0].tolist())  # type: ignore[operator]
    for component in (T.float16, T.float32, T.int16):
        found, _ = reduce(component, body, numbers, ROW)
        assert found.bits.view(component.dtype).item() == expected
        assert not found.flags.any()


def test_functions_by_way_of_a_wider_type_are_recognised() -> None:
    wide = Combine(type=T.bfloat16, body="bfloat16(float32(x) + float32(y))")
    assert operation_of(wide) == "add"
    assert operation_of(Combine(type=T.float32, body="float32(float16(x) + float16(y))")) is None
    assert operation_of(Combine(type=T.float32, body="x - y")) is None
    assert operation_of(Combine(type=T.float32, body="float32(float16(x)) + y")) is None
    found, _ = reduce(T.bfloat16, wide.body, [[1, 2, 3, 100]], ROW)
    assert found.bits.view(T.bfloat16.dtype).item() == 106 and not found.flags.any()


def test_functions_that_helpers_compute_are_recognised() -> None:
    """CM-023, CM-033: where floats round, a sum is any order's, whoever adds."""
    b, f = T.bfloat16, T.float32
    one = (Parameter(name="a", type=b),)
    both = (Parameter(name="a", type=f), Parameter(name="b", type=f))
    helpers = (
        ("wide", Helper(parameters=one, returns=f, body="float32(a)")),
        ("total", Helper(parameters=both, returns=f, body="b + a")),
        ("twice", Helper(parameters=both, returns=f, body="total(a, a)")),
        ("steps", Helper(parameters=both, returns=f, body="s = a + b\ns")),
        ("half", Helper(parameters=both[:1], returns=f, body="float32(float16(a))")),
    )

    def operation(component: T, body: str) -> str | None:
        return operation_of(Combine(type=component, body=body), helpers)

    assert operation(b, "bfloat16(total(wide(x), wide(y)))") == "add"
    assert operation(b, "bfloat16(wide(x) * wide(y))") == "mul"
    assert operation(f, "total(y, x)") == "add"
    for body in ("total(x, x)", "twice(x, y)", "total(-x, y)", "half(x) + half(y)", "half(total(x, y))"):
        assert operation(f, body) is None, body
    # Assignments are not looked through: the function is tried.
    assert operation(f, "steps(x, y)") is None


def test_absolute_maximum_is_tried_and_exact() -> None:
    numbers = RNG.integers(-100, 100, (3, 40)) | 1
    found, watch = reduce(T.float16, "max(abs(x), abs(y))", numbers, ROW)
    assert not found.flags.any() and watch.found == []
    np.testing.assert_array_equal(found.bits.view(np.float16)[0, 0, :, 0], np.abs(numbers).max(1))


@pytest.mark.parametrize("body", ["x - y", "x", "x * 2 + y", "max(x, y) if x < 3 else y"])
def test_functions_that_depend_on_order_are_reported(body: str) -> None:
    """CM-023."""
    _, watch = reduce(T.float32, body, np.arange(8)[None] + 1, ROW)
    assert "CM-023" in [u.rule for u in watch.found]


def test_inexact_sums_hold_every_order() -> None:
    numbers = RNG.standard_normal(24).astype(np.float16)
    found, watch = reduce(T.float16, "x + y", numbers[None], ROW)
    assert watch.found == [] and found.free is not None
    assert "gamma_23 at float16" in found.reasons[0]
    for _ in range(50):
        total = np.float16(0)
        for n in RNG.permutation(numbers):
            total = np.float16(total + n)
        assert found.free.lo.item() <= total <= found.free.hi.item()
    assert found.free.hi.item() - found.free.lo.item() < 0.06 * float(np.abs(numbers).astype(np.float64).sum())


def test_inexact_unknown_functions_hold_every_order() -> None:
    """Rounded twice in each call: no sum that is recognised."""
    numbers = RNG.standard_normal(16).astype(np.float32)
    found, watch = reduce(T.float32, "(x + y) * float32(1)", numbers[None], ROW)
    assert watch.found == [] and found.free is not None
    exact = sum((Fraction(float(n)) for n in numbers), Fraction(0))
    assert found.free.lo.item() <= exact <= found.free.hi.item()
    assert found.free.hi.item() - found.free.lo.item() < 1e-3
