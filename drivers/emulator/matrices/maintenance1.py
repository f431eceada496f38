"""What VK_EXT_cooperative_matrix_maintenance1 adds: coordinates of components, and conversions (MX-002..MX-004)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cts.case.model import Scope, Use, Walk
from cts.drivers.emulator.matrices.registers import Matrix
from cts.drivers.emulator.mutants import maintenance1 as m

#: The tile within which some bugs are right.
_TILE = 8


def coordinates(walk: Walk, matrix: Matrix, subgroup_size: int, bug: int) -> npt.NDArray[np.uint32]:
    """MX-004: row and column of each element (2, elements), in the order of work."""
    work = matrix.owned.work.astype(np.int64)
    holder, slot, row, col = work.T
    place = np.zeros((2, matrix.owned.invocations, matrix.owned.slots), np.int64)
    place[:, holder, slot] = row, col
    if bug == m.COORDINATE_NEXT_COMPONENT:
        row, col = place[:, holder, (slot + 1) % matrix.owned.slots]
    elif bug == m.COORDINATE_FIRST_COMPONENT:
        row, col = place[:, holder, 0]
    elif bug == m.COORDINATE_FIRST_INVOCATION:
        row, col = place[:, 0, slot]
    elif bug == m.COORDINATE_FIRST_SUBGROUP and matrix.scope is Scope.Workgroup:
        row, col = place[:, holder % subgroup_size, slot]
    elif bug == m.COORDINATE_INDEX_UNIFORM and walk is Walk.ByInvocation:
        # Invocations of odd numbers begin with the second of each two components.
        row, col = place[:, holder, np.minimum(slot ^ (holder & 1), matrix.owned.slots - 1)]
    elif bug == m.COORDINATE_SWAPPED or (bug == m.COORDINATE_USE_B_SWAPPED and matrix.use is Use.B):
        row, col = col, row
    elif bug == m.COORDINATE_IN_TILE:
        row, col = row % _TILE, col % _TILE
    elif bug == m.COORDINATE_COLUMN_BY_ROWS:
        col = col % matrix.rows
    elif bug == m.COORDINATE_FOUR_BITS:
        row, col = row & 15, col & 15
    return np.stack([row, col]).astype(np.uint32)


def accumulated(matrix: Matrix, was: Use, bug: int) -> Matrix:
    """MX-002: an Accumulator that was an A or B; elements stay where they are but for bugs."""
    bits = matrix.dense()
    if bug == m.ACCUMULATED_A_TRANSPOSED and was is Use.A:
        return matrix.holding_dense(bits.transpose(0, 2, 1).reshape(bits.shape))
    if bug == m.ACCUMULATED_B_IN_TILES and was is Use.B:
        return matrix.holding_dense(_within_tiles(bits, bits.shape[1:], transposed=False))
    if bug == m.ACCUMULATED_LAST_ROW_LOST:
        bits[:, -1] = 0
        return matrix.holding_dense(bits)
    if bug == m.ACCUMULATED_HALF_TWICE:
        return matrix.holding_dense(bits[:, :, np.arange(matrix.cols) % -(-matrix.cols // 2)])
    return matrix


def transposed(source: Matrix, target: Matrix, bug: int) -> Matrix:
    """MX-003: rows for columns, in a matrix of the type of `target`."""
    bits, extents = source.dense(), (target.rows, target.cols)
    if bug == m.TRANSPOSING_IGNORED or (bug == m.TRANSPOSING_TO_A_IGNORED and target.use is Use.A):
        return target.holding_dense(bits.reshape(-1, *extents))
    if bug == m.TRANSPOSING_WITHIN_TILES:
        return target.holding_dense(_within_tiles(bits, extents, transposed=True))
    row, col = np.indices(extents)
    if bug == m.TRANSPOSING_TILES_IN_ORDER:
        across, source_across = -(-target.cols // _TILE), -(-source.cols // _TILE)
        tile = row // _TILE * across + col // _TILE
        bits = np.pad(bits, ((0, 0), (0, _TILE * across), (0, _TILE * across)))
        places = tile // source_across * _TILE + col % _TILE, tile % source_across * _TILE + row % _TILE
        return target.holding_dense(bits[:, *places])
    wide = source.wide_in_order()
    if wide is None:
        return target.holding_dense(bits[:, col, row])
    before = np.empty(bits.shape)
    before[:, source.owned.work[:, 2], source.owned.work[:, 3]] = wide
    return target.holding_dense(bits[:, col, row], before[:, col, row])


def _within_tiles(
    bits: npt.NDArray[np.uint32], extents: tuple[int, ...], *, transposed: bool
) -> npt.NDArray[np.uint32]:
    """Elements (instances, *extents) that have changed places within their tiles; beyond the source there is 0."""
    row, col = np.indices(extents)
    bits = np.pad(bits, ((0, 0), (0, max(extents) + _TILE), (0, max(extents) + _TILE)))
    swapped: npt.NDArray[np.uint32] = bits[:, row // _TILE * _TILE + col % _TILE, col // _TILE * _TILE + row % _TILE]
    if not transposed:
        inside = (row // _TILE * _TILE + col % _TILE < extents[0]) & (col // _TILE * _TILE + row % _TILE < extents[1])
        return np.where(inside, swapped, bits[:, row, col])
    return swapped
