"""Why a byte that an accumulation or a conversion wrote is expected to be what it is."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cts.case.model import ConversionSide, VectorAtomicAdd, VectorOuterProductAccumulate, VectorReduceSumAccumulate
from cts.case.oracle.expectation import Trace
from cts.case.oracle.trace import ElementPlace, ElementValue, StepKind, TraceStep
from cts.reference.addressing.accesses import instances_of
from cts.reference.execution.execute import run
from cts.reference.execution.execution import Execution
from cts.reference.execution.machine import Recording
from cts.reference.execution.program import Evaluation
from cts.reference.execution.step import Step
from cts.reference.numeric.arrays import Mask
from cts.reference.trace.element import Element, number_text, shown, vector_place
from cts.reference.trace.history import History, instance_of
from cts.reference.vectors.opaque import component_of, place_bytes

#: The most additions to one element that are listed.
TERMS = 8


def written_by_conversion(
    evaluation: Evaluation, recording: Recording, buffer: str, offset: int, *, after: bool
) -> Trace | None:
    """The last conversion before the dispatch, or `after` it, that writes a byte; None where none does."""
    case = evaluation.case
    for n, conversion in reversed(list(enumerate(case.conversions))):
        place = conversion.destination
        if place.of != buffer or conversion.after is not after:
            continue
        component = component_of(case.opaque, place)
        delta = offset - place_bytes(place, component, conversion.rows, conversion.cols)[0, 0]
        elements = np.argwhere((delta >= 0) & (delta < component.size))
        if not len(elements):
            continue
        row, col = (int(i) for i in elements[0])
        execution = run(evaluation)
        source = conversion.source
        read = component_of(case.opaque, source).value
        first = offset - int(delta[row, col])
        steps = [
            TraceStep(
                StepKind.CONVERSION,
                "VK-054",
                names={"source": source.of, "component": read, "target": component.value},
                numbers={"conversion": n, "row": row, "col": col},
                result=_value_at(execution, buffer, first, place, component_of(case.opaque, place).size),
            )
        ]
        steps += _places(evaluation, n, row, col)
        steps += _products(History(evaluation, recording), source.of, row, col)
        return Trace(None, None, row, col, tuple(steps), n)
    return None


def _places(evaluation: Evaluation, n: int, row: int, col: int) -> Iterator[TraceStep]:
    """Where either side of a conversion has an element, as far as its layout is known (VK-053, VK-055)."""
    conversion = evaluation.case.conversions[n]
    for written, place in ((False, conversion.source), (True, conversion.destination)):
        component = component_of(evaluation.case.opaque, place)
        element, names = ElementPlace(place.of, row, col), {"component": component.value}
        if place.layout is None:
            kind = StepKind.OPAQUE_WRITTEN if written else StepKind.OPAQUE_READ
            names["layout"] = evaluation.case.opaque[place.of].layout.value
            yield TraceStep(kind, "VK-053", place=element, names=names)
        else:
            kind = StepKind.ROWS_WRITTEN if written else StepKind.ROWS_READ
            byte = int(place_bytes(place, component, conversion.rows, conversion.cols)[0, 0, row, col])
            names["layout"] = place.layout.value
            yield TraceStep(kind, "VK-055", place=element, names=names, numbers={"stride": place.stride, "byte": byte})


def _value_at(execution: Execution, buffer: str, byte: int, place: ConversionSide, size: int) -> ElementValue:
    assert place.component is not None
    address = np.full((1, 1, 1, 1), byte - byte % size, np.int64)
    return shown(execution.memories[buffer].load(address, place.component))


def _products(history: History, matrix: str, row: int, col: int) -> Iterator[TraceStep]:
    """What outer products add to an element of an opaque matrix."""
    evaluation = history.evaluation
    listed = 0
    for number, step in enumerate(evaluation.steps):
        i = evaluation.case.program[step.index]
        if not isinstance(i, VectorOuterProductAccumulate) or i.matrix != matrix:
            continue
        for instance in np.flatnonzero(_takers(evaluation, step)):
            listed += 1
            if listed > TERMS:
                return
            a, b = (
                number_text(
                    history.value(name, number, Element(int(instance), 0, n)), evaluation.shape_of(name).component
                )
                for name, n in ((i.a, row), (i.b, col))
            )
            unit, where = instance_of(evaluation.case, evaluation.shape_of(i.a).scope, int(instance))
            yield TraceStep(
                StepKind.OUTER_PRODUCT,
                "CV-020",
                step.index,
                names={"a": i.a, "b": i.b, **unit},
                numbers={"row": row, "col": col, "a_element": a, "b_element": b, **where},
            )


def written_by_accumulation(evaluation: Evaluation, recording: Recording, buffer: str, offset: int) -> Trace | None:
    """Everything that is accumulated into the component at a byte; None where nothing is."""
    additions = list(_additions(evaluation, buffer, offset))
    if not additions:
        return None
    execution = run(evaluation)
    history, steps = History(evaluation, recording), []
    for number, element in additions[:TERMS]:
        step = evaluation.steps[number]
        i = evaluation.case.program[step.index]
        assert isinstance(i, VectorReduceSumAccumulate | VectorAtomicAdd)
        shape = evaluation.shape_of(i.vector)
        unit, where = instance_of(evaluation.case, shape.scope, element.instance)
        added = number_text(history.value(i.vector, number, element), shape.component)
        place = vector_place(i.vector, element)
        numbers = {"number": added, **where}
        steps.append(TraceStep(StepKind.ADDITION, i.facts[0], step.index, place, unit, numbers))
    number, element = additions[-1]
    access = evaluation.steps[number].access
    assert access is not None
    component = access.shape.component
    address = np.full((1, 1, 1, 1), offset - offset % component.size, np.int64)
    total = shown(execution.memories[buffer].load(address, component))
    rule = evaluation.case.program[evaluation.steps[number].index].facts[0]
    steps.append(TraceStep(StepKind.ADDITIONS, rule, numbers={"count": len(additions)}, result=total))
    return Trace(evaluation.steps[number].index, element.instance, 0, element.col, tuple(steps))


def _additions(evaluation: Evaluation, buffer: str, offset: int) -> Iterator[tuple[int, Element]]:
    for number, step in enumerate(evaluation.steps):
        access = step.access
        if access is None or not access.accumulates or access.buffer != buffer:
            continue
        delta = offset - access.byte[0]
        here = (delta >= 0) & (delta < access.size)
        here = here & _takers(evaluation, step)[:, None, None]
        for instance, _, col in np.argwhere(here):
            yield number, Element(int(instance), 0, int(col))


def _takers(evaluation: Evaluation, step: Step) -> Mask:
    """Which invocations take a step, (invocations,)."""
    i = evaluation.case.program[step.index]
    assert isinstance(i, (VectorReduceSumAccumulate, VectorAtomicAdd, VectorOuterProductAccumulate))
    scope = evaluation.shape_of(i.a if isinstance(i, VectorOuterProductAccumulate) else i.vector).scope
    active = evaluation.active_at(step.taken, scope)
    return np.ones(instances_of(evaluation.case.dispatch, scope), bool) if active is None else active[0]
