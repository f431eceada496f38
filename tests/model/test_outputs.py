"""Outputs: buffers that bodies store to (CM-035), and extra operands of several kinds (CM-036)."""

from __future__ import annotations

import pytest

from cts.base.errors import BadInput
from cts.case.model import ComponentType, Extra, Output, Parameter, PerElement, Table, body_of, loads_case, written
from cts.case.model.expression import ExpressionError, Name, Store

F32, U32 = ComponentType.float32, ComponentType.uint32
OUT = Output("out", F32, "seen")

CASE = """
schema: 1
name: x
buffers:
  seen: {type: float32, shape: [64], data: {fill: 1}, storage: PhysicalStorageBuffer}
  dst: {type: float32, shape: [64], data: {fill: 0}}
functions:
  f: {kind: PerElement, type: float32, extras: [{name: at, integer: true}, {name: p, type: float32, pointer: true}],
      outputs: [{name: out, type: float32, buffer: dst}], body: "out[at + row * 8 + col] = value\\nvalue + p[row]"}
program:
  - {op: MatrixNull, id: z, type: {component: float32, scope: Subgroup, rows: 8, cols: 8, use: A}}
  - {op: Pointer, id: q, buffer: seen, offset: 3}
  - {op: MatrixPerElement, id: m, matrix: z, function: f, pointers: [q], integers: [0]}
"""


def test_a_store_is_a_statement() -> None:
    body = body_of(PerElement(F32, "out[row] = value\nvalue", outputs=(OUT,)))
    assert body.statements == (Store("out", Name(U32, "row"), Name(F32, "value")),)


def test_parts_of_extra_operands_are_named_as_they_are_written() -> None:
    vector, structure = Extra("v", F32, count=2), Extra("s", members=(Parameter("a", F32), Parameter("b", U32)))
    body = body_of(PerElement(F32, "v[1] + s.a * float32(s.b)", extras=(vector, structure)))
    assert "Name(type=<ComponentType.float32: 'float32'>, name='v[1]')" in repr(body)
    assert [name for extra in (vector, structure) for name, _ in extra.scalars] == ["v[0]", "v[1]", "s.a", "s.b"]


@pytest.mark.parametrize(
    ("function", "what"),
    [
        (PerElement(F32, "out[row] = value\nout[row]", outputs=(OUT,)), "`out.row.` reads an output"),
        (PerElement(F32, "out", outputs=(OUT,)), "'out' is an output"),
        (PerElement(F32, "out[row] = row\nvalue", outputs=(OUT,)), "'out' holds float32, what is stored to it here is"),
        (PerElement(F32, "out[value] = value\nvalue", outputs=(OUT,)), "the index is of type float32"),
        (PerElement(F32, "out[uint32(value)] = value\nvalue", outputs=(OUT,)), "the index of a store to 'out' depends"),
        (PerElement(F32, "i = uint32(value)\nout[i] = value\nvalue", outputs=(OUT,)), "the index of a store"),
        (
            PerElement(F32, "if value > 0:\n    out[row] = value\nvalue", outputs=(OUT,)),
            "a condition of a store to 'out'",
        ),
        (
            PerElement(F32, "out[t[row]] = value\nvalue", tables=(Table("t", U32, "b"),), outputs=(OUT,)),
            "the index of a store to 'out' depends on an element, on memory or on a float",
        ),
        (PerElement(F32, "out[row] += value\nvalue", outputs=(OUT,)), "is no statement"),
        (PerElement(F32, "seen[row] = value\nvalue", outputs=(OUT,)), "is no statement"),
        (PerElement(F32, "value", outputs=(OUT, OUT)), "two outputs have one name"),
        (PerElement(F32, "value", tables=(Table("out", F32, "b"),), outputs=(OUT,)), "'out' already has a meaning"),
        (PerElement(F32, "v[2]", extras=(Extra("v", F32, count=2),)), "`v.2.` cannot be accessed"),
        (PerElement(F32, "v", extras=(Extra("v", F32, count=2),)), "'v' is not defined"),
        (PerElement(F32, "value", extras=(Extra("a", F32, count=2), Extra("a", F32))), "two parameters have one name"),
        (PerElement(F32, "float32(value)", extras=(Extra("row", integer=True),)), "two parameters have one name"),
    ],
)
def test_bodies_that_mean_nothing(function: PerElement, what: str) -> None:
    with pytest.raises(ExpressionError, match=what):
        body_of(function)


@pytest.mark.parametrize(
    ("old", "new", "what", "where"),
    [
        ("outputs: [{name: out, type: float32, buffer: dst}]", "outputs: [{name: out, type: float32, buffer: d}]",
         "no buffer 'd'", "functions.f.outputs[0].buffer"),
        ("outputs: [{name: out, type: float32", "outputs: [{name: out, type: int32", "holds int32", "functions.f"),
        ("storage: PhysicalStorageBuffer", "components: 1", "in StorageBuffer memory", "program[2].pointers[0]"),
        ("integers: [0]", "integers: []", "0 integers", "program[2].integers"),
        ("pointers: [q]", "pointers: []", "0 pointers", "program[2].pointers"),
        ("pointers: [q]", "pointers: [z]", "is not a pointer|pointer", "program[2].pointers"),
        ("{name: at, integer: true}", "{name: at, integer: true, type: uint32}", "give the `type`", "extras[0]"),
        ("{name: at, integer: true}", "{name: at, count: 2, integer: true}", "`count` is of a vector", "extras[0]"),
    ],
)  # fmt: skip
def test_what_is_refused(old: str, new: str, what: str, where: str) -> None:
    assert written(loads_case(CASE)) == ("dst",)
    assert old in CASE
    with pytest.raises(BadInput, match=what) as caught:
        loads_case(CASE.replace(old, new))
    assert where in str(caught.value)
