"""An operand of an instruction nearer to 0; a mask, a mode or a switch with less in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import structs

from cts.case.model import AnyInstruction, Case, ClampMode, MatrixType, Scalar, VectorType
from cts.findings.reduction.candidates import smaller_numbers

#: Fields for the type of a result; other passes lower them.
_OF_TYPES = frozenset({"dim", "permutation", "m", "k", "rows", "cols"})


def propose(case: Case) -> Iterator[Case]:
    for i in reversed(range(len(case.program))):
        instruction = case.program[i]
        for field in instruction.__struct_fields__:
            for value in (*_smaller(field, getattr(instruction, field)), *_off(instruction, field)):
                changed = structs.replace(instruction, **{field: value})
                program = (*case.program[:i], changed, *case.program[i + 1 :])
                yield structs.replace(case, program=program)


def _smaller(field: str, value: Any) -> Iterator[Any]:
    match value:
        case _ if field in _OF_TYPES or isinstance(value, (bool, MatrixType, VectorType)):
            return
        case int():
            yield from smaller_numbers(value)
        case float():
            yield from (0, 1, -1)
        case Scalar():
            yield from _scalars(value)
        case tuple():
            for n, item in enumerate(value):
                for smaller in _smaller(field, item):
                    yield (*value[:n], smaller, *value[n + 1 :])


def _scalars(value: Scalar) -> Iterator[Any]:
    for name in value.__struct_fields__:
        number = getattr(value, name)
        if number is None:
            continue
        if name == "mod":
            yield structs.replace(value, mod=None)
            continue
        for smaller in smaller_numbers(number):
            try:
                yield structs.replace(value, **{name: smaller})
            except ValueError:
                yield value.base


def _off(instruction: AnyInstruction, field: str) -> Iterator[Any]:
    """Switches off, masks with one bit less, the clamp mode that does nothing."""
    value = getattr(instruction, field)
    if field in ("saturate", "replicated", "transpose") and value is True:
        yield False
    if field in ("operands", "mode") and isinstance(value, tuple):
        yield from (value[:n] + value[n + 1 :] for n in range(len(value)))
    if isinstance(value, ClampMode) and value is not ClampMode.Undefined:
        yield ClampMode.Undefined
