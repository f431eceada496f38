"""Fast math of single instructions and of types: what may be rearranged, and what is bound all the same."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec import structs

from cts.case.model import (
    GUARD_BYTES,
    Buffer,
    Case,
    ComponentType,
    Data,
    dumps_case,
    encode,
    initial_memory,
    loads_case,
)
from cts.judging.compare import compare
from cts.reference import ORACLE
from cts.reference.numeric import conversions
from cts.reference.numeric.floats import Floats
from cts.reference.numeric.value import Value, unrounded

#: Halves of an odd number: each lies between two sums.
NUMBERS = [0.5, 1.5, -0.5, 3]


def sums(add: str, sub: str, default: str = "") -> Case:
    """(x + 2048) - 2048 of float16, whose neighbours are 2 apart there, or 1 below."""
    row = "{component: float16, scope: Subgroup, rows: 1, cols: 4, use: Accumulator}"
    return loads_case(f"""\
schema: 1
name: x
float_controls: FastMathNone
fast_math: {{{default}}}
buffers:
  x: {{type: float16, shape: [4], data: {{values: {NUMBERS}}}}}
  d: {{type: float16, shape: [4], data: {{fill: 9}}}}
program:
  - {{op: MatrixLoad, id: a, type: {row}, buffer: x, stride: 4}}
  - {{op: MatrixConstant, id: k, type: {row}, value: 2048}}
  - {{op: MatrixArithmetic, id: s, operation: FAdd, a: a, b: k{add}}}
  - {{op: MatrixArithmetic, id: r, operation: FSub, a: s, b: k{sub}}}
  - {{op: MatrixStore, matrix: r, buffer: d, stride: 4}}
""")


def allows(case: Case, numbers: list[float]) -> bool:
    """Whether the numbers may be what is left in memory."""
    memory = initial_memory(case)
    guarded = memory["d"]
    guarded[GUARD_BYTES : GUARD_BYTES + 8] = np.array(numbers, np.float16).view(np.uint8)
    return compare(case, ORACLE.expect(case), memory) is None


ROUNDED = [0.0, 2, 0, 4]
ANY = ", fast_math: [AllowContract, AllowReassoc, AllowTransform]"


@pytest.mark.parametrize(
    ("add", "sub", "default", "free"),
    [
        ("", "", "", False),
        (ANY, "", "", False),  # what a sum is rounded to binds whoever uses it
        ("", ANY, "", True),
        (ANY, ANY, "", True),
        ("", "", "float16: [AllowContract]", True),
        ("", ", fast_math: []", "float16: [AllowContract]", False),
        (", fast_math: []", "", "float16: [AllowReassoc]", True),
        ("", "", "float32: [AllowContract]", False),
        (", fast_math: [NSZ]", ", fast_math: [NotNaN, NotInf]", "", False),
    ],
)
def test_the_instruction_that_uses_a_result_says_whether_its_rounding_binds(
    add: str, sub: str, default: str, free: bool
) -> None:
    case = sums(add, sub, default)
    assert allows(case, ROUNDED)
    assert allows(case, NUMBERS) == free
    assert not allows(case, [8, 8, 8, 8])


@pytest.mark.parametrize(("bits", "free"), [("", False), (", fast_math: []", False), (", fast_math: [NSZ]", True)])
def test_signs_of_zeros_of_one_instruction(bits: str, free: bool) -> None:
    case = sums(bits, "", "")
    load, constant, add, difference, store = case.program
    program = (load, constant, structs.replace(add, b="a"), difference, structs.replace(store, matrix="s"))
    zeros = Buffer(type=ComponentType.float16, shape=(4,), data=Data(fill="0x8000"))
    case = structs.replace(case, program=program, buffers=case.buffers | {"x": zeros})
    assert allows(case, [-0.0] * 4)
    assert allows(case, [0.0] * 4) == free


@pytest.mark.parametrize("add", [", fast_math: []", ", fast_math: [AllowContract, AllowReassoc, AllowTransform]"])
def test_a_bound_quotient_of_a_sum_that_is_not_bound_is_as_accurate_as_any(add: str) -> None:
    text = dumps_case(sums(add, ", fast_math: []")).replace("operation: FSub", "operation: FDiv")
    case = loads_case(text.replace("value: 2048", "value: 48"))
    (interval,) = ORACLE.expect(case).buffers["d"].intervals
    ulps = interval.hi.astype(np.int64) - interval.lo.astype(np.int64)
    # 48.5 / 48 and similar quotients: 2.5 ULP on both sides.
    assert (abs(ulps) <= 5).all()


@pytest.mark.parametrize(
    ("bits", "free"), [("", False), (", fast_math: []", False), (", fast_math: [AllowContract]", True)]
)
@pytest.mark.parametrize("mode", ["RoundingModeRTE", "RoundingModeRTZ"])
def test_a_conversion_that_may_contract_drops_the_rounding_before_it(mode: str, bits: str, free: bool) -> None:
    """Found by a device that does it: the bound rounding of its operand bound the conversion, too."""
    kind = "{component: float32, scope: Subgroup, rows: 1, cols: 4, use: Accumulator}"
    case = loads_case(f"""\
