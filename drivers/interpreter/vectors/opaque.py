"""Matrices in memory: row- and column-major ones, and the interpreter's own optimal layouts.

An optimal layout is a permutation of the elements, so zeros are a zero matrix (CV-038), with padding
that is never read. Conversions fill the padding with POISON, which is NaN in every floating-point type.
Both layouts cut the matrix into tiles, and round sizes up to ALIGNMENT:

- for inferencing, 8 rows by 16 bytes; tiles follow each other down the columns of tiles, the rows of a
  tile in an order that depends on its column, and 16 bytes of padding follow each tile
- for training, 4 x 4 elements; 4 elements of padding precede each tile, rows of tiles follow each
  other backwards, and the elements of a tile are in Morton order (CV-039: all are whole elements)
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from cts.drivers.interpreter.memory import AddressSpace, OptimalMatrix
from cts.drivers.interpreter.problems import Malformed, Misuse
from cts.drivers.interpreter.values import Array

#: Memory layouts (CV-002).
ROW_MAJOR, COLUMN_MAJOR, INFERENCING_OPTIMAL, TRAINING_OPTIMAL = range(4)
OPTIMAL = (INFERENCING_OPTIMAL, TRAINING_OPTIMAL)

POISON = 0xFF
ALIGNMENT = 64

_ROWS, _BYTES, _SWIZZLE = 8, 16, 5
_TILE = 4


def size(layout: int, rows: int, cols: int, element: int) -> int:
    """Bytes that a matrix in an optimal layout takes; elements have `element` bytes. Raises Malformed."""
    if layout == INFERENCING_OPTIMAL:
        tiles = -(-rows // _ROWS) * -(-cols * element // _BYTES)
        used = tiles * (_ROWS + 1) * _BYTES
    elif layout == TRAINING_OPTIMAL:
        used = -(-rows // _TILE) * -(-cols // _TILE) * (_TILE + 1) * _TILE * element
    else:
        raise Malformed(f"{layout} is not an optimal layout (CV-002)")
    return -(-used // ALIGNMENT) * ALIGNMENT


def offsets(layout: int, rows: int, cols: int, element: int, stride: int) -> Array:
    """Bytes (rows, cols) from the beginning of a matrix to its elements. `stride` is ignored by optimal layouts.

    Raises Malformed for unknown layouts.
    """
    if layout in (ROW_MAJOR, COLUMN_MAJOR):
        down, right = (stride, element) if layout == ROW_MAJOR else (element, stride)
        return np.arange(rows, dtype=np.int64)[:, None] * down + np.arange(cols, dtype=np.int64) * right
    if layout not in OPTIMAL:
        raise Malformed(f"{layout} is not a memory layout (CV-002)")
    return _optimal(layout, rows, cols, element)


def place_matrix(memory: AddressSpace, address: int, matrix: OptimalMatrix, element: int) -> None:
    """From now on there is this matrix at an address, and none of those that it overlaps."""
    end = address + size(matrix.layout, matrix.rows, matrix.cols, element)
    for other in [a for a in memory.matrices if address <= a < end]:
        del memory.matrices[other]
    memory.matrices[address] = matrix


def expect(memory: AddressSpace, address: int, matrix: OptimalMatrix, dtype: np.dtype[Any]) -> None:
    """Raises Misuse where no conversion has put this matrix there. Zeros are a zero matrix, as devices begin with."""
    there = memory.matrices.get(address)
    if there == matrix:
        return
    places = offsets(matrix.layout, matrix.rows, matrix.cols, dtype.itemsize, 0)
    if not memory.gather(address + places, np.dtype(f"u{dtype.itemsize}")).any():
        place_matrix(memory, address, matrix, dtype.itemsize)
        return
    byte, name = memory.named(address)
    what_is_there = f"; there is one of {_words(there)}" if there else ""
    raise Misuse(
        f"a matrix of {_words(matrix)} at byte {byte} of {name}, where no conversion has put one{what_is_there}"
    )


def _words(matrix: OptimalMatrix) -> str:
    layout = "InferencingOptimal" if matrix.layout == INFERENCING_OPTIMAL else "TrainingOptimal"
    return f"{matrix.rows}x{matrix.cols} {matrix.component} in {layout} layout"


@lru_cache(maxsize=64)
def _optimal(layout: int, rows: int, cols: int, element: int) -> Array:
    row, col = np.arange(rows, dtype=np.int64)[:, None], np.arange(cols, dtype=np.int64)[None, :]
    byte_offsets = _inferencing(row, col, element) if layout == INFERENCING_OPTIMAL else _training(row, col, element)
    byte_offsets.flags.writeable = False
    return byte_offsets


def _inferencing(row: Array, col: Array, element: int) -> Array:
    byte = col * element
    tile = byte // _BYTES * -(-row.size // _ROWS) + row // _ROWS
    swizzled = (row % _ROWS) ^ ((byte // _BYTES + _SWIZZLE) % _ROWS)
    byte_offsets: Array = (tile * (_ROWS + 1) + swizzled) * _BYTES + byte % _BYTES
    return byte_offsets


def _training(row: Array, col: Array, element: int) -> Array:
    down, right = -(-row.size // _TILE), -(-col.size // _TILE)
    tile = (down - 1 - row // _TILE) * right + col // _TILE
    r, c = row % _TILE, col % _TILE
    morton = (c & 1) | (r & 1) << 1 | (c & 2) << 1 | (r & 2) << 2
    byte_offsets: Array = (tile * (_TILE + 1) * _TILE + _TILE + morton) * element
    return byte_offsets
