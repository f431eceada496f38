"""How one component of a cooperative vector got its value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from cts.case import model
from cts.case.oracle.trace import ElementValue, Number, StepKind, TraceStep
from cts.reference.addressing.accesses import Access
from cts.reference.execution.machine import Recording
from cts.reference.execution.program import Evaluation
from cts.reference.numeric.undefined import Watch
from cts.reference.numeric.value import Value
from cts.reference.trace.element import Element, at_element, element_of, number_text, vector_place
from cts.reference.vectors.accesses import matrix_extents
from cts.reference.vectors.products import inputs

#: Terms of a dot product that are listed.
TERMS = 4


class History(Protocol):
    """The part of `history.History` that this module uses."""

    evaluation: Evaluation
    recording: Recording

    detail: bool

    def steps_behind(self, matrix: str, before: int, element: Element) -> Iterator[TraceStep]: ...

    def value(self, matrix: str, before: int, element: Element) -> Value | None: ...

    def address(self, access: Access, element: Element, number: int) -> Iterator[TraceStep]: ...

    def whole(self, name: str, before: int) -> Value | None: ...


def explained(
    history: History, instruction: model.VectorInstruction, number: int, element: Element, result: ElementValue | None
) -> Iterator[TraceStep]:
    """The steps behind a component that an instruction gave."""
    rule = instruction.facts[0]
    match instruction:
        case model.Constant():
            yield TraceStep(StepKind.VECTOR_CONSTANT, rule, result=result)
        case model.VectorLoad():
            access = history.evaluation.steps[number].access
            assert access is not None
            yield address(access, element)
            names, numbers = {"buffer": access.buffer}, {"byte": int(at_element(access.byte, element))}
            yield TraceStep(StepKind.LOADED, rule, names=names, numbers=numbers, result=result, idle=True)
        case model.VectorConstruct():
            name, col = _part(history, instruction, element.col)
            source = Element(element.instance, 0, col)
            yield TraceStep(StepKind.SOURCE_ELEMENT, rule, place=vector_place(name, source), result=result)
            yield from history.steps_behind(name, number, source)
        case model.VectorExtract() | model.VectorInsert():
            yield from _indexed(history, instruction, number, element, result)
        case model.VectorMatrixMul():
            yield from _product(history, instruction, number, element, result)
        case _:
            yield from _computed(history, instruction, number, element, result)


def address(access: Access, element: Element) -> TraceStep:
    """From a component to its byte."""
    start, size = int(at_element(access.pointer[..., None, None], element)), access.size
    origin = int(at_element(access.origin[..., None, None], element))
    numbers = {"origin": origin, "start": start, "component": element.col, "size": size}
    byte = origin + start + element.col * size
    return TraceStep(StepKind.VECTOR_BYTE, "CV-013", names={"field": access.field}, numbers={**numbers, "byte": byte})


def _part(history: History, instruction: model.VectorConstruct, col: int) -> tuple[str, int]:
    for name in instruction.parts:
        length = history.evaluation.shape_of(name).cols
        if col < length:
            return name, col
        col -= length
    raise AssertionError("typing compares the lengths")


def _indexed(
    history: History,
    i: model.VectorExtract | model.VectorInsert,
    number: int,
    element: Element,
    result: ElementValue | None,
) -> Iterator[TraceStep]:
    step = history.evaluation.steps[number]
    index = history.evaluation.operands.scalar(step.index, "index", i.index, step.taken.iterations)
    position = int(at_element(index[..., None, None], element))
    if isinstance(i, model.VectorExtract):
        source = Element(element.instance, 0, position)
        yield TraceStep(StepKind.SOURCE_ELEMENT, "CV-011", place=vector_place(i.vector, source), result=result)
        yield from history.steps_behind(i.vector, number, source)
    elif element.col == position:
        names, numbers = {"scalar": i.scalar}, {"index": position}
        yield TraceStep(StepKind.INSERTED_SCALAR, "CV-011", names=names, numbers=numbers, result=result)
        yield from history.steps_behind(i.scalar, number, Element(element.instance, 0, 0))
    else:
        place, numbers = vector_place(i.vector, element), {"index": position}
        yield TraceStep(StepKind.KEPT_COMPONENT, "CV-011", place=place, numbers=numbers, result=result)
        yield from history.steps_behind(i.vector, number, element)


def _computed(
    history: History, i: model.VectorInstruction, number: int, element: Element, result: ElementValue | None
) -> Iterator[TraceStep]:
    """Component by component; a scalar is the same for each."""
    named = [(field, getattr(i, field, None)) for field in ("vector", "a", "b", "c", "scalar")]
    named += [("vectors", name) for name in getattr(i, "vectors", ())]
    operands = [(n, Element(element.instance, 0, 0) if f == "scalar" else element) for f, n in named if n is not None]
    yield TraceStep(
        StepKind.OPERATION,
        i.facts[0],
        names={"operation": i.spirv, "operands": tuple(name for name, _ in operands)},
        numbers={"elements": tuple(_text(history, name, number, place) for name, place in operands)},
        result=result,
    )
    for name, place in operands:
        yield from history.steps_behind(name, number, place)


def _product(
    history: History, i: model.VectorMatrixMul, number: int, element: Element, result: ElementValue | None
) -> Iterator[TraceStep]:
    """The converted input, the bias, and the terms of the dot product."""
    _, k = matrix_extents(i)
    reading, some = model.interpretation_of(i.input_interpretation), min(k, TERMS)
    read = history.recording.read.get(number, {})
    vector = history.whole(i.input, number)
    terms: tuple[str, ...] = ("?",) * some
    if vector is not None:
        readings = inputs(i, vector, Watch())
        listed = [tuple(_term(r, element.instance, n) for n in range(some)) for r in readings]
        elements = tuple(_term(vector, element.instance, n) for n in range(min(some, vector.shape[-1])))
        numbers: dict[str, Number | tuple[Number, ...]] = {"count": k, "elements": elements}
        numbers |= dict(zip(("as_read", "or_as_read"), listed, strict=False))
        yield TraceStep(
            StepKind.VECTOR_INPUT,
            "CV-034" if reading.packed else "CV-033" if len(readings) > 1 else "CV-030",
            names={"input": i.input, "component": _type(vector), "interpretation": reading.value},
            numbers=numbers,
        )
        terms = listed[0]
    matrix, bias = read.get("matrix"), "0"
    weights: tuple[str, ...] = ("?",) * some
    if matrix is not None:
        row = [(n, element.col) if model.constant_of(i.transpose) else (element.col, n) for n in range(some)]
        weights = tuple(_number(element_of(matrix, Element(element.instance, *coordinates))) for coordinates in row)
    if "bias" in read:
        bias = _number(element_of(read["bias"], element))
    yield TraceStep(
        StepKind.VECTOR_PRODUCT,
        "CV-018",
        names={"input": i.input, "matrix": i.matrix},
        numbers={"col": element.col, "depth": k, "a_elements": terms, "b_elements": weights, "bias": bias},
        result=result,
    )


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
