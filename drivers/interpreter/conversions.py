"""Conversions between number types, by the name of their instruction.

Floating-point results are rounded once, to nearest even unless an FPRoundingMode or an execution mode says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from msgspec import Struct

from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.declare import Declarations
from cts.drivers.interpreter.float_modes import flushed, has
from cts.drivers.interpreter.microscaling import numbers
from cts.drivers.interpreter.parse import Instruction
from cts.drivers.interpreter.problems import Malformed, Unsupported
from cts.drivers.interpreter.rounding import from_integers, rounded
from cts.drivers.interpreter.values import Array

Number: TypeAlias = ty.Int | ty.Float
Conversion: TypeAlias = Callable[[Array], Array]


class Style(Struct, frozen=True):
    """How inexact floating-point results are chosen: FPRoundingMode, and saturation of fp8 (NU-033)."""

    mode: str = "RTE"
    saturate: bool = False


#: By instruction: the kinds of source and target.
CONVERSIONS: dict[str, tuple[type[Number], type[Number]]] = {
    "OpFConvert": (ty.Float, ty.Float),
    "OpConvertSToF": (ty.Int, ty.Float),
    "OpConvertUToF": (ty.Int, ty.Float),
    "OpConvertFToS": (ty.Float, ty.Int),
    "OpConvertFToU": (ty.Float, ty.Int),
    "OpSConvert": (ty.Int, ty.Int),
    "OpUConvert": (ty.Int, ty.Int),
}


def conversion(d: Declarations, i: Instruction) -> Conversion:
    """The function on components of the operand's type. Raises Malformed for the wrong kinds of types."""
    source, target = ty.component_of(d.type(i.id(0))), ty.component_of(d.result_type(i))
    kinds = CONVERSIONS[i.name]
    if not isinstance(source, kinds[0]) or not isinstance(target, kinds[1]):
        raise Malformed(f"it converts {kinds[0].__name__} to {kinds[1].__name__}")
    default = "RTZ" if has(d, target, "RoundingModeRTZ") else "RTE"
    mode = str(d.decoration(i.result, "FPRoundingMode") or default)
    saturate = d.decoration(i.result, "SaturatedToLargestFloat8NormalConversionEXT") is not None
    if saturate and target.size != 1:
        raise Malformed("SaturatedToLargestFloat8NormalConversionEXT with a result that is not fp8 (NU-033)")
    if isinstance(target, ty.Float):
        convert = _to_float(source, target, i.name == "OpConvertSToF", Style(mode, saturate))
        if has(d, target, "DenormFlushToZero") and i.name == "OpFConvert":
            return lambda a: flushed(convert(a))
        return convert
    return _to_integer(target, is_signed=i.name in ("OpConvertFToS", "OpSConvert"))


def _to_float(source: Number, target: ty.Float, is_signed: bool, style: Style) -> Conversion:
    dtype = target.dtype
    if isinstance(source, ty.Float):
        return lambda a: rounded(numbers(a), dtype, style.mode, saturate=style.saturate)
    read = np.dtype(f"i{source.size}") if is_signed else source.dtype
    if target.width == 64:
        if source.width == 64 and style.mode != "RTE":
            raise Unsupported(f"64-bit integers to float64 with FPRoundingMode {style.mode}")
        return lambda a: a.view(read).astype(dtype)
    return lambda a: rounded(from_integers(a.view(read)), dtype, style.mode, saturate=style.saturate)


def _to_integer(target: ty.Int, *, is_signed: bool) -> Conversion:
    """Integers wrap or extend (NU-005); floats round toward zero and are undefined out of range (NU-016)."""
    dtype, written = target.dtype, np.dtype(f"i{target.size}" if is_signed else f"u{target.size}")

    def convert(a: Array) -> Array:
        if a.dtype.kind in "ui":
            a = a.view(f"i{a.dtype.itemsize}") if is_signed else a
        elif a.dtype.itemsize <= 2:
            a = a.astype(np.float32)  # NumPy converts no narrow float to every integer type
        return a.astype(written).view(dtype)

    return convert
