"""Tables: buffers that callbacks read, and what is refused of them."""

from __future__ import annotations

import pytest

from cts.base.errors import BadInput
from cts.case.model import ComponentType, PerElement, Table, body_of, loads_case
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
