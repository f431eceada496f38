"""Reductions: the combine function over rows, columns or squares, in a variant's order (CM-020..CM-023)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from cts.case.model import ReduceMode
from cts.drivers.emulator.matrices.registers import Registers
from cts.drivers.emulator.mutants import matrices as m

#: The combine function on two arrays of one shape.
Combined: TypeAlias = Callable[[Registers, Registers], Registers]

#: The tile within which some bugs are right.
TILE = 8


@dataclass(frozen=True)
class Reducer:
    """How this run combines. `tree` and `both` are option values (`reduce=`, `both=`)."""

    combine: Combined
    tree: str
    both: str
    bug: int

    def fold(self, items: Registers) -> Registers:
        """Combine along the first axis, which has at least one item."""
        if self.tree == "left":
            return self._left(items)
        if self.tree == "right":
            return self._right(items)
        while len(items) > 1:
            half = (len(items) + 1) // 2
            rest = len(items) - half
            if self.tree == "strided":
                first, second, alone = items[:rest], items[half:], items[rest:half]
            else:
                first, second, alone = items[: 2 * rest : 2], items[1::2], items[2 * rest :]
            items = np.concatenate([self.combine(first, second), alone])
        return np.asarray(items[0], np.uint32)

    def _left(self, items: Registers) -> Registers:
        total = items[0]
        for item in items[1:]:
            total = self.combine(total, item)
        return np.asarray(total, np.uint32)

    def _right(self, items: Registers) -> Registers:
        total = items[-1]
        for item in items[-2::-1]:
            total = self.combine(item, total)
        return np.asarray(total, np.uint32)

    def along(self, elements: Registers, axis: int) -> Registers:
        """Combine elements (instances, rows, cols) along an axis, which stays with extent 1."""
        items = np.moveaxis(elements, axis, 0)
        count = len(items)
        if count > 1:
            if self.bug == (m.REDUCE_LAST_COLUMN_MISSED if axis == 2 else m.REDUCE_LAST_ROW_MISSED):
                items = items[:-1]
            elif self.bug == m.REDUCE_TAIL_MISSED and count > TILE:
                items = items[: count // TILE * TILE]
            elif self.bug == m.REDUCE_TAIL_TWICE and count & (count - 1):
                items = np.concatenate([items, items[-1:]])
            elif self.bug == m.REDUCE_PADDING_COMBINED and count & (count - 1):
                items = np.concatenate([items, np.zeros_like(items[:1])])
        if self.bug == m.REDUCE_STARTS_AT_ZERO:
            items = np.concatenate([np.zeros_like(items[:1]), items])
        return np.expand_dims(self.fold(items), axis)

    def squares(self, elements: Registers) -> Registers:
        """Combine squares of two by two (CM-022)."""
        parts = [elements[:, r::2, c::2] for r in (0, 1) for c in (0, 1)]
        if self.bug == m.REDUCE_2X2_FIRST_TILE:
            parts = [part[:, np.arange(part.shape[1]) % TILE] for part in parts]
        elif self.bug == m.REDUCE_2X2_HALVES:
            rows, cols = elements.shape[1] // 2, elements.shape[2] // 2
            parts = [elements[:, r : r + rows, c : c + cols] for r in (0, rows) for c in (0, cols)]
        elif self.bug == m.REDUCE_2X2_DIAGONAL:
            parts = [parts[0], parts[3]]
        return self.fold(np.stack(parts))


def reduce(elements: Registers, modes: set[ReduceMode], shape: tuple[int, int], reducer: Reducer) -> Registers:
    """The reduction of elements (instances, rows, cols), as (instances, *shape)."""
    if ReduceMode.Square in modes:
        return reducer.squares(elements)
    result = _spread(elements, modes, shape, reducer)
    if reducer.bug == m.REDUCE_COLUMNS_DISAGREE:
        other = _spread(elements, modes, shape, replace(reducer, tree="left" if reducer.tree == "right" else "right"))
        odd = (..., slice(1, None, 2)) if ReduceMode.Row in modes else (slice(None), slice(1, None, 2))
        result[odd] = other[odd]
    return result


def _spread(elements: Registers, modes: set[ReduceMode], shape: tuple[int, int], reducer: Reducer) -> Registers:
    """Combine along rows or columns or both, and give every element of a result row or column the value (CM-021)."""
    bug = reducer.bug
    row, column = ReduceMode.Row in modes, ReduceMode.Column in modes
    source = elements.shape[1:]
    if bug == m.REDUCE_ROW_AS_COLUMN and row != column and source[0] == source[1]:
        elements = elements.transpose(0, 2, 1)
    if bug == m.REDUCE_BOTH_ROWS_ONLY and row and column:
        column = False
    axes = [axis for axis, requested in ((2, row), (1, column)) if requested]
    if reducer.both == "columns":
        axes.reverse()
    reduced = elements
    for axis in axes:
        reduced = reducer.along(reduced, axis)
    if reduced.shape[1] not in (1, shape[0]):  # only where a bug leaves out an axis
        reduced = reduced[:, np.arange(shape[0]) % reduced.shape[1]]
    result = np.broadcast_to(reduced, (len(reduced), *shape)).copy()
    if bug == m.REDUCE_NOT_BROADCAST:
        result[:, 1 if column and not row else shape[0] :, :] = 0
        result[:, :, 1 if row else shape[1] :] = 0
    elif bug == m.REDUCE_FREE_EXTENT_SOURCE:
        result[:, source[0] :, :] = 0
        result[:, :, source[1] :] = 0
    return result
