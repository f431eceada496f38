"""Tables: buffers that callbacks read, and what is refused of them."""

from __future__ import annotations

import pytest

from cts.base.errors import BadInput
from cts.case.model import ComponentType, Microscaling, PerElement, Table, body_of, declared_in, dumps_case, loads_case
from cts.case.model.expression import ExpressionError, Indexed, Name

F32, U32 = ComponentType.float32, ComponentType.uint32
BIAS = Table("bias", F32, "biases")

CASE = """
schema: 1
name: x
buffers:
  biases: {type: float32, shape: [64], data: {fill: 1}}
  dst: {type: float32, shape: [64], data: {fill: 0}}
functions:
  f: {kind: PerElement, type: float32, tables: [{name: bias, type: float32, buffer: biases}],
      body: 'value + float32(bias[row])'}
program:
  - {op: MatrixNull, id: z, type: {component: float32, scope: Subgroup, rows: 8, cols: 8, use: A}}
  - {op: MatrixPerElement, id: m, matrix: z, function: f}
  - {op: MatrixStore, matrix: m, buffer: dst, stride: 8}
"""


def test_an_element_of_a_table_has_the_type_of_the_table() -> None:
    body = body_of(PerElement(F32, "bias[row]", tables=(BIAS,)))
    assert body.result == Indexed(F32, "bias", Name(U32, "row"))


@pytest.mark.parametrize(
    ("function", "what"),
    [
        (PerElement(F32, "bias[row]"), "`bias.row.` cannot be accessed"),
        (PerElement(F32, "bias", tables=(BIAS,)), "'bias' is a table"),
        (PerElement(F32, "bias[value]", tables=(BIAS,)), "the index is of type float32"),
        (PerElement(F32, "bias[uint8(row)]", tables=(BIAS,)), "the index is of type uint8"),
        (PerElement(F32, "bias = value\nbias[row]", tables=(BIAS,)), "'bias' already has a meaning"),
        (PerElement(F32, "value", tables=(BIAS, BIAS)), "two tables have one name"),
        (PerElement(F32, "value", tables=(Table("row", F32, "b"),)), "'row' already has a meaning"),
        (PerElement(F32, "value", tables=(Table("lookup", F32, "b"),)), "'lookup' already has a meaning"),
        (PerElement(F32, "uint32(bias[row])", tables=(BIAS,)), "the result is of type uint32"),
    ],
)
def test_bodies_that_mean_nothing(function: PerElement, what: str) -> None:
    with pytest.raises(ExpressionError, match=what):
        body_of(function)


@pytest.mark.parametrize(
    ("old", "new", "what", "where"),
    [
        ("buffer: biases}]", "buffer: bias}]", "no buffer 'bias'", "buffer"),
        ("type: float32, buffer", "type: float16, buffer", "holds float32", "type"),
        ("shape: [64], data: {fill: 1}", "shape: [32], components: 2, data: {fill: 1}", "float32 vectors", "type"),
    ],
)
def test_buffers_that_are_no_tables(old: str, new: str, what: str, where: str) -> None:
    assert loads_case(CASE)
    assert old in CASE
    with pytest.raises(BadInput, match=what) as caught:
        loads_case(CASE.replace(old, new))
    assert f"functions.f.tables[0].{where}" in str(caught.value)


SCALES = """
schema: 1
name: x
buffers:
  e: {type: uint8, shape: [64], data: {fill: 127}}
  dst: {type: float32, shape: [64], data: {fill: 0}}
functions:
  f: {kind: PerElement, type: float32, tables: [{name: scale, type: uint8, buffer: e, declared: float8_e8m0}],
      body: 'value * float32(scale[row])'}
  g: {kind: PerElement, type: float32, body: 'value'}
program:
  - {op: MatrixNull, id: z, type: {component: float32, scope: Subgroup, rows: 8, cols: 8, use: A}}
  - {op: MatrixPerElement, id: m, matrix: z, function: f}
  - {op: MatrixPerElement, id: n, matrix: z, function: g}
  - {op: MatrixStore, matrix: m, buffer: dst, stride: 8}
"""


def test_a_table_may_hold_a_microscaling_type() -> None:
    case = loads_case(SCALES)
    assert loads_case(dumps_case(case)) == case
    assert declared_in(case.functions) == {"e": Microscaling.float8_e8m0}


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("type: uint8, buffer", "type: int8, buffer", "float8_e8m0 is declared of a int8"),
        ("declared: float8_e8m0", "declared: float4_e2m1", "Invalid enum value 'float4_e2m1'"),
        ("scale[row]", "scale[row] * scale[col]", "has operands of type float8_e8m0"),
        ("buffer: dst, stride", "buffer: e, stride", "'e' holds float8_e8m0, and is something else elsewhere"),
        (
            "float32, body: 'value'",
            "float32, tables: [{name: t, type: uint8, buffer: e}], body: 'float32(t[row])'",
            "'e' holds",
        ),
        (
            "float32, body: 'value'",
            "float32, tables: [{name: t, type: uint8, buffer: e, declared: mxint8}], body: 'float32(t[row])'",
            "'e' holds mxint8",
        ),
    ],
)
def test_what_is_wrong_with_such_a_table_is_said(old: str, new: str, what: str) -> None:
    assert SCALES.count(old) == 1
    with pytest.raises(BadInput) as caught:
        loads_case(SCALES.replace(old, new))
    assert what in caught.value.what
