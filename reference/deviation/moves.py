"""Transforms that take elements from other places: functions of arrays (sets, instances, rows, columns)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from cts.case.oracle.deviation import Step

Array = npt.NDArray[Any]
Move = Callable[[Array], Array]


class NotComputable(Exception):
    """A wrong program whose memory is unknown, such as a program that reads outside of its buffers."""


#: The rows and columns of the tiles whose elements are dealt to the invocations of a subgroup; 0: of the matrix.
_TILES = {"tiles_4x4": (4, 4), "tiles_8x8": (8, 8), "tiles_16x8": (16, 8), "rows": (1, 0), "columns": (0, 1)}

#: The invocations of a subgroup, where nothing says their number.
_INVOCATIONS = 32


def held(tiles: str, rows: int, cols: int) -> tuple[Array, Array]:
    """The invocation that holds each element (rows, cols), and as which of its components.

    The elements of a tile, row by row, are dealt to the invocations in turn, tile after tile.
    """
    high, wide = (n or whole for n, whole in zip(_TILES[tiles], (rows, cols), strict=True))
    row, col = np.indices((rows, cols))
    within = row % high * wide + col % wide
    tile = row // high * -(-cols // wide) + col // wide
    return within % _INVOCATIONS, tile * -(-high * wide // _INVOCATIONS) + within // _INVOCATIONS


def move_of(step: Step) -> Move | None:
    """The function that moves elements; None if the transform changes them otherwise.

    The function wants all rows, columns and instances, and raises NotComputable for a shape that it does not apply to.
    """
    function = _MOVES.get(step.name)
    if function is None:
        return None
    return lambda array: function(array, *step.arguments)


def _transposed(a: Array) -> Array:
    return np.swapaxes(a, -1, -2) if a.shape[-1] == a.shape[-2] else a


def _transposed_blocks(a: Array, n: int) -> Array:
    rows, cols = a.shape[-2:]
    if n < 2 or rows % n or cols % n:
        raise NotComputable("not of whole blocks")
    row, col = np.indices((rows, cols))
    return a[..., row // n * n + col % n, col // n * n + row % n]


def tiles_swapped(a: Array, n: int) -> Array:
    """Tiles change places as in a transposition, and the elements within them do not; beyond the source there is 0."""
    rows, cols = a.shape[-2:]
    row, col = np.indices((rows, cols))
    n = max(n, 1)
    row, col = col // n * n + row % n, row // n * n + col % n
    return np.where((row < rows) & (col < cols), a[..., np.minimum(row, rows - 1), np.minimum(col, cols - 1)], 0)


def _rows(a: Array, index: Array) -> Array:
    return np.take(a, index, axis=-2)


def _columns(a: Array, index: Array) -> Array:
    return np.take(a, index, axis=-1)


def _instances(a: Array, index: Array) -> Array:
    return np.take(a, index, axis=1)


def _indices(a: Array, axis: int) -> Array:
    return np.arange(a.shape[axis])


def _modulo(index: Array, n: int) -> Array:
    if n < 1:
        raise NotComputable("modulo 0")
    return index % n


def _first_of_each(index: Array, n: int, m: int) -> Array:
    within = _modulo(index, n)
    return index - within + _modulo(within, m)


_MOVES: dict[str, Callable[..., Array]] = {
    "transposed": _transposed,
    "transposed_blocks": _transposed_blocks,
    "first": lambda a: np.broadcast_to(a[..., :1, :1], a.shape),
    "first_row": lambda a: np.broadcast_to(a[..., :1, :], a.shape),
    "first_column": lambda a: np.broadcast_to(a[..., :, :1], a.shape),
    "moved_rows": lambda a, n: _rows(a, (_indices(a, -2) + n) % a.shape[-2]),
    "moved_columns": lambda a, n: _columns(a, (_indices(a, -1) + n) % a.shape[-1]),
    "reversed_rows": lambda a: a[..., ::-1, :],
    "reversed_columns": lambda a: a[..., ::-1],
    "rows_below": lambda a, n: _rows(a, _modulo(_indices(a, -2), n)),
    "columns_below": lambda a, n: _columns(a, _modulo(_indices(a, -1), n)),
    "columns_of_each": lambda a, n, m: _columns(a, _first_of_each(_indices(a, -1), n, m)),
    "rows_of_each": lambda a, n, m: _rows(a, _first_of_each(_indices(a, -2), n, m)),
    "columns_by_rows": lambda a: _columns(a, _indices(a, -1) % a.shape[-2]),
    "rows_by_columns": lambda a: _rows(a, _indices(a, -2) % a.shape[-1]),
    "swapped_halves": lambda a: _columns(a, (_indices(a, -1) + a.shape[-1] // 2) % a.shape[-1]),
    "first_instance": lambda a: np.broadcast_to(a[:, :1], a.shape),
    "last_instance": lambda a: np.broadcast_to(a[:, -1:], a.shape),
    "instance_before": lambda a: _instances(a, np.maximum(_indices(a, 1) - 1, 0)),
    "first_of_each": lambda a, n: _instances(a, _indices(a, 1) - _modulo(_indices(a, 1), n)),
}
