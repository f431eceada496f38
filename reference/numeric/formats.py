"""The float formats (NU-030..NU-032): their numbers as float64, and rounding float64 to their neighbours.

Everything is computed on real numbers held in float64, which represents every value of every
component type exactly.
"""

from __future__ import annotations

from functools import cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from cts.case.model import ComponentType, decode
from cts.case.model.component import FloatFormat
from cts.reference.numeric.arrays import I64, Bits, Mask

F64: TypeAlias = npt.NDArray[np.float64]

#: Bit patterns of float32: all but the sign, infinity, and a quiet NaN.
_MAGNITUDE, _INFINITY, _QUIET = np.uint32(0x7FFFFFFF), np.uint32(0x7F800000), np.uint32(0x7FC00000)


def real(component: ComponentType, bits: Bits) -> F64:
    """The numbers behind bit patterns, of integer types as well; infinities as such, and one quiet NaN for every NaN.

    All float64 of the oracle come from here. So no operation of the oracle gets a signalling NaN, about which NumPy
    warns on some processors and not on others.
    """
    if component.is_float and component.size < 4:
        numbers: F64 = _table(component)[bits]
        return numbers
    if component is ComponentType.float32:
        nan = (bits & _MAGNITUDE) > _INFINITY
        if nan.any():
            bits = np.where(nan, _QUIET, bits)
    return decode(component, bits).astype(np.float64)


@cache
def _table(component: ComponentType) -> F64:
    """The number of each bit pattern of a narrow type."""
    bits: Bits = np.arange(1 << (8 * component.size)).astype(component.bits_dtype)
    # A table of float16 has signalling NaNs, which are widened here alone.
    with np.errstate(invalid="ignore"):
        numbers = decode(component, bits).astype(np.float64)
    numbers[np.isnan(numbers)] = np.nan
    return numbers


def nearest(component: ComponentType, numbers: F64) -> Bits:
    """Bit patterns of a neighbour of each number, the nearest but for double rounding; finite ones clipped to the type.

    Not for NaN.
    """
    fmt = component.format
    if component.size < 4:
        # NumPy converts denormals of narrow types very slowly. Their bits count the least of them.
        small = np.abs(numbers) < fmt.least
        if small.any():
            with np.errstate(under="ignore"):
                count = np.rint(np.abs(numbers[small]) * (2.0 ** (fmt.precision - 1) / fmt.least))
            sign = np.signbit(numbers[small]) * component.bits_dtype.type(1 << (8 * component.size - 1))
            bits = _cast(component, np.where(small, 0.0, numbers))
            bits[small] = count.astype(component.bits_dtype) | sign
            return bits
    return _cast(component, numbers)


def _cast(component: ComponentType, numbers: F64) -> Bits:
    greatest = component.format.greatest
    with np.errstate(over="ignore"):
        bits: Bits = np.clip(numbers, -greatest, greatest).astype(component.dtype).view(component.bits_dtype)
    return bits


def with_infinities(component: ComponentType, bits: Bits, numbers: F64) -> Bits:
    """The bit patterns, but those of infinity where numbers are infinite (of a type that has infinities)."""
    infinite = np.isinf(numbers)
    if not infinite.any():
        return bits
    beyond = nearest(component, numbers) + component.bits_dtype.type(1)
    replaced: Bits = np.where(infinite, beyond, bits)
    return replaced


def nearest_even(component: ComponentType, numbers: F64) -> Bits:
    """Bit patterns of the numbers rounded once, to nearest, ties to even; of those beyond the type, its greatest."""
    low, high = below(component, numbers), above(component, numbers)
    low_bits, high_bits = nearest(component, low), nearest(component, high)
    down, up = numbers - low, high - numbers
    upward = (up < down) | ((up == down) & (low_bits & 1 == 1))
    bits: Bits = np.where(upward, high_bits, low_bits)
    return bits


def below(component: ComponentType, numbers: F64) -> F64:
    """The greatest number of the type that is not above each, within the finite ones."""
    return _neighbour(component, numbers, -1)


def above(component: ComponentType, numbers: F64) -> F64:
    """The least number of the type that is not below each, within the finite ones."""
    return _neighbour(component, numbers, 1)


