"""Roundings that bind (NU-019): what strict programs leave allowed, down to the place of the last rounding."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from cts.case.model import ComponentType as T
from cts.case.model import encode
from cts.case.oracle.expectation import Intervals
from cts.reference import ORACLE
from cts.reference.numeric import conversions
from cts.reference.numeric.floats import Floats
from cts.reference.numeric.formats import above, below
from cts.reference.numeric.undefined import Watch
from cts.reference.numeric.value import Value
from tests.reference.cases import case_of

NO_CONTRACTION, NO_FAST_MATH = Floats(loose=False), Floats(loose=False, ieee=True)


def value(component: T, *numbers: float) -> Value:
    return Value(component, encode(component, list(numbers)))


def holds(v: Value, element: int, number: float) -> bool:
    """Whether the number is an allowed value of a float16 element."""
    if v.free is None or v.free.flags[element] == 0:
        (low, _) = v.interval
        return bool(low[element] == number)
    step = 0.0 if v.free.step is None else v.free.step[element]
    return bool(v.free.lo[element] <= number <= v.free.hi[element] and (not step or number % step == 0))


def test_a_sum_and_its_difference_is_not_the_first_number() -> None:
    c = value(T.float16, 2048, 2048, -2048)
    found = NO_CONTRACTION.sub(NO_CONTRACTION.add(value(T.float16, 0.5, 3, -1.25), c), c)
    for element, (allowed, forbidden) in enumerate([((0, 2), (0.5, 1)), ((2, 4), (3, 2.5)), ((-2, 0), (-1.25, -1))]):
        assert all(holds(found, element, number) for number in allowed)
        assert not any(holds(found, element, number) for number in forbidden)


def test_a_place_survives_what_rounds_nothing() -> None:
    c, three = value(T.float16, 2048), value(T.float16, 3)
    there_and_back = NO_CONTRACTION.sub(NO_CONTRACTION.add(value(T.float16, 0.5), c), c)
    tripled = NO_CONTRACTION.mul(NO_CONTRACTION.neg(there_and_back), three)
    assert [n for n in range(-7, 2) if holds(tripled, 0, n)] == [-6, -4, -2, 0]
    least = NO_CONTRACTION.min(tripled, value(T.float16, -3))
    assert [n for n in range(-7, 2) if holds(least, 0, n)] == [-6, -5, -4, -3]


def test_a_value_keeps_one_of_its_own_numbers() -> None:
    c = value(T.float16, 2048)
    found = NO_CONTRACTION.sub(NO_CONTRACTION.add(value(T.float16, 0.5), c), c)
    assert found.bits.tolist() in ([0], encode(T.float16, [2]).tolist())


@pytest.mark.parametrize(("floats", "binds"), [(NO_CONTRACTION, False), (NO_FAST_MATH, True)])
def test_conversions_bind_where_every_rounding_does(floats: Floats, binds: bool) -> None:
    x = value(T.float32, 1 + 2**-12)
    narrow = conversions.converted(x, T.float16, Watch(), ieee=floats.ieee)
    back = conversions.converted(narrow, T.float32, Watch(), ieee=floats.ieee)
    assert holds(back, 0, 1) and holds(back, 0, 1 + 2**-10)
    assert holds(back, 0, 1 + 2**-12) is not binds


@pytest.mark.parametrize("narrow", [T.bfloat16, T.float16])
def test_intermediates_of_bfloat16_need_not_be_rounded(narrow: T) -> None:
    """NU-021: the unrounded number is allowed as well, other than by way of float16."""
    x = value(T.float32, 1.00390625 if narrow is T.bfloat16 else 1 + 2**-12)
    middle = conversions.converted(x, narrow, Watch(), ieee=True)
    for target in (T.float32, T.float16) if narrow is T.bfloat16 else (T.float32,):
        back = conversions.converted(middle, target, Watch(), ieee=True)
        unrounded = float(x.interval[0][0])
        assert holds(back, 0, 1) and holds(back, 0, 1 + 2 ** (-7 if narrow is T.bfloat16 else -10))
        assert holds(back, 0, unrounded) is (narrow is T.bfloat16)
    integer = conversions.converted(value(T.int32, 257), T.bfloat16, Watch(), ieee=True)
    assert holds(conversions.converted(integer, T.float32, Watch(), ieee=True), 0, 257)


def test_what_saturates_keeps_no_place() -> None:
    """A multiple of 2^28 that may be beyond float8 becomes its greatest number, which is no such multiple."""
    large = value(T.float32, -3057824783400960)
    there_and_back = NO_FAST_MATH.sub(large, NO_FAST_MATH.sub(large, value(T.float32, 0.5)))
    found = conversions.float_to_float(there_and_back, T.float8_e4m3fn, True, True)
    assert holds(found, 0, 0) and holds(found, 0, 448)


def test_no_way_of_rounding_is_left_out() -> None:
    """Every result of random programs, either neighbour taken at each operation, is allowed."""
    random = np.random.default_rng(7)
    numbers = [0.5, 1.25, 3.0, 2048.0, -2048.0, 1023.5, 0.125, 7.0, -0.75, 1.0009765625]
    operations = {"add": np.add, "sub": np.subtract, "mul": np.multiply}
    inexact = 0
    for _ in range(300):
        names = random.choice(list(operations), 4)
        operands = random.choice(numbers, 5)
        found = value(T.float16, operands[0])
        possible = {float(operands[0])}
        for name, operand in zip(names, operands[1:], strict=True):
            found = getattr(NO_CONTRACTION, name)(found, value(T.float16, operand))
            exact = np.array([operations[name](p, operand) for p in possible])
            if np.abs(exact).max() > 60000:
                break
            possible = set(itertools.chain(below(T.float16, exact).tolist(), above(T.float16, exact).tolist()))
            assert all(holds(found, 0, p) for p in possible), (names, operands, possible, found)
            inexact += len(possible) > 1
    assert inexact > 100


def intervals(controls: str) -> Intervals:
    """What a float32 may be after float16 memory."""
    case = case_of(
        """
op: MatrixConstant, id: x, type: {component: float32, MATRIX}, value: 1.000244140625
op: MatrixConvert, id: h, matrix: x, operation: FConvert, component: float16
op: MatrixStore, matrix: h, buffer: half, stride: 2
op: ControlBarrier
op: MatrixLoad, id: l, type: {component: float16, MATRIX}, buffer: half, stride: 2
op: MatrixConvert, id: r, matrix: l, operation: FConvert, component: float32
op: MatrixStore, matrix: r, buffer: out, stride: 2
""",
        buffers="""
  half: {type: float16, shape: [4], data: {fill: -1}}
  out: {type: float32, shape: [4], data: {fill: -1}}
""",
        matrix="scope: Subgroup, rows: 2, cols: 2, use: Accumulator",
        controls=controls,
    )
    (found,) = ORACLE.expect(case).buffers["out"].intervals
    return found


def test_memory_binds_in_strict_programs() -> None:
    steps = {controls: intervals(controls).step for controls in ("NoContraction", "FastMathNone", "Undecorated")}
    assert steps["Undecorated"] is None
    for controls in ("NoContraction", "FastMathNone"):
        step = steps[controls]
        assert step is not None and (step == 2.0**-10).all()
