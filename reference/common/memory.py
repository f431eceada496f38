"""One buffer's contents under every parameter set: bytes, and the freedom of the values stored there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from cts.model import Buffer, ComponentType, initial_bits
from cts.oracle.expectation import Allowed, Freedom, Identical, Intervals
from cts.reference.numeric.arrays import I64, U8, Bits, Mask
from cts.reference.numeric.formats import F64, above, below, nearest, with_infinities
from cts.reference.numeric.integers import truncated
from cts.reference.numeric.value import FREE, Free, Value, numbers

_FREEDOMS = np.uint8(Freedom.ANY | Freedom.NAN | Freedom.EITHER_ZERO)


class Memory:
    """Bytes, shape (sets, size): a single row until the sets differ, by what they begin with or by a store.

    Freedom is kept component by component, as long as memory is read with the type it was written with;
    of anything else made of such bytes nothing is known.
    """

    def __init__(self, buffer: Buffer, contents: U8 | None = None) -> None:
        """`contents`, (sets, size), are what the buffer holds at first; None: its own data, under every set."""
        if contents is None:
            contents = initial_bits(buffer).view(np.uint8)[None]
        self.size = contents.shape[1]
        # Whole words of every component size.
        self.rows = np.zeros((len(contents), -(-self.size // 4) * 4), np.uint8)
        self.rows[:, : self.size] = contents
        self.layers: dict[ComponentType, _Layer] = {}

    def contents(self, sets: int) -> U8:
        return np.broadcast_to(self.rows[:, : self.size], (sets, self.size))

    def load(self, byte: I64, component: ComponentType) -> Value:
        """The components at byte offsets (sets, instances, ...), which are multiples of their size."""
        components = self.rows.view(component.bits_dtype)
        index = byte >> _shift(component)
        if len(components) > 1:
            index = index + _first_of_each(components, byte.ndim)
        bits: Bits = components.reshape(-1).take(index)
        if not self.layers:
            return Value(component, bits)
        return self._freed(component, bits, byte)

    def store(self, byte: I64, accessed: Mask | None, value: Value) -> None:
        """Store elements where `accessed` (None: all of them)."""
        component = value.component
        assert component is not None
        sets = max(len(self.rows), len(value.bits), len(byte))
        self._repeat(sets)
        if len(byte) == 1 and accessed is None and value.free is None and not self.layers:
            self._store_everywhere(byte, value)
            return
        mask = np.ones((1, 1, 1, 1), bool) if accessed is None else accessed
        shape = np.broadcast_shapes(byte.shape, value.shape, mask.shape, (sets, 1, 1, 1))
        chosen = np.broadcast_to(mask, shape)
        size = component.size
        index = np.broadcast_to(byte // size + _first_of_each(self.rows.view(component.bits_dtype), 4), shape)[chosen]
        self.rows.view(component.bits_dtype).reshape(-1)[index] = np.broadcast_to(value.bits, shape)[chosen]
        if value.free is not None and component not in self.layers:
            self.layers[component] = _Layer(component, *self.rows.shape)
        for layer in self.layers.values():
            if layer.component is component:
                layer.put(index, value.broadcast(shape), chosen)
            else:
                layer.overwrite(index * size, size)

    def allowed(self, sets: int = 1) -> Allowed:
        """What so many parameter sets leave allowed, one set's bytes after the other's."""
        if self.layers:
            self._repeat(sets)
        layers = list(self.layers.values())
        intervals = tuple(i for layer in layers for i in layer.intervals(self.size))
        identical = tuple(i for layer in layers for i in layer.identical(self.size))
        return Allowed(self.contents(sets).reshape(-1), intervals, identical)

    def _store_everywhere(self, byte: I64, value: Value) -> None:
        """Store exact elements to the same places, (1, instances, rows, cols), under every set."""
        assert value.component is not None
        components = self.rows.view(value.component.bits_dtype)
        shape = (len(components), *np.broadcast_shapes(byte.shape[1:], value.shape[1:]))
        index = np.broadcast_to(byte >> _shift(value.component), (1, *shape[1:])).reshape(-1)
        bits = np.broadcast_to(value.bits, shape).reshape(len(components), -1)
        first = int(index[0])
        one_after_the_other = index[-1] - first == index.size - 1 and (index[1:] - index[:-1] == 1).all()
        components[:, slice(first, first + index.size) if one_after_the_other else index] = bits

    def _repeat(self, sets: int) -> None:
        """A row for each of so many sets, which one row stood for."""
        if sets > len(self.rows):
            self.rows = np.repeat(self.rows, sets, axis=0)
            for layer in self.layers.values():
                layer.repeat(sets)

    def _freed(self, component: ComponentType, bits: Bits, byte: I64) -> Value:
        first = (_first_of_each(self.rows, byte.ndim) if len(self.rows) > 1 else 0) + byte
        unknown = np.zeros(bits.shape, bool)
        for layer in self.layers.values():
            if layer.component is not component:
                unknown |= layer.touches(first, component.size)
        value = Value(component, bits)
        own = self.layers.get(component)
        free = None if own is None else own.get(first // component.size, value)
        if unknown.any():
            if free is None:
                number = numbers(component, bits)
                free = Free(np.zeros(bits.shape, np.uint8), number, number)
            reasons = (*free.reasons, "bits of a value that is not exact, read as another type")
            flags = np.where(unknown, np.uint8(FREE | Freedom.ANY), free.flags)
            free = Free(flags, free.lo, free.hi, reasons, free.group, free.step)
        return value if free is None or not free.flags.any() else Value(component, bits, free)


class _Layer:
    """The freedom of every component of one type, flat over (sets, components)."""

    def __init__(self, component: ComponentType, sets: int, size: int) -> None:
        self.component = component
        self.sets = sets
        count = sets * (size // component.size)
        self.flags: U8 = np.zeros(count, np.uint8)
        self.lo: F64 = np.zeros(count)
        self.hi: F64 = np.zeros(count)
        self.group: I64 = np.zeros(count, np.int64)
        self.step: F64 = np.zeros(count)
        self.reason: np.ndarray[Any, np.dtype[np.int32]] = np.zeros(count, np.int32)
        self.reasons: list[tuple[str, ...]] = [()]

    def repeat(self, sets: int) -> None:
        """The same for so many parameter sets, which one row stood for."""
        for name in ("flags", "lo", "hi", "group", "step", "reason"):
            setattr(self, name, np.tile(getattr(self, name), sets // self.sets))
        self.sets = sets

    def put(self, index: I64, value: Value, chosen: Mask) -> None:
        if value.free is None:
            self.flags[index] = 0
            self.group[index] = 0
            return
        free = value.free
        if free.reasons not in self.reasons:
            self.reasons.append(free.reasons)
        self.flags[index], self.lo[index], self.hi[index] = free.flags[chosen], free.lo[chosen], free.hi[chosen]
        self.group[index] = 0 if free.group is None else free.group[chosen]
        self.step[index] = 0.0 if free.step is None else free.step[chosen]
        self.reason[index] = self.reasons.index(free.reasons)

    def get(self, index: I64, value: Value) -> Free | None:
        flags = self.flags[index]
        if not flags.any():
            return None
        number = numbers(value.component, value.bits)
        free = flags != 0
        low, high = np.where(free, self.lo[index], number), np.where(free, self.hi[index], number)
        present = np.unique(self.reason[index][free])
        reasons = tuple(dict.fromkeys(r for i in present for r in self.reasons[i]))
        return Free(flags, low, high, reasons, np.where(free, self.group[index], 0), self.step[index])

    def touches(self, byte: I64, size: int) -> Mask:
        """Which components of another type, at bytes from the first row's first, share a byte with a free one."""
        own = self.component.size
        touched: Mask = self.flags[byte // own] != 0
        for later in range(own, size, own):
            touched = touched | (self.flags[(byte + later) // own] != 0)
        return touched

    def overwrite(self, byte: I64, size: int) -> None:
        """Something else is stored there: what it covers is no longer free, what it covers in part may be anything."""
        own = self.component.size
        if own <= size:
            for later in range(0, size, own):
                self.flags[(byte + later) // own] = 0
        else:
            indices, parts = np.unique(byte // own, return_counts=True)
            rest = (parts * size < own) & (self.flags[indices] != 0)
            self.flags[indices] = np.where(rest, np.uint8(FREE | Freedom.ANY), np.uint8(0))

    def intervals(self, size: int) -> Iterator[Intervals]:
        """The free components, by reason; each set has `size` bytes."""
        free = np.flatnonzero(self.flags)
        for reason in np.unique(self.reason[free]):
            indices = free[self.reason[free] == reason]
            low, high = interval_bits(self.component, self.flags[indices], self.lo[indices], self.hi[indices])
            offsets, freedoms = self._offsets(indices, size), self.flags[indices] & _FREEDOMS
            step = self.step[indices] if self.step[indices].any() else None
            yield Intervals(self.component, offsets, low, high, freedoms, self.reasons[reason], step)

    def identical(self, size: int) -> Iterator[Identical]:
        """The free components of a set that are equal by definition; each set has `size` bytes."""
        indices = np.flatnonzero((self.flags != 0) & (self.group != 0))
        if indices.size:
            group = self.group[indices]
            # Those of another set are others.
            group = group + indices // (len(self.flags) // self.sets) * (int(group.max()) + 1)
            yield Identical(self.component, self._offsets(indices, size), group)

    def _offsets(self, indices: I64, size: int) -> I64:
        """The bytes of components in the sets' contents, of `size` bytes each, one after the other."""
        number, index = np.divmod(indices, len(self.flags) // self.sets)
        offsets: I64 = number * size + index * self.component.size
        return offsets


def interval_bits(component: ComponentType, flags: U8, lo: F64, hi: F64) -> tuple[Bits, Bits]:
    """The bit patterns that bound free elements, every number between them allowed; of NaN alone, a NaN's."""
    nan = ((flags & Freedom.NAN) != 0) & np.isnan(lo)
    unbounded = ((flags & Freedom.ANY) != 0) | nan
    lo, hi = (np.where(unbounded, 0.0, bound) for bound in (lo, hi))
    if not component.is_float:
        info = np.iinfo(component.dtype)
        low, high = (np.clip(bound, info.min, info.max).astype(np.int64) for bound in (np.ceil(lo), np.floor(hi)))
        return truncated(component, low), truncated(component, high)
    low_bits, high_bits = nearest(component, below(component, lo)), nearest(component, above(component, hi))
    low_bits, high_bits = with_infinities(component, low_bits, lo), with_infinities(component, high_bits, hi)
    width = 8 * component.size
    sign = component.bits_dtype.type(1 << (width - 1))
    magnitude = component.bits_dtype.type((1 << (width - 1)) - 1)
    low_bits = np.where((low_bits & magnitude == 0) & ~unbounded, sign, low_bits)
    high_bits = np.where((high_bits & magnitude == 0) & ~unbounded, component.bits_dtype.type(0), high_bits)
    quiet = np.array([np.nan]).astype(component.dtype).view(component.bits_dtype)[0]
    return np.where(nan, quiet, low_bits), np.where(nan, quiet, high_bits)


def _shift(component: ComponentType) -> int:
    """From a byte offset to the index of a component: sizes are powers of two, and shifts faster than divisions."""
    return component.size.bit_length() - 1


def _first_of_each(components: Bits, ndim: int) -> I64:
    """The flat index of each row's first component, (sets, 1, 1, ...)."""
    sets, size = components.shape
    first: I64 = np.arange(sets, dtype=np.int64) * size
    return first.reshape(-1, *[1] * (ndim - 1))
