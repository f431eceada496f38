"""The types of SPV_EXT_ocp_microscaling_types: numbers of their patterns, conversions and extractions (MT-010..MT-030).

Values of these types are patterns in the low bits of a uint8, all that is done with them but to convert them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cts.case.model import ComponentType, Microscaling
from cts.case.oracle.expectation import Freedom
from cts.reference.numeric import conversions
from cts.reference.numeric.arrays import Bits, Mask
from cts.reference.numeric.formats import F64, real
from cts.reference.numeric.modes import OPEN, Modes
from cts.reference.numeric.undefined import Watch
from cts.reference.numeric.value import FREE, Value, anything, merged, where, with_freedom

#: The type that carries patterns.
CARRIER = ComponentType.uint8

#: Bits of the exponent, bits of the fraction, and bias.
_FLOATS = {
    Microscaling.float4_e2m1: (2, 1, 1),
    Microscaling.float6_e2m3: (2, 3, 1),
    Microscaling.float6_e3m2: (3, 2, 3),
}
_DENORMALS = "denormals of microscaling types may be flushed (AM-61)"
_NOT_A_NUMBER = "the scale's pattern of all ones is NaN (MT-023)"


def numbers(type_: Microscaling, bits: Bits) -> F64:
    """The numbers of patterns (MT-020..MT-024); NaN of the NaN that float8_e8m0 has."""
    pattern = bits.astype(np.int64)
    if type_ is Microscaling.mxint8:
        fixed: F64 = np.where(pattern >= 128, pattern - 256, pattern) / 64
        return fixed
    if type_ is Microscaling.float8_e8m0:
        scale: F64 = np.where(pattern == 255, np.nan, np.ldexp(1.0, np.minimum(pattern, 254) - 127))
        return scale
    exponent_bits, fraction_bits, bias = _FLOATS[type_]
    exponent = (pattern >> fraction_bits) & ((1 << exponent_bits) - 1)
    fraction = (pattern & ((1 << fraction_bits) - 1)) / 2.0**fraction_bits
    hidden = exponent > 0
    magnitude = np.ldexp(fraction + hidden, np.maximum(exponent, 1) - bias)
    signed: F64 = np.where(pattern >> (exponent_bits + fraction_bits) & 1, -magnitude, magnitude)
    return signed


def denormals(type_: Microscaling, exact: F64) -> Mask:
    """Which numbers are denormals of the type: neither scales nor fixed-point numbers are."""
    if type_ not in _FLOATS:
        return np.zeros(exact.shape, bool)
    small: Mask = (exact != 0) & (np.abs(exact) < 2.0 ** (1 - _FLOATS[type_][2]))
    return small


def converted(
    value: Value, source: Microscaling, target: ComponentType, watch: Watch, ieee: bool, modes: Modes
) -> Value:
    """OpFConvert of patterns: exact where the target has the number, else either neighbour (NU-012).

    Modes of rounding and of special values do not bind operations on these types (MT-031).
    """
    known = value.flags == 0
    if source is Microscaling.mxint8:
        what, remedy = "an MXInt8 whose bits are 0x80", "any other pattern: what this one means is undefined"
        watch.report("MT-030", known & (value.bits == 0x80), what, remedy)
    exact = numbers(source, value.bits)
    nan = known & np.isnan(exact)
    exact = np.where(nan, 0.0, exact)
    tiny = denormals(source, exact)
    mode = replace(modes.get(target, OPEN) if ieee else OPEN, rounding=None, specials=False)
    reasons = (_DENORMALS,) if tiny.any() else ()
    zero = tiny if tiny.any() else None
    bounds = exact, exact
    if not known.all():
        possible, may_be_nan = _possible(source, value)
        bounds = np.where(known, exact, possible[0]), np.where(known, exact, possible[1])
        reasons = (*reasons, *value.reasons)
    result = conversions.to_float(target, bounds, nan, False, reasons, zero, ieee, mode)
    if ieee:
        result = conversions.bound(result, ComponentType.float32, None)
        if nan.any():
            result = where(nan, _nan(target, result.shape), result)
    return result if known.all() else where(~known & may_be_nan, anything(target, result.shape, value.reasons), result)


def _possible(source: Microscaling, value: Value) -> tuple[tuple[F64, F64], Mask]:
    """Bounds of what patterns may be that are not exact, and which of them may be NaN. Only scales are in order."""
    low, high = value.interval
    if source is not Microscaling.float8_e8m0:
        every = numbers(source, np.arange(1 << source.width, dtype=np.uint16))
        return (np.full(low.shape, every.min()), np.full(low.shape, every.max())), np.zeros(low.shape, bool)
    whatever = value.flags & Freedom.ANY != 0
    ends = (np.where(whatever, end, np.minimum(bound, 254)) for end, bound in ((0, low), (254, high)))
    first, last = (numbers(source, end.astype(np.uint8)) for end in ends)
    return (first, last), whatever | (high > 254)


def extracted(base: Value, offset: Value, target: Microscaling, watch: Watch) -> Value:
    """OpBitcastExtractEXT: bits of `base` from `offset` on, which is unsigned (MT-010, MT-012, MT-013)."""
    assert base.component is not None and offset.component is not None
    last = 8 * base.component.size - target.width
    low, high = offset.interval
    outside = (low < 0) | (high > last) | (offset.flags & Freedom.ANY != 0)
    watch.report("MT-013", outside, f"bits beyond those of {base.component.value}", f"an offset from 0 to {last}")
    at = np.clip(np.where(low < 0, last, low), 0, last).astype(np.int64)
    wide = base.bits.astype(np.int64)
    patterns = ((wide >> at) & ((1 << target.width) - 1)).astype(np.uint8)
    unknown = (base.flags != 0) | (offset.flags != 0)
    result = Value(CARRIER, patterns)
    return where(unknown, anything(CARRIER, result.shape, merged(base, offset)), result) if unknown.any() else result


def _nan(target: ComponentType, shape: tuple[int, ...]) -> Value:
    """NaN of either sign and any payload."""
    fmt = target.format
    bits = np.full(shape, fmt.last + 1, np.int64).astype(target.bits_dtype)
    flags = np.full(shape, FREE | Freedom.NAN, np.uint8)
    number = real(target, bits)
    return with_freedom(target, bits, flags, (number, number), (_NOT_A_NUMBER,))
