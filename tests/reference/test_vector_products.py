"""Multiplications against plain Python loops over addresses and integers (CV-018, CV-030..CV-036)."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from msgspec import convert, structs

from cts.case.model import Buffer, Case
from cts.case.oracle.expectation import Freedom
from cts.reference import ORACLE
from tests.reference.vector_cases import Parts, bounds, buffer, expected, load, numbers, store, vector, vector_case

#: Input, its interpretation, the matrix's, the bias' and the result: CV-036, and more that devices may have.
KINDS = [
    ("float16", "float16", "float16", "float16", "float16"),
    ("uint32", "int8_packed", "int8", "int32", "int32"),
    ("uint32", "uint8_packed", "uint8", "uint32", "uint32"),
    ("int8", "int8", "int8", "int32", "int32"),
    ("uint8", "uint8", "uint8", "int32", "uint32"),
    ("float32", "int8", "int8", "int32", "int32"),
    ("float32", "float32", "float32", "float32", "float32"),
    ("int32", "int32", "int32", "int32", "int32"),
]
INVOCATIONS, M, K, STRIDE = 5, 7, 9, 48


def small(rng: np.random.Generator, kind: str, *shape: int) -> Any:
    low = 0 if kind.startswith("uint") else -5
    return rng.integers(low, 6, shape)


def packed(words: Any) -> Any:
    """Rows of bytes as rows of words, low bits first, as Python makes integers of bytes."""
    return [
        [int.from_bytes(bytes(int(b) & 0xFF for b in row[4 * w : 4 * w + 4]), "little") for w in range(3)]
        for row in words
    ]


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
@pytest.mark.parametrize("layout", ["RowMajor", "ColumnMajor"])
@pytest.mark.parametrize("biased", [False, True])
def test_every_element_is_the_dot_product_of_its_addresses(kind: tuple[str, ...], layout: str, biased: bool) -> None:
    source, reading, matrix, bias, result = kind
    rng = np.random.default_rng(len(layout) + biased)
    width = np.dtype(matrix).itemsize
    memory = small(rng, matrix, 2048 // width)
    biases = small(rng, bias, 64)
    vectors = small(rng, reading, INVOCATIONS, 12)
    length = 3 if "packed" in reading else K
    rows = np.zeros((INVOCATIONS, 64 // np.dtype(source).itemsize), np.int64)
    rows[:, : 3 if "packed" in reading else 12] = packed(vectors) if "packed" in reading else vectors
    signed = [name for name, of in (("MatrixBSigned", source), ("MatrixResultSigned", result)) if of.startswith("int")]
    multiply: Parts = {
        "op": "VectorMatrixMul", "id": "r", "type": vector(result, M), "input": "v", "input_interpretation": reading,
        "matrix": "w", "matrix_interpretation": matrix, "matrix_offset": {"literal": 64, "inv": 64, "mod": 192},
        "m": M, "k": {"spec": K}, "layout": layout, "stride": STRIDE, "operands": signed,
    }  # fmt: skip
    if biased:
        multiply |= {"bias": "b", "bias_interpretation": bias, "bias_offset": {"dynamic": 16, "inv": 16}}
    case = vector_case(
        [load("v", source, length), multiply, store("r")],
        {
            "x": buffer(source, rows),
            "w": buffer(matrix, memory),
            "b": buffer(bias, biases),
            "y": buffer(result, INVOCATIONS * 128),
        },
        INVOCATIONS,
    )
    got = numbers(expected(case), "r", result)
    for n in range(INVOCATIONS):
        start = (64 + 64 * n) % 192
        for j in range(M):
            total = int(biases[(16 + 16 * n) // np.dtype(bias).itemsize + j]) if biased else 0
            for k in range(K):
                major, minor = (j, k) if layout == "RowMajor" else (k, j)
                total += int(vectors[n, k]) * int(memory[(start + major * STRIDE + minor * width) // width])
            assert got[n, j] == (total % 2**32 if result == "uint32" else total)


@pytest.mark.parametrize("component", ["float8_e4m3fn", "float8_e5m2", "float16"])
@pytest.mark.parametrize("transpose", [False, True])
def test_opaque_matrices_are_what_was_converted_into_them(component: str, transpose: bool) -> None:
    rng = np.random.default_rng(7)
    weights = rng.integers(-4, 5, (M, K)) / 2
    vectors = rng.integers(-3, 4, (INVOCATIONS, 32)) / 2
    kept = weights.T if transpose else weights
    rows, cols = kept.shape
    opaque = {"component": component, "rows": rows, "cols": cols, "layout": "InferencingOptimal", "offset": 128}
    source = np.zeros((rows, 32), np.float32)
    source[:, :cols] = kept
    case = vector_case(
        [
            load("v", "float16", K),
            {
                "op": "VectorMatrixMul", "id": "r", "type": vector("float16", M), "input": "v",
                "input_interpretation": component, "matrix": "w", "matrix_interpretation": component,
                "matrix_offset": 128, "m": M, "k": K, "layout": "InferencingOptimal", "transpose": transpose,
            },
            store("r"),
        ],
        {"x": buffer("float16", vectors), "s": buffer("float32", source), "y": buffer("float16", INVOCATIONS * 128)},
        INVOCATIONS,
        opaque={"w": opaque},
        conversions=[
            {
                "source": {"of": "s", "component": "float32", "layout": "RowMajor", "stride": 128},
                "destination": {"of": "w"}, "rows": rows, "cols": cols,
            }
        ],
    )  # fmt: skip
    got = numbers(expected(case), "r", "float16")
    for n in range(INVOCATIONS):
        for j in range(M):
            assert got[n, j] == float(sum(Fraction(weights[j, k]) * Fraction(vectors[n, k]) for k in range(K)))


def identity_case(source: str, reading: str, values: list[Any], result: str = "int32", **fields: Any) -> Case:
    """A multiplication by the identity, of one invocation: its result shows the converted input."""
    n, matrix = len(values), fields.pop("matrix", reading)
    words = np.zeros((n, 64 // np.dtype(matrix).itemsize), int)
    words[np.arange(n), np.arange(n)] = 1
    multiply = {
        "op": "VectorMatrixMul", "id": "r", "type": vector(result, n), "input": "v", "input_interpretation": reading,
        "matrix": "w", "matrix_interpretation": matrix, "m": n, "k": n, "layout": "RowMajor", "stride": 64, **fields,
    }  # fmt: skip
    buffers = {"x": buffer(source, values), "w": buffer(matrix, words), "y": buffer(result, 64)}
    return vector_case([load("v", source, n, offset=0), multiply, store("r", offset=0)], buffers, 1)


@pytest.mark.parametrize(
    ("source", "reading", "values", "right", "signed"),
    [
        ("float32", "int8", [0.5, 1.5, 2.5, -0.5, -1.5, 126.5], [0, 2, 2, 0, -2, 126], False),
        ("float32", "int8", [127.5, 300.0, -128.5, -(2.0**100)], [127, 127, -128, -128], False),
        ("float16", "uint8", [-1.0, 0.75, 254.5, 255.5, 1000.0], [0, 1, 254, 255, 255], False),
        ("int32", "int8", [127, 128, -129, 2**31 - 1, -7], [127, 127, -128, 127, -7], True),
        ("uint8", "int8", [200, 127, 5], [-56, 127, 5], True),
        ("uint8", "int8", [200, 127, 5], [127, 127, 5], False),
        ("int8", "uint8", [-1, 100], [0, 100], True),
        ("int8", "uint8", [-1, 100], [255, 100], False),
    ],
)  # fmt: skip
def test_integer_inputs_are_rounded_to_even_and_saturated(
    source: str, reading: str, values: list[float], right: list[int], signed: bool
) -> None:
    """CV-030, CV-031; the sign of integers is the operand mask's (CV-017)."""
    case = identity_case(source, reading, values, operands=["MatrixBSigned"] * signed)
    assert numbers(expected(case), "r", "int32")[0].tolist() == right


