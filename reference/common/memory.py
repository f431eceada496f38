"""One buffer's contents under every parameter set: bytes, and the freedom of the values stored there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from cts.case.model import Buffer, ComponentType, initial_bits
from cts.case.oracle.expectation import Allowed, Freedom, Identical, Intervals
from cts.reference.numeric.arrays import I64, U8, Bits, Mask
from cts.reference.numeric.formats import F64, bits_above, bits_below, with_infinities
from cts.reference.numeric.integers import truncated
from cts.reference.numeric.value import FREE, Free, Value, numbers

_T = TypeVar("_T", bound=np.generic)

_FREEDOMS = np.uint8(Freedom.ANY | Freedom.NAN | Freedom.EITHER_ZERO)


class Memory:
    """Bytes, shape (sets, size): a single row until the sets differ, by what they begin with or by a store.

    Freedom is kept component by component, as long as memory is read with the type it was written with;
    of anything else made of such bytes nothing is known.
    """

    #: Bytes on each side that a program may read besides.
    beyond = 0

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
        components, size = self.rows.view(component.bits_dtype), component.size
        if accessed is None and (columns := _columns(byte, (1, *shape[1:]), size)) is not None:
            places = _Places(columns=columns)
        else:
            chosen = np.broadcast_to(mask, shape)
            index = np.broadcast_to(byte // size + _first_of_each(components, 4), shape)[chosen]
            places = _Places(index, chosen)
        places.fill(components, np.broadcast_to(value.bits, shape))
        if value.free is not None and component not in self.layers:
            self.layers[component] = _Layer(component, *components.shape)
        for layer in self.layers.values():
            if layer.component is component:
                layer.store(places, value.broadcast(shape))
            else:
                layer.overwrite(places.indices(components.shape) * size, size)

    def allowed(self, sets: int = 1) -> Allowed:
        """What so many parameter sets leave allowed, one set's bytes after the other's."""
        if self.layers:
            self._repeat(sets)
        layers = list(self.layers.values())
        identical = tuple(i for layer in layers for i in layer.identical(self.size))

        def intervals(some: Mask | None) -> tuple[Intervals, ...]:
            return tuple(i for layer in layers for i in layer.intervals(self.size, some))

        return Allowed(self.contents(sets).reshape(-1), intervals if layers else (), identical)

    def _store_everywhere(self, byte: I64, value: Value) -> None:
        """Store exact elements to the same places, (1, instances, rows, cols), under every set."""
        assert value.component is not None
        components = self.rows.view(value.component.bits_dtype)
        shape = (len(components), *np.broadcast_shapes(byte.shape[1:], value.shape[1:]))
        columns = _columns(byte, (1, *shape[1:]), value.component.size)
        if columns is None:
            index = np.broadcast_to(byte >> _shift(value.component), (1, *shape[1:])).reshape(-1)
            components[:, index] = np.broadcast_to(value.bits, shape).reshape(len(components), -1)
        else:
            _Places(columns=columns).fill(components, np.broadcast_to(value.bits, shape))

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


@dataclass(frozen=True)
class _Places:
    """Which components of memory, (sets, components), the elements of a store go to.

    Where every set has all elements in `columns`, one after the other, these are enough; else `index` are flat places
    of the elements `chosen`.
    """

    index: I64 | None = None
    chosen: Mask | None = None
    columns: slice | None = None

    def fill(self, memory: npt.NDArray[Any], elements: npt.NDArray[Any] | float) -> None:
        """Give components of memory, or of what is kept beside it, the values of elements, or one value."""
        if self.columns is not None:
            memory[:, self.columns] = (
                elements.reshape(len(memory), -1) if isinstance(elements, np.ndarray) else elements
            )
        else:
            memory.reshape(-1)[self.index] = elements[self.chosen] if isinstance(elements, np.ndarray) else elements

    def indices(self, shape: tuple[int, ...]) -> I64:
        """The flat places in memory of a shape."""
        if self.columns is None:
            assert self.index is not None
            return self.index
        rows, columns = np.arange(shape[0], dtype=np.int64), np.arange(self.columns.start, self.columns.stop)
        return (rows[:, None] * shape[1] + columns).reshape(-1)


class _Layer:
    """The freedom of every component of one type, (sets, components)."""

    def __init__(self, component: ComponentType, sets: int, count: int) -> None:
        self.component = component
        self.flags: U8 = np.zeros((sets, count), np.uint8)
        self.lo: F64 = np.zeros((sets, count))
        self.hi: F64 = np.zeros((sets, count))
        self.group: I64 = np.zeros((sets, count), np.int64)
        self.step: F64 = np.zeros((sets, count))
        self.reason: np.ndarray[Any, np.dtype[np.int32]] = np.zeros((sets, count), np.int32)
        self.reasons: list[tuple[str, ...]] = [()]

    def repeat(self, sets: int) -> None:
        """The same for so many parameter sets, which one row stood for."""
        times = sets // len(self.flags)
        for name in ("flags", "lo", "hi", "group", "step", "reason"):
            setattr(self, name, np.tile(getattr(self, name), (times, 1)))

    def store(self, places: _Places, value: Value) -> None:
        """What elements that are stored may be."""
        free = value.free
        if free is None:
            places.fill(self.flags, 0)
            places.fill(self.group, 0)
            return
        if free.reasons not in self.reasons:
            self.reasons.append(free.reasons)
        for memory, elements in (
            (self.flags, free.flags),
            (self.lo, free.lo),
            (self.hi, free.hi),
            (self.group, 0 if free.group is None else free.group),
            (self.step, 0.0 if free.step is None else free.step),
            (self.reason, self.reasons.index(free.reasons)),
        ):
            places.fill(memory, elements)

    def get(self, index: I64, value: Value) -> Free | None:
        flags = self.flags.reshape(-1)[index]
        if not flags.any():
            return None
        number = numbers(value.component, value.bits)
        free = flags != 0
        lo, hi, step = (bounds.reshape(-1)[index] for bounds in (self.lo, self.hi, self.step))
        group, reason = self.group.reshape(-1)[index], self.reason.reshape(-1)[index]
        reasons = tuple(dict.fromkeys(r for i in np.unique(reason[free]) for r in self.reasons[i]))
        return Free(
            flags, np.where(free, lo, number), np.where(free, hi, number), reasons, np.where(free, group, 0), step
        )

    def touches(self, byte: I64, size: int) -> Mask:
        """Which components of another type, at bytes from the first row's first, share a byte with a free one."""
        own, flags = self.component.size, self.flags.reshape(-1)
        touched: Mask = flags[byte // own] != 0
        for later in range(own, size, own):
            touched = touched | (flags[(byte + later) // own] != 0)
        return touched

    def overwrite(self, byte: I64, size: int) -> None:
        """Another store: elements that it covers are no longer free, elements covered in part may be anything."""
        own, flags = self.component.size, self.flags.reshape(-1)
        if own <= size:
            for later in range(0, size, own):
                flags[(byte + later) // own] = 0
        else:
            indices, parts = np.unique(byte // own, return_counts=True)
            rest = (parts * size < own) & (flags[indices] != 0)
            flags[indices] = np.where(rest, np.uint8(FREE | Freedom.ANY), np.uint8(0))

    def intervals(self, size: int, some: Mask | None = None) -> Iterator[Intervals]:
        """The free components, by reason, or those that have one of some bytes; each set has `size` bytes."""
        if some is None:
            free = np.flatnonzero(self.flags)
        else:
            # The bytes of a component as one number; the last one may reach beyond the memory.
            sets, count = self.flags.shape
            parts = np.zeros((sets, count * self.component.size), bool)
            parts[:, :size] = some.reshape(sets, size)[:, : parts.shape[1]]
            has_some = parts.view(self.component.bits_dtype) != 0
            free = np.flatnonzero(has_some & (self.flags != 0))
        of_free = self._picked(self.reason, free)
        # Most layers have one reason beside none, which needs no search.
        present = [1] if len(self.reasons) == 2 and free.size and of_free.all() else np.unique(of_free).tolist()
        for reason in present:
            indices = free if len(present) == 1 else free[of_free == reason]
            flags = self._picked(self.flags, indices)
            lo, hi, step = (self._picked(bounds, indices) for bounds in (self.lo, self.hi, self.step))
            low, high = interval_bits(self.component, flags, lo, hi)
            offsets, freedoms = self._offsets(indices, size), flags & _FREEDOMS
            yield Intervals(
                self.component, offsets, low, high, freedoms, self.reasons[reason], step if step.any() else None
            )

    def _picked(self, values: npt.NDArray[_T], indices: I64) -> npt.NDArray[_T]:
        """Those of some components, by flat places, ascending; of all of them without a copy."""
        return values.reshape(-1) if indices.size == values.size else values.reshape(-1)[indices]

    def identical(self, size: int) -> Iterator[Identical]:
        """The free components of a set that are equal by definition; each set has `size` bytes."""
        if not self.group.any():
            return
        indices = np.flatnonzero((self.flags != 0) & (self.group != 0))
        if indices.size:
            group = self.group.reshape(-1)[indices]
            # Those of another set are others.
            group = group + indices // self.flags.shape[1] * (int(group.max()) + 1)
            yield Identical(self.component, self._offsets(indices, size), group)

    def _offsets(self, indices: I64, size: int) -> I64:
        """The bytes of components in the sets' contents, of `size` bytes each, one after the other."""
        count = self.flags.shape[1]
        if count * self.component.size == size:
            return indices * self.component.size
        number, index = np.divmod(indices, count)
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
    low_bits, high_bits = bits_below(component, lo), bits_above(component, hi)
    low_bits, high_bits = with_infinities(component, low_bits, lo), with_infinities(component, high_bits, hi)
    width = 8 * component.size
    sign = component.bits_dtype.type(1 << (width - 1))
    magnitude = component.bits_dtype.type((1 << (width - 1)) - 1)
    low_bits = np.where((low_bits & magnitude == 0) & ~unbounded, sign, low_bits)
    high_bits = np.where((high_bits & magnitude == 0) & ~unbounded, component.bits_dtype.type(0), high_bits)
    quiet = np.array([np.nan]).astype(component.dtype).view(component.bits_dtype)[0]
    return np.where(nan, quiet, low_bits), np.where(nan, quiet, high_bits)


def _columns(byte: I64, shape: tuple[int, ...], size: int) -> slice | None:
    """The components, of `size` bytes, at byte offsets of elements (1, instances, rows, cols); None: not in order."""
    if len(byte) > 1:
        return None
    index = np.broadcast_to(byte // size, shape).reshape(-1)
    first = int(index[0])
    if index[-1] - first != index.size - 1 or not (index[1:] - index[:-1] == 1).all():
        return None
    return slice(first, first + index.size)


def _shift(component: ComponentType) -> int:
    """From a byte offset to the index of a component: sizes are powers of two, and shifts faster than divisions."""
    return component.size.bit_length() - 1


def _first_of_each(components: Bits, ndim: int) -> I64:
    """The flat index of each row's first component, (sets, 1, 1, ...)."""
    sets, size = components.shape
    first: I64 = np.arange(sets, dtype=np.int64) * size
    return first.reshape(-1, *[1] * (ndim - 1))