schema: 1
name: x
float_controls: FastMathNone
float_modes: {{float16: [{mode}]}}
buffers:
  x: {{type: float32, shape: [4], data: {{fill: 1.000244140625}}}}
  d: {{type: float32, shape: [4], data: {{fill: 9}}}}
program:
  - {{op: MatrixLoad, id: a, type: {kind}, buffer: x, stride: 4}}
  - {{op: MatrixConvert, id: h, matrix: a, operation: FConvert, component: float16}}
  - {{op: MatrixConvert, id: f, matrix: h, operation: FConvert, component: float32{bits}}}
  - {{op: MatrixStore, matrix: f, buffer: d, stride: 4}}
""")
    for number, allowed in ((1.0, True), (1.000244140625, free), (1.0078125, False)):
        memory = initial_memory(case)
        memory["d"][GUARD_BYTES : GUARD_BYTES + 16] = np.full(4, number, np.float32).view(np.uint8)
        assert (compare(case, ORACLE.expect(case), memory) is None) == allowed


@pytest.mark.parametrize(("bits", "free"), [("", False), (", fast_math: [AllowContract]", True)])
def test_a_function_that_may_contract_takes_the_unrounded_sum(bits: str, free: bool) -> None:
    """step(2048, 0.5 + 2047): the sum is rounded to 2048, and lies below it without that."""
    vector = "{component: float16, length: 4}"
    case = loads_case(f"""\
schema: 1
name: x
float_controls: FastMathNone
float_modes: {{float16: [RoundingModeRTE]}}
dispatch: {{invocations: 1}}
buffers:
  x: {{type: float16, shape: [4], data: {{fill: 0.5}}}}
  d: {{type: float16, shape: [4], data: {{fill: 9}}}}
program:
  - {{op: VectorLoad, id: a, type: {vector}, buffer: x}}
  - {{op: VectorConstant, id: k, type: {vector}, value: 2047}}
  - {{op: VectorConstant, id: edge, type: {vector}, value: 2048}}
  - {{op: VectorArithmetic, id: s, operation: FAdd, a: a, b: k}}
  - {{op: VectorArithmetic, id: e, operation: Step, a: edge, b: s{bits}}}
  - {{op: VectorStore, vector: e, buffer: d}}
""")
    assert allows(case, [1, 1, 1, 1])
    assert allows(case, [0, 0, 0, 0]) == free


def test_no_arithmetic_rounds_to_float8() -> None:
    """A sum that becomes float8 was rounded to it once, however many terms it has: 125 is no arbitrary number."""

    def number(value: float) -> Value:
        return Value(ComponentType.float32, encode(ComponentType.float32, [value]))

    floats = Floats(loose=True)
    total = floats.add(floats.mul(number(3.0), number(40.0)), floats.add(number(4.0), number(1.0)))
    low, high = unrounded(conversions.float_to_float(total, ComponentType.float8_e5m2)).core
    assert 50 < low.min() <= high.max() < 250
