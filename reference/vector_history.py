"""How one component of a cooperative vector got its value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from cts.expectation import TraceStep
from cts.model import (
    Constant,
    VectorConstruct,
    VectorExtract,
    VectorInsert,
    VectorInstruction,
    VectorLoad,
    VectorMatrixMul,
    constant_of,
    interpretation_of,
)
from cts.reference.accesses import Access
from cts.reference.element import Element, at_element, element_of, number_text
from cts.reference.execute import Recording
from cts.reference.numeric.undefined import Watch
from cts.reference.numeric.value import Value
from cts.reference.program import Evaluation
from cts.reference.vector_accesses import matrix_extents
from cts.reference.vector_products import inputs

#: Terms of a dot product that are listed.
TERMS = 4


class History(Protocol):
    """What tells of elements of every kind (`history.History`)."""

    evaluation: Evaluation
    recording: Recording

    detail: bool

    def of(self, matrix: str, before: int, element: Element) -> Iterator[TraceStep]: ...

    def value(self, matrix: str, before: int, element: Element) -> Value | None: ...

    def whole(self, name: str, before: int) -> Value | None: ...


def explained(
    history: History, instruction: VectorInstruction, number: int, element: Element, shown: str
) -> Iterator[TraceStep]:
    """The steps behind a component that an instruction gave."""
    rule = instruction.facts[0]
    match instruction:
        case Constant():
            yield TraceStep(rule, "a constant", shown)
        case VectorLoad():
            access = history.evaluation.steps[number].access
            assert access is not None
            yield address(access, element)
            byte = int(at_element(access.byte, element))
            yield TraceStep(rule, f"loaded from byte {byte} of {access.buffer!r}", shown, idle=True)
        case VectorConstruct():
            name, col = _part(history, instruction, element.col)
            yield TraceStep(rule, f"component {col} of {name!r}", shown)
            yield from history.of(name, number, Element(element.instance, 0, col))
        case VectorExtract() | VectorInsert():
            yield from _indexed(history, instruction, number, element, shown)
        case VectorMatrixMul():
            yield from _product(history, instruction, number, element, shown)
        case _:
            yield from _computed(history, instruction, number, element, shown)


def address(access: Access, element: Element) -> TraceStep:
    """From a component to its byte."""
    start, size = int(at_element(access.pointer[..., None, None], element)), access.size
    origin = int(at_element(access.origin[..., None, None], element))
    part = f"the workgroup's part at {origin} + " if origin else ""
    what = f"byte address: {part}{access.field} {start} + {element.col} * {size}"
    return TraceStep("CV-013", what, str(origin + start + element.col * size))


def _part(history: History, instruction: VectorConstruct, col: int) -> tuple[str, int]:
    for name in instruction.parts:
        length = history.evaluation.shape_of(name).cols
        if col < length:
            return name, col
        col -= length
    raise AssertionError("typing compares the lengths")


def _indexed(
    history: History, i: VectorExtract | VectorInsert, number: int, element: Element, shown: str
) -> Iterator[TraceStep]:
    step = history.evaluation.steps[number]
    index = history.evaluation.operands.scalar(step.index, "index", i.index, step.taken.turns)
    at = int(at_element(index[..., None, None], element))
    if isinstance(i, VectorExtract):
        yield TraceStep("CV-011", f"component {at} of {i.vector!r}", shown)
        yield from history.of(i.vector, number, Element(element.instance, 0, at))
    elif element.col == at:
        yield TraceStep("CV-011", f"the index is {at}: the scalar {i.scalar!r}", shown)
        yield from history.of(i.scalar, number, Element(element.instance, 0, 0))
    else:
        yield TraceStep("CV-011", f"the index is {at}: component {element.col} of {i.vector!r} stays", shown)
        yield from history.of(i.vector, number, element)


def _computed(history: History, i: VectorInstruction, number: int, element: Element, shown: str) -> Iterator[TraceStep]:
    """Component by component; a scalar is the same for each."""
    named = ((field, getattr(i, field, None)) for field in ("vector", "a", "b", "c", "scalar"))
    operands = [(n, Element(element.instance, 0, 0) if f == "scalar" else element) for f, n in named if n is not None]
    values = ", ".join(f"{name!r} = {_text(history, name, number, at)}" for name, at in operands)
    yield TraceStep(i.facts[0], f"{i.spirv} of {values}", shown)
    for name, at in operands:
        yield from history.of(name, number, at)


def _product(history: History, i: VectorMatrixMul, number: int, element: Element, shown: str) -> Iterator[TraceStep]:
    """The converted input, the bias, and the terms of the dot product."""
    _, k = matrix_extents(i)
    reading, some = interpretation_of(i.input_interpretation), min(k, TERMS)
    read = history.recording.read.get(number, {})
    vector = history.whole(i.input, number)
    more = ", ..." if k > some else ""
    terms = ["?"] * some
    if vector is not None:
        readings = inputs(i, vector, Watch())
        listed = [[_term(r, element.instance, n) for n in range(some)] for r in readings]
        given = ", ".join(_term(vector, element.instance, n) for n in range(min(some, vector.shape[-1])))
        rule = "CV-034" if reading.packed else "CV-033" if len(readings) > 1 else "CV-030"
        what = f"input {i.input!r}, {_type(vector)} as {reading.value}: {given}{more}"
        yield TraceStep(rule, what, " or ".join(", ".join(numbers) + more for numbers in listed))
        terms = listed[0]
    matrix, bias = read.get("matrix"), "0"
    weights = ["?"] * some
    if matrix is not None:
        row = [(n, element.col) if constant_of(i.transpose) else (element.col, n) for n in range(some)]
        weights = [_number(element_of(matrix, Element(element.instance, *at))) for at in row]
    if "bias" in read:
        bias = _number(element_of(read["bias"], element))
    pairs = " + ".join(f"{a} * {b}" for a, b in zip(terms, weights, strict=True))
    rest = f" + ... ({k} products)" if k > some else ""
    what = f"sum over k of {i.input!r}[k] * {i.matrix!r}[{element.col}, k], and the bias: {pairs}{rest} + {bias}"
    yield TraceStep("CV-018", what, shown)


def _term(vector: Value, instance: int, n: int) -> str:
    return _number(element_of(vector, Element(instance, 0, n)))


def _number(value: Value) -> str:
    assert value.component is not None
    return number_text(value, value.component)


def _type(value: Value) -> str:
    assert value.component is not None
    return value.component.value


def _text(history: History, name: str, number: int, element: Element) -> str:
    return number_text(history.value(name, number, element), history.evaluation.shape_of(name).component)