def test_integers_become_the_nearest_float() -> None:
    """CV-032."""
    case = identity_case(
        "int32", "float32", [2**26 + 4, 2**26 + 12, -(2**26) - 5], "float32", operands=["MatrixBSigned"]
    )
    lo, hi = bounds(expected(case), "r", "float32")
    assert lo[0].tolist() == hi[0].tolist() == [2**26, 2**26 + 16, -(2**26) - 8]


def float8_case(values: list[float], weights: list[float]) -> Case:
    k = len(values)
    return vector_case(
        [
            load("v", "float16", k, offset=0),
            {
                "op": "VectorMatrixMul", "id": "r", "type": vector("float16", 1), "input": "v",
                "input_interpretation": "float8_e4m3fn", "matrix": "w", "matrix_interpretation": "float8_e4m3fn",
                "m": 1, "k": k, "layout": "TrainingOptimal",
            },
            store("r", offset=0),
        ],
        {"x": buffer("float16", values), "s": buffer("float16", weights + [0.0] * 30), "y": buffer("float16", 32)},
        1,
        opaque={"w": {"component": "float8_e4m3fn", "rows": 1, "cols": k, "layout": "TrainingOptimal"}},
        conversions=[
            {
                "source": {"of": "s", "component": "float16", "layout": "RowMajor", "stride": 64},
                "destination": {"of": "w"}, "rows": 1, "cols": k,
            }
        ],
    )  # fmt: skip


@pytest.mark.parametrize(
    "values", [[1.0625, 2.0], [1.1875, -1.1875], [3.0, 17.0], [0.328125, 0.02734375], [1.046875, 2.0]]
)
def test_inputs_that_float8_does_not_represent_are_rounded_or_kept(values: list[float]) -> None:
    """CV-033: an element lies between the results of all readings of the whole vector, and no further.

    Ties may be rounded either way, each as accurately as the other.
    """
    weights = [1.0, 0.5]
    wide = np.array(values)
    even = wide.astype(np.float32).astype(ml_dtypes.float8_e4m3fn).astype(np.float64)
    # The neighbour on the other side is as near as the even one, or farther than it.
    other = 2 * wide - even
    exact = other.astype(np.float32).astype(ml_dtypes.float8_e4m3fn).astype(np.float64) == other
    choices = [[e, o] if tie else [e] for e, o, tie in zip(even, other, exact, strict=True)]
    readings = sorted(float(np.array(r) @ weights) for r in (*itertools.product(*choices), wide))
    readings = [readings[0], readings[-1]]
    expectation = expected(float8_case(values, weights))
    lo, hi = bounds(expectation, "r", "float16")
    slack = 2**-9 * sum(abs(v * w) for v, w in zip(values, weights, strict=True))
    assert readings[0] - slack <= lo[0, 0] <= readings[0] and readings[1] <= hi[0, 0] <= readings[1] + slack
    assert any(any("CV-033" in reason for reason in i.reasons) for i in expectation.buffers["y"].intervals)


