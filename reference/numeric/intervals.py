"""Arithmetic on real intervals in float64, rounded outward.

An interval is a pair of arrays (lo, hi); it is one array twice where every element is a point.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from cts.reference.numeric.formats import F64

Interval: TypeAlias = tuple[F64, F64]

#: 2^27 + 1, which splits a float64 into two halves of 26 bits (Veltkamp).
_SPLITTER = 134217729.0


def add(a: Interval, b: Interval) -> Interval:
    """Every x + y."""
    low = _outward(*_sum(a[0], b[0]))
    return low if _points(a, b) else (low[0], _outward(*_sum(a[1], b[1]))[1])


def mul(a: Interval, b: Interval) -> Interval:
    """Every x * y."""
    if _points(a, b):
        return _outward(*_product(a[0], b[0]))
    corners = [_outward(*_product(x, y)) for x in a for y in b]
    low, high = np.minimum.reduce([c[0] for c in corners]), np.maximum.reduce([c[1] for c in corners])
    zero = (low == 0) & (high == 0)
    if zero.any():
        # A product with 0 is a zero of either sign if the other factor has either sign.
        negative = np.logical_or.reduce([np.signbit(c[0]) for c in corners])
        positive = np.logical_or.reduce([~np.signbit(c[1]) for c in corners])
        low, high = np.where(zero & negative, -0.0, low), np.where(zero & positive, 0.0, high)
    return low, high


def div(a: Interval, b: Interval) -> Interval:
    """Every x / y; `b` must not hold 0."""
    if _points(a, b):
        return _quotient(a[0], b[0])
    corners = [_quotient(x, y) for x in a for y in b]
    return np.minimum.reduce([c[0] for c in corners]), np.maximum.reduce([c[1] for c in corners])


def negate(a: Interval) -> Interval:
    """Every -x."""
    low = -a[1]
    return (low, low) if a[0] is a[1] else (low, -a[0])


def absolute(a: Interval) -> Interval:
    """Every |x|."""
    if a[0] is a[1]:
        point = np.abs(a[0])
        return point, point
    high = np.maximum(np.abs(a[0]), np.abs(a[1]))
    low = np.where((a[0] <= 0) & (a[1] >= 0), 0.0, np.minimum(np.abs(a[0]), np.abs(a[1])))
    return low, high


def minimum(a: Interval, b: Interval) -> Interval:
    """Every min(x, y), zeros of any sign."""
    low = np.minimum(a[0], b[0])
    return (low, low) if _points(a, b) else (low, np.minimum(a[1], b[1]))


def maximum(a: Interval, b: Interval) -> Interval:
    """Every max(x, y), zeros of any sign."""
    low = np.maximum(a[0], b[0])
    return (low, low) if _points(a, b) else (low, np.maximum(a[1], b[1]))


def signed_minimum(a: Interval, b: Interval) -> Interval:
    """Every min(x, y), where -0 is less than +0."""
    low = _signed_minimum(a[0], b[0])
    return (low, low) if _points(a, b) else (low, _signed_minimum(a[1], b[1]))


def signed_maximum(a: Interval, b: Interval) -> Interval:
    """Every max(x, y), where -0 is less than +0."""
    return negate(signed_minimum(negate(a), negate(b)))


def below(numbers: F64) -> F64:
    """The float64 below each."""
    neighbours: F64 = np.nextafter(numbers, -np.inf)
    return neighbours


def above(numbers: F64) -> F64:
    """The float64 above each."""
    neighbours: F64 = np.nextafter(numbers, np.inf)
    return neighbours


def _points(a: Interval, b: Interval) -> bool:
    return a[0] is a[1] and b[0] is b[1]


def _signed_minimum(x: F64, y: F64) -> F64:
    least: F64 = np.minimum(x, y)
    zero = least == 0
    return np.where(zero & (np.signbit(x) | np.signbit(y)) & (x == y), -0.0, least) if zero.any() else least


def _quotient(x: F64, y: F64) -> Interval:
    """The interval of a quotient: a point where it is exact."""
    quotient = x / y
    total, error = _product(quotient, y)
    exact = (total == x) & (error == 0)
    if exact.all():
        return quotient, quotient
    return np.where(exact, quotient, below(quotient)), np.where(exact, quotient, above(quotient))


def _sum(x: F64, y: F64) -> tuple[F64, F64]:
    """The rounded sum and its exact error (Knuth's TwoSum)."""
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


def _product(x: F64, y: F64) -> tuple[F64, F64]:
    """The rounded product and its exact error (Dekker's TwoProduct)."""
    total = x * y
    x_high, y_high = _high(x), _high(y)
    x_low, y_low = x - x_high, y - y_high
    return total, ((x_high * y_high - total) + x_high * y_low + x_low * y_high) + x_low * y_low


def _high(x: F64) -> F64:
    scaled = x * _SPLITTER
    return scaled - (scaled - x)


def _outward(total: F64, error: F64) -> Interval:
    """The interval of a rounded result and its error: a point where it is exact."""
    if not error.any():
        return total, total
    return np.where(error < 0, below(total), total), np.where(error > 0, above(total), total)
