"""Which components of a cooperative matrix each invocation holds (KM-011: our choice).

By rows element (row, col) has the number row * cols + col, and invocation p of an instance of n holds the elements
p, p + n, p + 2n, ...: component k of it is element k * n + p. By columns the number is col * rows + row. In blocks
invocation p holds the elements from p * count on, by rows. Every invocation has equally many components (KM-015); those
behind the last element read as zero and ignore writes.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from cts.drivers.interpreter.values import BLOCKS, COLUMNS, Array, Instances, Matrix

#: One component number for all lanes, or int64 (lanes or 1,).
Index: TypeAlias = "int | Array"


def length(m: Matrix, instances: Instances) -> int:
    """Components per invocation (KM-015)."""
    return count(m.bits.shape[1], m.bits.shape[2], instances.invocations)


def count(rows: int, cols: int, invocations: int) -> int:
    """Components per invocation when so many share a matrix (KM-015)."""
    return -(-rows * cols // invocations)


def take(m: Matrix, instances: Instances, index: Index) -> Array:
    """Component `index` of every lane, as bit patterns (lanes,)."""
    row, col, exists = _element(m.bits.shape[1], m.bits.shape[2], instances, index)
    instance = instances.of_lane if len(m.bits) > 1 else 0
    bits: Array = np.where(exists, m.bits[instance, row, col], m.bits.dtype.type(0))
    return bits


def set_component(m: Matrix, instances: Instances, index: Index, value: Array, mask: Array | None) -> None:
    """Set component `index` of the lanes of the mask, in place; `bits` must have an entry per instance.

    `value` is (lanes or 1,), of any dtype of the same width.
    """
    row, col, exists = _element(m.bits.shape[1], m.bits.shape[2], instances, index)
    lanes = np.flatnonzero(exists if mask is None else exists & mask)
    row, col = row[lanes], col[lanes]
    bits = value.view(m.bits.dtype)
    m.bits[instances.of_lane[lanes], row, col] = bits if len(bits) == 1 else bits[lanes]


def _element(rows: int, cols: int, instances: Instances, index: Index) -> tuple[Array, Array, Array]:
    """Row and column of each lane's element, and whether the matrix has that element: all (lanes,)."""
    of_lane, total = instances.of_lane, rows * cols
    position = np.arange(len(of_lane)) - instances.first[of_lane]
    if instances.distribution == BLOCKS:
        element = index + position * count(rows, cols, instances.invocations)
    else:
        element = index * instances.invocations + position
    exists, number = element < total, element % total
    if instances.distribution == COLUMNS:
        col, row = np.divmod(number, rows)
    else:
        row, col = np.divmod(number, cols)
    return row, col, exists


def places(rows: int, cols: int, instances: Instances, index: Index) -> Array:
    """Row and column of component `index` of every lane (MX-004): uint32 (lanes, 2).

    A component behind the last element has the place of one that the matrix has.
    """
    row, col, _ = _element(rows, cols, instances, index)
    return np.stack([row, col], axis=1).astype(np.uint32)
