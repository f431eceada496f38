"""GLSL.std.450 on scalars and vectors, against values written by hand or by Python's own arithmetic."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.interpreter.modules import apply, assemble, contents, dispatch, kernel, memory, run_kernel

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


@pytest.mark.parametrize(
    ("name", "type_", "x", "expected"),
    [
        ("PackSnorm4x8", "float4", [[1.0, -1.0, 0.0, 9.0], [NAN, -9.0, 0.5, -0.5]], [0x7F00817F, 0xC0408100]),
        ("PackUnorm4x8", "float4", [[1.0, 0.0, 0.5, 9.0]], [0xFF8000FF]),
        ("PackSnorm2x16", "float2", [[1.0, -1.0]], [0x80017FFF]),
        ("PackUnorm2x16", "float2", [[1.0, 0.0]], [0x0000FFFF]),
        ("PackHalf2x16", "float2", [[1.0, -2.0]], [0xC0003C00]),
    ],
)
def test_pack(name: str, type_: str, x: Any, expected: Any) -> None:
    assert glsl(name, "uint", (type_, x)) == expected


@pytest.mark.parametrize(
    ("name", "type_", "x", "expected"),
    [
        ("UnpackSnorm4x8", "float4", [0x7F00817F, 0x80], [[1.0, -1.0, 0.0, 1.0], [-1.0, 0.0, 0.0, 0.0]]),
        ("UnpackUnorm4x8", "float4", [0xFF0000FF], [[1.0, 0.0, 0.0, 1.0]]),
        ("UnpackSnorm2x16", "float2", [0x80017FFF], [[1.0, -1.0]]),
        ("UnpackUnorm2x16", "float2", [0x0000FFFF], [[1.0, 0.0]]),
        ("UnpackHalf2x16", "float2", [0xC0003C00], [[1.0, -2.0]]),
    ],
)
def test_unpack(name: str, type_: str, x: Any, expected: Any) -> None:
    assert glsl(name, type_, ("uint", x)) == expected


def test_doubles_are_two_words() -> None:
    bits = np.array([1.5, -2.25]).view(np.uint32).reshape(2, 2).tolist()
    assert glsl("PackDouble2x32", "double", ("uint2", bits)) == [1.5, -2.25]
    assert glsl("UnpackDouble2x32", "uint2", ("double", [1.5, -2.25])) == bits


@pytest.mark.parametrize(
    ("name", "type_", "x", "expected"),
    [
        ("FindILsb", "uint", [0, 1, 0x80000000, 12], [-1, 0, 31, 2]),
        ("FindUMsb", "uint", [0, 1, 0xFFFFFFFF, 12], [-1, 0, 31, 3]),
        ("FindSMsb", "int", [0, -1, MIN32, -13, 12], [-1, -1, 30, 3, 3]),
    ],
)
def test_find_bits(name: str, type_: str, x: Any, expected: Any) -> None:
    assert glsl(name, "int", (type_, x)) == expected


def test_geometry() -> None:
    x, y = [[3.0, 4.0, 12.0]], [[1.0, 0.0, 2.0]]
    assert glsl("Length", "float", ("float3", x)) == [13.0]
    assert glsl("Length", "float", ("float", [-3.0])) == [3.0]
    assert glsl("Distance", "float", ("float2", [[1.0, 2.0]]), ("float2", [[4.0, 6.0]])) == [5.0]
    assert glsl("Cross", "float3", ("float3", x), ("float3", y)) == [[8.0, 6.0, -4.0]]
    assert glsl("Normalize", "double2", ("double2", [[3.0, 4.0]])) == [[0.6, 0.8]]
    n, up, down = [[0.0, 1.0]], [[1.0, 1.0]], [[1.0, -1.0]]
    assert glsl("FaceForward", "float2", ("float2", n), ("float2", down), ("float2", n)) == n
    assert glsl("FaceForward", "float2", ("float2", n), ("float2", up), ("float2", n)) == [[0.0, -1.0]]
    assert glsl("Reflect", "float2", ("float2", down), ("float2", n)) == up
    straight = ("float2", [[0.0, -1.0]])
    assert glsl("Refract", "float2", straight, ("float2", n), ("float", [0.5])) == [[0.0, -1.0]]
    assert glsl("Refract", "float2", ("float2", [[0.8, -0.6]]), ("float2", n), ("float", [2.0])) == [[0.0, 0.0]]


def test_ldexp() -> None:
    found = glsl("Ldexp", "float", ("float", [1.5, 1.0, -1.0]), ("int", [3, -149, 2000]))
    assert found == [12.0, 2.0**-149, -INF]
    assert glsl("Ldexp", "half2", ("half2", [[1.0, 3.0]]), ("int2", [[2, -1]])) == [[4.0, 1.5]]


_PARTS = """
%pair = OpTypeStruct %float %float
%significand = OpTypeStruct %float %int
%float_function = OpTypePointer Function %float
%int_function = OpTypePointer Function %int
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("%first = OpExtInst %float %glsl Modf %f %whole\n%second = OpLoad %float %whole", (-0.75, -3.0)),
        ("%both = OpExtInst %pair %glsl ModfStruct %f", (-0.75, -3.0)),
        ("%first = OpExtInst %float %glsl Frexp %f %power\n%exponent = OpLoad %int %power", (-0.9375, 2)),
        ("%both = OpExtInst %significand %glsl FrexpStruct %f", (-0.9375, 2)),
    ],
)
def test_numbers_fall_into_parts(body: str, expected: tuple[float, float]) -> None:
    kind = "int" if expected[1] == 2 else "float"
    if "Struct" in body:
        body += f"\n%first = OpCompositeExtract %float %both 0\n%second = OpCompositeExtract %{kind} %both 1"
    body = body.replace("%exponent", "%second")
    body = f"""
%f = OpBitcast %float %x
{body}
%b0 = OpBitcast %uint %first
%b1 = OpBitcast %uint %second
%even = OpIEqual %bool %lane %u0
%out_bits = OpSelect %uint %even %b0 %b1
OpStore %slot %out_bits
"""
    text = kernel(body, globals_=_PARTS, lanes=2).replace(
        "OpMemoryModel", '%glsl = OpExtInstImport "GLSL.std.450"\nOpMemoryModel', 1
    )
    variables = "%whole = OpVariable %float_function Function\n%power = OpVariable %int_function Function"
    x = np.array([-3.75, -3.75], np.float32).view(np.uint32)
    found = run_kernel(text, x, variables=variables)
    assert found[:1].view(np.float32)[0] == expected[0]
    assert found[1:].view(np.int32 if kind == "int" else np.float32)[0] == expected[1]


