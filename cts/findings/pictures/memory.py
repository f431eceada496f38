"""A buffer as a grid: rows of its shape, or of what an instruction takes it for; whose element each location is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from cts.case.model import Buffer, Case, ComponentType, initial_bits
from cts.case.oracle.expectation import AccessMap, Reach
from cts.findings.pictures.grid import Ints, Mask

#: The longest row of memory that is taken from strides, and the row where nothing says how long one is.
LONGEST, USUAL = 256, 16

#: The most coordinates of a tensor that are computed, to find what lies between its elements.
MOST_COORDINATES = 1 << 18

#: No element, or no location.
NONE = -1


@dataclass(frozen=True, eq=False)
class Memory:
    """Locations of a buffer in a grid.

    Location i begins at byte `first` + i * `size` and is drawn at row i // `cols` and column i % `cols`. `bits` are
    what the locations hold at first, None where they are blocks. `extents` are those of the coordinates by which
    locations are named, `band` the rows of a panel (0: one panel).
    """

    buffer: str
    component: ComponentType
    size: int
    first: int
    count: int
    cols: int
    extents: tuple[int, ...]
    band: int = 0
    bits: Any = None

    @property
    def rows(self) -> int:
        """Rows of the grid."""
        return -(-self.count // self.cols)

    def locations(self, byte: Ints) -> Ints:
        """The location at each byte; NONE where none begins there."""
        location, rest = np.divmod(byte - self.first, self.size)
        elements: Ints = np.where((rest == 0) & (location >= 0) & (location < self.count), location, NONE)
        return elements

    def byte(self, location: int) -> int:
        """Where a location begins."""
        return self.first + location * self.size

    def name(self, location: int) -> str:
        """The coordinates of a location, as in `src[1, 4]`."""
        return f"{self.buffer}[{self.coordinates(location)}]"

    def coordinates(self, location: int) -> str:
        """The coordinates of a location, between commas."""
        return ", ".join(str(int(n)) for n in np.unravel_index(location, self.extents))

    def grid(self, flat: Any, fill: Any) -> Any:
        """An array of locations in the shape of the grid, with `fill` behind the last."""
        padded = np.full(self.rows * self.cols, fill, dtype=np.asarray(flat).dtype)
        padded[: self.count] = flat
        return padded.reshape(self.rows, self.cols)

    @property
    def row_names(self) -> list[str]:
        """A name for each row: its coordinates before the last."""
        if len(self.extents) == 1:
            return [str(row * self.cols) for row in range(self.rows)]
        leading = np.stack(np.unravel_index(np.arange(self.rows), self.extents[:-1]), axis=1)
        return [",".join(map(str, row)) for row in leading.tolist()]


def of_elements(case: Case, reached: AccessMap, component: ComponentType, instance: int) -> Memory | None:
    """The buffer in elements of a component type; None where those do not fill it."""
    buffer = case.buffers[reached.buffer]
    if buffer.size % component.size:
        return None
    count = buffer.size // component.size
    bits = initial_bits(buffer).view(np.uint8).view(component.bits_dtype)
    extents = _shape(buffer) if component.size == buffer.type.size else ()
    if len(extents) < 2:
        cols, band = _pitches(reached, component, instance, count)
        extents = (count,)
    else:
        cols, band = extents[-1], extents[-2] if len(extents) > 2 else 0
    return Memory(reached.buffer, component, component.size, 0, count, cols, extents, band, bits)


def of_buffer(name: str, buffer: Buffer) -> Memory:
    """A buffer as rows of its shape, with elements of its own type."""
    extents, count = _shape(buffer), buffer.size // buffer.type.size
    cols = extents[-1] if len(extents) > 1 else min(USUAL, count)
    band = extents[-2] if len(extents) > 2 else 0
    return Memory(name, buffer.type, buffer.type.size, 0, count, cols, extents, band, initial_bits(buffer).reshape(-1))


def of_blocks(case: Case, reached: AccessMap, component: ComponentType, instance: int) -> Memory:
    """The buffer in the blocks that a decode function takes, from the pointer on, in the tensor's rows of blocks."""
    tensor = reached.tensor
    assert tensor is not None
    buffer, pointer = case.buffers[reached.buffer], int(tensor.pointer[instance])
    count = max(1, (buffer.size - pointer) // tensor.size)
    blocks = [-(-d // max(1, b)) for d, b in zip(tensor.dimension[instance], tensor.block_size[instance], strict=True)]
    cols = int(blocks[-1]) if 0 < blocks[-1] <= LONGEST else USUAL
    cols = min(cols, count)
    extents: tuple[int, ...] = (count,)
    if math.prod(blocks) == count and len(blocks) > 1:
        extents = tuple(map(int, blocks))
    return Memory(reached.buffer, component, tensor.size, pointer, count, cols, extents)


def padding(memory: Memory, reached: AccessMap, instance: int) -> Mask:
    """Which locations lie within the extent of a tensor, and are of no element of it, (count,)."""
    tensor = reached.tensor
    nothing = np.zeros(memory.count, bool)
    if tensor is None or tensor.block is not None:
        return nothing
    dimension, stride = tensor.dimension[instance].tolist(), tensor.stride[instance].tolist()
    block = tensor.block_size[instance].tolist()
    if not 0 < math.prod(dimension) <= MOST_COORDINATES:
        return nothing
    index = np.zeros(1, np.int64)
    for extent, step, size in zip(dimension, stride, block, strict=True):
        index = (index[:, None] + np.unique(np.arange(extent) // max(1, size)) * step).ravel()
    own = memory.locations(int(tensor.pointer[instance]) + index * tensor.size)
    own = own[own != NONE]
    if not own.size:
        return nothing
    within = nothing.copy()
    within[own.min() : own.max() + 1] = True
    within[own] = False
    return within


def owners(memory: Memory, byte: Ints, reach: Any) -> tuple[Ints, Ints]:
    """The location of each element, NONE for those not in memory; and of each location the first element, (count,)."""
    location = np.where(reach == Reach.MEMORY, memory.locations(byte), NONE)
    owner = np.full(memory.count, NONE, np.int64)
    flat = location.ravel()
    owned = np.flatnonzero(flat != NONE)[::-1]
    owner[flat[owned]] = owned
    return location, owner


def only_place_of(values: Any, wanted: Ints) -> Ints:
    """For each wanted bit pattern the index of the only one of `values` (flat) that is equal; NONE where none is."""
    patterns = values.astype(np.uint64)
    order = np.argsort(patterns, kind="stable")
    ordered = patterns[order]
    keys = wanted.astype(np.int64).view(np.uint64)
    low, high = np.searchsorted(ordered, keys, "left"), np.searchsorted(ordered, keys, "right")
    once = high - low == 1
    places: Ints = np.where(once, order[np.minimum(low, len(order) - 1)], NONE)
    return places


def _shape(buffer: Buffer) -> tuple[int, ...]:
    return (*buffer.shape[:-1], buffer.shape[-1] * buffer.components)


def _pitches(reached: AccessMap, component: ComponentType, instance: int, count: int) -> tuple[int, int]:
    """The elements of a row and the rows of a panel, from strides."""
    tensor, band = reached.tensor, 0
    pitch = 0
    if reached.pitch is not None:
        pitch, rest = divmod(abs(int(reached.pitch[instance])), component.size)
        pitch = 0 if rest else pitch
    elif tensor is not None and tensor.stride.shape[1] > 1:
        stride = tensor.stride[instance].tolist()
        pitch = stride[-2]
        if len(stride) > 2 and pitch and not stride[-3] % pitch:
            band = stride[-3] // pitch
    elif reached.byte.shape[1] > 1:
        rows = np.diff(reached.byte[instance][:, 0])
        pitch = int(rows[0]) // component.size if rows.size and (rows == rows[0]).all() else 0
    if not 1 < pitch <= LONGEST:
        pitch, band = min(USUAL, count), 0
    return min(pitch, count), band
