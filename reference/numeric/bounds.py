"""Bounds of functions that are accurate to some ULP, and conditions on intervals (NU-011)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cts.case.model import ComponentType
from cts.case.oracle.expectation import Freedom
from cts.reference.numeric import intervals
from cts.reference.numeric.arrays import Mask
from cts.reference.numeric.formats import F64, least_ulp, ulp
from cts.reference.numeric.intervals import Interval
from cts.reference.numeric.value import FREE, Value, with_freedom


def error_bounds(component: ComponentType, exact: Interval, ulps: float | F64) -> Interval:
    """So many ULP of the numbers of an interval, at its low and at its high end (NU-011).

    Of a single number by Vulkan's definition of ulp(x), of others by the wider ULP that they may have.
    """
    low, high = exact
    if low is high:
        error = ulps * least_ulp(component, low)
        return error, error
    widest = ulp(component, np.maximum(np.abs(low), np.abs(high)))
    point = low == high
    # Numbers that err by less than half of themselves do not reach an end half as great.
    near = ulps * component.format.unit < 0.5
    ends = (
        np.where(point, least_ulp(component, end), np.where(near, np.minimum(widest, 2 * ulp(component, end)), widest))
        for end in exact
    )
    down, up = (ulps * spacing for spacing in ends)
    return down, up


def exact_at(numbers: F64, x: float, value: float, function: Callable[[F64], F64]) -> Interval:
    """Bounds of a function that float64 computes to its last place, and exactly at x."""
    values = function(numbers)
    exact = numbers == x
    return np.where(exact, value, intervals.below(values)), np.where(exact, value, intervals.above(values))


def ordered(value: Value, bounds: Interval) -> tuple[Interval, Mask, Mask]:
    """Bounds that may be infinite, which elements are NaN for sure, and which may be NaN or anything else."""
    low, high = value.interval  # with the zero that an infinity may be instead
    nan = np.isnan(low)
    infinite = (np.isinf(low) | np.isinf(high)) & ~nan
    ends = np.where(infinite, low, bounds[0]), np.where(infinite, high, bounds[1])
    certain = nan & (value.flags & np.uint8(Freedom.ANY | Freedom.EITHER_ZERO) == 0)
    unknown = value.flags & np.uint8(Freedom.ANY | Freedom.NAN) != 0
    return ends, certain, unknown & ~certain


def decided(operation: str, x: Interval, y: Interval, unknown: Mask, reasons: tuple[str, ...]) -> Value:
    """The condition `x operation y` of intervals."""
    if operation in ("gt", "ge"):
        operation, x, y = {"gt": "lt", "ge": "le"}[operation], y, x
    if operation == "lt":
        yes, no = x[1] < y[0], x[0] >= y[1]
    elif operation == "le":
        yes, no = x[1] <= y[0], x[0] > y[1]
    else:
        yes = (x[0] == x[1]) & (y[0] == y[1]) & (x[0] == y[0])
        no = (x[1] < y[0]) | (y[1] < x[0])
        if operation == "ne":
            yes, no = no, yes
    unknown = unknown | ~(yes | no)
    flags = np.where(unknown, np.uint8(FREE), np.uint8(0))
    bits = yes.astype(np.uint8)
    number = bits.astype(np.float64)
    return with_freedom(None, bits, flags, (number, number), reasons)
