"""The deviations of a case, by the instruction and its part."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from enum import Enum
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar

import numpy as np
from msgspec import structs

from cts.case import model
from cts.case.oracle.deviation import KIND, OF_CASE, Deviation, Step
from cts.reference.deviation import numbers
from cts.reference.deviation.moves import NotComputable

_T = TypeVar("_T")

Steps: TypeAlias = tuple[Step, ...]

#: The steps of each part of each instruction that deviates.
Parts: TypeAlias = Mapping[int, Mapping[str, Steps]]

#: Words of which a field may have several, or none.
_FLAGS: tuple[type[Enum], ...] = (model.MulAddOperand, model.FastMath)

NO_PARTS: Parts = MappingProxyType({})


def parts_of(deviations: Iterable[Deviation]) -> Parts:
    """Deviations by place and part; those of one part in turn."""
    parts: dict[int, dict[str, Steps]] = defaultdict(dict)
    for one in deviations:
        of_place = parts[one.place]  # also of a word, by which the case is another one
        if not one.word and [step.name for step in one.steps] != ["of_first"]:
            of_place[one.part] = (*of_place.get(one.part, ()), *one.steps)
    return dict(parts)


def rewritten(case: model.Case, deviations: Iterable[Deviation]) -> model.Case:
    """The case with other words in fields that are no numbers. Raises NotComputable for words that they cannot be."""
    for one in deviations:
        if one.steps and one.steps[0].name == "signed_as":
            instruction = _signed_as(case.program[one.place], one.part, str(one.steps[0].arguments[0]))
            case = structs.replace(case, program=_with(case.program, one.place, instruction))
        if one.steps and one.steps[0].name == "of_first":
            first = _first(case, one.place, str(one.steps[0].arguments[0]))
            instruction = structs.replace(case.program[one.place], **{one.part: getattr(first, one.part)})
            case = structs.replace(case, program=_with(case.program, one.place, instruction))
        if one.part == "literals" and one.steps:  # numbers, but of no operand
            branch = case.program[one.place]
            assert isinstance(branch, model.Branch)
            literals = numbers.transformed(np.array(branch.literals, np.int64).astype(np.uint32), one.steps)
            branch = structs.replace(branch, literals=tuple(literals.tolist()))
            case = structs.replace(case, program=_with(case.program, one.place, branch))
        if one.steps and one.steps[0].name in ("added", "without"):
            instruction = structs.replace(case.program[one.place], **{one.part: _flags(case, one)})
            changed = structs.replace(case, program=_with(case.program, one.place, instruction))
            case = changed if _is_well_formed(changed) else case
        if not one.word:
            continue
        if one.place < OF_CASE:
            case = structs.replace(case, conversions=_with(case.conversions, *_converting(case, one)))
        elif one.part == KIND:
            case = structs.replace(
                case, program=_with(case.program, one.place, _of_kind(case.program[one.place], one.word))
            )
        elif one.place == OF_CASE:
            word = _word(case, one)
            is_control = one.part == "float_controls"
            case = _of_controls(case, word) if is_control else structs.replace(case, **{one.part: word})
        else:
            instruction = case.program[one.place]
            deviating = structs.replace(instruction, **{one.part: _word(instruction, one)})
            case = structs.replace(case, program=_with(case.program, one.place, deviating))
    return case


def _first(case: model.Case, place: int, field: str) -> model.Instruction:
    """The first instruction of the kind of one, with the same field."""
    this = case.program[place]
    same = getattr(this, field, None)
    return next(i for i in case.program if type(i) is type(this) and getattr(i, field, None) == same)


def _is_well_formed(case: model.Case) -> bool:
    """Whether instructions may have their words: some are of integers alone, where a word more changes nothing."""
    try:
        model.types_of(case)
    except ValueError:
        return False
    return True


def _flags(case: model.Case, one: Deviation) -> tuple[Enum, ...]:
    """The words of a field that has several, with others or without some. Raises NotComputable for unknown words."""
    flags = getattr(case.program[one.place], one.part, None) or ()
    if not isinstance(flags, tuple):
        raise NotComputable(f"{one.part} has one word")
    for name, arguments in one.steps:
        kind = next((kind for kind in _FLAGS if arguments[0] in kind.__members__), None)
        if kind is None:
            raise NotComputable(f"no word {arguments[0]}")
        flag = kind[str(arguments[0])]
        flags = (*(other for other in flags if other is not flag), *((flag,) if name == "added" else ()))
    return flags


def _of_kind(instruction: model.Instruction, kind: str) -> model.Instruction:
    """An instruction of another kind with the same fields."""
    other = getattr(model, kind, None)
    if other is None or getattr(other, "__struct_fields__", None) != instruction.__struct_fields__:
        raise NotComputable(f"no {kind}")
    changed: model.Instruction = other(
        **{field: getattr(instruction, field) for field in instruction.__struct_fields__}
    )
    return changed


def _with(items: tuple[_T, ...], place: int, item: _T) -> tuple[_T, ...]:
    return (*items[:place], item, *items[place + 1 :])


def _converting(case: model.Case, one: Deviation) -> tuple[int, model.MatrixConversion]:
    """The number of a conversion, and the conversion with another word on one of its sides."""
    number = OF_CASE - 1 - one.place
    conversion = case.conversions[number]
    side, _, field = one.part.partition("_")
    place = getattr(conversion, side)
    if getattr(place, field) is not None:  # an opaque matrix has its own layout
        place = structs.replace(place, **{field: _word(place, replace(one, part=field))})
    return number, structs.replace(conversion, **{side: place})


def _signed_as(instruction: model.Instruction, part: str, other: str) -> model.Instruction:
    """A product of matrices whose one operand has the sign of another one."""
    match instruction:
        case model.MatrixMulAdd(operands=flags):
            of, to = (model.MulAddOperand[f"Matrix{name.upper()}Signed"] for name in (other, part))
            flags = tuple(flag for flag in flags if flag is not to)
            return structs.replace(instruction, operands=(*flags, to) if of in flags else flags)
    # The machine reads the matrix of a product of vectors with that sign.
    return instruction


def _of_controls(case: model.Case, controls: model.FloatControls) -> model.Case:
    """The case with other float controls, without fast math of types and instructions, and modes that they imply."""
    program = tuple(structs.replace(i, fast_math=None) if hasattr(i, "fast_math") else i for i in case.program)
    implied = {model.FloatMode.SignedZeroInfNanPreserve} if controls is model.FloatControls.FastMathNone else set()
    modes = {w: left for w, bound in case.float_modes.items() if (left := tuple(m for m in bound if m not in implied))}
    return structs.replace(case, program=program, fast_math={}, float_controls=controls, float_modes=modes)


def _word(owner: Any, deviation: Deviation) -> Any:
    """The value of a field behind a word."""
    now: Any = model.constant_of(getattr(owner, deviation.part, None))
    listed = isinstance(now, tuple)
    kind = type(now[0]) if listed and now else type(now)
    if kind is bool:
        return deviation.word == "True"
    if deviation.word == "none":
        return type(now)() if isinstance(now, tuple | dict) else None
    if not issubclass(kind, Enum):
        if deviation.part in ("function", "combine", "decode") or isinstance(now, str):
            return deviation.word
        raise NotComputable(f"{deviation.part} is no word")
    words = deviation.word.split("|")
    members = [m for w in words for m in kind if w in (m.name, m.value)]
    if len(members) != len(words):
        raise NotComputable(f"{deviation.part} is never {deviation.word}")
    return tuple(members) if listed else members[0]
