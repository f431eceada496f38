"""Which invocation owns which element of a matrix, and in which order elements are worked on.

A matrix is cut into tiles, row by row of tiles; each tile's elements, row by row, are dealt to the
invocations of the scope instance in turn, into consecutive register slots. Any such distribution is
legal (KM-011), and no order of accesses may show (TA-044).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from cts.drivers.emulator.matrices.state import Work
from cts.drivers.emulator.mutants import matrices as m


@dataclass(frozen=True)
class Distribution:
    """A matrix type's place in registers.

    `work` (rows * cols, 4): invocation, slot, row and column of each element, in the order of work.
    `last` is the work item of the element in the last row and column.
    """

    invocations: int
    slots: int
    work: Work
    last: int


@lru_cache(maxsize=256)
def distribute(rows: int, cols: int, invocations: int, tile: tuple[int, int], order: str, stores: str) -> Distribution:
    """Deal the elements out. A tile dimension of 0 spans the matrix."""
    tile_rows, tile_cols = tile[0] or rows, tile[1] or cols
    row, col = (index.reshape(-1) for index in np.indices((rows, cols)))
    tile_number = (row // tile_rows) * -(-cols // tile_cols) + col // tile_cols
    within = (row % tile_rows) * tile_cols + col % tile_cols
    slots_per_tile = -(-tile_rows * tile_cols // invocations)
    invocation = within % invocations
    slot = tile_number * slots_per_tile + within // invocations
    sequence = np.lexsort(_keys(invocation, slot, order, stores))
    work = np.ascontiguousarray(np.stack([invocation, slot, row, col], 1)[sequence], np.int32)
    return Distribution(invocations, int(slot.max()) + 1, work, int(np.argmax(sequence == rows * cols - 1)))


def _keys(invocation: Any, slot: Any, order: str, stores: str) -> tuple[Any, Any]:
    """Sort keys, the last one first: `order` within an invocation, `stores` among invocations."""
    if order == "reversed":
        slot = -slot
    elif order == "shuffled":
        slot = (slot * 2654435761 + 12345) & 0xFFFF
    if stores == "interleaved":
        return invocation, slot
    return slot, -invocation if stores == "reversed" else invocation


def storing(work: Work, subgroup_size: int, bug: int) -> Work:
    """The work items of a store: all of them."""
    if bug == m.STORE_INVOCATION_IDLE:
        return np.ascontiguousarray(work[work[:, 0] < work[:, 0].max()])
    if bug == m.WORKGROUP_FIRST_SUBGROUP:
        return np.ascontiguousarray(work[work[:, 0] < subgroup_size])
    return work
