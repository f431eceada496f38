"""Numbers of microscaling types by the formulas of the OCP Microscaling Formats 1.0, in fractions."""

from __future__ import annotations

import struct
from fractions import Fraction
from functools import cache

from cts.case.model import Microscaling

#: Exponent bits, fraction bits, and bias of each type with a sign (section 5.3).
SIGNED = {Microscaling.float4_e2m1: (2, 1, 1), Microscaling.float6_e2m3: (2, 3, 1), Microscaling.float6_e3m2: (3, 2, 3)}


@cache
def number(type_: Microscaling, pattern: int) -> Fraction | None:
    """The number of a pattern; None is NaN."""
    if type_ is Microscaling.mxint8:
        return Fraction(pattern - 256 * (pattern >> 7), 64)
    if type_ is Microscaling.float8_e8m0:
        return None if pattern == 0xFF else Fraction(2) ** (pattern - 127)
    exponent_bits, fraction_bits, bias = SIGNED[type_]
    sign = -1 if pattern >> (exponent_bits + fraction_bits) & 1 else 1
    exponent = pattern >> fraction_bits & ((1 << exponent_bits) - 1)
    fraction = Fraction(pattern & ((1 << fraction_bits) - 1), 1 << fraction_bits)
    return sign * Fraction(2) ** (max(exponent, 1) - bias) * (fraction + (exponent > 0))


def float32_bits(type_: Microscaling, pattern: int) -> int:
    """The same number as a float32, which has every one of them."""
    exact = number(type_, pattern)
    if exact is None:
        return 0x7FC00000
    negative = type_ in SIGNED and pattern >> (type_.width - 1) & 1
    value = -0.0 if negative and not exact else float(exact)
    bits: int = struct.unpack("<I", struct.pack("<f", value))[0]
    return bits
