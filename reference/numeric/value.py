"""Values: bit patterns where they are exact, and what else they may be where they are not.

An array of elements of one component type (or of conditions). Loads, stores and constants keep bits
(NU-014), so bits are what an exact element is; an element with more than one allowed value is a real
interval with `Freedom`. See docs/decisions/values-with-freedom.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cts.case.model import ComponentType
from cts.case.oracle.expectation import Freedom
from cts.reference.numeric.arrays import I64, U8, Bits, Mask
from cts.reference.numeric.formats import F64, lowest_bit, real
from cts.reference.numeric.history import Deferred, History, combined, loaded

#: Set in the flags of every element with more than one allowed value, beside the bits of `Freedom`.
FREE = 8

#: The most reasons that one value lists: readers see them on one line, and the first ones explain the freedom.
_MOST_REASONS = 4

Apply = Callable[[Any], Any]


@dataclass(frozen=True)
class Free:
    """What elements may be: all arrays have the shape of the value's bits.

    `flags` is 0 where the element is exactly its bits; else FREE and perhaps bits of `Freedom`.
    [lo, hi] is a real interval, whose ends may be infinite; with Freedom.ANY it has no meaning, and it is
    [NaN, NaN] of what is a NaN for sure. Beside it, EITHER_ZERO allows both zeros (a denormal that may be
    flushed is {0, x}) and NAN every NaN. `group` numbers elements that are equal by definition, whatever
    they are (0: none, CM-023). `step` is a power of two of which every allowed number of a free element
    is a multiple (0, None: unknown): the place of its last binding rounding (NU-019). So the roundings
    of (x + c) - c leave no x between them. `placed` says that every free element has been rounded to its last place.
    """

    flags: U8
    lo: F64
    hi: F64
    reasons: tuple[str, ...] = ()
    group: I64 | None = None
    step: F64 | None = None
    placed: bool = False


@dataclass(frozen=True)
class Value:
    """An array of components; of conditions (0 or 1, uint8) where `component` is None.

    `bits` hold one allowed value of each element. `history` is of computed floats in undecorated
    programs only.
    """

    component: ComponentType | None
    bits: Bits
    free: Free | None = None
    history: Deferred | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        return self.bits.shape

    @property
    def flags(self) -> U8:
        return np.zeros(self.shape, np.uint8) if self.free is None else self.free.flags

    @property
    def core(self) -> tuple[F64, F64]:
        """Bounds of what elements are when they are none of the zeros and NaNs that `flags` allow beside them.

        Of exact ones, their number twice (perhaps NaN or infinite).
        """
        if self.free is not None:
            return self.free.lo, self.free.hi
        number = numbers(self.component, self.bits)
        return number, number

    @property
    def interval(self) -> tuple[F64, F64]:
        """Bounds of all numbers that elements may be, zero among them where it is allowed beside others."""
        low, high = self.core
        if self.free is None:
            return low, high
        apart = (self.free.flags & Freedom.EITHER_ZERO != 0) & ((low > 0) | (high < 0))
        if not apart.any():
            return low, high
        return np.where(apart, np.minimum(low, 0.0), low), np.where(apart, np.maximum(high, 0.0), high)

    @property
    def reasons(self) -> tuple[str, ...]:
        return () if self.free is None else self.free.reasons

    @property
    def unbounded(self) -> Mask:
        """Elements that may be anything, NaN or infinite."""
        lo, hi = self.core
        unknown = ~(np.isfinite(lo) & np.isfinite(hi))
        if self.free is not None:
            unknown |= (self.free.flags & (Freedom.ANY | Freedom.NAN)) != 0
        return unknown

    def map(self, f: Apply) -> Value:
        """The value with `f`, which moves elements, applied to every array."""
        free, history = self.free, self.history
        if free is not None:
            group, step = (None if a is None else f(a) for a in (free.group, free.step))
            free = replace(free, flags=f(free.flags), lo=f(free.lo), hi=f(free.hi), group=group, step=step)
        if history is not None:
            history = history.then(lambda h: h.map(f))
        return Value(self.component, f(self.bits), free, history)

    def broadcast(self, shape: tuple[int, ...]) -> Value:
        """The value with its elements repeated to fill `shape`."""
        return self if self.shape == shape else self.map(lambda a: np.broadcast_to(a, shape))

    @property
    def stored(self) -> Value:
        """The value as memory holds it: without history."""
        return self if self.history is None else replace(self, history=None)


def numbers(component: ComponentType | None, bits: Bits) -> F64:
    """The numbers behind bit patterns; of conditions, 0 and 1."""
    return bits.astype(np.float64) if component is None else real(component, bits)


def with_freedom(
    component: ComponentType | None,
    bits: Bits,
    flags: U8,
    interval: tuple[F64, F64],
    reasons: tuple[str, ...],
    step: F64 | None = None,
) -> Value:
    """A value whose elements are free where `flags` is not 0."""
    if not flags.any():
        return Value(component, bits)
    if component is not None and not component.is_float:
        # No integer is -0, which what rounds to one, such as np.trunc, may leave.
        interval = interval[0] + 0.0, interval[1] + 0.0
    lo, hi = (np.broadcast_to(bound, bits.shape) for bound in interval)
    step = None if step is None else np.broadcast_to(step, bits.shape)
    return Value(component, bits, Free(np.broadcast_to(flags, bits.shape), lo, hi, reasons, step=step))


def anything(component: ComponentType, shape: tuple[int, ...], reasons: tuple[str, ...]) -> Value:
    """Elements that may be anything."""
    bits: Bits = np.zeros(shape, component.bits_dtype)
    zero = np.zeros(shape)
    flags = np.full(shape, FREE | Freedom.ANY, np.uint8)
    return Value(component, bits, Free(flags, zero, zero, reasons))


def concatenated(values: Sequence[Value]) -> Value:
    """Values of one component type, one after the other along the last axis; the other axes broadcast."""
    lead = np.broadcast_shapes(*(v.shape[:-1] for v in values))
    parts = [v.broadcast((*lead, v.shape[-1])) for v in values]
    bits: Bits = np.concatenate([v.bits for v in parts], axis=-1)
    free, history = None, None
    if any(v.free is not None for v in parts):
        lo, hi = (np.concatenate([v.core[side] for v in parts], axis=-1) for side in (0, 1))
        step = None
        if any(v.free is not None and v.free.step is not None for v in parts):
            step = np.concatenate([_free_step(v) for v in parts], axis=-1)
        free = Free(np.concatenate([v.flags for v in parts], axis=-1), lo, hi, merged(*parts), step=step)
    if any(v.history is not None for v in parts):
        history = Deferred(
            lambda: combined([history_of(v) for v in parts], lambda arrays: np.concatenate(arrays, axis=-1)),
            *(v.history for v in parts),
        )
    return Value(parts[0].component, bits, free, history)


def loosened(value: Value, unknown: Mask, reasons: tuple[str, ...]) -> Value:
    """The value with nothing known of the elements of a mask."""
    if not unknown.any():
        return value
    assert value.component is not None
    return where(unknown, anything(value.component, value.shape, reasons), value)


def or_zero(value: Value, mask: Mask) -> Value:
    """Floats; those of a mask may also be a zero of either sign."""
    low, high = value.core
    flags = np.where(mask, value.flags | np.uint8(FREE | Freedom.EITHER_ZERO), value.flags).astype(np.uint8)
    free = value.free or Free(flags, low, high)
    return replace(value, free=replace(free, flags=flags, placed=False))


def widened(value: Value, mask: Mask, bounds: tuple[F64, F64]) -> Value:
    """Floats with a wider interval where the mask is set: it reaches from their own bounds to these bounds."""
    if not mask.any():
        return value
    low, high = value.core
    lo, hi = np.where(mask, np.fmin(low, bounds[0]), low), np.where(mask, np.fmax(high, bounds[1]), high)
    flags = np.where(mask, value.flags | np.uint8(FREE), value.flags).astype(np.uint8)
    step = np.where(mask, 0.0, _free_step(value))
    free = value.free or Free(flags, lo, hi)
    return replace(value, free=replace(free, flags=flags, lo=lo, hi=hi, step=step, placed=False))


def where(mask: Mask, a: Value, b: Value) -> Value:
    """Elements of `a` where the mask is set, else of `b`; shapes broadcast."""
    bits: Bits = np.where(mask, a.bits, b.bits)
    if a.free is None and b.free is None and a.history is None and b.history is None:
        return Value(a.component, bits)
    a, b = a.broadcast(bits.shape), b.broadcast(bits.shape)
    history = None
    if a.history is not None or b.history is not None:
        history = Deferred(
            lambda: combined([history_of(a), history_of(b)], lambda arrays: np.where(mask, *arrays)),
            a.history,
            b.history,
        )
    if a.free is None and b.free is None:
        return Value(a.component, bits, None, history)
    (a_lo, a_hi), (b_lo, b_hi) = a.core, b.core
    flags = np.where(mask, a.flags, b.flags)
    low, high = np.where(mask, a_lo, b_lo), np.where(mask, a_hi, b_hi)
    step = None
    if any(v.free is not None and v.free.step is not None for v in (a, b)):
        step = np.where(mask, _free_step(a), _free_step(b))
    free = Free(flags, low, high, merged(a, b), _grouped(mask, a, b), step)
    return Value(a.component, bits, free if flags.any() else None, history)


def _grouped(mask: Mask, a: Value, b: Value) -> I64 | None:
    groups = [None if v.free is None else v.free.group for v in (a, b)]
    if all(g is None for g in groups):
        return None
    none = np.zeros(a.shape, np.int64)
    return np.where(mask, *(none if g is None else g for g in groups))


def step_of(value: Value) -> F64:
    """A power of two of which each element is a multiple; 0 where unknown."""
    lo, _ = value.core
    if value.free is None:
        return lowest_bit(lo)
    return np.where(value.free.flags == 0, lowest_bit(lo), _free_step(value))


def _free_step(value: Value) -> F64:
    return np.zeros(value.shape) if value.free is None or value.free.step is None else value.free.step


def beside_free(values: Sequence[Value], *zeros: Mask | None) -> Mask:
    """Whether any element of the same set is free, in one of the values, or in one of the masks.

    Of values of fewer axes than (sets, instances, rows, cols), which are every set's: whether any is.
    """
    masks = [v.free.flags != 0 for v in values if v.free is not None] + [z for z in zeros if z is not None]
    beside: Mask = np.zeros((), bool)
    for mask in masks:
        beside = beside | (mask.any(axis=(1, 2, 3), keepdims=True) if mask.ndim == 4 else mask.any())
    return beside


def unstepped(value: Value) -> Value:
    """The value with every number of its intervals allowed."""
    return value if value.free is None else replace(value, free=replace(value.free, step=None, placed=False))


def stepped(value: Value, step: F64) -> Value:
    """Floats whose free elements are multiples of `step`, where it is not 0: so are their bounds and bits."""
    free, component = value.free, value.component
    if free is None or component is None:
        return value
    step = np.broadcast_to(step, value.shape)
    usable = (free.flags != 0) & (free.flags & (Freedom.ANY | Freedom.NAN) == 0) & (step > 0) & np.isfinite(step)
    usable &= np.isfinite(free.lo) & np.isfinite(free.hi)
    unit = np.where(usable, step, 1.0)
    # Elsewhere 0 stands in: division warns of NaNs and infinities.
    low, high, middle = (np.where(usable, x, 0.0) for x in (free.lo, free.hi, numbers(component, value.bits)))
    low, high = np.ceil(low / unit) * unit, np.floor(high / unit) * unit
    nearest = np.clip(np.rint(middle / unit) * unit, low, high)
    bits = np.where(usable, nearest.astype(component.dtype).view(component.bits_dtype), value.bits)
    lo, hi = np.where(usable, low, free.lo), np.where(usable, high, free.hi)
    return replace(value, bits=bits, free=replace(free, lo=lo, hi=hi, step=np.where(usable, step, 0.0), placed=False))


def merged(*values: Value) -> tuple[str, ...]:
    """The reasons of several values, each once."""
    return tuple(dict.fromkeys(r for v in values for r in v.reasons))[:_MOST_REASONS]


def history_of(value: Value) -> History:
    """The value's own history, or that of one that was loaded, a constant or exact."""
    if value.history is not None:
        return value.history.known
    lo, hi = value.interval
    with np.errstate(invalid="ignore"):
        point = lo == hi
    return loaded((lo, hi), np.where(point, lowest_bit(lo), 0.0))


