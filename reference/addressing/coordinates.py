"""From matrix coordinates to tensor elements (TA-030..TA-036), for whole matrices at once.

Each function is the specification's function of the same name. Layouts and views have state of
shape (..., dim); coordinates and indices have shape (..., rows, cols), uint32, and one such array
per dimension where the specification has an array of coordinates. Leading axes broadcast. Spans,
view dimensions and block sizes must not be 0 here; `elements.matrix_elements` sees to that.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from cts.case.model import ClampMode
from cts.reference.addressing.layout import TensorLayoutState, packed_strides
from cts.reference.addressing.view import TensorViewState
from cts.reference.numeric.arrays import I32, U8, U32, Mask, divide, divisor, floor_mod, quotients

#: A negative coordinate, seen as unsigned bits, is at least this.
_SIGN = np.uint32(1 << 31)


class Status(enum.IntEnum):
    """What becomes of one matrix element (TA-035, TA-038)."""

    #: It is loaded from, or stored to, the location at its index.
    OK = 0
    #: Clipped: a load keeps the Object's element, a store does nothing.
    SKIP = 1
    #: Out of bounds: a load gives clampValue.
    CLAMPED = 2
    #: Out of bounds: a store does nothing.
    DISCARD = 3
    #: Out of bounds with clamp mode Undefined, or where a remainder divides by 0 (TA-060, TA-063).
    UNDEFINED = 4
    #: The instance does not take this step: nothing happens.
    INACTIVE = 5
    #: Outside the range of a storage buffer, in a case with robustness: what is loaded is zero or anything, and a store
    #: does nothing (VK-062, VK-063).
    OUTSIDE = 6
    #: Out of bounds in a dimension whose clamping depends on how the text's types are read (AM-57).
    UNCLEAR = 7


@dataclass(frozen=True)
class TensorCoord:
    """Where elements lie: tensor and block coordinates per dimension, and what happens to each element."""

    coord: list[U32]
    block_coord: list[U32]
    status: U8

    def coord_in_block(self, layout: TensorLayoutState) -> list[U32]:
        """Positions within blocks, one array per dimension."""
        return [
            c - block * _axis(layout.block_size, dim)
            for dim, (c, block) in enumerate(zip(self.coord, self.block_coord, strict=True))
        ]


def matrix_coord_to_linear(row: U32, col: U32, n: int) -> U32:
    """TA-031: the row-major index of (row, col) in a matrix of n columns."""
    return row * np.uint32(n) + col


def matrix_coord_to_linear_with_view(view: TensorViewState, row: U32, col: U32, n: int) -> tuple[U32, Mask]:
    """TA-032: the index within the clip rectangle, and which elements lie outside it."""
    row_offset, row_span = _axis(view.clip_row_offset, 0), _axis(view.clip_row_span, 0)
    col_offset, col_span = _axis(view.clip_col_offset, 0), _axis(view.clip_col_span, 0)
    skip_row = (row < row_offset) | (row >= row_offset + row_span)
    skip_col = (col < col_offset) | (col >= col_offset + col_span)
    width = np.minimum(np.uint32(n), col_span)
    return (row - row_offset) * width + (col - col_offset), skip_row | skip_col


def linear_to_view_coord(layout: TensorLayoutState, view: TensorViewState, index: U32) -> list[U32]:
    """TA-033, first half: digits of the index; the innermost belongs to dimension permutation[VDim-1]."""
    dimensions = view.view_dimension if view.type.has_dimensions else layout.span
    coord = [index] * view.dim
    for i in reversed(view.type.permutation):
        index, coord[i] = divide(index, _axis(dimensions, i))
    return coord


def view_coord_to_linear(layout: TensorLayoutState, view: TensorViewState, coord: Sequence[U32]) -> U32:
    """TA-033, second half: the index in the span, by the view's own strides or those of as many spans (TA-065)."""
    return _dot(coord, view.view_stride if view.type.has_dimensions else packed_strides(layout.span[..., : view.dim]))


def linear_to_span_coord(layout: TensorLayoutState, index: U32) -> list[U32]:
    """TA-034: digits of the index; the outermost wraps as well."""
    coord = [index] * layout.dim
    for dim in reversed(range(layout.dim)):
        index, coord[dim] = divide(index, _axis(layout.span, dim))
    return coord


