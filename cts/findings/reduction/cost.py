"""How large a case is, so that a reduction is always towards less and ends."""

from __future__ import annotations

from typing import Any

from cts.case.model import Case, ComponentType, MatrixShape, VectorShape, types_of
from cts.case.model.plain import plain

#: Component types, the simplest first.
SIMPLEST = tuple(
    component
    for place in range(len(ComponentType))
    for component in ComponentType
    if component.descriptor.simplicity == place
)

_RANKS = {t.value: n for n, t in enumerate((*SIMPLEST, *(t for t in ComponentType if t not in SIMPLEST)))}

#: What initial contents cost, beside their numbers: those that are easily seen are worth least.
_CONTENTS = {"fill": 0, "iota": 2, "counter": 3, "cycle": 4, "values": 4, "random": 24, "random_bits": 24}

_NOT_COUNTED = ("schema", "name", "covers", "description")


def size(case: Case) -> tuple[int, int, int]:
    """Instructions, the extents of all matrices, vectors and invocations, and the cost of everything written.

    Raises ValueError if the case is not well-formed.
    """
    return len(case.program), _extents(case), cost(case)


def _extents(case: Case) -> int:
    types = types_of(case).values()
    matrices = sum(t.rows + t.cols for t in types if isinstance(t, MatrixShape))
    vectors = sum(t.length for t in types if isinstance(t, VectorShape))
    opaque = sum(o.rows + o.cols for o in case.opaque.values())
    return matrices + vectors + opaque + (case.dispatch.invocations or 0)


def cost(case: Case) -> int:
    """The length of a value for readers: characters of names, and bits of numbers."""
    fields: dict[str, Any] = plain(case)
    return sum(_cost(key, value) for key, value in fields.items() if key not in _NOT_COUNTED)


def _cost(key: str, value: Any) -> int:
    if key == "data":
        ((kind, contents),) = value.items()
        return _CONTENTS[kind] + _cost_of(contents)
    return len(key) + _cost_of(value)


def _cost_of(value: Any) -> int:
    match value:
        case bool() | None:
            return 1
        case int():
            return 1 + value.bit_length() + (value < 0)
        case float():
            return 12
        case str():
            return 4 + _RANKS[value] if value in _RANKS else len(value)
        case dict():
            return sum(_cost(key, item) for key, item in value.items())
        case _:
            return sum(2 + _cost_of(item) for item in value)
