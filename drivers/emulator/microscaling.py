"""Numbers of the types of SPV_EXT_ocp_microscaling_types, bit by bit (MT-010..MT-024)."""

from __future__ import annotations

import math

from cts.drivers.emulator import numbers
from cts.drivers.emulator.jit import device
from cts.drivers.emulator.mutants import microscaling as b

# The types, in the order of the model.
E2M1, E2M3, E3M2, E8M0, MXINT8 = range(5)

# Of the first three: bits of the fraction, the least exponent of a normal number, and the bit of the sign.
_FRACTION = (1, 3, 2)
_LEAST = (0, 0, -2)
_SIGN = (3, 5, 5)


@device
def unpacked(bits: int, t: int, settings: numbers.Settings, bug: int) -> float:
    """The number of a pattern; a denormal may be a zero where denormals are flushed (AM-61)."""
    if t == E8M0:
        return _scale(bits, bug)
    if t == MXINT8:
        return _fixed(bits, bug)
    if bug == b.SIX_BITS_SWAPPED and t != E2M1:
        t = E2M3 + E3M2 - t
    sign = (bits >> _SIGN[t]) & 1
    magnitude = bits & ((1 << _SIGN[t]) - 1)
    field, rest = magnitude >> _FRACTION[t], magnitude & ((1 << _FRACTION[t]) - 1)
    if field == 0 and bug != b.UNPACKED_DENORMALS_HIDDEN:
        value = rest * numbers.power_of_two(_LEAST[t] - _FRACTION[t])
        if settings[numbers.FLUSH]:
            value = 0.0
    else:
        significand = rest | (1 << _FRACTION[t])
        value = significand * numbers.power_of_two(max(field, 1) - 1 + _LEAST[t] - _FRACTION[t])
    if bug == b.FOUR_BITS_TOP_SPECIAL and t == E2M1 and field == 3:
        value = math.nan if rest else math.inf
    return -value if sign and bug != b.UNPACKED_SIGN_LOST else value


@device
def _scale(bits: int, bug: int) -> float:
    """A power of two, or the only NaN."""
    if bits == 0xFF:
        return math.nan
    if bug == b.SCALE_HAS_SIGN:
        value = numbers.power_of_two((bits & 0x7F) - 63)
        return -value if bits >> 7 else value
    return numbers.power_of_two(bits - (128 if bug == b.SCALE_BIAS_OF_128 else 127))


@device
def _fixed(bits: int, bug: int) -> float:
    """Two's complement with six bits behind the point."""
    if bug == b.MXINT8_SIGN_MAGNITUDE:
        value = (bits & 0x7F) / 64.0
        return -value if bits >> 7 else value
    value = float(bits - ((bits & 0x80) << 1))
    return value if bug == b.MXINT8_UNSCALED else value / 64.0


@device
def extracted(base: int, offset: int, width: int, t: int, bug: int) -> int:
    """`width` bits of an integer of type t from bit `offset` on; what is beyond it is undefined (MT-013)."""
    if bug == b.EXTRACT_OFFSET_IGNORED:
        offset = offset * 0
    elif bug == b.EXTRACT_OFFSET_IN_ELEMENTS:
        offset = offset * width
    elif bug == b.EXTRACT_FROM_TOP:
        offset = numbers.width_of(t) - width - offset
    return (base >> (offset & 31)) & ((1 << width) - 1)
