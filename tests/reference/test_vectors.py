"""Composites, arithmetic and control flow of cooperative vectors, component by component in Python (CV-010..CV-013)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cts.case.oracle.expectation import Freedom
from cts.reference import ORACLE
from tests.reference.vector_cases import bounds, buffer, contents, expected, load, numbers, store, vector, vector_case

N, LENGTH = 6, 5


def width(component: str) -> int:
    return int(component.removeprefix("u").removeprefix("int"))


def wrapped(value: int, component: str) -> int:
    bits = width(component)
    value &= (1 << bits) - 1
    return value - (1 << bits) if component.startswith("int") and value >> (bits - 1) else value


def unsigned(value: int, component: str) -> int:
    return value & ((1 << width(component)) - 1)


INTEGERS: dict[str, Callable[..., int]] = {
    "SNegate": lambda a: -a,
    "Not": lambda a: ~a,
    "IAdd": lambda a, b: a + b,
    "ISub": lambda a, b: a - b,
    "IMul": lambda a, b: a * b,
    "BitwiseOr": lambda a, b: a | b,
    "BitwiseXor": lambda a, b: a ^ b,
    "BitwiseAnd": lambda a, b: a & b,
}


def three_vectors(component: str, operation: str, rows: list[Any], count: int) -> Any:
    names = ("a", "b", "c")[:count]
    loads = [load(n, component, LENGTH, f"of_{n}") for n in names]
    size = 64 // np.dtype(component).itemsize
    data = {}
    for name, row in zip(names, rows, strict=False):
        padded = np.ones((N, size), np.asarray(row).dtype)
        padded[:, :LENGTH] = row
        data[f"of_{name}"] = buffer(component, padded)
    return vector_case(
        [*loads, {"op": "VectorArithmetic", "id": "r", "operation": operation, **{n: n for n in names}}, store("r")],
        {**data, "y": buffer(component, N * 256 // np.dtype(component).itemsize)},
        N,
    )


NAMES = (*INTEGERS, "ShiftLeftLogical", "ShiftRightLogical", "ShiftRightArithmetic", "SDiv", "UDiv", "SMin", "UMin",
         "SMax", "UMax", "SClamp", "UClamp")  # fmt: skip
#: Every operation of every type, but UDiv of signed ones, which SPIR-V refuses.
OPERATIONS = [
    (name, component)
    for name in NAMES
    for component in ("int8", "uint8", "int16", "uint16", "int32", "uint32")
    if name != "UDiv" or component.startswith("uint")
]


@pytest.mark.family(("operation", "component"), OPERATIONS)
def test_integer_operations(operation: str, component: str) -> None:
    rng = np.random.default_rng(len(operation))
    info, bits = np.iinfo(component), width(component)
    a, b, c = (rng.integers(info.min, info.max, (N, LENGTH), endpoint=True).astype(component) for _ in range(3))

    def signed(value: int) -> int:
        return wrapped(value, f"int{bits}")

    count = 2
    if operation in INTEGERS:
        right, count = INTEGERS[operation], INTEGERS[operation].__code__.co_argcount
    elif operation.startswith("Shift"):
        b = rng.integers(0, bits, (N, LENGTH)).astype(component)
        right = {
            "ShiftLeftLogical": lambda x, by: x << by,
            "ShiftRightLogical": lambda x, by: unsigned(x, component) >> by,
            "ShiftRightArithmetic": lambda x, by: signed(x) >> by,
        }[operation]
    elif operation.endswith("Div"):
        b = rng.integers(2, 50, (N, LENGTH)).astype(component)
        right = {
            "SDiv": lambda x, y: int(math.copysign(1, signed(x)) * (abs(signed(x)) // y)),
            "UDiv": lambda x, y: x // y,
        }[operation]
    else:
        read = signed if operation[0] == "S" else lambda v: unsigned(v, component)
        if operation.endswith("Clamp"):
            count = 3
            swap = np.vectorize(lambda x, y: read(int(x)) > read(int(y)))(b, c)
            b, c = np.where(swap, c, b), np.where(swap, b, c)
            right = lambda x, y, z: min(max(x, y, key=read), z, key=read)  # noqa: E731
        else:
            choose = min if operation.endswith("Min") else max
            right = lambda x, y: choose(x, y, key=read)  # noqa: E731
    got = numbers(expected(three_vectors(component, operation, [a, b, c], count)), "r", component)
    for n in range(N):
        for i in range(LENGTH):
            operands = [int(v[n, i]) for v in (a, b, c)[:count]]
            assert got[n, i] == wrapped(right(*operands), component), operands


#: Exact results of float operations, and the greatest distance from them in ULP of float16 or float32 at most.
FLOATS: dict[str, tuple[Callable[..., float], float]] = {
    "FNegate": (lambda a: -a, 0),
    "FAdd": (lambda a, b: a + b, 1),
    "FSub": (lambda a, b: a - b, 1),
    "FMul": (lambda a, b: a * b, 1),
    "FDiv": (lambda a, b: a / b, 4),
    "FMin": (min, 0),
    "NMin": (min, 0),
    "FMax": (max, 0),
    "NMax": (max, 0),
    "FClamp": (lambda a, b, c: min(max(a, b), c), 0),
    "NClamp": (lambda a, b, c: min(max(a, b), c), 0),
    "Step": (lambda edge, x: 0.0 if x < edge else 1.0, 0),
    "Exp": (math.exp, 20),
    "Log": (math.log, 40),
    "Tanh": (math.tanh, 60),
    "Atan": (math.atan, 4200),
    "Fma": (lambda a, b, c: a * b + c, 4),
}


@pytest.mark.parametrize("component", ["float16", "float32"])
@pytest.mark.parametrize("operation", list(FLOATS))
def test_float_operations_hold_the_exact_result_and_are_no_wider_than_they_should(
    component: str, operation: str
) -> None:
    """NU-011: the bound is of the magnitude, on both sides of zero."""
    right, ulps = FLOATS[operation]
    rng = np.random.default_rng(len(operation))
    a, b, c = (rng.uniform(-4, 4, (N, LENGTH)).astype(component) for _ in range(3))
    count = {"FNegate": 1, "Exp": 1, "Log": 1, "Tanh": 1, "Atan": 1, "Fma": 3, "FClamp": 3, "NClamp": 3}.get(
        operation, 2
    )
    a = np.abs(a) + np.dtype(component).type(0.01) if operation == "Log" else a
    if operation.endswith("Clamp"):
        b, c = np.minimum(b, c), np.maximum(b, c)
    if operation == "FDiv":
        b = np.where(np.abs(b) < 0.25, np.dtype(component).type(0.25), b)
    lo, hi = bounds(expected(three_vectors(component, operation, [a, b, c], count)), "r", component)
    unit = float(np.finfo(component).eps)
    for n in range(N):
        for i in range(LENGTH):
            operands = [float(v[n, i]) for v in (a, b, c)[:count]]
            exact = right(*operands)
            largest = max(abs(exact), 8.0 if operation == "Fma" else 1.0 if operation in ("Log", "Tanh") else 2**-10)
            width = ulps * unit * largest * (4 if operation == "Log" and component == "float16" else 1)
            assert exact - width - 1e-300 <= lo[n, i] <= exact <= hi[n, i] <= exact + width + 1e-300, operands


def test_tanh_of_what_overflows_exp_is_not_portable() -> None:
    case = three_vectors("float16", "Tanh", [np.full((N, LENGTH), 20.0)], 1)
    assert (expected(case).spreads["r"].flags & Freedom.ANY).all()


@pytest.mark.parametrize(
    ("component", "operation", "rows", "rule"),
    [
        ("int8", "SDiv", [7, 0], "NU-004"),
        ("int8", "SDiv", [-128, -1], "NU-004"),
        ("uint8", "UDiv", [7, 0], "NU-004"),
        ("int16", "ShiftLeftLogical", [7, 16], "NU-004"),
        ("int16", "ShiftRightArithmetic", [7, -1], "NU-004"),
        ("int32", "SClamp", [7, 9, 8], "CV-012"),
        ("float32", "FClamp", [7.0, 9.0, 8.0], "CV-012"),
    ],
)
def test_what_is_undefined_in_values(component: str, operation: str, rows: list[Any], rule: str) -> None:
    full = [np.full((N, LENGTH), value) for value in rows]
    found = ORACLE.violations(three_vectors(component, operation, full, len(rows)))
    assert [v.rule for v in found][:1] == [rule]


def test_composites() -> None:
    """CV-011: constants, construction, extraction and insertion at indices of each invocation's own."""
    x = np.arange(N * 16).reshape(N, 16)
    index = {"literal": 1, "inv": 2, "mod": 5}
    case = vector_case(
        [
            load("v", "int32", LENGTH),
            {"op": "VectorExtract", "id": "e", "vector": "v", "index": index},
            {"op": "VectorConstant", "id": "k", "type": vector("int32", 2), "values": [{"dynamic": -7}, {"spec": 9}]},
            {"op": "VectorConstruct", "id": "j", "type": vector("int32", 9), "parts": ["k", "e", "v", "e"]},
            {"op": "VectorInsert", "id": "r", "vector": "j", "scalar": "e", "index": {"dynamic": 0, "inv": 1}},
            store("r"),
        ],
        {"x": buffer("int32", x), "y": buffer("int32", N * 64)},
        N,
    )
    got = contents(expected(case), "y", "int32").reshape(N, 64)
    for n in range(N):
        e = x[n, (1 + 2 * n) % 5]
        right = [-7, 9, e, *x[n, :5], e]
        right[n] = e
        assert got[n, :9].tolist() == right and not got[n, 9:].any()


