"""Conversions between component types (KM-018, NU-005, NU-012, NU-016, NU-033)."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import numpy as np

from cts.case.model import ComponentType
from cts.case.oracle.expectation import Freedom
from cts.reference.numeric import integers, specials
from cts.reference.numeric.arrays import Mask
from cts.reference.numeric.formats import F64, real
from cts.reference.numeric.history import History
from cts.reference.numeric.intervals import Interval
from cts.reference.numeric.modes import OPEN, Mode, Modes, of_conversion
from cts.reference.numeric.rounding import binding, denormal, operand, parts, rounded
from cts.reference.numeric.undefined import Watch
from cts.reference.numeric.value import (
    FREE,
    Value,
    anything,
    beside_free,
    or_zero,
    step_of,
    stepped,
    where,
    with_freedom,
)

_NEIGHBOURS = "either neighbour of a number that the type does not represent (NU-012)"


def converted(
    value: Value,
    target: ComponentType,
    watch: Watch,
    saturate: bool = False,
    ieee: bool = False,
    modes: Modes = MappingProxyType({}),
) -> Value:
    """The value in another component type, integers by the signedness of their own (a callback's conversion).

    `ieee` says that the rounding must not be dropped (NU-019), and that infinities, NaNs and the sign of zero
    are what IEEE 754 says (NU-020). `modes` bind only then, but for SignedZeroInfNanPreserve (NU-046).
    """
    source = value.component
    assert source is not None
    if source is target:
        return value
    if source.is_float:
        if target.is_float:
            return float_to_float(value, target, saturate, ieee, modes)
        return float_to_integer(value, target, watch)
    return (
        integer_to_float(value, target, saturate, ieee, modes)
        if target.is_float
        else integers.resized(value, target, source.is_signed)
    )


def float_to_float(
    value: Value, target: ComponentType, saturate: bool = False, ieee: bool = False, modes: Modes = MappingProxyType({})
) -> Value:
    """OpFConvert."""
    source = value.component
    assert source is not None
    mode = of_conversion(source, target, modes)
    of_operand = modes.get(source, OPEN) if ieee else OPEN
    keeps = ieee or mode.specials
    if not ieee:
        mode = OPEN
    if source.is_float8 and target is ComponentType.float16 and value.free is None:
        # Every float8 number is a float16 one, and denormals are kept (NU-015).
        exact = real(source, value.bits)
        unbounded = value.unbounded
        bits = np.where(unbounded, 0, exact).astype(np.float16).view(np.uint16)
        flags = unbounded * np.uint8(FREE | Freedom.ANY)
        if not ieee:
            flags = np.where(exact == 0, np.uint8(FREE | Freedom.EITHER_ZERO), flags)
        if modes.get(target, OPEN).denormals == "flushed":
            # Kept by one sentence, flushed by another: either (NU-043).
            tiny = denormal((exact, exact), target.format.least)
            flags = np.where(tiny, np.uint8(FREE | Freedom.EITHER_ZERO), flags)
        result = with_freedom(target, bits, flags, (exact, exact), ("NaN and the sign of zero are not kept (NU-013)",))
    else:
        bounds, zero, unbounded = parts(value, of_operand)
        if source.is_float8 and target is ComponentType.float16 and zero is not None:
            zero = value.flags & Freedom.EITHER_ZERO != 0
        if source.is_float8 and target is ComponentType.float16 and mode.denormals == "flushed":
            # As above: either.
            mode = replace(mode, denormals=None)
        result = to_float(target, bounds, unbounded, saturate, value.reasons, zero, keeps, mode)
        if ieee:
            step = None if value.free is None else np.where(beside_free([value]), step_of(value), 0.0)
            if step is not None:
                # Numbers beyond the greatest one may become it, which is no multiple of their step.
                greatest = target.format.greatest
                step = np.where((bounds[0] < -greatest) | (bounds[1] > greatest), 0.0, step)
            result = bound(result, source, step)
        elif value.free is not None and value.free.step is not None and _holds(target, source):
            result = stepped(result, step_of(value))
    if keeps and unbounded.any():
        recomputed = specials.recomputed(result, _converted(target, saturate), (value,), mode=mode, seen=of_operand)
        # Between an end that overflows and one that does not, numbers become more than what the ends become.
        result = where(_overflows_in_part(target, saturate, value.core), result, recomputed)
    if value.history is None:
        return result
    return replace(result, history=value.history.then(lambda h: _converted_history(h, result)))


def _converted_history(h: History, result: Value) -> History:
    """The history of a value whose conversion may be rounded or not, as `result` says."""
    low, high = result.interval
    magnitude = np.where(result.unbounded, 0.0, np.maximum(np.abs(low), np.abs(high)))
    low, high = np.where(h.unknown, np.nan, low), np.where(h.unknown, np.nan, high)
    quantum = np.where(low == high, h.quantum, 0.0)
    return replace(h, lo=low, hi=high, magnitude=np.maximum(h.magnitude, magnitude), quantum=quantum, addends=None)


def integer_to_float(
    value: Value, target: ComponentType, saturate: bool = False, ieee: bool = False, modes: Modes = MappingProxyType({})
) -> Value:
    """OpConvertSToF, OpConvertUToF."""
    source = value.component
    assert source is not None
    low, high = value.interval
    unbounded = value.flags & Freedom.ANY != 0
    bounds = low, low if value.free is None else high
    mode = modes.get(target, OPEN) if ieee else OPEN
    result = to_float(target, bounds, unbounded, saturate, value.reasons, None, ieee, mode)
    return bound(result, source, None) if ieee else result


def float_to_integer(value: Value, target: ComponentType, watch: Watch) -> Value:
    """OpConvertFToS, OpConvertFToU: towards zero; NaN and what is out of range are undefined (NU-016)."""
    (low, high), unbounded = operand(value)
    low, high = np.trunc(low), np.trunc(high)
    info = np.iinfo(target.dtype)
    outside = unbounded | (low < info.min) | (high > info.max)
    what = f"a NaN, or a number that {target.value} does not hold, becomes {target.value}"
    watch.report("NU-016", outside, what, f"numbers from {info.min} to {info.max}")
    low, high = (np.clip(bound, info.min, info.max) for bound in (low, high))
    flags = np.where(low != high, np.uint8(FREE), np.uint8(0))
    bits = integers.truncated(target, low.astype(np.int64))
    return with_freedom(target, bits, flags, (low, high), value.reasons)


def instructed(
    operation: str,
    value: Value,
    target: ComponentType,
    watch: Watch,
    saturate: bool = False,
    ieee: bool = False,
    modes: Modes = MappingProxyType({}),
) -> Value:
    """OpFConvert, OpSConvert, ...: the sign of integers is the instruction's, not the type's."""
    source = value.component
    assert source is not None
    signed = operation in ("SConvert", "ConvertFToS", "ConvertSToF")
    match operation:
        case "FConvert":
            return float_to_float(value, target, saturate, ieee, modes)
        case "SConvert" | "UConvert":
            return integers.resized(value, target, signed)
        case "ConvertFToS" | "ConvertFToU":
            return integers.reinterpreted(float_to_integer(value, sized(target, signed), watch), target)
        case _:
            read = integers.reinterpreted(value, sized(source, signed))
            return integer_to_float(read, target, saturate, ieee, modes)


def _holds(target: ComponentType, source: ComponentType) -> bool:
    """Whether one float type has every number of another, so that nothing is rounded."""
    return target.format.precision >= source.format.precision and target.format.least <= source.format.least


def sized(component: ComponentType, signed: bool) -> ComponentType:
    """The integer type of the same width, of a sign."""
    return ComponentType(f"{'int' if signed else 'uint'}{8 * component.size}")


def bitcast(value: Value, target: ComponentType) -> Value:
    """OpBitcast: the same bits; nothing is known of those of a value that is not exact, but as the same integers."""
    if value.component is target and not target.is_float:
        return value
    result = Value(target, value.bits)
    if value.free is None:
        return result
    return where(value.flags != 0, anything(target, value.shape, value.reasons), result)


def bound(result: Value, source: ComponentType, step: F64 | None) -> Value:
    """A result that is sure to be rounded, unless the type that it would be rounded to is bfloat16.

    Whether intermediate values of bfloat16 are rounded is the implementation's choice (NU-021).
    """
    bfloat16 = ComponentType.bfloat16
    if result.component is bfloat16 or result.free is None:
        return result
    return binding(result, None if source is bfloat16 else step)


def to_float(
    target: ComponentType,
    bounds: Interval,
    unbounded: Mask,
    saturate: bool,
    reasons: tuple[str, ...],
    zero: Mask | None,
    ieee: bool,
    mode: Mode = OPEN,
) -> Value:
    """Exact results in a float type: rounded, of a float8 as far as it reaches (NU-033); see `rounded`."""
    fmt = target.format
    why = (*reasons, _NEIGHBOURS)
    if not target.is_float8:
        return rounded(target, bounds, unbounded, why, zero, ieee, mode)
    low, high = bounds
    clipped = np.clip(low, -fmt.greatest, fmt.greatest)
    inside = (clipped, clipped if low is high else np.clip(high, -fmt.greatest, fmt.greatest))
    result = rounded(target, inside, unbounded, why, zero, ieee)
    if saturate:
        return result
    over = (high > fmt.greatest) | (low < -fmt.greatest)
    if not over.any():
        return result
    beyond = fmt.beyond
    positive, negative = low >= beyond, high <= -beyond
    result = where(over, anything(target, result.shape, (*why, "around the greatest finite number (AM-29)")), result)
    result = where((positive | negative) & ~unbounded, _overflowed(target, negative), result)
    return result if zero is None else or_zero(result, zero)


def _converted(target: ComponentType, saturate: bool) -> specials.Function:
    """Infinities, and the numbers and NaNs that an operand may be beside them, as a float type (NU-033)."""
    fmt = target.format

    def convert(x: F64) -> list[Interval]:
        if not target.is_float8:
            return [(x, x)]
        if saturate:
            clipped = np.clip(x, -fmt.greatest, fmt.greatest)
            return [(clipped, clipped)]
        beyond = np.copysign(np.inf, x) if fmt.infinities else np.nan
        around = (np.abs(x) > fmt.greatest) & (np.abs(x) < fmt.beyond)
        return specials.unless(~around, np.where(np.abs(x) >= fmt.beyond, beyond, x))

    return convert


def _overflows_in_part(target: ComponentType, saturate: bool, bounds: Interval) -> Mask:
    """Where some numbers of an interval may overflow in a float8 type, and others do not."""
    low, high = bounds
    fmt = target.format
    if saturate or not target.is_float8:
        return np.zeros(low.shape, bool)
    over: Mask = (high > fmt.greatest) | (low < -fmt.greatest)
    over &= (low != high) & ~(low >= fmt.beyond) & ~(high <= -fmt.beyond)
    return over


def _overflowed(target: ComponentType, negative: Mask) -> Value:
    """NU-033: infinity where a float8 type has one, as float8_e5m2, else NaN of either sign and any payload."""
    infinite = target.format.infinities
    pattern = target.format.last + (not infinite)
    bits = np.where(negative, np.uint8(0x80), np.uint8(0)) | np.uint8(pattern)
    flags = np.full(bits.shape, 0 if infinite else FREE | Freedom.NAN, np.uint8)
    number = real(target, bits)
    return with_freedom(target, bits, flags, (number, number), (f"NaN: out of range of {target.value} (NU-033)",))
