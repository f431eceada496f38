"""Operands as literals, in place of specialization constants and values read at run time."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, structs

from cts.case.model import Scalar, base_of, constant_of, number_of
from cts.case.model.operand import SpecBool, SpecClampMode, SpecInt, SpecNumber, SpecScope, SpecUse
from cts.case.model.vector_products import SpecInterpretation, SpecLayout


def literal(value: Any) -> Any:
    """An operand, or every operand of several, as a literal that is the same everywhere."""
    match value:
        case tuple():
            return tuple(literal(v) for v in value)
        case Scalar():
            return base_of(value)
        case SpecNumber():
            return number_of(value)
        case SpecInt() | SpecBool() | SpecClampMode() | SpecScope() | SpecUse():
            return constant_of(value)
        case SpecInterpretation() | SpecLayout():
            return value.spec
        case Struct():
            return structs.replace(value, **{f: literal(getattr(value, f)) for f in value.__struct_fields__})
    return value
