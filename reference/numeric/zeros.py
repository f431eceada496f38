"""Operands that may be a zero beside their interval, such as denormals that may be flushed (NU-013)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cts.case.model.component import FloatFormat
from cts.reference.numeric.arrays import Mask
from cts.reference.numeric.intervals import Interval
from cts.reference.numeric.rounding import near_zero


def apart(bounds: Interval, zero: Mask | None) -> Mask | None:
    """Where an operand may be a zero beside its bounds, which are no zero themselves: signs of zeros are free."""
    if zero is None:
        return None
    apart: Mask = zero & ((bounds[0] != 0) | (bounds[1] != 0))
    return apart if apart.any() else None


def each_choice(
    function: Callable[[Interval, Interval], Interval],
    first: tuple[Interval, Mask | None],
    second: tuple[Interval, Mask | None],
) -> tuple[Interval, Mask | None]:
    """The function of two intervals, each of which may also be a zero where its mask says so.

    Bounds of all results beside zero, and where zero of either sign is one of them (None: nowhere).
    """
    (x, x_zero), (y, y_zero) = first, second
    if x_zero is None and y_zero is None:
        return function(x, y), None
    nothing = np.zeros(np.broadcast_shapes(x[0].shape, y[0].shape))
    at_x, at_y = (nothing.astype(bool) if mask is None else mask for mask in (x_zero, y_zero))
    results = [(function(x, y), ~nothing.astype(bool))]
    if x_zero is not None:
        results.append((function((nothing, nothing), y), at_x | nothing.astype(bool)))
    if y_zero is not None:
        results.append((function(x, (nothing, nothing)), at_y | nothing.astype(bool)))
    if x_zero is not None and y_zero is not None:
        results.append((function((nothing, nothing), (nothing, nothing)), at_x & at_y))
    low, high = np.full(nothing.shape, np.inf), np.full(nothing.shape, -np.inf)
    zero = nothing.astype(bool)
    for (lo, hi), mask in results:
        none = (lo == 0) & (hi == 0)
        zero |= none & mask
        low, high = (
            np.where(mask & ~none, np.minimum(low, lo), low),
            np.where(mask & ~none, np.maximum(high, hi), high),
        )
    (lo, hi), alone = results[0][0], low > high
    # Without any choice the function's own zero has its own sign.
    return (np.where(alone, lo, low), np.where(alone, hi, high)), zero & (at_x | at_y)


def with_equal_zeros(
    bounds: Interval, first: tuple[Interval, Mask | None], second: tuple[Interval, Mask | None], least: float
) -> Interval:
    """The bounds of a minimum or maximum, wider for operands that a flush may make equal.

    `least` is the least number that is no denormal.
    """
    if first[1] is None and second[1] is None:
        return bounds  # Nothing may be flushed: an operand with a denormal may be zero beside it.
    equal, (low, high) = equal_zeros(first, second, least)
    if not equal.any():
        return bounds
    none = (bounds[0] == 0) & (bounds[1] == 0)
    low = np.where(none, low, np.minimum(bounds[0], low))
    high = np.where(none, high, np.maximum(bounds[1], high))
    return np.where(equal, low, bounds[0]), np.where(equal, high, bounds[1])


def equal_zeros(
    first: tuple[Interval, Mask | None], second: tuple[Interval, Mask | None], least: float
) -> tuple[Mask, Interval]:
    """Where operands that may be flushed may compare as equal, and what a minimum or maximum may then be beside zero.

    A device may flush the operands of the comparison and then move an operand that it has not flushed (NU-013).
    """
    (x, x_zero), (y, y_zero) = first, second
    near_x, near_y = near_zero(x, least), near_zero(y, least)
    equal = (near_x & (near_y | _may_be_zero(y, y_zero))) | (near_y & _may_be_zero(x, x_zero))
    low, high = np.full(equal.shape, np.inf), np.full(equal.shape, -np.inf)
    if equal.any():
        for (lo, hi), near in ((x, near_x), (y, near_y)):
            low = np.where(near, np.minimum(low, np.maximum(lo, -least)), low)
            high = np.where(near, np.maximum(high, np.minimum(hi, least)), high)
    return equal, (low, high)


def _may_be_zero(bounds: Interval, zero: Mask | None) -> Mask:
    inside: Mask = (bounds[0] <= 0) & (bounds[1] >= 0)
    return inside if zero is None else inside | zero


def underflowed(value: Interval, fmt: FloatFormat, ulps: float, rounds: Mask) -> Interval:
    """The value, and where it may round to a denormal, so many ULP more: no relative error bounds these."""
    tiny = rounds & (value[0] < fmt.least) & (value[1] > -fmt.least)
    if not tiny.any():
        return value
    error = np.where(tiny, ulps * fmt.least * fmt.unit, 0.0)
    return value[0] - error, value[1] + error
