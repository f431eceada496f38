"""Tensor elements of whole matrices, for any number of layouts at once: the steps of `addressing` in order."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from cts.reference.addressing import coordinates as addressing
from cts.reference.addressing.coordinates import Status, TensorCoord
from cts.reference.addressing.layout import TensorLayoutState
from cts.reference.addressing.view import TensorViewState
from cts.reference.numeric.arrays import U8, U32, divisor

#: Elements per block of work: the arrays of a block fit a core's caches, and calls into NumPy are few.
BLOCK_ELEMENTS = 1 << 15

# glibc's malloc gives freed memory back to the kernel at once, until the program has freed one large
# block: from then on it keeps about twice that size. Without this, page faults on the arrays of each
# block take longer than the arithmetic (see bench/oracle.py). The block is never touched.
np.empty(31 << 20, np.uint8)

_State = TypeVar("_State", TensorLayoutState, TensorViewState)


@dataclass(frozen=True)
class Elements:
    """The tensor element of every matrix element.

    `index` (uint32) means something where `status` is OK; both have shape (..., rows, cols).
    """

    index: U32
    status: U8


def matrix_elements(
    layout: TensorLayoutState, view: TensorViewState | None, rows: int, cols: int, store: bool
) -> Elements:
    """matrixCoordToTensorElement, or ...WithView, for every element of rows x cols matrices.

    The leading axes are those of the layout and the view, broadcast.
    """
    layout, view = _addressable(layout, view)
    lead = layout.leading_shape if view is None else np.broadcast_shapes(layout.leading_shape, view.leading_shape)
    row, col = np.arange(rows, dtype=np.uint32)[:, None], np.arange(cols, dtype=np.uint32)
    if math.prod(lead) * rows * cols <= BLOCK_ELEMENTS:
        return _block(layout, view, row, col, store)
    sets = math.prod(lead)
    layout, view = _flattened(layout, lead), view and _flattened(view, lead)
    index = np.empty((sets, rows, cols), np.uint32)
    status = np.empty((sets, rows, cols), np.uint8)
    for some, band in _blocks(sets, rows, cols):
        part = _block(_select(layout, some), view and _select(view, some), row[band], col, store)
        index[some, band] = part.index
        status[some, band] = part.status
    return Elements(index.reshape(*lead, rows, cols), status.reshape(*lead, rows, cols))


def tensor_coordinates(
    layout: TensorLayoutState, view: TensorViewState | None, rows: int, cols: int, store: bool
) -> tuple[Elements, list[U32], list[U32]]:
    """Elements with their blockCoord and coordInBlock, one array per dimension (TA-037)."""
    layout, view = _addressable(layout, view)
    row, col = np.arange(rows, dtype=np.uint32)[:, None], np.arange(cols, dtype=np.uint32)
    tensor = _tensor_coord(layout, view, row, col, store)
    return _elements(layout, tensor), tensor.block_coord, tensor.coord_in_block(layout)


def _block(layout: TensorLayoutState, view: TensorViewState | None, row: U32, col: U32, store: bool) -> Elements:
    return _elements(layout, _tensor_coord(layout, view, row, col, store))


def _elements(layout: TensorLayoutState, tensor: TensorCoord) -> Elements:
    index = addressing.tensor_coord_to_linear(layout, tensor.block_coord)
    # A clip alone may be what differs between sets, or the layout alone.
    return Elements(*np.broadcast_arrays(index, tensor.status))


def _tensor_coord(
    layout: TensorLayoutState, view: TensorViewState | None, row: U32, col: U32, store: bool
) -> TensorCoord:
    """All steps but the last, for rows `row` (n, 1) and columns `col` (all of the matrix)."""
    if view is None:
        index = addressing.matrix_coord_to_linear(row, col, col.size)
        return addressing.span_coord_to_tensor_coord(layout, addressing.linear_to_span_coord(layout, index), store)
    index, skipped = addressing.matrix_coord_to_linear_with_view(view, row, col, col.size)
    index = addressing.view_coord_to_linear(layout, view, addressing.linear_to_view_coord(layout, view, index))
    tensor = addressing.span_coord_to_tensor_coord(layout, addressing.linear_to_span_coord(layout, index), store)
    if not skipped.any():
        return tensor
    return replace(tensor, status=np.where(skipped, np.uint8(Status.SKIP), tensor.status))


def _addressable(
    layout: TensorLayoutState, view: TensorViewState | None
) -> tuple[TensorLayoutState, TensorViewState | None]:
    """A view with which addresses can be computed, as rules are checked afterwards: one of another rank is dropped."""
    layout = replace(layout, span=divisor(layout.span), block_size=divisor(layout.block_size))
    if view is not None and not view.type.has_dimensions and view.dim > layout.dim:
        view = None
    return layout, view and replace(view, view_dimension=divisor(view.view_dimension))


def _flattened(state: _State, lead: tuple[int, ...]) -> _State:
    return state.map(lambda a: np.broadcast_to(a, (*lead, a.shape[-1])).reshape(-1, a.shape[-1]))


def _select(state: _State, sets: slice) -> _State:
    return state.map(lambda a: a[sets])


def _blocks(sets: int, rows: int, cols: int) -> Iterator[tuple[slice, slice]]:
    """Slices of sets and rows that together make blocks of about BLOCK_ELEMENTS."""
    some = max(1, BLOCK_ELEMENTS // (rows * cols))
    band = rows if some > 1 else max(1, BLOCK_ELEMENTS // cols)
    for i in range(0, sets, some):
        for r in range(0, rows, band):
            yield slice(i, i + some), slice(r, r + band)