def test_loops_and_conditions_of_single_invocations() -> None:
    """Real divergence: a count and a condition of each invocation's own."""
    x = np.arange(N * 16).reshape(N, 16)
    case = vector_case(
        [
            load("v", "int32", 4),
            {"op": "Loop", "count": {"literal": 5, "inv": 3, "mod": 4}, "carry": [{"id": "c", "init": "v"}]},
            {"op": "If", "condition": {"literal": 0, "inv": 1, "loop": 1, "mod": 2}},
            {"op": "VectorArithmetic", "id": "t", "operation": "IAdd", "a": "c", "b": "v"},
            {"op": "Else"},
            {"op": "VectorArithmetic", "id": "f", "operation": "ISub", "a": "c", "b": "v"},
            {"op": "EndIf", "merge": [{"id": "m", "then": "t", "otherwise": "f"}]},
            {"op": "EndLoop", "next": ["m"]},
            store("c"),
        ],
        {"x": buffer("int32", x), "y": buffer("int32", 2 * N * 64)},
        N,
        dispatch={"workgroups": [1, 1, 1]},
    )
    got = contents(expected(case), "y", "int32").reshape(-1, 64)
    for n in range(N):
        value = x[n, :4].copy()
        for iteration in range((5 + 3 * n) % 4):
            value += x[n, :4] if (n + iteration) % 2 else -x[n, :4]
        assert got[n, :4].tolist() == value.tolist()


