"""Infinities and NaNs where IEEE 754 binds (NU-020): operations on the numbers that bound each operand.

Only elements with such an operand are computed here. A few candidates represent an operand: its bounds, zeros and
NaN where it may be those. What an operation makes of all their combinations bounds its result.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from cts.case.model import ComponentType
from cts.case.oracle.expectation import Freedom
from cts.reference.numeric import intervals
from cts.reference.numeric.arrays import Mask
from cts.reference.numeric.formats import F64
from cts.reference.numeric.intervals import Interval
from cts.reference.numeric.modes import OPEN, Mode
from cts.reference.numeric.rounding import component_of, flushable, rounded
from cts.reference.numeric.value import FREE, Free, Value, anything, merged, where

#: From numbers, perhaps infinite or NaN, to every result as bounds; the bounds of a NaN are NaN and NaN.
Function: TypeAlias = Callable[..., Sequence[Interval]]

_NAN = "NaN of any sign and payload (NU-020)"

#: What a function gives where nothing dictates a result.
ANYTHING: tuple[tuple[float, float], ...] = ((-np.inf, np.inf), (np.nan, np.nan))


def recomputed(
    result: Value,
    function: Function,
    operands: Sequence[Value],
    mask: Mask | None = None,
    mode: Mode = OPEN,
    seen: Mode | None = None,
) -> Value:
    """A result whose elements with an infinite or NaN operand (and elements of a mask) come from a function.

    `mode` binds the result, `seen` the operands (None: `mode`), whose type may be another one. Elements with an operand
    that may be anything stay the same.
    """
    seen = mode if seen is None else seen
    some = np.zeros(result.shape, bool) if mask is None else np.broadcast_to(mask, result.shape)
    unknown = np.zeros(result.shape, bool)
    for v in operands:
        some = some | v.unbounded
        if v.free is not None:
            unknown |= v.free.flags & Freedom.ANY != 0
    indices = np.nonzero(some & ~unknown)
    if not indices[0].size:
        return result
    picked = [v.stored.broadcast(result.shape).map(lambda a: a[indices]) for v in operands]
    with np.errstate(all="ignore"):
        results = [
            r for points in itertools.product(*(_candidates(v, seen) for v in picked)) for r in function(*points)
        ]
    # Of an interval, all that lies between the results of its bounds is a result: a zero among these is not alone.
    # But between the greatest number and infinity there is nothing.
    greatest = component_of(result).format.greatest
    connected = np.zeros(indices[0].shape, bool)
    for low, high in (v.core for v in picked):
        connected |= (low < high) & (low < greatest) & (high > -greatest)
    exact = enclosed(component_of(result), results, merged(*picked), connected, mode)
    place = np.zeros(result.shape, np.int64)
    place[indices] = np.arange(indices[0].size)
    return where(some & ~unknown, exact.map(lambda a: a[place]), result.stored)


def enclosed(
    component: ComponentType,
    results: Sequence[Interval],
    reasons: tuple[str, ...],
    connected: Mask | None = None,
    mode: Mode = OPEN,
) -> Value:
    """Values that may be any of several results of each element, rounded to a type.

    Where `connected`, also what lies between a zero among them and the others.
    """
    shape = np.broadcast_shapes(*(low.shape for low, _ in results))
    lows, highs = (np.stack([np.broadcast_to(r[side], shape) for r in results]) for side in (0, 1))
    nan = np.isnan(lows)
    zeros = (lows == 0) & (highs == 0)
    others = ~nan & ~zeros
    negative = (zeros & np.signbit(lows)).any(axis=0)
    positive = (zeros & ~np.signbit(lows)).any(axis=0)
    has, zero, unordered = others.any(axis=0), zeros.any(axis=0), nan.any(axis=0)
    low = np.where(has, np.where(others, lows, np.inf).min(axis=0), np.where(negative, -0.0, 0.0))
    high = np.where(has, np.where(others, highs, -np.inf).max(axis=0), np.where(positive, 0.0, -0.0))
    either = zero & (has | (negative & positive))
    if connected is not None:
        low = np.where(zero & has & connected, np.minimum(low, 0.0), low)
        high = np.where(zero & has & connected, np.maximum(high, 0.0), high)
    result = rounded(component, (low, high), np.zeros(shape, bool), reasons, either, ieee=True, mode=mode)
    if not unordered.any():
        return result
    alone = unordered & ~has & ~zero
    flags = np.where(unordered, np.where(alone, 0, result.flags) | np.uint8(FREE | Freedom.NAN), result.flags)
    quiet = np.array([np.nan]).astype(component.dtype).view(component.bits_dtype)[0]
    bits = np.where(alone, quiet, result.bits)
    lo, hi = (np.where(alone, np.nan, bound) for bound in result.core)
    value = Value(component, bits, Free(flags.astype(np.uint8), lo, hi, (*result.reasons, _NAN)))
    nothing = unordered & np.isneginf(low) & np.isposinf(high)
    return where(nothing, anything(component, shape, reasons), value) if nothing.any() else value


def _candidates(value: Value, mode: Mode) -> list[F64]:
    """Arrays of numbers that enclose every value of the operand: its bounds, and a zero or NaN if it may be one."""
    low, high = value.core
    candidates = [low]
    if value.free is not None and not np.array_equal(low, high, equal_nan=True):
        candidates.append(high)
    zero = flushable((low, high), component_of(value), mode) | ((low < 0) & (high > 0))
    nan = np.zeros(value.shape, bool)
    if value.free is not None:
        zero = zero | (value.free.flags & Freedom.EITHER_ZERO != 0)
        nan = value.free.flags & Freedom.NAN != 0
    if zero.any():
        candidates += [np.where(zero, 0.0, low), np.where(zero, -0.0, low)]
    if nan.any():
        candidates.append(np.where(nan, np.nan, low))
    return candidates


def add(x: F64, y: F64) -> list[Interval]:
    """OpFAdd."""
    return [intervals.add((x, x), (y, y))]


def mul(x: F64, y: F64) -> list[Interval]:
    """OpFMul."""
    return [intervals.mul((x, x), (y, y))]


def moved(move: Callable[[Interval], Interval]) -> Function:
    """What changes signs at most."""
    return lambda x: [move((x, x))]


def absolute(x: F64) -> list[Interval]:
    """FAbs, which GLSL.std.450 defines for zeros and for what is greater or less: not for NaN (NU-022)."""
    return unless(~np.isnan(x), np.abs(x))


def chosen(choose: Callable[[Interval, Interval], Interval], number_wins: bool) -> Function:
    """FMin and FMax, either operand where one is a NaN; with `number_wins` NMin and NMax, the other one (NU-025)."""

    def choose_number(x: F64, y: F64) -> list[Interval]:
        known = choose((x, x), (y, y))[0]
        first = np.where(np.isnan(x), y, np.where(np.isnan(y), x, known))
        if number_wins:
            return [(first, first)]
        second = np.where(np.isnan(x) | np.isnan(y), np.nan, known)
        return [(first, first), (second, second)]

    return choose_number


def quotient(reach: float) -> Function:
    """OpFDiv by zero and infinity, and of infinity (NU-020); other divisors beyond 1 / reach to reach leave it open."""

    def divide(x: F64, y: F64) -> list[Interval]:
        size = np.abs(y)
        known = (y == 0) & (x != 0) & ~np.isnan(x) | np.isinf(x) & (size >= 1 / reach) & (size <= reach)
        known |= np.isinf(y) & np.isfinite(x)
        return unless(known, x / y)

    return divide


def unless(known: Mask, result: F64) -> list[Interval]:
    """The result where it is known, and anything elsewhere."""
    if known.all():
        return [(result, result)]
    return [(np.where(known, result, low), np.where(known, result, high)) for low, high in ANYTHING]
