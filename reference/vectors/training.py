"""Accumulations (CV-020, CV-021, CV-040): everything that is added to an element, in no order.

Exact where every partial sum in any order is (as in `products`); else the exact sum, give or take the
bound for so many additions. Sums are made where an element is read or stored to, behind a barrier, else at the end of
the dispatch.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from cts.case.model import ComponentType
from cts.case.oracle.expectation import Freedom, Policy
from cts.reference.matrices.products import around
from cts.reference.numeric import intervals
from cts.reference.numeric.arrays import I64, Mask
from cts.reference.numeric.expression import hull
from cts.reference.numeric.floats import Floats
from cts.reference.numeric.formats import F64, fits, lowest_bit, nearest
from cts.reference.numeric.history import of_every_order
from cts.reference.numeric.integers import truncated
from cts.reference.numeric.rounding import operand, parts, rounded, spanned
from cts.reference.numeric.value import FREE, Value, anything, merged, where, with_freedom

#: Elements that so few values are added to are judged by trying all orders.
_FEW = 3
#: Products of an outer product that are computed at once.
_AT_ONCE = 1 << 20
_ROUNDED = "products may be rounded before they are added, or not (CV-037)"


class IntegerAccumulation:
    """What is added to `count` integers of one type under each of so many parameter sets: sums wrap (CV-040)."""

    def __init__(self, component: ComponentType, sets: int, count: int) -> None:
        self.component = component
        self.total: I64 = np.zeros((sets, count), np.int64)
        self.gained: Mask = np.zeros((sets, count), bool)
        self.unknown: Mask = np.zeros((sets, count), bool)
        self.reasons: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """The elements under one set."""
        return int(self.total.shape[1])

    def add(self, vector: Value, element: I64, active: Mask | None) -> None:
        """Add vectors (sets, invocations, 1, n) to elements, as many, where `active`, (sets, invocations)."""
        chosen, indices, shape = _places(vector, element, active, self.total.shape)
        bits, free = (np.broadcast_to(a, shape)[chosen] for a in (vector.bits, vector.flags != 0))
        np.add.at(self.total.reshape(-1), indices, bits.astype(np.int64))
        self.gained.reshape(-1)[indices] = True
        np.logical_or.at(self.unknown.reshape(-1), indices, free)
        self.reasons = tuple(dict.fromkeys((*self.reasons, *vector.reasons)))

    def finished(self, before: Value) -> tuple[Value, Mask]:
        """The elements afterwards and which of them gained anything, from what they were, (sets, count)."""
        after = Value(self.component, truncated(self.component, before.bits.astype(np.int64) + self.total))
        unknown = self.unknown | (before.flags != 0)
        if unknown.any():
            reasons = (*before.reasons, *self.reasons)
            after = where(unknown, anything(self.component, after.shape, reasons), after)
        return after, self.gained

    def forget(self, elements: Mask) -> None:
        """Begin anew for elements of a mask (sets, count), whose sums are in memory."""
        self.total[elements] = 0
        self.gained[elements] = False
        self.unknown[elements] = False


class Accumulation:
    """What is added to `count` elements of one component type under each of so many parameter sets."""

    def __init__(self, component: ComponentType, sets: int, count: int) -> None:
        self.component = component
        shape = (sets, count)
        self.low: F64 = np.zeros(shape)
        self.high: F64 = np.zeros(shape)
        self.magnitude: F64 = np.zeros(shape)
        self.quantum: F64 = np.full(shape, np.inf)
        self.additions: I64 = np.zeros(shape, np.int64)
        self.unbounded: Mask = np.zeros(shape, bool)
        self.reasons: tuple[str, ...] = ()
        #: The first terms of each element: bounds, and whether zero is beside them.
        self.first: tuple[F64, F64, Mask] = (
            np.zeros((_FEW, *shape)), np.zeros((_FEW, *shape)), np.zeros((_FEW, *shape), bool)
        )  # fmt: skip

    @property
    def count(self) -> int:
        """The elements under one set."""
        return int(self.low.shape[1])

    def add(self, vector: Value, element: I64, active: Mask | None) -> None:
        """Add vectors (sets, invocations, 1, n) to elements, as many, where `active`, (sets, invocations)."""
        chosen, indices, shape = _places(vector, element, active, self.low.shape)
        bounds, zero, unbounded = parts(vector)
        zero = np.zeros((), bool) if zero is None else zero
        low, high = (np.broadcast_to(end, shape)[chosen] for end in bounds)
        at_zero = np.broadcast_to(zero, shape)[chosen]
        self._keep(indices, low, high, at_zero)
        low, high = spanned((low, high), at_zero)
        self._scatter(indices, low, high, np.broadcast_to(unbounded, shape)[chosen])
        self.reasons = tuple(dict.fromkeys((*self.reasons, *vector.reasons)))

    def add_products(self, a: Value, b: Value, active: Mask) -> None:
        """Add each active invocation's outer product of vectors (..., 1, M) and (..., 1, N)."""
        sets, invocations = np.broadcast_shapes(active.shape, a.shape[:2], b.shape[:2], (len(self.low), 1))
        a, b = (v.broadcast((sets, invocations, *v.shape[2:])) for v in (a, b))
        active = np.broadcast_to(active, (sets, invocations))
        for some in _chunks(invocations, sets * a.shape[-1] * b.shape[-1]):
            rows = a.map(lambda v: v[:, some, 0, :, None])  # noqa: B023
            cols = b.map(lambda v: v[:, some])  # noqa: B023
            self._add_dense(_products(rows, cols), active[:, some, None, None])
        self.reasons = tuple(dict.fromkeys((*self.reasons, *merged(a, b))))

    def finished(self, before: Value) -> tuple[Value, Mask]:
        """The elements afterwards and which of them gained anything, from what they were, (sets, count)."""
        fmt = self.component.format
        (start, end), unbounded = operand(before)
        low, high = start + self.low, end + self.high
        magnitude = self.magnitude + np.maximum(np.abs(start), np.abs(end))
        quantum = np.minimum(self.quantum, np.where(start == end, lowest_bit(start), 0.0))
        unknown = unbounded | self.unbounded | (magnitude > fmt.greatest)
        exact = fits(magnitude, quantum, fmt, fmt.precision)
        gained = self.additions > 0
        few = gained & (self.additions <= _FEW) & ~exact & ~unknown
        reasons = (*before.reasons, *self.reasons)
        if (exact | unknown | ~gained).all():
            bounds = (low, low) if np.array_equal(low, high) else (low, high)
            return rounded(self.component, bounds, unknown, reasons), gained
        most = int(self.additions[~exact].max())
        low, high = around((low, high), magnitude, most, fmt.precision, fmt, exact | unknown)
        reason = Policy(f"the order of accumulation is free (CV-037), gamma_{most} at {self.component.value}")
        total = rounded(self.component, (low, high), unknown, (*reasons, reason) if (~few & ~exact).any() else reasons)
        return (where(few, self._of_few(before, few), total) if few.any() else total), gained

    def forget(self, elements: Mask) -> None:
        """Begin anew for elements of a mask (sets, count), whose sums are in memory."""
        for numbers in (self.low, self.high, self.magnitude, self.additions, self.unbounded):
            numbers[elements] = 0
        self.quantum[elements] = np.inf
        for kept in self.first:
            kept[:, elements] = 0

    def _of_few(self, before: Value, few: Mask) -> Value:
        """Elements of a mask that few values were added to: whatever any order may give."""
        values = [before.stored.map(lambda a: a[few])]
        for low, high, zero in zip(*self.first, strict=True):
            flags = np.where((low != high) | zero, np.uint8(FREE), np.uint8(0))[few]
            flags = np.where(zero[few], flags | np.uint8(Freedom.EITHER_ZERO), flags).astype(np.uint8)
            bits = nearest(self.component, low[few])
            values.append(with_freedom(self.component, bits, flags, (low[few], high[few]), self.reasons))
        # Each addition is rounded either way, and denormals are flushed or not.
        sums = of_every_order(values, Floats(loose=False).add, partial(hull, reasons=()))
        place = np.zeros(few.shape, np.int64)
        place[few] = np.arange(int(few.sum()))
        return sums.map(lambda a: a[place])

    def _keep(self, indices: I64, low: F64, high: F64, zero: Mask) -> None:
        """Keep terms, each of an element by its index, where it is one of the first."""
        order = np.argsort(indices, kind="stable")
        ascending = indices[order]
        begins = np.flatnonzero(np.diff(ascending, prepend=-1))
        rank = np.arange(len(order)) - np.repeat(begins, np.diff(begins, append=len(order)))
        slot = self.additions.reshape(-1)[ascending] + rank
        some = slot < _FEW
        for kept, terms in zip(self.first, (low, high, zero), strict=True):
            kept.reshape(_FEW, -1)[slot[some], ascending[some]] = terms[order][some]

    def _scatter(self, indices: I64, low: F64, high: F64, unbounded: Mask) -> None:
        quantum = np.where(low == high, lowest_bit(low), 0.0)
        magnitude = np.maximum(np.abs(low), np.abs(high))
        np.add.at(self.low.reshape(-1), indices, low)
        np.add.at(self.high.reshape(-1), indices, high)
        np.add.at(self.magnitude.reshape(-1), indices, magnitude)
        np.add.at(self.additions.reshape(-1), indices, 1)
        np.minimum.at(self.quantum.reshape(-1), indices, quantum)
        np.logical_or.at(self.unbounded.reshape(-1), indices, unbounded)

    def _add_dense(self, products: Value, active: Mask) -> None:
        """Add matrices (sets, some, M, N), each to all elements."""
        bounds, zero, unbounded = parts(products)
        (low, high), shape = bounds, (len(unbounded), -1)
        at_zero = np.broadcast_to(np.zeros((), bool) if zero is None else zero, low.shape)
        slot = self.additions.max(axis=1)[:, None, None, None] + np.cumsum(active, axis=1) - 1
        for k in range(_FEW):
            chosen = active & (slot == k)
            if chosen.any():
                taken = chosen.any(axis=1).reshape(len(low), 1)
                for kept, terms in zip(self.first, (low, high, at_zero), strict=True):
                    kept[k] = np.where(taken, np.where(chosen, terms, 0).sum(axis=1).reshape(shape), kept[k])
        low, high = spanned(bounds, zero)
        quantum = np.where(low == high, lowest_bit(low), 0.0)
        magnitude = np.maximum(np.abs(low), np.abs(high))
        for total, terms in ((self.low, low), (self.high, high), (self.magnitude, magnitude)):
            total += np.where(active, terms, 0.0).sum(axis=1).reshape(shape)
        self.quantum = np.minimum(self.quantum, np.where(active, quantum, np.inf).min(axis=1).reshape(shape))
        self.unbounded |= (unbounded & active).any(axis=1).reshape(shape)
        self.additions += np.broadcast_to(active, low.shape).sum(axis=1).reshape(shape)


def _places(
    vector: Value, element: I64, active: Mask | None, sums: tuple[int, ...]
) -> tuple[Mask, I64, tuple[int, ...]]:
    """Which components are added, of what shape, and the flat index of the sum, of all (sets, count), each goes to."""
    sets, count = sums
    takers = np.ones((1, 1, 1, 1), bool) if active is None else active[..., None, None]
    shape = np.broadcast_shapes(vector.shape, element.shape, takers.shape, (sets, 1, 1, 1))
    chosen = np.broadcast_to(takers, shape)
    first = np.arange(sets, dtype=np.int64)[:, None, None, None] * count
    return chosen, np.broadcast_to(first + element, shape)[chosen], shape


def _products(a: Value, b: Value) -> Value:
    """Products that may be rounded to float16, of which the exact ones are among the neighbours."""
    (x, x_unbounded), (y, y_unbounded) = operand(a), operand(b)
    return rounded(ComponentType.float16, intervals.mul(x, y), x_unbounded | y_unbounded, (_ROUNDED,))


def _chunks(count: int, each: int) -> Iterator[slice]:
    """Slices of `count` so long that `each` times their length is moderate."""
    length = max(1, _AT_ONCE // max(1, each))
    return (slice(start, start + length) for start in range(0, count, length))