def test_invocations_come_after_workgroups() -> None:
    case = vector_case(
        [load("v", "uint8", 16, offset={"literal": 0, "wg.x": 96, "wg.y": 192, "inv": 16}), store("v", offset=0)],
        {"x": buffer("uint8", np.arange(432) % 256), "y": buffer("uint8", 16)},
        3,
        dispatch={"workgroups": [2, 2, 1]},
    )
    first = ORACLE.expect(case).matrices["v"][:, 0]
    assert first.tolist() == [(96 * x + 192 * y + 16 * i) % 256 for y in (0, 1) for x in (0, 1) for i in range(3)]


@pytest.mark.parametrize(
    ("source", "operation", "target", "values", "right"),
    [
        ("float32", "ConvertFToS", "int8", [1.9, -1.9, 127.0], [1, -1, 127]),
        ("float16", "ConvertFToU", "uint32", [3.5, 0.0, 2048.0], [3, 0, 2048]),
        ("int8", "SConvert", "int32", [-1, 5, -128], [-1, 5, -128]),
        ("int8", "UConvert", "uint32", [-1, 5, -128], [255, 5, 128]),
        ("int32", "SConvert", "int8", [300, -129, 7], [44, 127, 7]),
        ("uint8", "ConvertSToF", "float16", [255, 1, 128], [-1, 1, -128]),
        ("int8", "ConvertUToF", "float32", [-1, 1, 2], [255, 1, 2]),
        ("float32", "FConvert", "float16", [0.5, 3.0, -2048.0], [0.5, 3.0, -2048.0]),
    ],
)
def test_conversions(source: str, operation: str, target: str, values: list[Any], right: list[Any]) -> None:
    """CV-012: the sign is the instruction's."""
    values = [float(np.float32(v)) for v in values] if source.startswith("float") else values
    case = vector_case(
        [
            load("v", source, 3, offset=0),
            {"op": "VectorConvert", "id": "r", "vector": "v", "operation": operation, "component": target},
            store("r", offset=0),
        ],
        {"x": buffer(source, [values[0], values[1], values[2]]), "y": buffer(target, 16)},
        1,
    )
    lo, hi = bounds(expected(case), "r", target)
    assert lo[0].tolist() == hi[0].tolist() or 0 in right
    assert (lo[0] <= right).all() and (hi[0] >= right).all()


def test_times_a_scalar_and_bitcasts() -> None:
    case = vector_case(
        [
            load("v", "float16", 3, offset=0),
            {"op": "VectorTimesScalar", "id": "s", "vector": "v", "value": {"dynamic": 2.5}},
            {"op": "VectorBitcast", "id": "r", "vector": "s", "component": "uint16"},
            store("r", offset=0),
        ],
        {"x": buffer("float16", [1.0, -2.0, 4.0]), "y": buffer("uint16", 16)},
        1,
    )
    assert numbers(expected(case), "r", "uint16")[0].tolist() == [0x4100, 0xC500, 0x4900]
