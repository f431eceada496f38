"""GLSL.std.450 on scalars and vectors, against values written by hand or by Python's own arithmetic."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from interpreter_modules import apply

NAN, INF = float("nan"), float("inf")
MIN32 = -(2**31)


def glsl(name: str, result: str, *operands: tuple[str, Any], **more: Any) -> list[Any]:
    found: list[Any] = apply(f"GLSL {name}", result, *operands, **more).tolist()
    return found


def same(found: list[Any], expected: list[Any]) -> bool:
    """Equal values, zeros with their signs and NaN with NaN."""
    return [repr(v) for v in found] == [repr(v) for v in expected]


@pytest.mark.parametrize(
    ("name", "type_", "x", "expected"),
    [
        ("RoundEven", "float", [0.5, 1.5, -2.5, -0.2], [0.0, 2.0, -2.0, -0.0]),
        ("Round", "float", [0.4, 1.6, -2.7], [0.0, 2.0, -3.0]),
        ("Trunc", "half", [1.75, -1.75], [1.0, -1.0]),
        ("Floor", "double", [1.75, -1.75], [1.0, -2.0]),
        ("Ceil", "float", [1.25, -1.25], [2.0, -1.0]),
        ("Fract", "float", [1.25, -1.25], [0.25, 0.75]),
        ("FAbs", "half", [-0.0, -INF, 2.0], [0.0, INF, 2.0]),
        ("FSign", "float", [-3.0, 0.0, 5.0], [-1.0, 0.0, 1.0]),
        ("SAbs", "int", [-5, 5, MIN32], [5, 5, MIN32]),
        ("SAbs", "i64", [-(2**40)], [2**40]),
        ("SSign", "i16", [-7, 0, 7], [-1, 0, 1]),
        ("Sqrt", "float", [4.0, 2.0], [2.0, float(np.sqrt(np.float32(2)))]),
        ("Sqrt", "double", [2.0], [math.sqrt(2)]),
        ("InverseSqrt", "half", [4.0, 0.0], [0.5, INF]),
        ("Exp", "float", [0.0, 1.0, -INF, 200.0], [1.0, float(np.float32(math.e)), 0.0, INF]),
        ("Exp2", "half", [3.0, -20.0], [8.0, 2.0**-20]),
        ("Log", "float", [1.0, 0.0], [0.0, -INF]),
        ("Log2", "half", [8.0], [3.0]),
        ("Tanh", "float", [0.0, 100.0, 0.5], [0.0, 1.0, float(np.float32(math.tanh(0.5)))]),
        ("Radians", "float", [180.0], [float(np.float32(math.pi))]),
        ("Degrees", "float", [1.0], [float(np.float32(math.degrees(1.0)))]),
        ("Sin", "float", [0.5, 1e5], [float(np.float32(math.sin(v))) for v in (0.5, 1e5)]),
        ("Cos", "half", [0.5], [float(np.float16(math.cos(0.5)))]),
        ("Tan", "float", [0.5], [float(np.float32(math.tan(0.5)))]),
        ("Asin", "float", [1.0], [float(np.float32(math.pi / 2))]),
        ("Acos", "float", [-1.0], [float(np.float32(math.pi))]),
        ("Atan", "float", [1.0], [float(np.float32(math.pi / 4))]),
        ("Sinh", "float", [1.5], [float(np.float32(math.sinh(1.5)))]),
        ("Cosh", "float", [1.5], [float(np.float32(math.cosh(1.5)))]),
        ("Asinh", "float", [1.5], [float(np.float32(math.asinh(1.5)))]),
        ("Acosh", "float", [1.5], [float(np.float32(math.acosh(1.5)))]),
        ("Atanh", "float", [0.5], [float(np.float32(math.atanh(0.5)))]),
    ],
)
def test_unary(name: str, type_: str, x: Any, expected: Any) -> None:
    assert same(glsl(name, type_, (type_, x)), expected)


@pytest.mark.parametrize(
    ("name", "type_", "x", "y", "expected"),
    [
        ("FMin", "float", [1.0, -1.0], [2.0, -2.0], [1.0, -2.0]),
        ("FMax", "half", [1.0, -1.0], [2.0, -2.0], [2.0, -1.0]),
        ("NMin", "float", [NAN, 1.0, NAN, 2.0], [1.0, NAN, NAN, 1.0], [1.0, 1.0, NAN, 1.0]),
        ("NMax", "double", [NAN, 1.0, NAN, 2.0], [1.0, NAN, NAN, 3.0], [1.0, 1.0, NAN, 3.0]),
        ("SMin", "int", [-1, 5], [1, -5], [-1, -5]),
        ("SMin", "uint", [0xFFFFFFFF], [1], [0xFFFFFFFF]),
        ("SMax", "i8", [-1, 5], [1, -5], [1, 5]),
        ("UMin", "int", [-1], [1], [1]),
        ("UMax", "u64", [2**63], [1], [2**63]),
        ("Pow", "float", [2.0, 2.0], [10.0, -1.0], [1024.0, 0.5]),
        ("Atan2", "float", [1.0, 0.0], [-1.0, -1.0], [float(np.float32(3 * math.pi / 4)), float(np.float32(math.pi))]),
        ("Step", "float", [1.0, 1.0, 1.0], [0.5, 1.0, 2.0], [0.0, 1.0, 1.0]),
    ],
)
def test_binary(name: str, type_: str, x: Any, y: Any, expected: Any) -> None:
    assert same(glsl(name, type_, (type_, x), (type_, y)), expected)


@pytest.mark.parametrize(
    ("name", "type_", "operands", "expected"),
    [
        ("FClamp", "float", ([-3.0, 0.5, 9.0], [0.0] * 3, [1.0] * 3), [0.0, 0.5, 1.0]),
        ("NClamp", "float", ([NAN, 0.5, 9.0], [0.0] * 3, [1.0] * 3), [0.0, 0.5, 1.0]),
        ("SClamp", "int", ([-3, 5, 9], [-1] * 3, [6] * 3), [-1, 5, 6]),
        ("UClamp", "uint", ([0, 5, 0xFFFFFFFF], [1] * 3, [6] * 3), [1, 5, 6]),
        ("FMix", "float", ([1.0, 1.0], [3.0, 3.0], [0.0, 0.25]), [1.0, 1.5]),
        ("SmoothStep", "float", ([0.0, 0.0], [2.0, 2.0], [1.0, 5.0]), [0.5, 1.0]),
        ("Fma", "half", ([3.0], [4.0], [5.0]), [17.0]),
        ("Fma", "double", ([3.0], [4.0], [5.0]), [17.0]),
    ],
)
def test_ternary(name: str, type_: str, operands: tuple[Any, ...], expected: Any) -> None:
    assert same(glsl(name, type_, *((type_, o) for o in operands)), expected)


def test_vectors() -> None:
    x = [[1.0, -2.0, 3.0], [-4.0, 5.0, -6.0]]
    assert glsl("FAbs", "float3", ("float3", x)) == np.abs(x).tolist()
    assert glsl("FMin", "half2", ("half2", [[1, 5]]), ("half2", [[3, 4]])) == [[1, 4]]


def test_fma_rounds_once() -> None:
    """1 + 2^-24 is halfway between two floats: the least addend decides, and rounding twice would lose it."""
    a, b = 1 + 2.0**-12, 1 - 2.0**-12  # the product is 1 - 2^-24
    found = glsl("Fma", "float", ("float", [a, a, 1.0]), ("float", [b, b, 1.0]), ("float", [-1.0, 2.0**-80, 2.0**-24]))
    assert found[0] == -(2.0**-24)
    assert found[2] == 1.0
    half = [1.0 + 2.0**-10]
    exact = float(np.float16(half[0] * half[0] + 2.0**-24))
    assert glsl("Fma", "half", ("half", half), ("half", half), ("half", [2.0**-24])) == [exact]
    tie = glsl("Fma", "float", ("float", [1 + 2.0**-23]), ("float", [1 + 2.0**-1]), ("float", [2.0**-70]))
    assert tie == [1.5 + 2.0**-23 + 2.0**-23]


def test_interpolation_is_reported_by_name() -> None:
    with pytest.raises(AssertionError, match=r"InterpolateAtCentroid of GLSL\.std\.450"):
        apply("GLSL InterpolateAtCentroid", "float", ("float", [1.0]), checked=False)
