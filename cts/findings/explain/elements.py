"""Single elements of a result: which to look at, their expected and actual values, and elements read instead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from cts.base.errors import BadInput
from cts.case import model
from cts.case.oracle.expectation import AccessMap, Expectation, Freedom, Oracle, Reach, Trace
from cts.findings.explain.model import Element, Suspect
from cts.findings.explain.results import Result, compared
from cts.findings.explain.search import STORES, Located
from cts.judging.compare import ulps
from cts.judging.sentences import value_text

ElementIndex = tuple[int, int, int]

_NAMES = {
    Reach.MEMORY: "memory",
    Reach.CLIPPED: "clipped",
    Reach.CLAMPED: "clamped",
    Reach.OUTSIDE: "outside",
    Reach.INACTIVE: "not reached",
}

#: Elements that are looked at unless others are requested.
MOST = 3


def correct_result(case: model.Case, expectation: Expectation, index: int) -> Result | None:
    """The result or stored matrix of an instruction, with no wrong element: for errors that show elsewhere."""
    instruction: Any = case.program[index]
    fields = ("matrix", "vector") if isinstance(instruction, STORES) else ("id",)
    name = next((n for n in (getattr(instruction, f, None) for f in fields) if n in expectation.matrices), None)
    shape = model.types_of(case).get(name) if name is not None else None
    if name is None or not isinstance(shape, (model.MatrixShape, model.VectorShape)):
        return None
    values = expectation.matrices[name]
    return compared(index, name, shape.component, values, values)


#: Why a store passes an element over.
_KEPT_OUT = {
    Reach.CLIPPED: ("TA-032", "outside the clip"),
    Reach.CLAMPED: ("TA-035", "out of bounds"),
    Reach.OUTSIDE: ("VK-062", "outside the buffer"),
}


def skipped_by_addressing(reached: AccessMap | None) -> tuple[Suspect, ...]:
    """The facts that keep elements of a store from memory: broken if memory changed that no store may change."""
    if reached is None:
        return ()
    counts = {fact: (int((reached.status == reach).sum()), why) for reach, (fact, why) in _KEPT_OUT.items()}
    return tuple(
        Suspect(fact, f"{count} elements are {why}, and must not be stored")
        for fact, (count, why) in counts.items()
        if count
    )


def worst_elements(result: Result, reached: AccessMap | None) -> list[ElementIndex]:
    """The first wrong element, the one farthest off, and the first that is reached otherwise than these."""
    wrong = np.argwhere(result.wrong)
    if not len(wrong):
        return []
    flat = result.wrong
    distance = ulps(result.component, result.actual[flat], result.expected[flat], result.expected[flat])
    chosen = [wrong[0], wrong[int(np.argmax(distance))]]
    if reached is not None and reached.status.shape == result.wrong.shape:
        kinds = reached.status[flat]
        chosen += [wrong[int(np.argmax(kinds == kind))] for kind in np.unique(kinds)]
    places = [(int(p[0]), int(p[1]), int(p[2])) for p in chosen]
    return list(dict.fromkeys(places))[:MOST]


def requested_elements(result: Result, wanted: Sequence[tuple[int, int]]) -> list[ElementIndex]:
    """The elements at rows and columns, of the first instance with a wrong element. Raises BadInput outside."""
    wrong = np.argwhere(result.wrong)
    instance = int(wrong[0][0]) if len(wrong) else 0
    _, rows, cols = result.expected.shape
    for row, col in wanted:
        if not (0 <= row < rows and 0 <= col < cols):
            raise BadInput(
                "no-element",
                f"{result.name!r} has {rows} rows and {cols} columns",
                f"--element {row},{col}",
                f"a row below {rows} and a column below {cols}",
            )
    return [(instance, row, col) for row, col in wanted]


def describe_elements(
    case: model.Case, oracle: Oracle, expectation: Expectation, located: Located, places: Sequence[ElementIndex]
) -> Iterator[Element]:
    """Everything about elements of the located result."""
    result = located.result
    assert result is not None
    reached = oracle.reached(case, result.index)
    for instance, row, col in places:
        place = (instance, row, col)
        trace = trace_of(case, oracle, result, reached, place, depth=None)
        reach = (
            ""
            if reached is None or reached.status.shape != result.wrong.shape
            else _NAMES[Reach(reached.status[place])]
        )
        wrong = bool(result.wrong[place])
        yield Element(
            instance,
            row,
            col,
            not wrong,
            expected_text(result, place),
            value_text(result.component, int(result.actual[place])),
            reach,
            read_instead(case, expectation, result, reached, place) if wrong else "",
            trace.steps,
        )


def trace_of(
    case: model.Case,
    oracle: Oracle,
    result: Result,
    reached: AccessMap | None,
    place: ElementIndex,
    *,
    depth: int | None,
) -> Trace:
    """The steps behind an element: of a result, or of a byte that a store writes."""
    instance, row, col = place
    if isinstance(case.program[result.index], STORES):
        if reached is None or reached.status[place] != Reach.MEMORY:
            return Trace(None, None, None, None, ())
        depth = 0 if depth == 1 else depth
        return oracle.trace(case, reached.buffer, int(reached.byte[place]), detail=True, depth=depth)
    if result.name not in model.types_of(case):
        return Trace(None, None, None, None, ())
    iterations = result.iterations or None
    return oracle.trace_element(case, result.name, instance, row, col, iterations=iterations, depth=depth)


def expected_text(result: Result, place: ElementIndex) -> str:
    """The allowed value, or the interval of them."""
    spread = result.spread
    if spread is None:
        return value_text(result.component, int(result.expected[place]))
    lo, hi, flags = int(spread.lo[place]), int(spread.hi[place]), Freedom(int(spread.flags[place]))
    if flags & Freedom.ANY:
        return "anything"
    text = value_text(result.component, lo)
    if lo != hi:
        text += f" to {value_text(result.component, hi)}"
    text += " or NaN" if flags & Freedom.NAN else ""
    return text + (" or either zero" if flags & Freedom.EITHER_ZERO else "")


def read_instead(
    case: model.Case, expectation: Expectation, result: Result, reached: AccessMap | None, place: ElementIndex
) -> str:
    """The element with the actual value, if exactly one element that the instruction reads has it.

    Of a product only the addends count: its value comes from no single element of its factors.
    """
    actual = int(result.actual[place])
    instruction: Any = case.program[result.index]
    plain = isinstance(instruction, model.Load) and getattr(instruction, "decode", None) is None
    if plain and reached is not None:
        element = _in_buffer(case, reached.buffer, result.component, actual)
        if element:
            return element
    names = dict.fromkeys((*model.references(instruction), result.name))
    for name in instruction.addends if isinstance(instruction, model.Product) else names:
        if name in expectation.matrices and (name != result.name or isinstance(instruction, STORES)):
            element = _in_result(case, expectation, name, result.component, actual, place[0])
            if element:
                return element
    return ""


def _in_buffer(case: model.Case, name: str, component: model.ComponentType, actual: int) -> str:
    buffer = case.buffers[name]
    contents = model.initial_bits(buffer).view(np.uint8)
    if contents.size % component.size:
        return ""
    values = contents.view(component.bits_dtype)
    matches = np.flatnonzero(values == actual)
    if len(matches) != 1 or len(values) < 2:
        return ""
    byte = int(matches[0]) * component.size
    if component.size != buffer.type.size:
        return f"byte {byte} of {name!r}"
    element, rest = divmod(int(matches[0]), buffer.components)
    coordinates = [int(c) for c in np.unravel_index(element, buffer.shape)] + ([rest] if buffer.components > 1 else [])
    return f"{name}[{', '.join(map(str, coordinates))}], byte {byte}"


def _in_result(
    case: model.Case, expectation: Expectation, name: str, component: model.ComponentType, actual: int, instance: int
) -> str:
    shape = model.types_of(case).get(name)
    if not isinstance(shape, (model.MatrixShape, model.VectorShape)) or shape.component is not component:
        return ""
    every = expectation.matrices[name]
    values = every[min(instance, len(every) - 1)]
    matches = np.argwhere(values == actual)
    if len(matches) != 1 or values.size < 2:
        return ""
    return f"{name}[{', '.join(str(int(n)) for n in matches[0])}]"