def test_what_zeros_of_float8_leave_free_has_a_reason() -> None:
    weights: list[Any] = ["0x08", 3, "0x88", "0x81", -2, "0x06", 1]
    multiply: Parts = {
        "op": "VectorMatrixMul", "id": "r", "type": vector("float32", 1), "input": "v",
        "input_interpretation": "float8_e4m3fn", "matrix": "o", "matrix_interpretation": "float8_e4m3fn", "m": 1,
        "k": 16, "layout": "InferencingOptimal",
    }  # fmt: skip
    values = buffer("float32", (np.arange(16) + 2) % 3 - 1)
    matrix = {"type": "float8_e4m3fn", "shape": [16], "data": {"cycle": weights}}
    side = {"of": "w", "component": "float8_e4m3fn", "layout": "RowMajor", "stride": 17}
    case = vector_case(
        [load("v", "float32", 16), multiply, store("r")],
        {"x": values, "w": matrix, "y": buffer("float32", 4)},
        1,
        float_controls="Undecorated",
        opaque={"o": {"component": "float8_e4m3fn", "rows": 1, "cols": 16, "layout": "InferencingOptimal"}},
        conversions=[{"source": side, "destination": {"of": "o"}, "rows": 1, "cols": 16}],
    )
    intervals = expected(case).buffers["y"].intervals
    assert intervals and all(i.reasons for i in intervals)


def test_numbers_beyond_float8_are_a_violation() -> None:
    """AM-28."""
    found = ORACLE.violations(float8_case([449.0, 1.0], [1.0, 1.0]))
    assert [(v.rule, v.path) for v in found] == [("AM-28", "program[1].input")]


def test_a_nan_input_of_integers_is_a_violation() -> None:
    """AM-30."""
    found = ORACLE.violations(identity_case("float32", "int8", [1.0, "0x7fc00000"]))
    assert [(v.rule, v.path) for v in found] == [("AM-30", "program[1].input")]


def test_integer_products_wrap() -> None:
    """NU-003, AM-32."""
    case = identity_case(
        "int32", "int32", [2**31 - 1, 5], bias="w", bias_interpretation="int32", operands=["MatrixBSigned"]
    )
    assert numbers(expected(case), "r", "int32")[0].tolist() == [-(2**31), 5]


def test_inexact_products_lie_within_the_bound() -> None:
    """NU-010: every order of float16 sums is allowed, and the interval is no wider than the bound says."""
    rng = np.random.default_rng(1)
    values = (rng.integers(-2000, 2000, 16) / 64).astype(np.float16)
    weights = np.zeros((1, 32), np.float16)
    weights[0, :16] = (rng.integers(-2000, 2000, 16) / 64).astype(np.float16)
    multiply = {
        "op": "VectorMatrixMul", "id": "r", "type": vector("float16", 1), "input": "v", "stride": 64, "m": 1, "k": 16,
        "input_interpretation": "float16", "matrix": "w", "matrix_interpretation": "float16", "layout": "RowMajor",
    }  # fmt: skip
    buffers = {"x": buffer("float16", values), "w": buffer("float16", weights), "y": buffer("float16", 32)}
    case = vector_case([load("v", "float16", 16, offset=0), multiply, store("r", offset=0)], buffers, 1)
    lo, hi = bounds(expected(case), "r", "float16")
    for seed in range(50):
        total = np.float16(0)
        for k in np.random.default_rng(seed).permutation(16):
            total = np.float16(total + np.float16(values[k] * weights[0, k]))
        assert lo[0, 0] <= total <= hi[0, 0]
    magnitude = float(np.abs(values.astype(float) * weights[0, :16].astype(float)).sum())
    assert hi[0, 0] - lo[0, 0] <= 2 * 18 * 2**-10 * magnitude


def test_nan_weights_make_their_rows_anything() -> None:
    """NU-013."""
    case = identity_case("float16", "float16", [1.0, 2.0], "float16")
    words = [0x7E00, *[0] * 32, 0x3C00, *[0] * 30]
    weights = {"type": "float16", "shape": [64], "data": {"values": [f"0x{w:04x}" for w in words]}}
    case = structs.replace(case, buffers={**case.buffers, "w": convert(weights, Buffer)})
    flags = expected(case).spreads["r"].flags
    assert flags[0, 0] & Freedom.ANY and not flags[0, 1] & Freedom.ANY
