"""Arithmetic that went wrong: each mistake is said of a result that is as it says, and of no other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cts.case.model import Case, MatrixShape, loads_case, types_of
from cts.findings.explain.model import AsIf
from cts.findings.explain.results import compared
from cts.findings.explain.tried import explaining
from cts.plugins import registry

F64 = Any
FLOATS = """
schema: 1
name: product
buffers:
  x: {type: float32, shape: [16, 12], data: {random: {seed: 1, low: -100, high: 100, halvings: 4}}}
  y: {type: float32, shape: [12, 16], data: {random: {seed: 2, low: -100, high: 100, halvings: 4}}}
  z: {type: float32, shape: [16, 16], data: {iota: {start: 2049, step: 2, modulo: 251}}}
program:
  - {op: MatrixLoad, id: a, type: {component: float32, scope: Subgroup, rows: 16, cols: 12, use: A},
     buffer: x, stride: 12}
  - {op: MatrixLoad, id: b, type: {component: float32, scope: Subgroup, rows: 12, cols: 16, use: B},
     buffer: y, stride: 16}
  - {op: MatrixLoad, id: c, type: {component: float32, scope: Subgroup, rows: 16, cols: 16, use: Accumulator},
     buffer: z, stride: 16}
  - {op: MatrixMulAdd, id: d, a: a, b: b, c: c}
  - {op: MatrixArithmetic, id: e, operation: FAdd, a: d, b: c}
  - {op: MatrixConvert, id: h, matrix: c, operation: FConvert, component: float16}
"""
BYTES = """
schema: 1
name: product
buffers:
  x: {type: int8, shape: [8, 8], data: {iota: {start: -128, step: 0, modulo: 1}}}
  z: {type: int32, shape: [8, 8], data: {iota: {start: 2147483600, step: 1, modulo: 47}}}
program:
  - {op: MatrixLoad, id: a, type: {component: int8, scope: Subgroup, rows: 8, cols: 8, use: A}, buffer: x, stride: 8}
  - {op: MatrixLoad, id: b, type: {component: int8, scope: Subgroup, rows: 8, cols: 8, use: B}, buffer: x, stride: 8}
  - {op: MatrixLoad, id: c, type: {component: int32, scope: Subgroup, rows: 8, cols: 8, use: Accumulator},
     buffer: z, stride: 8}
  - {op: MatrixMulAdd, id: d, a: a, b: b, c: c,
     operands: [MatrixASigned, MatrixBSigned, MatrixCSigned, MatrixResultSigned]}
"""


def first(text: str, index: int, wrong: Callable[..., F64]) -> tuple[list[AsIf], Case]:
    """The models that explain a result which is what `wrong` makes of the right values by name, in their order."""
    case = loads_case(text.lstrip())
    expectation = registry.oracle().expect(case)
    types = types_of(case)
    values = {}
    for name, bits in expectation.matrices.items():
        shape = types[name]
        assert isinstance(shape, MatrixShape)
        values[name] = bits.view(shape.component.dtype).astype(np.float64 if shape.component.is_float else np.int64)[0]
    name = case.program[index].defines[0]
    shape = types[name]
    assert isinstance(shape, MatrixShape)
    with np.errstate(over="ignore"):
        actual = wrong(**values).astype(shape.component.dtype).view(shape.component.bits_dtype)[None]
    wanted = np.broadcast_to(expectation.matrices[name], actual.shape)
    spread = expectation.spreads.get(name)
    result = compared(index, name, shape.component, wanted, actual, spread)
    assert result.wrong.any()
    tried = explaining(case, registry.oracle(), result, index, {})
    return [one.as_if for one in tried if one.as_if.exact], case


def halves(numbers: F64) -> F64:
    return numbers.astype(np.float16).astype(np.float64)


def stepwise(a: F64, b: F64, c: F64, **_: F64) -> F64:
    for k in range(12):
        c = halves(c + np.outer(a[:, k], b[k]))
    return c


def tile_before(a: F64, b: F64, c: F64, **_: F64) -> F64:
    return np.concatenate((a[:8], a[:8])) @ b + c


@pytest.mark.parametrize(
    ("index", "wrong", "said"),
    [
        (3, lambda a, b, c, **_: a[:, :8] @ b[:8] + c, "left out k = 8..11 of 12"),
        (3, lambda a, b, c, **_: a @ b + np.outer(a[:, 5], b[5]) + c, "added k = 5 of 12 twice"),
        (3, lambda c, **_: c, "the result of program[3] MatrixMulAdd is its operand c"),
        (3, lambda a, b, c, **_: a @ b + halves(c), "the c of program[3] MatrixMulAdd is rounded to float16"),
        (3, stepwise, "rounded sums to float16 at each step"),
        (3, tile_before, "took rows of A that are 8 before from row 8 on"),
        (3, lambda d, **_: d.T, "the result of program[3] MatrixMulAdd is transposed"),
        (3, lambda d, **_: d[:, np.arange(16) ^ 4], "swapped columns that are 4 apart"),
        (4, lambda e, **_: halves(e), "the result of program[4] MatrixArithmetic is rounded to float16"),
        (2, lambda d, **_: d, "program[3] MatrixMulAdd had overwritten 'c'"),
        (4, lambda e, **_: e * 1.5 + 7, ""),
    ],
)
def test_a_model_is_said_of_floats(index: int, wrong: Callable[..., F64], said: str) -> None:
    found, case = first(FLOATS, index, wrong)
    at = "" if said.startswith(("program", "the ")) else f"program[{index}] {type(case.program[index]).__name__} "
    assert [as_if.what for as_if in found][:1] == ([f"{at}{said}"] if said else [])
    assert all(as_if.exact and as_if.facts for as_if in found)


def pairs(a: F64, b: F64, c: F64, **_: F64) -> F64:
    each = a.T[:, :, None] * b[:, None]
    return (each[::2] + each[1::2]).astype(np.int16).astype(np.int64).sum(0) + c


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda a, b, c, **_: np.clip(a @ b + c, -(2**31), 2**31 - 1), "program[3] MatrixMulAdd saturated"),
        (pairs, "program[3] MatrixMulAdd wrapped pairs of products at 16 bits"),
        (lambda a, b, c, **_: -a @ b + c, "the operands of program[3] MatrixMulAdd are without MatrixASigned"),
        (lambda a, b, c, **_: (a ^ 85) @ b + c, ""),
    ],
)
def test_a_model_is_said_of_integers(wrong: Callable[..., F64], said: str) -> None:
    found, _ = first(BYTES, 3, wrong)
    assert {said} - {""} <= {as_if.what for as_if in found}
    assert bool(said) == bool(found)


def away_from_zero(c: F64, **_: F64) -> F64:
    """Odd numbers above 2048 are ties in float16."""
    return 2 * np.floor(c / 2 + 0.5)


def test_another_rounding_is_said_where_a_mode_binds() -> None:
    modes = "float_controls: FastMathNone\nfloat_modes: {float16: [RoundingModeRTE]}\nbuffers:"
    found, _ = first(FLOATS.replace("buffers:", modes, 1), 5, away_from_zero)
    assert found[0].what == "program[5] MatrixConvert rounded ties away from zero"
