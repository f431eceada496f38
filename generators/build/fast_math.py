"""Which fast math instructions and types of a program without any allow all the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import structs

from cts.base.choices import Choices
from cts.case import model
from cts.case.model.float_modes import COMPUTED_WIDTHS
from cts.generators.policy.cases import FloatDraws

_REARRANGED = (model.FastMath.AllowContract, model.FastMath.AllowReassoc, model.FastMath.AllowTransform)
_NO_SPECIALS = (model.FastMath.NotNaN, model.FastMath.NotInf, model.FastMath.NSZ)

#: Flags of an instruction or a type: rearranging in any combination, then NaNs and infinities, which need care.
_BITS: tuple[model.FastMathBits, ...] = (
    _REARRANGED,
    (model.FastMath.NSZ,),
    (model.FastMath.AllowContract, model.FastMath.NSZ),
    (*_REARRANGED, model.FastMath.NSZ),
    (model.FastMath.AllowContract, model.FastMath.AllowReassoc),
    (*_REARRANGED, *_NO_SPECIALS),
    (),
)

#: Which instructions have flags: every second, each, or every third; first the simplest mixture.
_EVERY = (2, 1, 3)


def with_fast_math(
    choices: Choices,
    program: Sequence[model.AnyInstruction],
    controls: model.FloatControls,
    *,
    specials: bool,
    functions: bool = False,
) -> tuple[list[model.AnyInstruction], dict[model.FloatWidth, model.FastMathBits]]:
    """The program, in which some operations on floats say what they allow, and the defaults of types (NU-048).

    With `functions` no type has one: they may meet infinities, of which nothing would be known any more. So it is with
    `specials`, where the program has special numbers, and conversions to integers, which would be undefined. What a
    function computes may overflow if an operation on its result is rearranged with it (NU-049), so that no instruction
    of a program has a flag that calls one and converts to integers.
    """
    if controls is not model.FloatControls.FastMathNone or not choices.chance(FloatDraws.SOME):
        return list(program), {}
    to_integers = any(map(_is_to_integers, program))
    if to_integers and any(getattr(i, "function", None) for i in program):
        return list(program), {}
    first, which, every = choices.record(1, len(_BITS) - 1, len(_EVERY) - 1)
    defaulted, (width, of_type) = choices.chance(FloatDraws.DEFAULT), choices.record(1, 3)
    floating = [n for n, i in enumerate(program) if _is_floating(i)]
    chosen = set(floating[first :: _EVERY[every]])
    changed: list[Any] = [
        structs.replace(i, fast_math=_BITS[which]) if n in chosen else i for n, i in enumerate(program)
    ]
    widths = COMPUTED_WIDTHS
    if not defaulted or functions or (specials and to_integers):
        return changed, {}
    return changed, {widths[width]: _BITS[of_type]}


def _is_to_integers(i: model.AnyInstruction) -> bool:
    return isinstance(i, (model.MatrixConvert, model.VectorConvert)) and i.operation.value in (
        "ConvertFToS",
        "ConvertFToU",
    )


def _is_floating(i: model.AnyInstruction) -> bool:
    match i:
        case model.MatrixArithmetic() | model.VectorArithmetic():
            return i.operation.form.floats
        case model.MatrixConvert() | model.VectorConvert():
            return "F" in i.operation.value
        case _:
            return isinstance(i, model.VectorTimesScalar)
