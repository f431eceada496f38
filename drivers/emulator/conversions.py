"""Conversions of numbers from one type to another, as the stack machine takes them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cts.drivers.emulator import numbers
from cts.drivers.emulator.jit import device
from cts.drivers.emulator.matrices.state import Ints
from cts.drivers.emulator.mutants import matrices as m
from cts.drivers.emulator.mutants import numbers as s
from cts.drivers.emulator.number_bugs import converted

Floats = npt.NDArray[np.float64]


@device
def float_to_float(x: float, t: int, source: int, saturate: bool, settings: numbers.Settings, bug: int) -> float:
    """OpFConvert, and conversions of integers, whose source is an integer type (NU-012, NU-033)."""
    if bug == m.FLOAT8_SATURATION_IGNORED:
        saturate = False
    elif bug == m.FLOAT8_SATURATES_ALWAYS and t >= numbers.E4M3:
        saturate = True
    elif bug == m.FLOAT8_DENORMALS_FLUSHED and t == numbers.FLOAT16 and numbers.E4M3 <= source < numbers.UINT8:
        x = 0.0 if abs(x) < numbers.least_normal(source) else x
    elif bug == m.BFLOAT16_THROUGH_FLOAT16 and t == numbers.BFLOAT16:
        x = numbers.narrowed(x, numbers.FLOAT16, numbers.NEAREST)
    elif bug == m.FLOAT16_THROUGH_BFLOAT16 and t == numbers.FLOAT16:
        x = numbers.narrowed(x, numbers.BFLOAT16, numbers.NEAREST)
    x = numbers.flushed(x, source, settings)
    # Elision never changes what a conversion does beyond the range of a float8.
    if settings[numbers.WIDE_CONVERSIONS] and t < numbers.E4M3:
        return x
    if settings[numbers.WIDE_BFLOAT16] and t == numbers.BFLOAT16:
        return x
    rounding = settings[numbers.ROUNDING_OF + t]
    if bug == s.RTZ_CONVERSIONS_NEAREST and rounding == numbers.TOWARDS_ZERO:
        rounding = np.int64(numbers.NEAREST)
    value = numbers.number(numbers.pattern(x, t, rounding, saturate, bug), t, bug)
    value = converted(x, value, t, source, saturate, bug)
    if source >= numbers.E4M3:
        # A float8's denormals are kept (NU-015); no integer is one.
        return value
    return numbers.demanded(numbers.flushed(value, t, settings), t, settings)


@device
def float_to_int(x: float, t: int, bug: int) -> int:
    """Truncated; 0 for what no integer can hold (undefined, NU-016)."""
    if not abs(x) < 9e18:
        return 0
    if bug == m.FTOS_ROUNDS:
        return numbers.wrapped(int(np.rint(x)), t)
    if bug == m.FTOU_THROUGH_SIGNED and not t & 1:
        return min(int(x), (1 << (numbers.width_of(t) - 1)) - 1)
    return numbers.wrapped(int(x), t)


@device
def int_to_int(x: int, t: int, source: int, bug: int) -> int:
    """OpSConvert, OpUConvert: extended by the source's sign, and truncated."""
    if bug == m.SCONVERT_SATURATES and source & 1 and numbers.width_of(t) < numbers.width_of(source):
        high = (1 << (numbers.width_of(t) - 1)) - 1
        x = min(max(x, -high - 1), high)
    return numbers.wrapped(x, t)


@device
def convert(
    ints: Ints, floats: Floats, top: int, t: int, source: int, saturate: bool, settings: numbers.Settings, bug: int
) -> None:
    """A conversion of the value on top of the stack."""
    if source < numbers.UINT8 and t < numbers.UINT8:
        floats[top] = float_to_float(floats[top], t, source, saturate, settings, bug)
    elif source < numbers.UINT8:
        ints[top] = float_to_int(floats[top], t, bug)
    elif t < numbers.UINT8:
        floats[top] = float_to_float(float(ints[top]), t, source, saturate, settings, bug)
    else:
        ints[top] = int_to_int(ints[top], t, source, bug)