def span_coord_to_tensor_coord(layout: TensorLayoutState, span_coord: Sequence[U32], store: bool) -> TensorCoord:
    """TA-035: add the offset, clamp against layoutDimension, split off the position within the block."""
    mode = layout.type.clamp
    if store and mode is not ClampMode.Undefined:
        mode = ClampMode.Constant
    coord, block_coord = [], []
    terminated: Mask | None = None
    unclear: Mask | None = None
    blocks = bool((layout.block_size != 1).any())
    for dim in range(layout.dim):
        dimension = _axis(layout.layout_dimension, dim)
        c = span_coord[dim] + _axis(layout.offset, dim)
        outside = c >= np.minimum(dimension, _SIGN)  # c < 0 || c >= dimension, c being signed
        if outside.any():
            if mode in _CLAMP:
                # Coordinates in bounds are clamped to themselves, so all may go through it.
                inside, c = c, _CLAMP[mode](c.view(np.int32), divisor(dimension).view(np.int32)).view(np.uint32)
                if (doubtful := _doubtful(mode, dimension)).any():
                    c = np.where(outside, c, inside)
                    unclear = outside & doubtful if unclear is None else unclear | (outside & doubtful)
                outside = outside & (dimension == _DIVIDES_BY_ZERO.get(mode, -1))
            if mode is not ClampMode.ClampToEdge:
                terminated = outside if terminated is None else terminated | outside
        coord.append(c)
        block_coord.append(quotients(c, _axis(layout.block_size, dim)) if blocks else c)
    status = np.zeros((1, 1, 1), np.uint8) if terminated is None else terminated * np.uint8(_terminal(mode, store))
    if unclear is not None:
        status = np.where(unclear & (status == Status.OK), np.uint8(Status.UNCLEAR), status)
    return TensorCoord(coord, block_coord, status)


def tensor_coord_to_linear(layout: TensorLayoutState, block_coord: Sequence[U32]) -> U32:
    """The element's index: strides count blocks. TA-036 multiplies it by the component's size."""
    return _dot(block_coord, layout.stride)


def _doubtful(mode: ClampMode, dimension: U32) -> Mask:
    """AM-57: dimensions with which clamping gives one coordinate in signed arithmetic and another in unsigned."""
    doubtful: Mask = dimension > _LARGEST[mode]
    return doubtful if mode is ClampMode.Repeat else doubtful | (dimension == 0)


def _edge(c: I32, dimension: I32) -> I32:
    clamped: I32 = np.minimum(np.maximum(c, np.int32(0)), dimension - np.int32(1))
    return clamped


def _repeat(c: I32, dimension: I32) -> I32:
    """TA-035. A dimension from 2^31 on, of which all is unclear (AM-57), is negative here and counts as 1."""
    return floor_mod(c, np.maximum(dimension, np.int32(1)))


def _mirror(c: I32, dimension: I32) -> I32:
    """TA-035: a period of 2 * dimension - 2, whose second half runs backwards (AM-01)."""
    period = np.maximum(2 * dimension - 2, np.int32(1))  # 0 for a dimension of 1, which is undefined out of bounds
    c = floor_mod(c, period)
    mirrored: I32 = np.minimum(c, period - c)  # c >= dimension ? period - c : c
    return mirrored


#: The modes that move a coordinate back into bounds.
_CLAMP: dict[ClampMode, Callable[[I32, I32], I32]] = {
    ClampMode.ClampToEdge: _edge,
    ClampMode.Repeat: _repeat,
    ClampMode.RepeatMirrored: _mirror,
}

#: The dimension by which a mode's remainder would divide by 0 (TA-063).
_DIVIDES_BY_ZERO = {ClampMode.Repeat: 0, ClampMode.RepeatMirrored: 1}

#: The largest dimension that a mode computes with alike in signed and unsigned 32-bit arithmetic (AM-57).
_LARGEST = {ClampMode.ClampToEdge: 2**31 - 1, ClampMode.Repeat: 2**31 - 1, ClampMode.RepeatMirrored: 2**30}


def _terminal(mode: ClampMode, store: bool) -> Status:
    """What it means that the index calculation of an element has terminated."""
    if mode is ClampMode.Constant:
        return Status.DISCARD if store else Status.CLAMPED
    return Status.UNDEFINED


def _axis(state: U32, dim: int) -> U32:
    """One dimension's state, (..., dim) to (..., 1, 1)."""
    return state[..., dim, None, None]


def _dot(coord: Sequence[U32], stride: U32) -> U32:
    """The sum of coordinates times strides, mod 2^32."""
    total = coord[0] * _axis(stride, 0)
    for dim in range(1, len(coord)):
        total = total + coord[dim] * _axis(stride, dim)
    return total