@pytest.mark.parametrize("n", [2, 3, 4])
def test_matrices(n: int) -> None:
    values = np.random.default_rng(n).uniform(-2, 2, (5, n, n)).astype(np.float32)
    inverse = np.array(glsl_matrix("MatrixInverse", values))
    np.testing.assert_allclose(inverse, np.linalg.inv(values.astype(np.float64)), rtol=1e-5)
    determinant = np.array(glsl_matrix("Determinant", values))[:, 0, 0]
    np.testing.assert_allclose(determinant, np.linalg.det(values.astype(np.float64)), rtol=1e-5)


def glsl_matrix(name: str, values: Any) -> Any:
    """An instruction on matrices (lanes, n, n), loaded and stored as arrays of structs of a matrix."""
    lanes, n = values.shape[:2]
    result = "%matrix" if name == "MatrixInverse" else "%float"
    store = "%to" if name == "MatrixInverse" else "%element"
    stride = {2: 8, 3: 16, 4: 16}[n]
    decorations = f"""
OpDecorate %matrices ArrayStride {stride * n}
OpMemberDecorate %holder 0 Offset 0
OpMemberDecorate %holder 0 ColMajor
OpMemberDecorate %holder 0 MatrixStride {stride}
OpMemberDecorate %matrix_block 0 Offset 0
OpDecorate %matrix_block Block
OpDecorate %m DescriptorSet 0
OpDecorate %m Binding 2
"""
    globals_ = f"""
{"" if n == 4 else f"%column = OpTypeVector %float {n}"}
%matrix = OpTypeMatrix {"%v4float" if n == 4 else "%column"} {n}
%holder = OpTypeStruct %matrix
%matrices = OpTypeRuntimeArray %holder
%matrix_block = OpTypeStruct %matrices
%matrix_block_pointer = OpTypePointer StorageBuffer %matrix_block
%matrix_pointer = OpTypePointer StorageBuffer %matrix
%float_pointer = OpTypePointer StorageBuffer %float
%m = OpVariable %matrix_block_pointer StorageBuffer
"""
    body = f"""
%to = OpAccessChain %matrix_pointer %m %u0 %lane %u0
%element = OpAccessChain %float_pointer %m %u0 %lane %u0 %u0 %u0
%given = OpLoad %matrix %to
%r = OpExtInst {result} %glsl {name} %given
OpStore {store} %r
"""
    text = kernel(body, globals_=globals_, lanes=lanes).replace(
        "OpMemoryModel", '%glsl = OpExtInstImport "GLSL.std.450"\nOpMemoryModel', 1
    )
    words = assemble(text, interface="%m", decorations=decorations)
    padded = np.zeros((lanes, n, stride // 4), np.float32)
    padded[:, :, :n] = values
    x = memory(np.zeros(lanes, np.uint32))
    outcome = dispatch(words, {"in": x, "out": x, "m": memory(padded)})
    return contents(outcome, "m", np.float32).reshape(lanes, n, stride // 4)[:, :, :n].tolist()
