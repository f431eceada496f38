"""Matrices in memory: strided ones, the emulator's own optimal layouts, and conversions between them (VK-053..VK-055).

The option `opaque` says what an optimal layout is: tiles, columns or swizzled rows. Each pads; what
has not been written holds POISON, which is NaN in every float type.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from cts.case import model
from cts.drivers.emulator.matrices.access import MemoryFault
from cts.drivers.emulator.matrices.memory import Bytes
from cts.drivers.emulator.mutants import vectors as v
from cts.drivers.emulator.numbers import NEAREST, TOWARDS_ZERO
from cts.drivers.emulator.options import Options
from cts.drivers.emulator.vectors.memory import Memory
from cts.drivers.emulator.vectors.number_bugs import moved, ties_away
from cts.drivers.emulator.vectors.registers import Active, Ints, Registers, bits_of, floats_of

POISON = 0xFF
#: Bytes that an access to an optimal layout moves at once.
CHUNK = 16
#: Rows and columns within which some bugs are right.
BLOCK_ROWS, BLOCK_COLUMNS = 16, 8


@lru_cache(maxsize=256)
def optimal(shape: str, layout: model.MatrixLayout, rows: int, cols: int, size: int) -> Ints:
    """Bytes (rows, cols) from the start of a matrix in an optimal layout to its elements of `size` bytes."""
    row, col = np.indices((rows, cols))
    training = layout is model.MatrixLayout.TrainingOptimal
    make = {"tiles": _tiles, "columns": _columns, "swizzled": _swizzled}[shape]
    offsets: Ints = make(row, col, rows, cols, size, training).astype(np.int64)
    offsets.flags.writeable = False
    return offsets


def _tiles(row: Ints, col: Ints, rows: int, cols: int, size: int, training: bool) -> Ints:
    """Tiles in rows of tiles, a chunk of padding behind each; for training, smaller ones, each column by column."""
    high, wide = (8, 4) if training else (16, 2 * CHUNK // size)
    tile = row // high * -(-cols // wide) + col // wide
    within = col % wide * high + row % high if training else row % high * wide + col % wide
    return tile * (high * wide * size + CHUNK) + within * size


def _columns(row: Ints, col: Ints, rows: int, cols: int, size: int, training: bool) -> Ints:
    """Column after column, a chunk of padding behind each; for training, from the last row up."""
    pitch = (-(-rows * size // CHUNK) + 1) * CHUNK
    return col * pitch + (rows - 1 - row if training else row) * size


def _swizzled(row: Ints, col: Ints, rows: int, cols: int, size: int, training: bool) -> Ints:
    """Rows padded to groups of four chunks; the row number permutes the chunks of a group."""
    chunk, within = col * size // CHUNK, col * size % CHUNK
    pitch = -(-cols * size // (4 * CHUNK)) * 4 * CHUNK + 2 * CHUNK
    return row * pitch + (chunk ^ ((row >> 1 if training else row) & 3)) * CHUNK + within


def strided(layout: model.MatrixLayout, rows: int, cols: int, size: int, stride: int) -> Ints:
    """Bytes (rows, cols) from the start of a row- or column-major matrix to its elements; `stride` in bytes."""
    row, col = np.indices((rows, cols))
    if layout is model.MatrixLayout.ColumnMajor:
        row, col = col, row
    offsets: Ints = row * stride + col * size
    return offsets


def allocate(matrices: Mapping[str, model.OpaqueMatrix], shape: str, bug: int) -> dict[str, Bytes]:
    """The memory of every opaque matrix, between guard bytes (CV-038); one for those in the same memory.

    Raises MemoryFault where matrices in one memory overlap.
    """
    ends: dict[str, int] = {}
    for name, matrix in sorted(matrices.items(), key=lambda item: item[1].offset):
        memory = model.memory_of(matrices, name)
        if matrix.offset < ends.get(memory, 0):
            raise MemoryFault(f"{name!r} begins at byte {matrix.offset}, and another matrix ends at {ends[memory]}")
        offsets = optimal(shape, matrix.layout, matrix.rows, matrix.cols, matrix.component.size)
        ends[memory] = matrix.offset + size_of(offsets, matrix.component.size)
    spaces: dict[str, Bytes] = {}
    for memory, size in ends.items():
        spaces[memory] = np.full(size + 2 * model.GUARD_BYTES, POISON, np.uint8)
        if matrices[memory].zero and bug != v.TRAINING_ZERO_FILL_IGNORED:
            spaces[memory][model.GUARD_BYTES : model.GUARD_BYTES + size] = 0
    return {name: spaces[model.memory_of(matrices, name)] for name in matrices}


class Conversions:
    """Converts matrices before and after the dispatch, in order."""

    def __init__(self, case: model.Case, memory: Memory, options: Options) -> None:
        self._case = case
        self._memory = memory
        self._shape = options.opaque
        self._gaps = options.gaps
        self._bug = options.bug

    def run(self, after: bool) -> None:
        """All conversions before or after the dispatch. Raises MemoryFault."""
        for n, conversion in enumerate(self._case.conversions):
            if conversion.after == after:
                try:
                    self._convert(conversion)
                except MemoryFault as fault:
                    raise MemoryFault(f"conversions[{n}]: {fault}") from None

    def _convert(self, c: model.MatrixConversion) -> None:
        source, target = self._component(c.source), self._component(c.destination)
        bits = self._memory.gather(c.source.of, self._places(c, c.source, source, is_target=False), source.size)
        bits = converted(bits, source, target, self._bug)
        addresses = self._places(c, c.destination, target, is_target=True)
        layout = c.destination.layout
        if c.destination.of not in self._case.opaque and layout is not None:
            space = self._memory.spaces[c.destination.of]
            fill_gaps(space, addresses, layout, target.size, c.destination.stride, self._gaps, self._bug)
        kept = converted_elements(c.rows, c.cols, self._bug)
        self._memory.scatter(c.destination.of, addresses[kept], target.size, bits[kept])

    def _component(self, place: model.ConversionSide) -> model.ComponentType:
        if place.of in self._case.opaque:
            return self._case.opaque[place.of].component
        assert place.component is not None
        return place.component

    def _places(
        self, c: model.MatrixConversion, place: model.ConversionSide, component: model.ComponentType, *, is_target: bool
    ) -> Ints:
        """Byte addresses (rows, cols) of one side."""
        opaque = self._case.opaque.get(place.of)
        layout = opaque.layout if opaque is not None else place.layout
        assert layout is not None
        offsets = places(
            self._shape, layout, c.rows, c.cols, component.size, place.stride, self._bug, is_target=is_target
        )
        if opaque is not None:
            begins = opaque.offset
            if self._bug == v.VECTOR_CONVERTED_TO_FIRST and is_target:
                begins = self._case.opaque[model.memory_of(self._case.opaque, place.of)].offset
            return model.GUARD_BYTES + begins + offsets
        return int(self._memory.start(place.of)[0]) + place.offset + offsets


def places(
    shape: str, layout: model.MatrixLayout, rows: int, cols: int, size: int, stride: int, bug: int, *, is_target: bool
) -> Ints:
    """Bytes (rows, cols) from the start of one side of a conversion to its elements of `size` bytes."""
    if layout.optimal:
        if bug == v.CONVERSION_LAYOUTS_CONFUSED and not is_target:
            layout = model.MatrixLayout.InferencingOptimal
        if bug == v.CONVERSION_EXTENTS_SWAPPED and is_target:
            return optimal(shape, layout, cols, rows, size).reshape(rows, cols)
        return optimal(shape, layout, rows, cols, size)
    if bug == (v.CONVERSION_TARGET_STRIDE_IGNORED if is_target else v.CONVERSION_SOURCE_STRIDE_IGNORED):
        stride = (cols if layout is model.MatrixLayout.RowMajor else rows) * size
    elif bug == (v.CONVERSION_TARGET_COLUMNS_IGNORED if is_target else v.CONVERSION_SOURCE_COLUMNS_IGNORED):
        layout = model.MatrixLayout.RowMajor
    return strided(layout, rows, cols, size, stride)


def converted_elements(rows: int, cols: int, bug: int) -> Active:
    """Which elements (rows, cols) a conversion writes."""
    kept = np.ones((rows, cols), bool)
    if bug == v.CONVERSION_TAIL_ROWS_DROPPED and rows > BLOCK_ROWS:
        kept[rows // BLOCK_ROWS * BLOCK_ROWS :] = False
    elif bug == v.CONVERSION_TAIL_COLUMNS_DROPPED and cols > BLOCK_COLUMNS:
        kept[:, cols // BLOCK_COLUMNS * BLOCK_COLUMNS :] = False
    return kept


def fill_gaps(
    space: Bytes, addresses: Ints, layout: model.MatrixLayout, size: int, stride: int, gaps: str, bug: int
) -> None:
    """What lies between the lines of a destination in memory; `addresses` (rows, cols) are those of its elements.

    VK-055 does not say what a conversion leaves there; behind the last line it must write nothing.
    """
    lines = addresses if layout is model.MatrixLayout.RowMajor else addresses.T
    if gaps == "zeroed":
        for line, following in itertools.pairwise(lines):
            space[line[-1] + size : following[0]] = 0
    if bug == v.CONVERSION_LAST_LINE_PADDED:
        space[lines[-1, -1] + size : lines[-1, 0] + stride] = 0


def size_of(offsets: Ints, size: int) -> int:
    """Bytes of an optimal layout with elements of `size` bytes at these offsets."""
    return -(-(int(offsets.max()) + size) // CHUNK) * CHUNK


def converted(bits: Registers, source: model.ComponentType, target: model.ComponentType, bug: int) -> Registers:
    """The elements as another type: rounded to nearest, ties to even (VK-054)."""
    if source is target:
        return bits
    values = floats_of(bits, source)
    if bug == v.CONVERSION_FLOAT8_DENORMALS_FLUSHED and source.size == 1:
        values = np.where(np.abs(values) < source.format.least, 0.0, values)
    elif bug == v.CONVERSION_THROUGH_BFLOAT16 and target is model.ComponentType.float16:
        values = floats_of(bits_of(values, model.ComponentType.bfloat16, NEAREST), model.ComponentType.bfloat16)
    elif bug == v.CONVERSION_FLOAT8_CONFUSED and target is model.ComponentType.float8_e5m2:
        target = model.ComponentType.float8_e4m3fn
    elif bug == v.CONVERSION_TIES_AWAY:
        values = ties_away(values, target)
    values = moved(values, target, bug)
    return bits_of(values, target, TOWARDS_ZERO if bug == v.CONVERSION_TRUNCATES else NEAREST)
