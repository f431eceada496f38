"""Operands that may be a zero beside their interval, such as denormals that may be flushed (NU-013)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cts.model.component import FloatFormat
from cts.reference.numeric.arrays import Mask
from cts.reference.numeric.intervals import Interval


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

    A device may flush the operands of the comparison and then move an unflushed operand: it flushes in one of two steps
    (NU-013). `least` is the least number that is no denormal.
    """
    (x, x_zero), (y, y_zero) = first, second
    if x_zero is None and y_zero is None:
        return bounds
    at_x, at_y = (np.zeros((), bool) if mask is None else mask for mask in (x_zero, y_zero))
    none_x, none_y = (x[0] == 0) & (x[1] == 0), (y[0] == 0) & (y[1] == 0)
    equal = (at_x | none_x) & (at_y | none_y) & (at_x | at_y)
    if not equal.any():
        return bounds
    # Zeros are among the results already, beside the bounds.
    low, high = (
        np.where(none_x, b, np.where(none_y, a, choose(a, b)))
        for a, b, choose in zip(x, y, (np.minimum, np.maximum), strict=True)
    )
    low, high = np.maximum(low, -least), np.minimum(high, least)
    none = (bounds[0] == 0) & (bounds[1] == 0)
    low = np.where(none, low, np.minimum(bounds[0], low))
    high = np.where(none, high, np.maximum(bounds[1], high))
    return np.where(equal, low, bounds[0]), np.where(equal, high, bounds[1])


def underflowed(value: Interval, fmt: FloatFormat, ulps: float, rounds: Mask) -> Interval:
    """The value, and where it may round to a denormal, so many ULP more: no relative error bounds these."""
    tiny = rounds & (value[0] < fmt.least) & (value[1] > -fmt.least)
    if not tiny.any():
        return value
    error = np.where(tiny, ulps * fmt.least * fmt.unit, 0.0)
    return value[0] - error, value[1] + error
