"""A module's declarations about floats: rounding, special values, and allowed fast math."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from cts.case.model.operand import FloatControls
from cts.case.model.types import Problem


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


#: The widths of types that cases compute with.
COMPUTED_WIDTHS = (FloatWidth.float16, FloatWidth.float32)


class FastMath(enum.Enum):
    """A bit of FP Fast Math Mode: of an instruction, or the default of a type (NU-048)."""

    NotNaN = "NotNaN"
    NotInf = "NotInf"
    NSZ = "NSZ"
    AllowContract = "AllowContract"
    AllowReassoc = "AllowReassoc"
    AllowTransform = "AllowTransform"


#: Of each of these pairs at most one is for a width.
DENORMS = (FloatMode.DenormPreserve, FloatMode.DenormFlushToZero)
ROUNDINGS = (FloatMode.RoundingModeRTE, FloatMode.RoundingModeRTZ)

#: The modes of a module by width.
FloatModes: TypeAlias = Mapping[FloatWidth, tuple[FloatMode, ...]]

#: The bits that are set, in any order.
FastMathBits: TypeAlias = tuple[FastMath, ...]


def fast_math_problems(path: str, bits: FastMathBits, controls: FloatControls) -> Iterator[Problem]:
    """What bits of fast math may not be, of an instruction or a default (NU-048, NU-049)."""
    if controls is not FloatControls.FastMathNone:
        yield Problem(path, f"fast math in a program of {controls.value}", "float_controls: FastMathNone", "NU-048")
    for n, bit in enumerate(bits):
        if bit in bits[:n]:
            yield Problem(f"{path}[{n}]", f"{bit.value} twice", "each bit once")
    missing = {FastMath.AllowContract, FastMath.AllowReassoc} - set(bits)
    if FastMath.AllowTransform in bits and missing:
        right = " and ".join(sorted(bit.value for bit in missing))
        yield Problem(path, "AllowTransform alone", f"{right} beside it", "NU-049")


def default_problems(defaults: Mapping[FloatWidth, FastMathBits], controls: FloatControls) -> Iterator[Problem]:
    """What may not be a default of fast math."""
    for width, bits in defaults.items():
        path = f"fast_math.{width.value}"
        if width is FloatWidth.float64:
            yield Problem(path, "a default of a type that no case computes with", "float16 or float32")
        yield from fast_math_problems(path, bits, controls)


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
