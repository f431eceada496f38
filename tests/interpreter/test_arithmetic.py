"""Arithmetic, bits, logic and conversions, against values written by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cts.drivers.interpreter.handlers.arithmetic import s_mul_extended, u_mul_extended
from tests.interpreter.modules import SCALARS, apply

NAN, INF = float("nan"), float("inf")
MIN32 = -(2**31)


@pytest.mark.parametrize(
    ("op", "type_", "a", "b", "expected"),
    [
        ("OpIAdd", "uint", [1, 0xFFFFFFFF], [2, 2], [3, 1]),
        ("OpIAdd", "i8", [127, -128], [1, -1], [-128, 127]),
        ("OpIAdd", "u64", [2**64 - 1], [2], [1]),
        ("OpISub", "u16", [1], [2], [65535]),
        ("OpIMul", "int", [-3, 0x10000], [5, 0x10000], [-15, 0]),
        ("OpUDiv", "uint", [0xFFFFFFFF, 7], [2, 7], [0x7FFFFFFF, 1]),
        ("OpSDiv", "int", [-7, 7, -7, 6], [2, -2, -2, 3], [-3, -3, 3, 2]),
        ("OpSDiv", "i64", [-(2**40) - 1], [2], [-(2**39)]),
        ("OpUMod", "uint", [0xFFFFFFFF, 7], [10, 7], [5, 0]),
        ("OpSRem", "int", [-7, 7, -7], [3, -3, -3], [-1, 1, -1]),
        ("OpSMod", "int", [-7, 7, -7], [3, -3, -3], [2, -2, -1]),
        ("OpFAdd", "float", [1.5, INF], [2.25, 1.0], [3.75, INF]),
        ("OpFSub", "half", [2048.0], [1.0], [2047.0]),
        ("OpFAdd", "half", [2048.0, 65504.0], [1.0, 65504.0], [2048.0, INF]),
        ("OpFMul", "double", [1e200], [1e-200], [1e200 * 1e-200]),
        ("OpFDiv", "float", [1.0, 1.0, -1.0], [4.0, 0.0, 0.0], [0.25, INF, -INF]),
        ("OpFRem", "float", [-7.5, 7.5], [2.0, -2.0], [-1.5, 1.5]),
        ("OpFMod", "float", [-7.5, 7.5], [2.0, -2.0], [0.5, -0.5]),
        ("OpBitwiseOr", "uint", [0x0F0], [0x00F], [0x0FF]),
        ("OpBitwiseXor", "u8", [0xF0], [0xFF], [0x0F]),
        ("OpBitwiseAnd", "i16", [-1], [0x1234], [0x1234]),
        ("OpShiftLeftLogical", "uint", [1, 3], [31, 31], [0x80000000, 0x80000000]),
        ("OpShiftRightLogical", "int", [MIN32, -1], [31, 28], [1, 15]),
        ("OpShiftRightArithmetic", "int", [MIN32, 64], [31, 3], [-1, 8]),
        ("OpShiftRightArithmetic", "uint", [0x80000000], [4], [0xF8000000]),
    ],
)
def test_binary(op: str, type_: str, a: Any, b: Any, expected: Any) -> None:
    assert apply(op, type_, (type_, a), (type_, b)).tolist() == expected


@pytest.mark.parametrize(
    ("op", "type_", "a", "expected"),
    [
        ("OpSNegate", "int", [5, MIN32], [-5, MIN32]),
        ("OpFNegate", "float", [0.0, -2.5], [-0.0, 2.5]),
        ("OpNot", "u16", [0x00FF], [0xFF00]),
        ("OpBitCount", "uint", [0, 0xFFFFFFFF, 0x80000001], [0, 32, 2]),
        ("OpBitReverse", "uint", [1, 0x80000000, 0x12345678], [0x80000000, 1, 0x1E6A2C48]),
    ],
)
def test_unary(op: str, type_: str, a: Any, expected: Any) -> None:
    assert [repr(v) for v in apply(op, type_, (type_, a)).tolist()] == [repr(v) for v in expected]


@pytest.mark.parametrize(
    ("op", "type_", "a", "b", "expected"),
    [
        ("OpIEqual", "int", [1, 2], [1, 3], [1, 0]),
        ("OpINotEqual", "u64", [2**40, 1], [2**40, 2], [0, 1]),
        ("OpULessThan", "uint", [0xFFFFFFFF, 1], [1, 2], [0, 1]),
        ("OpSLessThan", "int", [-1, 1], [1, 1], [1, 0]),
        ("OpSLessThan", "uint", [0xFFFFFFFF], [1], [1]),
        ("OpULessThanEqual", "uint", [2, 3], [2, 2], [1, 0]),
        ("OpSLessThanEqual", "int", [-1, 3], [-1, -3], [1, 0]),
        ("OpUGreaterThan", "int", [-1], [1], [1]),
        ("OpSGreaterThan", "int", [-1], [1], [0]),
        ("OpUGreaterThanEqual", "uint", [1, 2], [2, 2], [0, 1]),
        ("OpSGreaterThanEqual", "int", [-2, 2], [-1, 2], [0, 1]),
        ("OpFOrdEqual", "float", [1.0, NAN], [1.0, NAN], [1, 0]),
        ("OpFUnordEqual", "float", [1.0, NAN, 1.0], [1.0, 0.0, 2.0], [1, 1, 0]),
        ("OpFOrdNotEqual", "float", [1.0, NAN, 1.0], [1.0, 0.0, 2.0], [0, 0, 1]),
        ("OpFUnordNotEqual", "half", [1.0, NAN], [1.0, NAN], [0, 1]),
        ("OpFOrdLessThan", "float", [1.0, NAN], [2.0, 2.0], [1, 0]),
        ("OpFUnordLessThan", "float", [1.0, NAN, 3.0], [2.0, 2.0, 2.0], [1, 1, 0]),
        ("OpFOrdLessThanEqual", "float", [2.0, NAN], [2.0, 2.0], [1, 0]),
        ("OpFUnordLessThanEqual", "float", [3.0, NAN], [2.0, 2.0], [0, 1]),
        ("OpFOrdGreaterThan", "double", [3.0, NAN], [2.0, 2.0], [1, 0]),
        ("OpFUnordGreaterThan", "float", [1.0, NAN], [2.0, 2.0], [0, 1]),
        ("OpFOrdGreaterThanEqual", "float", [2.0, NAN], [2.0, 2.0], [1, 0]),
        ("OpFUnordGreaterThanEqual", "float", [1.0, NAN], [2.0, 2.0], [0, 1]),
    ],
)
def test_comparison(op: str, type_: str, a: Any, b: Any, expected: Any) -> None:
    assert apply(op, "bool", (type_, a), (type_, b)).tolist() == expected


@pytest.mark.parametrize(
    ("op", "a", "expected"), [("OpIsNan", [NAN, 1.0, INF], [1, 0, 0]), ("OpIsInf", [NAN, -INF, 1.0], [0, 1, 0])]
)
def test_classification(op: str, a: Any, expected: Any) -> None:
    assert apply(op, "bool", ("float", a)).tolist() == expected


@pytest.mark.parametrize(
    ("op", "source", "target", "a", "expected"),
    [
        ("OpUConvert", "u8", "uint", [0xFF], [0xFF]),
        ("OpUConvert", "uint", "u16", [0x12345], [0x2345]),
        ("OpSConvert", "i8", "int", [-1], [-1]),
        ("OpSConvert", "i64", "i8", [0x1FF], [-1]),
        ("OpConvertFToU", "float", "uint", [3.9, 4e9], [3, 4_000_000_000]),
        ("OpConvertFToS", "half", "i16", [-3.9], [-3]),
        ("OpConvertFToS", "double", "i64", [-(2.0**40)], [-(2**40)]),
        ("OpConvertSToF", "int", "float", [-1, 16777217], [-1.0, 16777216.0]),
        ("OpConvertUToF", "uint", "half", [2049], [2048.0]),
        ("OpFConvert", "float", "half", [1.0 + 2**-11, 1.0 + 3 * 2**-11, 1e9], [1.0, 1.0 + 2**-9, INF]),
        ("OpFConvert", "half", "double", [0.5], [0.5]),
        ("OpBitcast", "float", "uint", [1.0], [0x3F800000]),
        ("OpBitcast", "int", "float", [0x40000000], [2.0]),
        ("OpQuantizeToF16", "float", "float", [1.0 + 2**-12, 2.0**-24, 1e9], [1.0, 0.0, INF]),
    ],
)
def test_conversion(op: str, source: str, target: str, a: Any, expected: Any) -> None:
    assert apply(op, target, (source, a)).tolist() == expected


def test_bitcast_between_vectors_of_different_width() -> None:
    assert apply("OpBitcast", "uint2", ("u64", [0x1122334455667788])).tolist() == [[0x55667788, 0x11223344]]
    assert apply("OpBitcast", "uint", ("u162", [[0xBEEF, 0xDEAD]])).tolist() == [0xDEADBEEF]
    assert apply("OpBitcast", "u64", ("uint2", [[1, 2]])).tolist() == [2 * 2**32 + 1]


def test_vectors_by_component() -> None:
    a = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    assert apply("OpFAdd", "float3", ("float3", a), ("float3", a)).tolist() == (2 * np.array(a)).tolist()
    assert apply("OpVectorTimesScalar", "float3", ("float3", a), ("float", [2.0, 10.0])).tolist() == [
        [2.0, 4.0, 6.0],
        [40.0, 50.0, 60.0],
    ]
    assert apply("OpDot", "float", ("float3", a), ("float3", [[1.0, 0.0, 2.0], [0.0, 1.0, 0.0]])).tolist() == [7.0, 5.0]
    assert apply("OpSLessThan", "bool2", ("int2", [[-1, 5]]), ("int2", [[0, 5]])).tolist() == [[1, 0]]


def test_bit_fields() -> None:
    base, insert = ("uint", [0xAAAAAAAA] * 3), ("uint", [0xFFFFFFFF] * 3)
    offset, count = ("uint", [4, 0, 0]), ("uint", [8, 32, 0])
    assert apply("OpBitFieldInsert", "uint", base, insert, offset, count).tolist() == [
        0xAAAAAFFA,
        0xFFFFFFFF,
        0xAAAAAAAA,
    ]
    assert apply("OpBitFieldUExtract", "uint", base, offset, count).tolist() == [0xAA, 0xAAAAAAAA, 0]
    signed_base = ("int", [0x00000FA0, -5, 7])
    assert apply("OpBitFieldSExtract", "int", signed_base, offset, count).tolist() == [-6, -5, 0]


def test_vector_parts() -> None:
    v = ("uint4", [[10, 11, 12, 13], [20, 21, 22, 23]])
    assert apply("OpVectorShuffle", "uint3", v, v, extra="3 4 1").tolist() == [[13, 10, 11], [23, 20, 21]]
    assert apply("OpCompositeExtract", "uint", v, extra="2").tolist() == [12, 22]
    assert apply("OpVectorExtractDynamic", "uint", v, ("uint", [3, 0])).tolist() == [13, 20]
    assert apply("OpVectorInsertDynamic", "uint4", v, ("uint", [7, 8]), ("uint", [1, 2])).tolist() == [
        [10, 7, 12, 13],
        [20, 21, 8, 23],
    ]
    assert apply("OpCompositeInsert", "uint4", ("uint", [7, 8]), v, extra="3").tolist() == [
        [10, 11, 12, 7],
        [20, 21, 22, 8],
    ]
    assert apply(
        "OpCompositeConstruct", "uint4", ("uint", [1, 2]), ("uint2", [[3, 4], [5, 6]]), ("uint", [9, 9])
    ).tolist() == [
        [1, 3, 4, 9],
        [2, 5, 6, 9],
    ]


@pytest.mark.parametrize("type_", ["u8", "u16", "uint", "u64"])
def test_extended_multiplication_is_exact(type_: str) -> None:
    dtype = np.dtype(SCALARS[type_][1])
    width = dtype.itemsize * 8
    numbers = [0, 1, 2**width - 1, 2 ** (width - 1), 2 ** (width // 2) - 1, 0x5B % 2**width]
    a = np.array([x for x in numbers for _ in numbers], dtype)
    b = np.array([y for _ in numbers for y in numbers], dtype)
    low, high = u_mul_extended(a, b)
    assert [int(h) << width | int(lo) for lo, h in zip(low, high, strict=True)] == [
        int(x) * int(y) for x, y in zip(a, b, strict=True)
    ]
    low, high = s_mul_extended(a, b)
    signed = np.dtype(f"i{dtype.itemsize}")
    assert [int(h) << width | int(lo) for lo, h in zip(low, high.view(signed), strict=True)] == [
        int(x) * int(y) for x, y in zip(a.view(signed), b.view(signed), strict=True)
    ]
