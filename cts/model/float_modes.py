"""Execution modes of a module that say how floats round, and what becomes of denormals, zeros, infinities and NaNs."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from cts.model.operand import FloatControls
from cts.model.types import Problem


class FloatMode(enum.Enum):
    """An execution mode of SPV_KHR_float_controls, in SPIR-V itself since 1.4 (NU-040)."""

    DenormPreserve = "DenormPreserve"
    DenormFlushToZero = "DenormFlushToZero"
    SignedZeroInfNanPreserve = "SignedZeroInfNanPreserve"
    RoundingModeRTE = "RoundingModeRTE"
    RoundingModeRTZ = "RoundingModeRTZ"


class FloatWidth(enum.Enum):
    """The types that a mode is for: those of IEEE 754 of one width. No case computes with float64."""

    float16 = "float16"
    float32 = "float32"
    float64 = "float64"

    @property
    def bits(self) -> int:
        """The Target Width of the execution mode."""
        return int(self.value.removeprefix("float"))


#: Of each of these pairs at most one is for a width.
DENORMS = (FloatMode.DenormPreserve, FloatMode.DenormFlushToZero)
ROUNDINGS = (FloatMode.RoundingModeRTE, FloatMode.RoundingModeRTZ)

#: The modes of a module by width.
FloatModes: TypeAlias = Mapping[FloatWidth, tuple[FloatMode, ...]]


def float_mode_problems(modes: FloatModes, controls: FloatControls) -> Iterator[Problem]:
    """What no module may declare (NU-041): modes that contradict each other or `float_controls`, and repeated ones."""
    for width, listed in modes.items():
        path = f"float_modes.{width.value}"
        if not listed:
            yield Problem(path, "no mode", "one mode or more, or no entry for this width")
        for n, mode in enumerate(listed):
            if mode in listed[:n]:
                yield Problem(f"{path}[{n}]", f"{mode.value} twice", "each mode once", "NU-041")
        for pair in (DENORMS, ROUNDINGS):
            if set(pair) <= set(listed):
                what = f"{pair[0].value} and {pair[1].value} of one width"
                yield Problem(path, what, "one of the two", "NU-041")
        if FloatMode.SignedZeroInfNanPreserve in listed and controls is FloatControls.FastMathNone:
            what = "SignedZeroInfNanPreserve beside float_controls FastMathNone, which implies it"
            yield Problem(path, what, "one of the two", "NU-041")
