"""Infinities and NaNs in sums of any order and precision (NU-023).

No specification says what becomes of them there. It is this suite's policy that they are neither lost nor
made up: a NaN among the terms makes the sum NaN, and so do infinities of both signs; of one sign they make
it that infinity.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cts.case.model import ComponentType
from cts.case.oracle.expectation import Freedom, Policy
from cts.reference.numeric.arrays import Mask
from cts.reference.numeric.rounding import component_of, denormal
from cts.reference.numeric.specials import enclosed
from cts.reference.numeric.value import Value, where

REASON = Policy("NaN and infinity go through sums (NU-023)")


@dataclass(frozen=True)
class Kinds:
    """What elements may be (`possible`) or are for sure: masks by kind."""

    nan: Mask
    plus: Mask
    minus: Mask
    zero: Mask
    positive: Mask
    negative: Mask

    def infinite(self) -> Mask:
        return self.plus | self.minus


def kinds(value: Value) -> tuple[Kinds, Kinds]:
    """What the elements are for sure, and what they may be."""
    low, high = value.core
    flags = value.flags
    anything = flags & Freedom.ANY != 0
    flushed = denormal((low, high), component_of(value).format.least) | (flags & Freedom.EITHER_ZERO != 0)
    nan = np.isnan(low) & ~anything & ~flushed
    maybe_nan = np.isnan(low) | (flags & Freedom.NAN != 0) | anything
    definite = ~maybe_nan & ~flushed
    certain = Kinds(
        nan,
        definite & np.isposinf(low),
        definite & np.isneginf(high),
        (low == 0) & (high == 0) & ~maybe_nan,
        definite & (low > 0),
        definite & (high < 0),
    )
    possible = Kinds(
        maybe_nan,
        np.isposinf(high) | anything,
        np.isneginf(low) | anything,
        ((low <= 0) & (high >= 0)) | flushed | anything,
        (high > 0) | anything,
        (low < 0) | anything,
    )
    return certain, possible


@dataclass(frozen=True)
class Terms:
    """Which sums have a term of a kind: NaN, or an infinity of either sign."""

    nan: Mask
    plus: Mask
    minus: Mask

    def __or__(self, other: Terms) -> Terms:
        return Terms(self.nan | other.nan, self.plus | other.plus, self.minus | other.minus)


def products(a: Kinds, b: Kinds) -> Terms:
    """The terms of the products of matrices (..., M, K) and (..., K, N)."""
    everything = np.ones_like(a.nan), np.ones_like(b.nan)
    nan = _meet(a.nan, everything[1]) | _meet(everything[0], b.nan)
    nan |= _meet(a.infinite(), b.zero) | _meet(a.zero, b.infinite())
    plus = (
        _meet(a.plus, b.positive) | _meet(a.positive, b.plus) | _meet(a.minus, b.negative) | _meet(a.negative, b.minus)
    )
    minus = (
        _meet(a.plus, b.negative) | _meet(a.negative, b.plus) | _meet(a.minus, b.positive) | _meet(a.positive, b.minus)
    )
    return Terms(nan, plus, minus)


def each(a: Kinds) -> Terms:
    """Terms that are elements."""
    return Terms(a.nan, a.plus, a.minus)


def gathered(a: Kinds) -> Terms:
    """The terms of sums along the last axis."""
    nan, plus, minus = (np.asarray(mask.any(axis=-1)) for mask in (a.nan, a.plus, a.minus))
    return Terms(nan, plus, minus)


def resolved(result: Value, certain: Terms, possible: Terms, overflows: Mask) -> Value:
    """A result whose elements with terms that are NaN or infinite are NaN or infinite, unless finite terms overflow.

    Elements that are only possibly NaN or infinite stay the same.
    """
    component: ComponentType = component_of(result)
    nan = certain.nan | (certain.plus & certain.minus)
    ordered = ~possible.nan & ~overflows
    plus, minus = certain.plus & ordered & ~possible.minus, certain.minus & ordered & ~possible.plus
    some = np.broadcast_to(nan | plus | minus, result.shape)
    if not some.any():
        return result
    numbers = np.where(nan, np.nan, np.where(plus, np.inf, -np.inf))
    numbers = np.broadcast_to(numbers, result.shape)
    return where(some, enclosed(component, [(numbers, numbers)], (REASON,)), result)


def _meet(a: Mask, b: Mask) -> Mask:
    """Whether any k has both: (..., M, K) and (..., K, N) as (..., M, N)."""
    if not a.any() or not b.any():
        return np.zeros((*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1]), bool)
    overlap: Mask = a.astype(np.float32) @ b.astype(np.float32) > 0
    return overlap
