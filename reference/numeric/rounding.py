"""Float operands as operations see them, and the rounding of exact results (NU-012, NU-013, NU-020, NU-021)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cts.case.model import ComponentType
from cts.case.oracle.expectation import Freedom
from cts.reference.numeric import formats
from cts.reference.numeric.arrays import U8, Mask
from cts.reference.numeric.intervals import Interval
from cts.reference.numeric.modes import OPEN, Mode
from cts.reference.numeric.value import FREE, Free, Value, stepped, with_freedom

NEIGHBOURS = "either neighbour of the exact result (NU-012)"
_NOT_PORTABLE = "no portable result: NaN, infinity or overflow (NU-013)"
_OVERFLOWED = "beyond the greatest number: that or infinity (NU-012)"
EITHER_ZERO = "either zero (NU-013)"
_FLUSHED = "denormals may be flushed (NU-013)"
_ROUNDED = {"nearest": "rounded to nearest even (NU-044)", "towards zero": "rounded towards zero (NU-044)"}
_FLUSHED_SURELY = "denormal results are flushed (NU-043)"


def operand(value: Value, mode: Mode = OPEN) -> tuple[Interval, Mask]:
    """The numbers that an operation may see of a float operand, and its unbounded elements (0 in the bounds).

    Zero is among them where the operand is, or may be, a denormal that may be flushed.
    """
    bounds, zero, unbounded = parts(value, mode)
    return spanned(bounds, zero), unbounded


def parts(value: Value, mode: Mode = OPEN) -> tuple[Interval, Mask | None, Mask]:
    """A float operand as `Value.core` has it, and two masks: elements that may also be a zero (None: none), and
    unbounded elements (0 in the bounds).
    """
    low, high = value.core
    # `Value.unbounded` would look up the numbers once more.
    unbounded = ~np.isfinite(low) if value.free is None else value.unbounded
    bounds = low, low if value.free is None else high
    if unbounded.any():
        bounds = replaced(bounds, unbounded, 0.0)
    zero = flushable(bounds, component_of(value), mode)
    if value.free is not None:
        zero = zero | ((value.free.flags & Freedom.EITHER_ZERO != 0) & ~unbounded)
    return bounds, zero if zero.any() else None, unbounded


def spanned(bounds: Interval, zero: Mask | None) -> Interval:
    """The bounds with 0 among them where `zero`."""
    if zero is None:
        return bounds
    low, high = bounds
    return np.where(zero & (low > 0), 0.0, low), np.where(zero & (high < 0), 0.0, high)


def denormal(bounds: Interval, least: float) -> Mask:
    """Where an interval beside 0 holds a denormal, which may be flushed (NU-013)."""
    low, high = bounds
    if low is high:
        size = np.abs(low)
        return (size < least) & (size > 0)
    holds_denormal: Mask = ((low > 0) & (low < least)) | ((high < 0) & (high > -least))
    return holds_denormal


def flushable(bounds: Interval, component: ComponentType, mode: Mode) -> Mask:
    """Where an interval holds a denormal that may be flushed: to a zero of either sign, if one is among it already."""
    if mode.denormals == "kept":
        return np.zeros(bounds[0].shape, bool)
    return near_zero(bounds, component.format.least)


def near_zero(bounds: Interval, least: float) -> Mask:
    """Where an interval has denormals, zero among its numbers or not."""
    low, high = bounds
    if low is high:
        return denormal(bounds, least)
    near: Mask = (low < least) & (high > -least) & ((low != 0) | (high != 0))
    return near


def replaced(bounds: Interval, mask: Mask, by: float) -> Interval:
    """The bounds, but a number where the mask is set."""
    low = np.where(mask, by, bounds[0])
    return (low, low) if bounds[0] is bounds[1] else (low, np.where(mask, by, bounds[1]))


def rounded(
    component: ComponentType,
    exact: Interval,
    unbounded: Mask,
    reasons: tuple[str, ...],
    zero: Mask | None = None,
    ieee: bool = False,
    mode: Mode = OPEN,
    within: bool = False,
) -> Value:
    """Results that are correctly rounded, whose exact values lie in an interval; `unbounded` ones may be anything.

    With `within` nothing is rounded: results are the numbers of the type in the interval, which has some.

    Those of the mask `zero` may also be a zero of either sign, and so may denormals, which may be flushed. With
    `ieee` the sign of an exact zero is that of its bounds, and what exceeds the greatest number is that or
    infinity (NU-020, NU-021); else zeros have either sign, and what exceeds it is anything. What `mode` says binds.
    """
    fmt = component.format
    lo, hi = exact
    if lo is hi:
        bits, low, high = formats.neighbours(component, lo)
    else:
        low, high = (
            (formats.above(component, lo), formats.below(component, hi))
            if within
            else (formats.below(component, lo), formats.above(component, hi))
        )
    inexact = low is not high
    if mode.rounding is not None and inexact:
        low, high = directed(component, lo, mode), directed(component, hi, mode)
        if lo is hi:
            bits, high = formats.nearest(component, low), low
    tiny = flushable(exact, component, mode)
    beyond = np.abs(lo) > fmt.greatest if lo is hi else (hi > fmt.greatest) | (lo < -fmt.greatest)
    unknown = unbounded if ieee else unbounded | beyond
    infinite = ieee and beyond.any()
    if lo is not hi:
        with np.errstate(invalid="ignore"):
            middle = lo / 2 + hi / 2
        middle = np.where(np.isnan(middle) if infinite else unknown, 0.0, middle)
        bits = formats.nearest(component, middle if mode.rounding is None else np.clip(middle, low, high))
    if unknown.any():
        bits = np.where(unknown, component.bits_dtype.type(0), bits)
    if infinite and mode.rounding is not None:
        low, high = _beyond(component, (lo, hi), (low, high), mode)
        bits = formats.with_infinities(component, bits, np.where(low == high, low, 0.0))
    elif infinite:
        low = np.where((lo < -fmt.greatest) | (lo == np.inf), np.copysign(np.inf, lo), low)
        high = np.where((hi > fmt.greatest) | (hi == -np.inf), np.copysign(np.inf, hi), high)
        bits = formats.with_infinities(component, bits, np.where(low == high, low, 0.0))
    flags = _flags(low, high, tiny if zero is None else tiny | zero, unknown, ieee)
    if not flags.any():
        return Value(component, bits)
    some = tuple(r for r in reasons if mode.rounding is None or "(NU-012)" not in r)
    if inexact and mode.rounding is not None:
        some += (_ROUNDED[mode.rounding],)
    if not inexact:
        some = tuple(r for r in some if r != NEIGHBOURS)
    if tiny.any():
        some += (_FLUSHED,)
    if unknown.any():
        some += (_NOT_PORTABLE,)
    if infinite:
        some += (_OVERFLOWED,)
    if (flags & Freedom.EITHER_ZERO).any():
        some += (EITHER_ZERO,)
    result = with_freedom(component, bits, flags, (low, high), tuple(dict.fromkeys(some)))
    return flushed(result) if mode.denormals == "flushed" else result


def directed(component: ComponentType, numbers: formats.F64, mode: Mode) -> formats.F64:
    """The numbers, rounded as the mode says to the finite numbers of a type."""
    if mode.rounding == "nearest":
        return formats.real(component, formats.nearest_even(component, numbers))
    return np.where(np.signbit(numbers), formats.above(component, numbers), formats.below(component, numbers))


def _beyond(component: ComponentType, exact: Interval, rounded_to: Interval, mode: Mode) -> Interval:
    """The bounds with infinities where IEEE 754 gives one: towards zero of infinity alone (NU-044)."""
    fmt = component.format
    first = (fmt.greatest + fmt.beyond) / 2 if mode.rounding == "nearest" else np.inf
    low, high = (
        np.where(np.abs(e) >= first, np.copysign(np.inf, e), r) for e, r in zip(exact, rounded_to, strict=True)
    )
    return (low, low) if exact[0] is exact[1] else (low, high)


def flushed(value: Value) -> Value:
    """Results with zeros of either sign for denormals (NU-043); zeros that already have either sign stay so."""
    component = component_of(value)
    least = component.format.least
    low, high = value.core
    known = ~np.isnan(low) & (value.flags & Freedom.ANY == 0)
    inside = known & (low > -least) & (high < least) & ((low != 0) | (high != 0))
    above_zero = known & ~inside & (low > 0) & (low < least)
    below_zero = known & ~inside & (high < 0) & (high > -least)
    if not (inside | above_zero | below_zero).any():
        return value
    bits = np.where(inside, component.bits_dtype.type(0), value.bits)
    low = np.where(inside, 0.0, np.where(above_zero, least, low))
    high = np.where(inside, 0.0, np.where(below_zero, -least, high))
    near = np.clip(np.where(np.isfinite(low), low, 0.0), -component.format.greatest, component.format.greatest)
    bits = np.where(above_zero, formats.nearest(component, near), bits)
    near = np.clip(np.where(np.isfinite(high), high, 0.0), -component.format.greatest, component.format.greatest)
    bits = np.where(below_zero, formats.nearest(component, near), bits)
    changed = inside | above_zero | below_zero
    flags = np.where(changed, value.flags | np.uint8(FREE | Freedom.EITHER_ZERO), value.flags).astype(np.uint8)
    reasons = tuple(r for r in value.reasons if r != _FLUSHED)
    free = value.free or Free(flags, low, high)
    free = replace(free, flags=flags, lo=low, hi=high, reasons=(*reasons, _FLUSHED_SURELY), placed=False)
    return Value(component, bits, free, value.history)


def binding(value: Value, step: formats.F64 | None = None) -> Value:
    """Results that are sure to be rounded to their type (NU-019), and multiples of `step` if a step is given.

    So they are multiples of the last place of the least of them; rounding keeps them multiples of `step`.
    """
    free = value.free
    if free is None:
        return value
    least = np.where((free.lo < 0) & (free.hi > 0), 0.0, np.minimum(np.abs(free.lo), np.abs(free.hi)))
    place = formats.ulp(component_of(value), least)
    bound = stepped(value, place if step is None else np.maximum(place, step))
    return replace(bound, free=None if bound.free is None else replace(bound.free, placed=True))


def _flags(low: formats.F64, high: formats.F64, zero: Mask, unknown: Mask, ieee: bool) -> U8:
    if ieee:
        # A single zero has the sign of its bounds.
        apart = False if low is high else (low != high) | (np.signbit(low) != np.signbit(high))
        zero = zero | ((low <= 0) & (high >= 0) & apart)
    else:
        zero = zero | ((low <= 0) & (high >= 0))
    flags: U8 = np.where(zero, np.uint8(FREE | Freedom.EITHER_ZERO), np.uint8(0))
    if low is not high:
        flags = flags | np.where(low != high, np.uint8(FREE), np.uint8(0))
    return np.where(unknown, np.uint8(FREE | Freedom.ANY), flags)


def component_of(value: Value) -> ComponentType:
    """The component type of what is no condition."""
    assert value.component is not None
    return value.component
