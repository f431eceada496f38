"""Callbacks: parameters of each kind, blocks in memory, and what is refused."""

from __future__ import annotations

import pytest

from cts.case import model
from cts.case.model.expression import Binary, Coordinate, ExpressionError, Member, Name
from cts.case.model.functions import AnyFunction

F16, F32, I8, I32, U32 = (model.ComponentType(n) for n in ("float16", "float32", "int8", "int32", "uint32"))
BLOCK = (model.BlockField("d", F16), model.BlockField("qs", I8, 32))


def test_each_kind_has_its_parameters() -> None:
    assert model.body_of(model.Combine(F32, "x + y")).result == Binary(F32, "add", Name(F32, "x"), Name(F32, "y"))
    assert model.body_of(model.Component(I8, "value")).result == Name(I8, "value")
    assert model.body_of(model.PerElement(U32, "row + col")).result == Binary(
        U32, "add", Name(U32, "row"), Name(U32, "col")
    )
    signed = model.PerElement(I32, "row - col", coords="int32")
    assert model.body_of(signed).result == Binary(I32, "sub", Name(I32, "row"), Name(I32, "col"))
    extras = model.PerElement(F32, "s * o", (model.Extra("s", F32), model.Extra("o", matrix=True)))
    assert model.body_of(extras).result == Binary(F32, "mul", Name(F32, "s"), Name(F32, "o"))
    decode = model.Decode(I8, 2, BLOCK, "block.qs[coordInBlock[1]]")
    assert model.body_of(decode).result == Member(I8, "qs", Coordinate(U32, "coordInBlock", 1))
    vector = model.DecodeVector(I8, 2, 4, BLOCK, "block.qs[coordInBlock[1] + lane]", "int32")
    at = Binary(I32, "add", Coordinate(I32, "coordInBlock", 1), Name(I32, "lane"))
    assert model.body_of(vector).result == Member(I8, "qs", at)


@pytest.mark.parametrize(
    ("function", "what"),
    [
        (model.Combine(F32, "value"), "'value' is not defined"),
        (model.Combine(F32, "row"), "'row' is not defined"),
        (model.Component(F32, "x"), "'x' is not defined"),
        (model.PerElement(F32, "x"), "'x' is not defined"),
        (model.Decode(I8, 1, BLOCK, "block.qs[lane]"), "'lane' is not defined"),
        (model.PerElement(F32, "value", (model.Extra("row", F32),)), "two parameters have one name"),
        (
            model.PerElement(F32, "value", (model.Extra("a", F32), model.Extra("a", F16))),
            "two parameters have one name",
        ),
        (model.PerElement(F32, "value", (model.Extra("min", F32),)), "'min' already has a meaning"),
        (model.PerElement(F32, "value", (model.Extra("block", F32),)), "'block' already has a meaning"),
    ],
)
def test_names_of_other_kinds_mean_nothing(function: AnyFunction, what: str) -> None:
    with pytest.raises(ExpressionError, match=what):
        model.body_of(function)


def test_what_a_function_returns() -> None:
    assert model.returns_of(model.Combine(F32, "x")) is F32
    assert model.returns_of(model.DecodeVector(F16, 1, 2, BLOCK, "block.d")) is F16


def test_blocks_lie_at_natural_alignment() -> None:
    assert model.block_offsets(BLOCK) == ({"d": 0, "qs": 2}, 34)
    assert model.block_alignment(BLOCK) == 2
    padded = (model.BlockField("a", I8), model.BlockField("b", F32), model.BlockField("c", F16, 2))
    assert model.block_offsets(padded) == ({"a": 0, "b": 4, "c": 8}, 12)
    assert model.block_alignment(padded) == 4


@pytest.mark.parametrize(
    ("block", "what"),
    [
        ((), "a block needs a field"),
        ((model.BlockField("d", F16), model.BlockField("d", I8)), "'d' is given twice"),
        ((model.BlockField("d", F32), model.BlockField("q", I8)), "ends at byte 5, .* its alignment, 4 .AM-09"),
    ],
)
def test_blocks_of_unclear_size_are_refused(block: tuple[model.BlockField, ...], what: str) -> None:
    with pytest.raises(ValueError, match=what):
        model.block_offsets(block)