def rearranged(relaxed: Value) -> History:
    """What an operation gives when it may be rearranged, as the history of a value that is bound otherwise (NU-049)."""
    history, unknown = history_of(relaxed), relaxed.unbounded
    if not unknown.any():
        return history
    return replace(history, lo=np.where(unknown, np.nan, history.lo), hi=np.where(unknown, np.nan, history.hi))


def unrounded(value: Value) -> Value:
    """A value as an operation reads it that may drop roundings of what its operand was made of (NU-049).

    For operations whose results are not bounded by the history of their operands.
    """
    if value.history is None or not is_float(value.component):
        return value
    assert value.component is not None
    known, (low, high) = value.history.known, value.core
    with np.errstate(invalid="ignore", over="ignore"):
        least, most = known.bounds(value.component)
    unknown = known.unknown | np.isnan(least) | np.isnan(most)
    lo, hi = np.where(unknown, low, np.fmin(low, least)), np.where(unknown, high, np.fmax(high, most))
    wider = unknown | (lo < low) | (hi > high)
    if not wider.any():
        return value
    flags = np.where(wider, np.uint8(FREE), np.uint8(0)) | np.where(unknown, np.uint8(Freedom.ANY), np.uint8(0))
    reasons = (*value.reasons, "roundings of operands may be dropped (NU-049)")
    step = np.where(wider, 0.0, step_of(value)) if value.free is not None else None
    loose = with_freedom(value.component, value.bits, value.flags | flags, (lo, hi), reasons, step)
    return replace(loose, history=value.history)


def is_float(component: ComponentType | None) -> bool:
    """Whether elements of the type have float arithmetic's freedom at all."""
    return component is not None and component.is_float
