"""Byte-addressed memory: every buffer at a base of a 64-bit address space, far from the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

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
    """One allocation. The module's window of it begins at byte `start` and has `size` bytes.

    Where `start` is negative, the first bytes of the window are not there.

    Where there are several `copies`, each has a window of its own, 2^`pitch` addresses from the one before:
    an index that is too large does not reach the next.
    """

    def __init__(self, name: str, data: npt.NDArray[np.uint8], start: int, size: int, copies: int = 1) -> None:
        self.name = name
        self.data = data
        self.start = start
        self.size = size
        #: The first byte of the window that is there.
        self.first = max(0, -start)
        self.pitch = SPACING - 1 - (copies - 1).bit_length() if copies > 1 else 0
        self.copies = copies
        #: 255 for each byte that was written, where somebody asks; `unwritten` is then called once by a read of others.
        self.written: npt.NDArray[np.uint8] | None = None
        self.unwritten: Callable[[], None] = lambda: None
        self._views: dict[DType, Array] = {}

    def view(self, dtype: DType) -> Array:
        """The whole elements of the memory."""
        elements = self._views.get(dtype)
        if elements is None:
            whole = len(self.data) // dtype.itemsize * dtype.itemsize
            elements = self._views[dtype] = self.data[:whole].view(dtype)
        return elements

    def note(self, places: Array, size: int, *, writes: bool) -> None:
        """An access to `size` bytes at each place, where somebody asks what was written."""
        if self.written is None:
            return
        bytes_ = places[..., None] + np.arange(size)
        if writes:
            self.written[bytes_] = 255
        elif not self.written[bytes_].all():
            self.written = None
            self.unwritten()

    def within(self, inside: Array, size: int, low: int, high: int) -> tuple[Array, Array | None]:
        """Places in `data` of addresses relative to the first window, and which of them are wrong for `size` bytes.

        None: all are right. `low` and `high` are the least and the greatest of them.
        """
        if not self.pitch:
            return inside + self.start, (inside < self.first) | (inside > self.size - size)
        copies = inside >> self.pitch
        within = inside & (1 << self.pitch) - 1
        places = copies * self.size
        places += within
        right = int(within.max()) <= self.size - size and low >= 0 and high >> self.pitch < self.copies
        return places, None if right else (copies < 0) | (copies >= self.copies) | (within > self.size - size)


class OptimalMatrix(NamedTuple):
    """What a matrix in an optimal layout is read as."""

    layout: int
    rows: int
    cols: int
    component: str


class AddressSpace:
    """Gather and scatter by address. Bits of an address from SPACING up are the segment's number, from 1.

    Accesses outside the windows raise OutOfBounds; with `robust` they read zeros and write nothing, as
    long as the address is meant for some buffer.
    """

    def __init__(self, *, robust: bool = False) -> None:
        self.segments: list[Segment] = []
        self.robust = robust
        #: Which matrix in an optimal layout begins at an address: its layout, rows, columns and type.
        self.matrices: dict[int, OptimalMatrix] = {}

    def add(
        self, name: str, data: npt.NDArray[np.uint8], start: int = 0, size: int | None = None, copies: int = 1
    ) -> int:
        """Take over `data` (C-contiguous) with its window (without `size`: all after `start`); the window's address.

        With `copies` there are as many windows of `size` bytes, which fill `data`.
        """
        self.segments.append(Segment(name, data, start, len(data) - start if size is None else size, copies))
        return (len(self.segments) << SPACING) + MIDDLE

    def named(self, address: int) -> tuple[int, str]:
        """The byte at which an address lies, and in what."""
        number = address >> SPACING
        name = self.segments[number - 1].name if 0 < number <= len(self.segments) else "no buffer"
        return address - (number << SPACING) - MIDDLE, name

    def offsets(self, addresses: Array) -> Array:
        """Bytes from the beginnings of the memories, or of their copies, that addresses (n,) are meant for."""
        offsets: Array = (addresses & (1 << SPACING) - 1) - MIDDLE
        number = int(addresses[0]) >> SPACING
        pitch = self.segments[number - 1].pitch if 0 < number <= len(self.segments) else 0
        return offsets & (1 << pitch) - 1 if pitch else offsets

    def left(self, addresses: Array) -> Array:
        """Bytes from addresses (n,) to the ends of the windows they point into. Raises OutOfBounds."""
        numbers = addresses >> SPACING
        valid = (numbers > 0) & (numbers <= len(self.segments))
        if not valid.all():
            index = int(np.argmin(valid))
            raise OutOfBounds(f"address {_hex(addresses[index])} belongs to no buffer", index)
        ends = np.array([MIDDLE + s.size for s in self.segments])
        left: Array = (numbers << SPACING) + ends[numbers - 1] - addresses
        return left

    def gather(self, addresses: Array, dtype: DType) -> Array:
        """The values at addresses (any shape). Raises OutOfBounds."""
        if not addresses.size:
            return np.empty(addresses.shape, dtype)
        located = self.locate(addresses, dtype.itemsize)
        if located is None:
            every = np.empty(addresses.shape, dtype)

            def read(chosen: Array) -> None:
                every[chosen] = self.gather(addresses[chosen], dtype)

            for_each_segment(addresses, read)
            return every
        segment, places, wrong = located
        if wrong is not None:
            out = np.zeros(addresses.shape, dtype)
            right = ~wrong
            out[right] = self.gather(addresses[right], dtype)
            return out
        size = dtype.itemsize
        if segment.written is not None:
            segment.note(places, size, writes=False)
        if size == 1:
            return np.asarray(segment.view(dtype)[places])
        if not int(np.bitwise_or.reduce(places, axis=None)) & (size - 1):
            return np.asarray(segment.view(dtype)[places >> (size.bit_length() - 1)])
        unaligned: Array = segment.data[places[..., None] + np.arange(size)].view(dtype)[..., 0]
        return unaligned

    def scatter(self, addresses: Array, values: Array) -> None:
        """Write values (broadcast to the addresses); the last wins where an address repeats. Raises OutOfBounds."""
        if not addresses.size:
            return
        dtype = values.dtype
        located = self.locate(addresses, dtype.itemsize)
        if located is None:
            every = np.broadcast_to(values, addresses.shape)
            for_each_segment(addresses, lambda chosen: self.scatter(addresses[chosen], every[chosen]))
            return
        segment, places, wrong = located
        if wrong is not None:
            right = ~wrong
            self.scatter(addresses[right], np.broadcast_to(values, addresses.shape)[right])
            return
        size = dtype.itemsize
        if segment.written is not None:
            segment.note(places, size, writes=True)
        if size == 1:
            segment.view(dtype)[places] = values
        elif not int(np.bitwise_or.reduce(places, axis=None)) & (size - 1):
            segment.view(dtype)[places >> (size.bit_length() - 1)] = values
        else:
            bytes_ = np.ascontiguousarray(values)[..., None].view(np.uint8)
            segment.data[places[..., None] + np.arange(size)] = bytes_

    def locate(self, addresses: Array, size: int) -> tuple[Segment, Array, Array | None] | None:
        """The one segment of all addresses, their places in it, and which of them are wrong; None: several segments.

        Raises OutOfBounds for wrong ones unless accesses are robust.
        """
        low, high = int(addresses.min()), int(addresses.max())
        number = low >> SPACING
        if high >> SPACING != number:
            return None
        if not 0 < number <= len(self.segments):
            row = int(np.argmin(addresses)) // (addresses.size // len(addresses))
            raise OutOfBounds(f"{size} bytes at address {_hex(low)}, which belongs to no buffer", row)
        segment, base = self.segments[number - 1], (number << SPACING) + MIDDLE
        if not segment.pitch and low >= base + segment.first and high + size <= base + segment.size:
            return segment, addresses - (base - segment.start), None
        inside = addresses - base
        places, wrong = segment.within(inside, size, low - base, high - base)
        if wrong is not None and not self.robust:
            index = int(np.argmax(wrong))
            offset, address = int(inside.flat[index]), int(addresses.flat[index])
            if segment.pitch:
                offset &= (1 << segment.pitch) - 1
                offset -= (1 << segment.pitch) * (offset >> segment.pitch - 1)
            raise OutOfBounds(
                f"{size} bytes at address {_hex(address)}, offset {offset} of {segment.name}, which has {segment.size}",
                index // (addresses.size // len(addresses)),
                (segment.name, int(inside[wrong].max()) + size) if offset >= 0 else None,
            )
        return segment, places, wrong


def for_each_segment(addresses: Array, access: Callable[[Array], None]) -> None:
    """Access with a mask for the addresses of each segment. Errors name places among all addresses."""
    numbers = addresses >> SPACING
    for number in np.unique(numbers):
        chosen = numbers == number
        try:
            access(chosen)
        except OutOfBounds as problem:
            if problem.index is not None:
                row = addresses.size // len(addresses)
                problem.index = int(np.flatnonzero(chosen)[problem.index]) // row
            raise


def _hex(address: int) -> str:
    return f"{int(address) & (1 << 64) - 1:#x}"
