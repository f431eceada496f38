"""Lanes as a grid: one row per subgroup, one column per invocation of it.

The last subgroup of a workgroup may be short; the columns that it lacks are never active.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from cts.drivers.interpreter.compile import Compiler
from cts.drivers.interpreter.machine import Machine
from cts.drivers.interpreter.problems import Malformed, Unsupported
from cts.drivers.interpreter.values import SUBGROUP, Array, Lanes


class Grid:
    """`row` and `column` (lanes,) are where each lane is; `lane` (subgroups, size) is the lane at a `present` place."""

    def __init__(self, lanes: Lanes) -> None:
        subgroups = lanes.scopes[SUBGROUP]
        self.size = subgroups.invocations
        self.row: Array = subgroups.of_lane
        self.column: Array = np.arange(lanes.lanes) - subgroups.first[self.row]
        shape = (subgroups.count, self.size)
        self.lane: Array = np.zeros(shape, np.intp)
        self.present: Array = np.zeros(shape, np.bool_)
        self.lane[self.row, self.column] = np.arange(lanes.lanes)
        self.present[self.row, self.column] = True

    def active(self, mask: Array | None) -> Array:
        """Which invocations take part: bool (subgroups, size)."""
        return self.present if mask is None else self.present & mask[self.lane]

    def spread(self, value: Array) -> Array:
        """A value per lane as (subgroups, size, ...); of absent invocations some lane's."""
        everybody = np.broadcast_to(value, (len(self.row), *value.shape[1:]))
        return np.asarray(everybody[self.lane])

    def gather(self, grid: Array) -> Array:
        """The reverse of `spread`."""
        return np.asarray(grid[self.row, self.column])

    def read(self, value: Array, column: Array) -> Array:
        """What invocation `column` (lanes or 1,) of each lane's subgroup has; another's if that is absent."""
        inside = np.clip(column.astype(np.int64), 0, self.size - 1)
        everybody = np.broadcast_to(value, (len(self.row), *value.shape[1:]))
        return np.asarray(everybody[self.lane[self.row, np.broadcast_to(inside, self.row.shape)]])

    def first(self, mask: Array | None) -> Array:
        """The first active column of each row; 0 where none is."""
        return np.asarray(self.active(mask).argmax(axis=1))


@lru_cache(maxsize=16)
def _grid(lanes: Lanes) -> Grid:
    return Grid(lanes)


def grid_of(m: Machine) -> Grid:
    """The grid of the machine's lanes. Raises Unsupported where they are no invocations, as in a callback."""
    if SUBGROUP not in m.topology.scopes:
        raise Unsupported("where lanes belong to no subgroup")
    return _grid(m.topology)


def require_subgroup(c: Compiler, scope: int) -> None:
    """Vulkan has these instructions for subgroups only."""
    if (number := c.declared.number(scope)) != SUBGROUP:
        raise Malformed(f"execution scope {number}; it must be Subgroup ({SUBGROUP})")
