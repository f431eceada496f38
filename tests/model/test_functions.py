"""Callbacks: parameters of each kind, blocks in memory, and what is refused."""

from __future__ import annotations

import pytest

from cts.case.model import (
    BlockField,
    Combine,
    Component,
    ComponentType,
    Decode,
    DecodeVector,
    Extra,
    PerElement,
    block_alignment,
    block_offsets,
    body_of,
    returns_of,
)
from cts.case.model.expression import Binary, Coordinate, ExpressionError, Member, Name
from cts.case.model.functions import AnyFunction

F16, F32, I8, I32, U32 = (ComponentType(n) for n in ("float16", "float32", "int8", "int32", "uint32"))
BLOCK = (BlockField("d", F16), BlockField("qs", I8, 32))


def test_each_kind_has_its_parameters() -> None:
    assert body_of(Combine(F32, "x + y")).result == Binary(F32, "add", Name(F32, "x"), Name(F32, "y"))
    assert body_of(Component(I8, "value")).result == Name(I8, "value")
    assert body_of(PerElement(U32, "row + col")).result == Binary(U32, "add", Name(U32, "row"), Name(U32, "col"))
    signed = PerElement(I32, "row - col", coords="int32")
    assert body_of(signed).result == Binary(I32, "sub", Name(I32, "row"), Name(I32, "col"))
    extras = PerElement(F32, "s * o", (Extra("s", F32), Extra("o", matrix=True)))
    assert body_of(extras).result == Binary(F32, "mul", Name(F32, "s"), Name(F32, "o"))
    decode = Decode(I8, 2, BLOCK, "block.qs[coordInBlock[1]]")
    assert body_of(decode).result == Member(I8, "qs", Coordinate(U32, "coordInBlock", 1))
    vector = DecodeVector(I8, 2, 4, BLOCK, "block.qs[coordInBlock[1] + lane]", "int32")
    at = Binary(I32, "add", Coordinate(I32, "coordInBlock", 1), Name(I32, "lane"))
    assert body_of(vector).result == Member(I8, "qs", at)


@pytest.mark.parametrize(
    ("function", "what"),
    [
        (Combine(F32, "value"), "'value' is not defined"),
        (Combine(F32, "row"), "'row' is not defined"),
        (Component(F32, "x"), "'x' is not defined"),
        (PerElement(F32, "x"), "'x' is not defined"),
        (Decode(I8, 1, BLOCK, "block.qs[lane]"), "'lane' is not defined"),
        (PerElement(F32, "value", (Extra("row", F32),)), "two parameters have one name"),
        (PerElement(F32, "value", (Extra("a", F32), Extra("a", F16))), "two parameters have one name"),
        (PerElement(F32, "value", (Extra("min", F32),)), "'min' already has a meaning"),
        (PerElement(F32, "value", (Extra("block", F32),)), "'block' already has a meaning"),
    ],
)
def test_names_of_other_kinds_mean_nothing(function: AnyFunction, what: str) -> None:
    with pytest.raises(ExpressionError, match=what):
        body_of(function)


def test_what_a_function_returns() -> None:
    assert returns_of(Combine(F32, "x")) is F32
    assert returns_of(DecodeVector(F16, 1, 2, BLOCK, "block.d")) is F16


def test_blocks_lie_at_natural_alignment() -> None:
    assert block_offsets(BLOCK) == ({"d": 0, "qs": 2}, 34)
    assert block_alignment(BLOCK) == 2
    padded = (BlockField("a", I8), BlockField("b", F32), BlockField("c", F16, 2))
    assert block_offsets(padded) == ({"a": 0, "b": 4, "c": 8}, 12)
    assert block_alignment(padded) == 4


@pytest.mark.parametrize(
    ("block", "what"),
    [
        ((), "a block needs a field"),
        ((BlockField("d", F16), BlockField("d", I8)), "'d' is given twice"),
        ((BlockField("d", F32), BlockField("q", I8)), "ends at byte 5, .* its alignment, 4 .AM-09"),
    ],
)
def test_blocks_of_unclear_size_are_refused(block: tuple[BlockField, ...], what: str) -> None:
    with pytest.raises(ValueError, match=what):
        block_offsets(block)
