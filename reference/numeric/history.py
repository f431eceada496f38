"""How a value came about where operations may be rearranged, and the bound on every rearrangement (NU-017).

A value is a sum of terms, each a product or quotient of values that were loaded. The algebra of real numbers lets a
compiler form the terms first, or sums of some of them, take a common factor out, divide each term alone, or keep
results unrounded. All such ways make at most `products` + `terms` - 1 roundings of any term, so the result errs by at
most so many units of the sum of the terms' magnitudes (Higham, Accuracy and Stability of Numerical Algorithms, 2nd
edition, section 3.1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial, reduce
from itertools import combinations
from typing import Any, TypeVar

import numpy as np

from cts.case.model import ComponentType
from cts.case.model.component import FloatFormat
from cts.reference.numeric import intervals
from cts.reference.numeric.arrays import Mask
from cts.reference.numeric.formats import F64, above, below, fits
from cts.reference.numeric.intervals import Interval

T = TypeVar("T")

#: OpFDiv's accuracy in ULP (NU-011), as units of relative error: an ULP is at most one.
DIVISION_ULP = 2.5
#: The format of the least precise type with arithmetic.
_LEAST_ARITHMETIC = ComponentType.bfloat16.format
#: Sums of so many loaded values are bounded by trying all their orders.
MOST_ADDENDS = 4


@dataclass(frozen=True)
class History:
    """All arrays have the value's shape.

    [lo, hi] holds the value without any rounding, NaN where a rearrangement may give anything though the value itself
    is bound (NU-049). `magnitude` is the sum of the terms' magnitudes, `quantum` a power of two of which every term is
    a multiple (0: unknown). So far may results overflow or become denormal: every product, quotient or sum of parts of
    terms that is not 0 lies between `least` and `most`, every product of divisors between `divisor_least` and
    `divisor_most`, and a factor that may be taken out of all terms is `common` or more.

    A sum that divides may be multiplied out with other divisors, and then errs by units of its terms instead of its
    value: `condition` is how many times these are greater, which counts once there are others. `products` counts the
    roundings of a term, divisions by their ULP. `quotient` says whether anything divides. `addends` are the terms, if
    each is one loaded value and there are few.
    """

    lo: F64
    hi: F64
    magnitude: F64
    quantum: F64
    most: F64
    least: F64
    common: F64
    divisor_most: F64
    divisor_least: F64
    condition: F64
    terms: int = 1
    products: float = 0.0
    quotient: bool = False
    addends: tuple[Interval, ...] | None = None

    def map(self, f: Callable[[Any], Any]) -> History:
        """The history with `f`, which moves elements, applied to every array."""
        return combined([self], lambda a: f(a[0]))

    @property
    def roundings(self) -> float:
        """How often a term is rounded at most."""
        return self.products + self.terms - 1

    @property
    def unknown(self) -> Mask:
        """Where a rearrangement may give anything."""
        return np.isnan(self.lo)

    def exact(self, fmt: FloatFormat) -> Mask:
        """Where no order of evaluation rounds, and none has a denormal in between."""
        with np.errstate(invalid="ignore", over="ignore"):
            whole = fits(self.magnitude, self.quantum, fmt, fmt.precision)
        return whole & (self.least >= fmt.least)

    def overflows(self, fmt: FloatFormat) -> Mask:
        """Where some order of evaluation may have a result in between that the type does not hold."""
        beyond: Mask = (self.most > fmt.greatest) | (self.divisor_most > fmt.greatest)
        return beyond | (self.divisor_least < fmt.least)

    def slack(self, fmt: FloatFormat) -> F64:
        """How far any rearrangement may be from the value without rounding."""
        unit = self._units(fmt)
        if unit >= 0.5:
            return np.full(self.lo.shape, 2 * fmt.greatest)
        exact = self.exact(fmt)
        slack: F64 = np.where(exact, 0.0, unit * (1 + 2 * unit) * self.magnitude)
        tiny = ~exact & ((self.least < fmt.least) | (self.quantum < fmt.least))
        if tiny.any():
            # What is denormal in between becomes 0, or rounds by the least denormal; what follows multiplies that.
            factor = self.roundings * self.most
            lost = np.minimum(factor * fmt.least, self.magnitude + factor * fmt.least * fmt.unit)
            slack = slack + np.where(tiny, lost, 0.0)
        return slack

    def _units(self, fmt: FloatFormat) -> float:
        """The relative error of all roundings of a term together.

        Nothing adds or multiplies in float8. So a term is rounded to it once, before it is used, and in a type of at
        least bfloat16's precision otherwise.
        """
        if fmt.precision >= _LEAST_ARITHMETIC.precision:
            return self.roundings * fmt.unit
        return min(self.roundings * fmt.unit, fmt.unit + self.roundings * _LEAST_ARITHMETIC.unit)

    def bounds(self, component: ComponentType) -> Interval:
        """The bounds of every rearrangement, before the last rounding."""
        fmt = component.format
        slack = self.slack(fmt)
        low, high = self.lo - slack, self.hi + slack
        if self.addends is None or not slack.any():
            return low, high
        # No order of these sums has a denormal in between that is not one of the terms.
        has_few_orders = (self.quantum >= fmt.least) & (slack > 0) & (self.magnitude <= fmt.greatest)
        if not has_few_orders.any():
            return low, high
        some = [
            (np.broadcast_to(a, low.shape)[has_few_orders], np.broadcast_to(b, low.shape)[has_few_orders])
            for a, b in self.addends
        ]
        low[has_few_orders], high[has_few_orders] = of_every_order(some, partial(_rounded_sum, component), _hull)
        return low, high


class Deferred:
    """A history that is worked out when an operation asks for it: that of what is stored at once never is.

    `of` are the histories that the work asks for. They are worked out before it, the first ones first: a value that a
    loop carries on in masks has a chain of hundreds, and each by itself would be a call within a call.
    """

    def __init__(self, work: Callable[[], History], *of: Deferred | None) -> None:
        self._work: Callable[[], History] | None = work
        self._of = of
        self._known: History | None = None

    @property
    def known(self) -> History:
        """The history."""
        waiting = [self]
        while waiting:
            last = waiting[-1]
            if left := [other for other in last._of if other is not None and other._known is None]:
                waiting += left
                continue
            waiting.pop()
            if last._work is not None:
                last._known = last._work()
                # Without them, what it was made of can go.
                last._work, last._of = None, ()
        assert self._known is not None
        return self._known

    def then(self, f: Callable[[History], History]) -> Deferred:
        """What `f` makes of it, deferred as well."""
        return Deferred(lambda: f(self.known), self)


_ARRAYS = ("lo", "hi", "magnitude", "quantum", "most", "least", "common", "divisor_most", "divisor_least", "condition")
assert tuple(f.name for f in fields(History))[: len(_ARRAYS)] == _ARRAYS


def combined(histories: Sequence[History], f: Callable[[list[Any]], Any]) -> History:
    """What `f` makes of each array of several histories, which it selects from or joins."""
    arrays = {name: f([getattr(h, name) for h in histories]) for name in _ARRAYS}
    terms, products = max(h.terms for h in histories), max(h.products for h in histories)
    addends = None
    if len(histories) == 1 and histories[0].addends is not None:
        addends = tuple((f([low]), f([high])) for low, high in histories[0].addends)
    quotient = any(h.quotient for h in histories)
    return History(**arrays, terms=terms, products=products, quotient=quotient, addends=addends)


def loaded(bounds: Interval, quantum: F64) -> History:
    """That of a value that was loaded, is a constant or exact, or may not be taken apart."""
    low, high = bounds
    size = np.maximum(np.abs(low), np.abs(high))
    smallest = np.where((low <= 0) & (high >= 0), 0.0, np.minimum(np.abs(low), np.abs(high)))
    one = np.ones(size.shape)
    least = np.minimum(np.where(size == 0, 1.0, smallest), 1.0)
    return History(low, high, size, quantum, np.maximum(size, 1.0), least, least, one, one, one, addends=((low, high),))


def added(a: History, b: History) -> History:
    """That of a + b."""
    low, high = intervals.add((a.lo, a.hi), (b.lo, b.hi))
    addends = None
    if a.addends is not None and b.addends is not None and len(a.addends) + len(b.addends) <= MOST_ADDENDS:
        addends = a.addends + b.addends
    return History(
        low,
        high,
        a.magnitude + b.magnitude,
        np.minimum(a.quantum, b.quantum),
        a.most + b.most,
        np.minimum(a.least, b.least),
        np.maximum(a.common, b.common),
        np.maximum(a.divisor_most, b.divisor_most),
        np.minimum(a.divisor_least, b.divisor_least),
        np.maximum(a.condition, b.condition),
        a.terms + b.terms,
        max(a.products, b.products),
        a.quotient or b.quotient,
        addends,
    )


def multiplied(a: History, b: History) -> History:
    """That of a * b."""
    low, high = intervals.mul((a.lo, a.hi), (b.lo, b.hi))
    with np.errstate(invalid="ignore", over="ignore"):
        for total, factor in ((a, b), (b, a)):
            if total.terms > 1:
                low, high = _apart((low, high), total.magnitude * (factor.hi - factor.lo))
        return History(
            low,
            high,
            a.magnitude * a.condition * b.magnitude * b.condition,
            a.quantum * b.quantum,
            a.most * b.most,
            a.least * b.least,
            a.common * b.common,
            a.divisor_most * b.divisor_most,
            a.divisor_least * b.divisor_least,
            np.ones(low.shape),
            a.terms * b.terms,
            a.products + b.products + 1,
            a.quotient or b.quotient,
        )


def divided(a: History, b: History, divisor: Interval) -> History:
    """That of a / b, by `divisor`, what b may be as a whole and not 0: each of its factors may divide alone."""
    low, high = intervals.div((a.lo, a.hi), divisor)
    smallest = np.minimum(np.abs(divisor[0]), np.abs(divisor[1]))
    with np.errstate(divide="ignore", over="ignore"):
        if a.terms > 1:
            low, high = _apart((low, high), a.magnitude / smallest * ((divisor[1] - divisor[0]) / smallest))
        factor = np.minimum(b.common, smallest)
        condition = b.condition * (b.magnitude / smallest if b.terms > 1 else 1.0)
        at_once = a.condition * (condition if a.quotient or b.quotient else 1.0)
        return History(
            low,
            high,
            a.magnitude / smallest * at_once,
            np.zeros(low.shape),
            a.most / factor,
            a.least / np.maximum(b.most, 1.0),
            a.common / np.maximum(b.most, 1.0),
            a.divisor_most * b.most,
            a.divisor_least * factor,
            np.broadcast_to(condition, low.shape),
            a.terms,
            # Of a sum a factor may be taken out, which divides alone: x + x is 2 * x.
            a.products + DIVISION_ULP * (1 + b.products + (b.terms > 1)),
            True,
        )


def _apart(bounds: Interval, reach: F64) -> Interval:
    """The bounds where each term may have its own value of a factor that is an interval: computed for each anew."""
    return bounds[0] - reach, bounds[1] + reach


def negated(h: History) -> History:
    """That of -a."""
    addends = None if h.addends is None else tuple((-high, -low) for low, high in h.addends)
    return replaced_bounds(h, (-h.hi, -h.lo), addends)


def replaced_bounds(h: History, bounds: Interval, addends: tuple[Interval, ...] | None = None) -> History:
    """The history of a value whose terms have other signs, or of which only some count: with other bounds."""
    return replace(h, lo=bounds[0], hi=bounds[1], addends=addends)


def either(a: History, b: History, bounds: Interval) -> History:
    """That of a minimum, maximum or selection of two values."""
    both = combined([a, b], lambda arrays: np.maximum(*arrays))
    return History(
        *bounds,
        both.magnitude,
        np.minimum(a.quantum, b.quantum),
        both.most,
        np.minimum(a.least, b.least),
        np.minimum(a.common, b.common),
        both.divisor_most,
        np.minimum(a.divisor_least, b.divisor_least),
        both.condition,
        both.terms,
        both.products,
        both.quotient,
    )


def joined(a: History, b: History) -> History:
    """That of a value that may be either of two."""
    return either(a, b, _hull((a.lo, a.hi), (b.lo, b.hi)))


def of_every_order(terms: Sequence[T], add: Callable[[T, T], T], either_of: Callable[[T, T], T]) -> T:
    """What the sum of some terms may be, in any order: `add` sums two, and `either_of` joins what two orders give."""
    numbers = range(len(terms))
    sums = {frozenset((n,)): terms[n] for n in numbers}
    for count in range(2, len(terms) + 1):
        for some in map(frozenset, combinations(numbers, count)):
            sums[some] = reduce(either_of, (add(sums[half], sums[some - half]) for half in _halves(some)))
    return sums[frozenset(numbers)]


def _halves(some: frozenset[int]) -> Iterator[frozenset[int]]:
    """One part of each split of a set of numbers in two: that with the least number."""
    first = min(some)
    rest = sorted(some - {first})
    return (frozenset((first, *part)) for size in range(len(rest)) for part in combinations(rest, size))


def _hull(a: Interval, b: Interval) -> Interval:
    return np.minimum(a[0], b[0]), np.maximum(a[1], b[1])


def _rounded_sum(component: ComponentType, a: Interval, b: Interval) -> Interval:
    low, high = intervals.add(a, b)
    return below(component, low), above(component, high)