def neighbours(component: ComponentType, numbers: F64) -> tuple[Bits, F64, F64]:
    """`nearest`, `below` and `above` in one; the last two are one array where the type has every number."""
    bits = nearest(component, numbers)
    rounded = real(component, bits)
    off = rounded != numbers
    off &= np.abs(numbers) <= component.format.greatest
    if not off.any():
        return bits, rounded, rounded
    down = off & (rounded > numbers)
    up = off & (rounded < numbers)
    return bits, _moved(component, bits, rounded, down, -1), _moved(component, bits, rounded, up, 1)


def bits_below(component: ComponentType, numbers: F64) -> Bits:
    """The bit patterns of `below`."""
    return _neighbour_bits(component, numbers, -1)


def bits_above(component: ComponentType, numbers: F64) -> Bits:
    """The bit patterns of `above`."""
    return _neighbour_bits(component, numbers, 1)


def _neighbour(component: ComponentType, numbers: F64, direction: int) -> F64:
    bits = nearest(component, numbers)
    rounded = real(component, bits)
    return _moved(component, bits, rounded, _wrong(component, numbers, rounded, direction), direction)


def _neighbour_bits(component: ComponentType, numbers: F64, direction: int) -> Bits:
    bits = nearest(component, numbers)
    wrong = _wrong(component, numbers, real(component, bits), direction)
    if wrong.any():
        bits[wrong] = from_ordinals(component, ordinals(component, bits[wrong]) + direction)
    return bits


def _wrong(component: ComponentType, numbers: F64, rounded: F64, direction: int) -> Mask:
    """Where a neighbour is on the other side."""
    wrong: Mask = (rounded < numbers) if direction > 0 else (rounded > numbers)
    wrong &= np.abs(numbers) <= component.format.greatest
    return wrong


def _moved(component: ComponentType, bits: Bits, rounded: F64, wrong: Mask, direction: int) -> F64:
    """The numbers of these bits, but of the next ones in a direction where `wrong`."""
    if not wrong.any():
        return rounded
    moved = rounded.copy()
    moved[wrong] = real(component, from_ordinals(component, ordinals(component, bits[wrong]) + direction))
    return moved


def ordinals(component: ComponentType, bits: Bits) -> I64:
    """Integers in numeric order, -0 just below +0."""
    width = 8 * component.size
    wide = bits.astype(np.int64)
    magnitude = wide & ((1 << (width - 1)) - 1)
    order: I64 = np.where(wide >> (width - 1) == 1, -magnitude - 1, magnitude)
    return order


def from_ordinals(component: ComponentType, order: I64) -> Bits:
    """The bit patterns behind `ordinals`."""
    sign = 1 << (8 * component.size - 1)
    bits: Bits = np.where(order < 0, sign | (-order - 1), order).astype(component.bits_dtype)
    return bits


def ulp(component: ComponentType, numbers: F64) -> F64:
    """The distance of neighbours in the binade of each number, of a power of two that above it."""
    fmt = component.format
    _, exponent = np.frexp(np.clip(np.abs(numbers), fmt.least, fmt.greatest))
    spacing: F64 = np.ldexp(1.0, exponent - fmt.precision)
    return spacing


def least_ulp(component: ComponentType, numbers: F64) -> F64:
    """Vulkan's ulp(x) of exact results: the least distance of two numbers of the type with x between or at them.

    Of a power of two that is the distance to the number below it, half of that to the one above.
    """
    spacing, least = ulp(component, numbers), component.format.least
    mantissa, _ = np.frexp(numbers)
    return np.where((np.abs(mantissa) == 0.5) & (np.abs(numbers) > least), spacing / 2, spacing)


def lowest_bit(numbers: F64) -> F64:
    """The greatest power of two of which each number is a multiple; infinity for 0 and what is not finite."""
    usable = np.isfinite(numbers) & (numbers != 0)
    mantissa, exponent = np.frexp(np.where(usable, numbers, 1.0))
    whole = np.ldexp(mantissa, 53).astype(np.int64)
    lowest: F64 = np.ldexp((whole & -whole).astype(np.float64), exponent - 53)
    return np.where(usable, lowest, np.inf)


def fits(magnitude: F64, quantum: F64, fmt: FloatFormat, precision: int) -> Mask:
    """Where every partial sum of terms that are multiples of `quantum` is representable, and none is a denormal."""
    representable: Mask = (magnitude <= quantum * 2.0**precision) & (quantum >= fmt.least)
    return representable
