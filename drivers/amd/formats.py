"""Numbers of the formats that instructions compute with, as NumPy arrays: what an operation gives, and its rounding.

Operations of single and half precision are done exactly enough in double precision: `add` and `fma` give
doubles that are rounded to odd, which one more rounding, to any narrower format, makes the correctly rounded result.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
Round: TypeAlias = Literal["even", "zero"]


def add(a: Array, b: Array) -> Array:
    """Sums of doubles, rounded to odd."""
    total = a + b
    part = total - a
    error = (a - (total - part)) + (b - part)
    return _odd(total, error)


def fma(a: Array, b: Array, c: Array) -> Array:
    """The sum a * b + c of single or half precision, as doubles that are rounded to odd. The product is exact."""
    return add(a.astype(np.float64) * b, np.asarray(c, np.float64))


def _odd(total: Array, error: Array) -> Array:
    """A rounded sum whose rounding error is known, rounded to odd instead."""
    bits = np.ascontiguousarray(total).view(np.uint64)
    inexact = (error != 0) & np.isfinite(error) & (bits & np.uint64(1) == 0) & np.isfinite(total)
    if not inexact.any():
        return total
    away = (error > 0) == (total > 0)
    # The neighbour on the side of the exact value: towards larger magnitude, or towards zero.
    moved = np.where(away, bits + np.uint64(1), bits - np.uint64(1)).view(np.float64)
    return np.where(inexact, moved, total)


def single(x: Array, rounding: Round = "even") -> Array:
    """Doubles as float32."""
    near = np.asarray(x).astype(np.float32)
    if rounding == "even":
        return near
    return _truncated(x, near, np.uint32)


def half(x: Array, rounding: Round = "even") -> Array:
    """Doubles or singles as float16."""
    near = np.asarray(x).astype(np.float16)
    if rounding == "even":
        return near
    return _truncated(x, near, np.uint16)


def _truncated(x: Array, near: Array, word: Any) -> Array:
    """A value that was rounded to nearest, rounded towards zero instead."""
    too_large = np.abs(near.astype(np.float64)) > np.abs(np.asarray(x, np.float64))
    bits: Array = np.where(too_large, near.view(word) - word(1), near.view(word)).astype(word)
    return bits.view(near.dtype)


def flushed(x: Array) -> Array:
    """Singles or halves with denormals replaced by zeros of their signs."""
    tiny = np.finfo(x.dtype).smallest_normal
    small = np.abs(x) < tiny
    return np.where(small, np.copysign(x.dtype.type(0), x), x) if small.any() else x


def of_bfloat16(bits: Array) -> Array:
    """The float32 values of bfloat16 bit patterns, uint16."""
    return (np.asarray(bits).astype(np.uint32) << np.uint32(16)).view(np.float32)


def to_bfloat16(x: Array) -> Array:
    """float32 as bfloat16 bit patterns, uint16, rounded to nearest even; a NaN stays one."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))) >> np.uint32(16)
    return np.where(np.isnan(x), bits >> np.uint32(16) | np.uint32(0x40), rounded).astype(np.uint16)


class Float8:
    """A format of 8 bits: `mantissa` bits, exponents from `lowest`, `most` the largest finite value.

    `infinite`: whether it has infinities, in the way of IEEE 754 (OCP 8-bit Floating Point Specification, "E5M2");
    otherwise all ones are NaN and what is too large becomes one ("E4M3").
    """

    def __init__(self, mantissa: int, lowest: int, most: float, infinite: bool) -> None:
        self.mantissa, self.lowest, self.most, self.infinite = mantissa, lowest, most, infinite
        #: The float32 values of all bit patterns.
        self.values = np.array([self._value(bits) for bits in range(256)], np.float32)

    def _value(self, bits: int) -> float:
        sign = -1.0 if bits & 0x80 else 1.0
        exponent, fraction = (bits & 0x7F) >> self.mantissa, bits & ((1 << self.mantissa) - 1)
        top = 0x7F >> self.mantissa
        if self.infinite and exponent == top:
            return float("nan") if fraction else sign * float("inf")
        if not self.infinite and bits & 0x7F == 0x7F:
            return float("nan")
        if not exponent:
            return sign * fraction * 2.0 ** (self.lowest - self.mantissa)
        return float(sign * (1 + fraction / (1 << self.mantissa)) * 2.0 ** (self.lowest + exponent - 1))

    def encode(self, x: Array) -> Array:
        """float32 as bit patterns, uint8, rounded to nearest even; beyond the format infinity, or NaN."""
        x = np.asarray(x, np.float64)
        magnitude = np.abs(x)
        finite = np.where(np.isfinite(x), magnitude, 0)
        exponent = np.where(finite == 0, self.lowest, np.maximum(np.frexp(finite)[1] - 1, self.lowest))
        rounded = np.rint(np.ldexp(finite, self.mantissa - exponent))  # in units of the last place
        over = np.ldexp(rounded, exponent - self.mantissa) > self.most
        units = rounded.astype(np.int64)
        # A unit more than the mantissa holds carries into the exponent by itself.
        bits = units + ((exponent - self.lowest) << self.mantissa)
        nan = 0x7F
        beyond = (0x7F >> self.mantissa) << self.mantissa if self.infinite else nan
        bits = np.where(over | np.isinf(x), beyond, bits)
        bits = np.where(np.isnan(x), nan, bits)
        return (bits | np.where(np.signbit(x), 0x80, 0)).astype(np.uint8)


E4M3 = Float8(3, -6, 448.0, infinite=False)
E5M2 = Float8(2, -14, 57344.0, infinite=True)
