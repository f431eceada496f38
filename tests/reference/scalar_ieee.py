"""Infinities, NaNs and signs of zero as IEEE 754 has them, one element at a time (NU-020, NU-022, NU-023, NU-025)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Special:
    """A number with its sign: of finite ones `size` is the magnitude, of infinities None; NaN has no sign."""

    negative: bool
    size: Fraction | None
    nan: bool = False

    @property
    def finite(self) -> bool:
        return not self.nan and self.size is not None

    @property
    def infinite(self) -> bool:
        return not self.nan and self.size is None

    @property
    def zero(self) -> bool:
        return not self.nan and self.size == 0

    @property
    def value(self) -> Fraction:
        assert self.size is not None
        return -self.size if self.negative else self.size

    def key(self) -> tuple[float, Fraction, int]:
        """By which minima and maxima order numbers, -0 below +0."""
        if self.infinite:
            return (-1.0 if self.negative else 1.0, Fraction(0), 0)
        return (0.0, self.value, int(not self.negative))


NAN = Special(False, None, True)


def number(x: Fraction, negative_zero: bool = False) -> Special:
    return Special(x < 0 or (x == 0 and negative_zero), abs(x))


def infinity(negative: bool) -> Special:
    return Special(negative, None)


def negated(x: Special) -> Special:
    return x if x.nan else Special(not x.negative, x.size)


def add(x: Special, y: Special) -> Special:
    if x.nan or y.nan or (x.infinite and y.infinite and x.negative != y.negative):
        return NAN
    if x.infinite or y.infinite:
        return x if x.infinite else y
    # Opposite numbers, and zeros of either sign, give +0.
    return number(x.value + y.value, x.negative and y.negative)


def mul(x: Special, y: Special) -> Special:
    if x.nan or y.nan or (x.infinite and y.zero) or (x.zero and y.infinite):
        return NAN
    negative = x.negative != y.negative
    if x.infinite or y.infinite:
        return infinity(negative)
    return Special(negative, abs(x.value * y.value))


def div(x: Special, y: Special, reach: Fraction) -> Special | None:
    """None where anything may come of it; finite numbers by finite ones are the caller's."""
    if x.nan or y.nan or y.infinite:
        return None
    negative = x.negative != y.negative
    if y.zero:
        return None if x.zero else infinity(negative)
    assert y.size is not None
    if not 1 / reach <= y.size <= reach:
        return None
    return infinity(negative) if x.infinite else Special(negative, abs(x.value / y.value))


def ordered(operation: str, x: Special, y: Special) -> list[Special]:
    """FMin and FMax (any of several), NMin and NMax."""
    if x.nan or y.nan:
        if operation.startswith("n"):
            return [y if x.nan else x]
        return [x, y]
    return [(min if operation.endswith("min") else max)(x, y, key=Special.key)]


def compare(operation: str, x: Special, y: Special) -> bool:
    """Ordered comparisons, but for inequality, which NaN satisfies."""
    if x.nan or y.nan:
        return operation == "ne"
    a, b = (math.inf * (-1 if v.negative else 1) if v.infinite else v.value for v in (x, y))
    return {"lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b, "eq": a == b, "ne": a != b}[operation]


def function(name: str, x: Special) -> Special | None:
    """Of what is no ordinary argument; None where anything may come of it."""
    if x.nan:
        return None
    if name == "exp" and x.infinite:
        return number(Fraction(0)) if x.negative else x
    if name == "Tanh" and x.infinite:
        return number(Fraction(-1 if x.negative else 1))
    if name == "Log":
        if x.zero:
            return infinity(True)
        return NAN if x.negative else x
    return None


def summed(terms: Sequence[Special], overflows: bool) -> Special | None:
    """A sum in any order of which some term is special; None where anything may come of it."""
    signs = {t.negative for t in terms if t.infinite}
    if any(t.nan for t in terms) or len(signs) == 2:
        return NAN
    return None if overflows else infinity(signs.pop())
