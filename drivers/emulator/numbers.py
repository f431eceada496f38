"""Numbers behind bit patterns, and back: one software rounding to every floating-point type.

Arithmetic is done in float64, which holds the sum, difference and product of two values of any of these
types with no or one rounding of its own, far below their precision.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from cts.case.model import ComponentType
from cts.drivers.emulator.jit import device
from cts.drivers.emulator.mutants import matrices as m

#: How instructions run, one int64 each: the places below.
Settings = npt.NDArray[np.int64]

# Places in Settings
ROUNDING, FLUSH, ZEROS, SUM_ZEROS, WIDE_ARITHMETIC, WIDE_CONVERSIONS, WIDE_BFLOAT16 = range(7)
# ... and of what float execution modes change, the first of five places by type: how its results are rounded, whether
# its denormals are flushed as operands and as results, whether all results that are denormal must be zeros, those
# that are only moved, too, and the signs of its zeros (NU-042..NU-045)
ROUNDING_OF, FLUSH_OF, DEMANDED_OF, ZEROS_OF, SETTINGS = range(7, 28, 5)
# Roundings of what is not exact (NU-012), and the options that ask for them
NEAREST, TOWARDS_ZERO, UPWARD, DOWNWARD = range(4)
ROUNDINGS = {"rne": NEAREST, "rtz": TOWARDS_ZERO, "up": UPWARD, "down": DOWNWARD}
# Signs of the zeros that arithmetic (ZEROS) and sums of products (SUM_ZEROS) give (NU-013, NU-020), and the options
# that ask for them
IEEE_ZEROS, POSITIVE_ZEROS, NEGATIVE_ZEROS = range(3)
ZERO_SIGNS = {"ieee": IEEE_ZEROS, "positive": POSITIVE_ZEROS, "negative": NEGATIVE_ZEROS}

# Types by number. Floats come first, in the order of the model; an integer type is 8 + 2 * log2(bytes) + signed.
FLOAT16, FLOAT32, BFLOAT16, E4M3, E5M2 = range(5)
UINT8, INT8, UINT16, INT16, UINT32, INT32, BOOL = range(8, 15)

TYPE_NUMBERS = {t: n for n, t in enumerate(filter(lambda t: t.is_float, ComponentType))} | {
    t: UINT8 + 2 * (t.size.bit_length() - 1) + t.is_signed for t in ComponentType if not t.is_float
}

# Of each float type: bits, bits of the significand after the point, least normal exponent, largest finite
# magnitude, and what stands for everything greater: infinity, or the NaN of E4M3 (NU-030..NU-032).
BITS = (16, 32, 16, 8, 8)
FRACTION = (10, 23, 7, 3, 2)
_LEAST_EXPONENT = (-14, -126, -126, -6, -14)
_LARGEST = (0x7BFF, 0x7F7FFFFF, 0x7F7F, 0x7E, 0x7B)
BEYOND = (0x7C00, 0x7F800000, 0x7F80, 0x7F, 0x7C)
_NAN = (0x7E00, 0x7FC00000, 0x7FC0, 0x7F, 0x7E)
#: E4M3 as IEEE 754 would have it, which is a bug (NU-030).
_LARGEST_IEEE_E4M3 = 0x77


@device
def power_of_two(exponent: int) -> float:
    """2 to an exponent from -1022 to 1023."""
    return float(np.int64((exponent + 1023) << 52).view(np.float64))


@device
def least_normal(t: int) -> float:
    """The least positive normal number of a float type."""
    return power_of_two(_LEAST_EXPONENT[t])


@device
def greatest(t: int) -> float:
    """The largest finite number of a float type."""
    return number(_LARGEST[t], int(np.int64(t)), int(np.int64(m.NONE)))


@device
def number(bits: int, t: int, bug: int) -> float:
    """The value behind a bit pattern of a float type."""
    if t == FLOAT32:
        return np.float64(np.uint32(bits).view(np.float32))
    width, fraction = BITS[t], FRACTION[t]
    magnitude = bits & ((1 << (width - 1)) - 1)
    largest = _LARGEST_IEEE_E4M3 if bug == m.E4M3_RANGE_IEEE and t == E4M3 else _LARGEST[t]
    if magnitude > largest:
        value = math.inf if magnitude == BEYOND[t] and t != E4M3 else math.nan
    elif magnitude >> fraction == 0:
        value = magnitude * power_of_two(_LEAST_EXPONENT[t] - fraction)
    else:
        significand = (magnitude & ((1 << fraction) - 1)) | (1 << fraction)
        value = significand * power_of_two((magnitude >> fraction) - 1 + _LEAST_EXPONENT[t] - fraction)
    return -value if bits >> (width - 1) else value


@device
def rounds_up(kept: int, rest: int, half: int, negative: bool, rounding: int) -> bool:
    """Whether the magnitude `kept`, with `rest` behind its last place, becomes the next greater one."""
    if rounding == NEAREST:
        return bool(rest > half or (rest == half and kept & 1))
    return bool(rest != 0 and ((rounding == UPWARD and not negative) or (rounding == DOWNWARD and negative)))


@device
def pattern(value: float, t: int, rounding: int, saturate: bool, bug: int) -> int:
    """The bit pattern of a value in a float type, rounded; beyond its range as NU-033 says.

    A float8's range ends where rounding to nearest leaves it, whatever `rounding` is.
    """
    if t == FLOAT32 and rounding == NEAREST and not math.isnan(value):
        return int(np.float32(value).view(np.uint32))
    fraction, least = FRACTION[t], _LEAST_EXPONENT[t]
    largest = _LARGEST_IEEE_E4M3 if bug == m.E4M3_RANGE_IEEE and t == E4M3 else _LARGEST[t]
    wide = int(np.float64(value).view(np.int64))
    negative = wide < 0
    sign = 1 << (BITS[t] - 1) if negative else 0
    if math.isnan(value):
        return int(_NAN[t])
    if math.isinf(value):
        return int((largest if saturate else BEYOND[t]) | sign)
    significand = wide & ((1 << 52) - 1)
    exponent = ((wide >> 52) & 0x7FF) - 1023
    if exponent == -1023:
        exponent = -1022
    else:
        significand |= 1 << 52
    shift = min(52 - fraction + max(0, least - exponent), 54)
    kept, rest, half = significand >> shift, significand & ((1 << shift) - 1), 1 << (shift - 1)
    base = (exponent - least) << fraction if exponent > least else 0
    nearest = base + kept + rounds_up(kept, rest, half, negative, int(np.int64(NEAREST)))
    magnitude = base + kept + rounds_up(kept, rest, half, negative, rounding)
    if t >= E4M3 and nearest <= largest:
        magnitude = min(magnitude, largest)
    elif t >= E4M3 or magnitude > largest:
        # Towards zero nothing overflows; of a float8 only what NU-033 says counts.
        bounded = saturate or (rounding == TOWARDS_ZERO and t < E4M3)
        magnitude = largest if bounded else BEYOND[t]
    return int(magnitude | sign)


@device
def narrowed(value: float, t: int, rounding: int) -> float:
    """The value rounded to a float type. Arguments are widened, so that `pattern` is compiled for one signature."""
    bits = pattern(value, int(np.int64(t)), int(np.int64(rounding)), bool(t < 0), int(np.int64(m.NONE)))
    return number(bits, int(np.int64(t)), int(np.int64(m.NONE)))


@device
def flushed(value: float, t: int, settings: Settings) -> float:
    """The value, or 0 where it is a denormal of a type whose denormals are flushed (NU-013; never float8, NU-015)."""
    if t < E4M3 and settings[FLUSH_OF + t] and abs(value) < power_of_two(_LEAST_EXPONENT[t]):
        return 0.0 * value
    return value


@device
def demanded(value: float, t: int, settings: Settings) -> float:
    """The value, or 0 where it is a denormal result that must be flushed (NU-043)."""
    if t < E4M3 and settings[DEMANDED_OF + t] and abs(value) < power_of_two(_LEAST_EXPONENT[t]):
        return 0.0 * value
    return value


@device
def rounded(value: float, t: int, settings: Settings) -> float:
    """The value as the float type t holds it."""
    if t == FLOAT32 and settings[ROUNDING_OF + t] == NEAREST:
        value = np.float64(np.float32(value))
    else:
        value = narrowed(value, t, settings[ROUNDING_OF + t])
    return demanded(flushed(value, int(np.int64(t)), settings), int(np.int64(t)), settings)


@device
def signed_zero(value: float, sign: int) -> float:
    """The value, a zero with the sign that zeros get."""
    if value == 0 and sign != IEEE_ZEROS:
        return -0.0 if sign == NEGATIVE_ZEROS else 0.0
    return value


@device
def is_less(x: float, y: float) -> bool:
    """How minima and maxima compare: -0 is less than +0, a NaN neither less nor greater (NU-025)."""
    if x == 0 and y == 0:
        return math.copysign(1.0, x) < math.copysign(1.0, y)
    return x < y


@device
def width_of(t: int) -> int:
    """Bits of a type."""
    return 8 << ((t - 8) >> 1) if t >= UINT8 else BITS[t]


@device
def wrapped(value: int, t: int) -> int:
    """The low bits of an integer, read as the integer type t."""
    width = width_of(t)
    value &= (1 << width) - 1
    return value - (1 << width) if t & 1 and value >> (width - 1) else value
