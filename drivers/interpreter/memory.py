"""Byte-addressed memory: every buffer at a base of a 64-bit address space, far from the others."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cts.drivers.interpreter.problems import OutOfBounds
from cts.drivers.interpreter.types import DType

Array = npt.NDArray[Any]

#: log2 of the address range that belongs to one buffer. Its bytes start in the middle of the range, so
#: that an address before them is still known to be meant for it.
SPACING = 40
MIDDLE = 1 << SPACING - 1


class Segment:
    """One allocation. The module's window of it begins at byte `start` and has `size` bytes."""

    def __init__(self, name: str, data: npt.NDArray[np.uint8], start: int, size: int) -> None:
        self.name = name
        self.data = data
        self.start = start
        self.size = size
        self._views: dict[DType, Array] = {}

    def view(self, dtype: DType) -> Array:
        """The whole elements of the memory."""
        found = self._views.get(dtype)
        if found is None:
            whole = len(self.data) // dtype.itemsize * dtype.itemsize
            found = self._views[dtype] = self.data[:whole].view(dtype)
        return found


class AddressSpace:
    """Gather and scatter by address. Bits of an address from SPACING up are the segment's number, from 1."""

    def __init__(self) -> None:
        self.segments: list[Segment] = []

    def add(self, name: str, data: npt.NDArray[np.uint8], start: int = 0, size: int | None = None) -> int:
        """Take over `data` (C-contiguous) with its window (without `size`: all after `start`); the window's address."""
        self.segments.append(Segment(name, data, start, len(data) - start if size is None else size))
        return (len(self.segments) << SPACING) + MIDDLE + start

    def left(self, addresses: Array) -> Array:
        """Bytes from addresses (n,) to the ends of the windows they point into. Raises OutOfBounds."""
        numbers = addresses >> SPACING
        known = (numbers > 0) & (numbers <= len(self.segments))
        if not known.all():
            raise OutOfBounds(f"address {int(addresses[~known][0]):#x} belongs to no buffer")
        ends = np.array([MIDDLE + s.start + s.size for s in self.segments])
        left: Array = (numbers << SPACING) + ends[numbers - 1] - addresses
        return left

    def gather(self, addresses: Array, dtype: DType) -> Array:
        """The values at byte addresses (int64, any shape). Raises OutOfBounds."""
        if not addresses.size:
            return np.empty(addresses.shape, dtype)
        segment, offsets = self._locate(addresses, dtype.itemsize)
        if segment is None:
            return self._each_segment(addresses, dtype)
        size = dtype.itemsize
        if size == 1:
            return np.asarray(segment.view(dtype)[offsets])
        if not int(np.bitwise_or.reduce(offsets, axis=None)) & (size - 1):
            return np.asarray(segment.view(dtype)[offsets >> (size.bit_length() - 1)])
        unaligned: Array = segment.data[offsets[..., None] + np.arange(size)].view(dtype)[..., 0]
        return unaligned

    def scatter(self, addresses: Array, values: Array) -> None:
        """Write values (broadcast to the addresses); the last wins where an address repeats. Raises OutOfBounds."""
        if not addresses.size:
            return
        dtype = values.dtype
        segment, offsets = self._locate(addresses, dtype.itemsize)
        if segment is None:
            numbers, values = addresses >> SPACING, np.broadcast_to(values, addresses.shape)
            for number in np.unique(numbers):
                chosen = numbers == number
                self.scatter(addresses[chosen], values[chosen])
            return
        size = dtype.itemsize
        if size == 1:
            segment.view(dtype)[offsets] = values
        elif not int(np.bitwise_or.reduce(offsets, axis=None)) & (size - 1):
            segment.view(dtype)[offsets >> (size.bit_length() - 1)] = values
        else:
            bytes_ = np.ascontiguousarray(values)[..., None].view(np.uint8)
            segment.data[offsets[..., None] + np.arange(size)] = bytes_

    def _locate(self, addresses: Array, size: int) -> tuple[Segment | None, Array]:
        """The one segment of all addresses and their offsets in it; None where there are several."""
        low, high = int(addresses.min()), int(addresses.max())
        number = low >> SPACING
        if high >> SPACING != number:
            return None, addresses
        if not 0 < number <= len(self.segments):
            raise OutOfBounds(f"{size} bytes at address {low & (1 << 64) - 1:#x}, which belongs to no buffer")
        segment = self.segments[number - 1]
        base = (number << SPACING) + MIDDLE
        if low < base or high + size > base + len(segment.data):
            wrong = low if low < base else high
            raise OutOfBounds(
                f"{size} bytes at address {wrong:#x}, offset {wrong - base - segment.start} of {segment.name}, "
                f"whose allocation has offsets {-segment.start} to {len(segment.data) - segment.start}"
            )
        return segment, addresses - base

    def _each_segment(self, addresses: Array, dtype: DType) -> Array:
        out = np.empty(addresses.shape, dtype)
        numbers = addresses >> SPACING
        for number in np.unique(numbers):
            chosen = numbers == number
            out[chosen] = self.gather(addresses[chosen], dtype)
        return out
