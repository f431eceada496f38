"""Floating-point formats in exact arithmetic, to compare with."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple


class Format(NamedTuple):
    """A binary format. Without `infinities` all ones are its only NaN, and what is too large becomes one."""

    bits: int
    mantissa: int
    bias: int
    infinities: bool = True

    @property
    def sign(self) -> int:
        return 1 << self.bits - 1

    @property
    def nan(self) -> int:
        return self.sign - 1 if not self.infinities else self.beyond | 1 << self.mantissa - 1

    @property
    def beyond(self) -> int:
        """What stands for values that are too large."""
        return (self.sign - 1) >> self.mantissa << self.mantissa if self.infinities else self.sign - 1

    @property
    def largest(self) -> int:
        return self.beyond - 1


F32 = Format(32, 23, 127)
F16 = Format(16, 10, 15)
BF16 = Format(16, 7, 127)
E5M2 = Format(8, 2, 15)
E4M3 = Format(8, 3, 7, infinities=False)


def decoded(bits: int, f: Format) -> Fraction | float:
    """The value of a pattern; zeros and what is not finite as floats."""
    sign = -1 if bits & f.sign else 1
    magnitude = bits & (f.sign - 1)
    if magnitude > f.largest:
        return sign * math.inf if f.infinities and magnitude == f.beyond else math.nan
    if not magnitude:
        return sign * 0.0
    exponent, fraction = magnitude >> f.mantissa, magnitude & ((1 << f.mantissa) - 1)
    units = fraction | 1 << f.mantissa if exponent else fraction
    return sign * units * Fraction(2) ** (max(exponent, 1) - f.bias - f.mantissa)


def encoded(x: Fraction | float, f: Format, rounding: str = "even") -> int:
    """The pattern of a value, rounded to the nearest, ties to even, or towards zero."""
    if not isinstance(x, Fraction):
        if math.isnan(x):
            return f.nan
        sign = f.sign if math.copysign(1, x) < 0 else 0
        if math.isinf(x):
            return f.beyond | sign
        if x == 0:
            return sign
        x = Fraction(x)
    if x == 0:
        return 0
    sign, x = f.sign if x < 0 else 0, abs(x)
    exponent = x.numerator.bit_length() - x.denominator.bit_length()
    exponent -= Fraction(2) ** exponent > x
    exponent = max(exponent, 1 - f.bias)
    units = x / Fraction(2) ** (exponent - f.mantissa)
    whole = round(units) if rounding == "even" else math.floor(units)
    magnitude = whole + (exponent + f.bias - 1 << f.mantissa)
    if magnitude > f.largest:
        return sign | (f.beyond if rounding == "even" else f.largest)
    return sign | magnitude


def is_denormal(bits: int, f: Format) -> bool:
    return 0 < bits & (f.sign - 1) < 1 << f.mantissa


def flush(bits: int, f: Format) -> int:
    """A denormal pattern as the zero of its sign."""
    return bits & f.sign if is_denormal(bits, f) else bits


def fused(a: int, b: int, c: int, f: Format, rounding: str = "even") -> int:
    """a * b + c of finite patterns, rounded once."""
    x, y, z = (decoded(n, f) for n in (a, b, c))
    total = Fraction(x) * Fraction(y) + Fraction(z)
    if total:
        return encoded(total, f, rounding)
    product_sign = (a ^ b) & f.sign
    return f.sign if product_sign and c & f.sign and not (Fraction(x) * Fraction(y)) else 0


def summed(a: int, b: int, f: Format, rounding: str = "even") -> int:
    """a + b of finite patterns."""
    total = Fraction(decoded(a, f)) + Fraction(decoded(b, f))
    return encoded(total, f, rounding) if total else a & b & f.sign


def multiplied(a: int, b: int, f: Format, rounding: str = "even") -> int:
    """a * b of finite patterns."""
    product = Fraction(decoded(a, f)) * Fraction(decoded(b, f))
    return encoded(product, f, rounding) | ((a ^ b) & f.sign)
