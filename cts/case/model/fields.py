"""What the fields of instructions hold, by their names and annotations."""

from __future__ import annotations

import enum
import types
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from cts.case.model.instruction import Instruction, Part, Setter
from cts.case.model.operand import Scalar, SpecNumber


class Held(enum.Enum):
    """What a field of an instruction holds, one or several."""

    FUNCTION = "the name of a callback"
    MEMORY = "the name of a buffer, an opaque matrix or a pointer"
    LAYOUT = "the id of a layout or view"
    RESULT = "the id of another result"
    PART = "parts that refer to results"
    ENUM = "an enumerant, perhaps as a specialization constant"
    TRUTH = "a truth, perhaps as a specialization constant"
    COMPONENT = "a component value"
    OPERAND = "a 32-bit operand"
    INTEGER = "an integer, perhaps as a specialization constant"


def leaves_of(hint: Any) -> list[Any]:
    """The plain types of an annotation."""
    leaves, waiting = [], [hint]
    while waiting:
        annotation = waiting.pop()
        origin = get_origin(annotation)
        if origin is Annotated:
            waiting.append(get_args(annotation)[0])
        elif origin in (Union, types.UnionType, tuple):
            waiting += [a for a in get_args(annotation) if a is not ...]
        elif origin is not Literal:
            leaves.append(annotation)
    return leaves


@cache
def held(kind: type[Instruction], field: str) -> Held | None:
    """What a field of a kind of instructions holds; None for types."""
    leaves = leaves_of(get_type_hints(kind, include_extras=True)[field])
    classes = [leaf for leaf in leaves if isinstance(leaf, type)]
    by_leaf = (
        (Part, Held.PART), (enum.Enum, Held.ENUM), (bool, Held.TRUTH), (SpecNumber, Held.COMPONENT),
        (Scalar, Held.OPERAND), (int, Held.INTEGER),
    )  # fmt: skip
    refers = field in kind.refers
    if field in ("function", "combine", "decode", "decode_vector"):
        return Held.FUNCTION
    if field in ("buffer", "bias") or (field == "matrix" and not refers):
        return Held.MEMORY
    if (field in ("layout", "view") and refers) or (field == "of" and issubclass(kind, Setter)):
        return Held.LAYOUT
    if str in leaves and refers:
        return Held.RESULT
    return next((what for of, what in by_leaf if any(issubclass(c, of) for c in classes)), None)
