"""The execution modes that bind operations on floats of one type (NU-040..NU-046)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from cts.case.model import ComponentType, FloatControls, FloatMode, FloatModes, FloatWidth


@dataclass(frozen=True)
class Mode:
    """What operations on one float type must do; where a field is None or False, they may do either."""

    rounding: Literal["nearest", "towards zero"] | None = None
    denormals: Literal["kept", "flushed"] | None = None
    specials: bool = False

    @property
    def unrounded(self) -> Mode:
        """The same of instructions that are not correctly rounded, which no rounding mode binds (NU-044)."""
        return replace(self, rounding=None)


#: Where the module says nothing.
OPEN = Mode()

#: By type; types that it lacks are OPEN.
Modes: TypeAlias = Mapping[ComponentType, Mode]

_DENORMALS: dict[FloatMode, Literal["kept", "flushed"]] = {
    FloatMode.DenormPreserve: "kept",
    FloatMode.DenormFlushToZero: "flushed",
}
_ROUNDINGS: dict[FloatMode, Literal["nearest", "towards zero"]] = {
    FloatMode.RoundingModeRTE: "nearest",
    FloatMode.RoundingModeRTZ: "towards zero",
}


def modes_of(declared: FloatModes, controls: FloatControls) -> Modes:
    """The modes by type: none of bfloat16 and float8 (NU-040).

    Where roundings may be dropped, none binds (NU-046), but that denormals must be flushed still allows it.
    """
    modes = {
        ComponentType(width.value): Mode(
            next((_ROUNDINGS[m] for m in listed if m in _ROUNDINGS), None),
            next((_DENORMALS[m] for m in listed if m in _DENORMALS), None),
            FloatMode.SignedZeroInfNanPreserve in listed,
        )
        for width, listed in declared.items()
        if width is not FloatWidth.float64
    }
    if controls is FloatControls.Undecorated:
        return {t: Mode(denormals="flushed") for t, mode in modes.items() if mode.denormals == "flushed"}
    return modes


def of_conversion(source: ComponentType, target: ComponentType, modes: Modes) -> Mode:
    """What binds the result of OpFConvert: the modes of its type, as far as those of the operand's say nothing else.

    No specification says which of the two widths a conversion operates on (NU-044).
    """
    mode, other = modes.get(target, OPEN), modes.get(source, OPEN)
    if other.rounding not in (None, mode.rounding):
        mode = mode.unrounded
    return replace(mode, specials=mode.specials and other.specials)
