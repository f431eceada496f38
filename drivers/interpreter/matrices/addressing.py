"""Which tensor element each element of a cooperative matrix stands for (TA-030 to TA-041).

Everything is computed for all elements of all instances at once. Numbers are uint32 and wrap (TA-030);
arrays broadcast to (instances, rows, cols), and `Coordinates` to (dims, instances, rows, cols).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.handlers.tensor import row_major
from cts.drivers.interpreter.problems import Misuse
from cts.drivers.interpreter.values import Array, Layout, View

#: Clamp modes (TA-002).
UNDEFINED, CONSTANT, CLAMP_TO_EDGE, REPEAT, REPEAT_MIRRORED = range(5)

_U32 = np.uint32


@dataclass(frozen=True)
class Elements:
    """Where the elements of a matrix lie.

    `index` counts matrix components from the pointer (TA-036), uint32. `skipped` elements are outside the
    clip rectangle; `outside` ones are outside the tensor, with no element in their place. Both are
    None where there are none, and bool arrays otherwise. The other fields are valid for other elements only.
    `coordinate` is the element's place in the tensor (dims, instances, rows, cols), int64, and `block` that of
    its block, uint32, counted in blocks of `block_size` (dims, instances, 1, 1).
    """

    index: Array
    skipped: Array | None
    outside: Array | None
    coordinate: Array
    block: Array
    block_size: Array

    @property
    def in_block(self) -> Array:
        """Where the element lies in its block, uint32, shaped as `block`."""
        inside: Array = self.coordinate.astype(np.uint32) - self.block * self.block_size
        return inside


def elements(
    rows: int,
    cols: int,
    layout: Layout,
    layout_type: ty.TensorLayout,
    view: View | None,
    view_type: ty.TensorView | None,
    *,
    is_store: bool,
) -> Elements:
    """Locate all elements. Layout and view hold one entry per instance, or one for all."""
    row = np.arange(rows, dtype=np.uint32)[None, :, None]
    col = np.arange(cols, dtype=np.uint32)[None, None, :]
    skipped = None
    if view is None:
        ordinal = row * _U32(cols) + col  # TA-031, TA-040
    else:
        assert view_type is not None
        ordinal, skipped = _clip(row, col, cols, view)
        ordinal = _through_view(ordinal, layout, view, view_type)
    inside_span = _digits(ordinal, _per_dimension(layout.span), range(layout_type.dim))  # TA-034
    coordinates = np.stack(np.broadcast_arrays(*inside_span))
    coordinates, outside = _in_tensor(coordinates, layout, layout_type.clamp, is_store)
    block_size = _leading(layout.block_size)
    blocks = (coordinates // block_size).astype(np.uint32)
    index = (blocks * _leading(layout.stride)).sum(axis=0, dtype=np.uint32)
    return Elements(index, skipped, outside, coordinates, blocks, block_size)


def _clip(row: Array, col: Array, cols: int, view: View) -> tuple[Array, Array | None]:
    """TA-032: number the elements of the clip rectangle, row by row; say which lie outside it."""
    row_offset, row_span, col_offset, col_span = _per_dimension(view.clip)
    # A row is inside when it is at least the offset and below offset + span, the sum mod 2^32.
    row_inside = (row >= row_offset) & (row < row_offset + row_span)
    col_inside = (col >= col_offset) & (col < col_offset + col_span)
    width = np.minimum(col_span, _U32(cols))
    ordinal = (row - row_offset) * width + (col - col_offset)
    inside = row_inside & col_inside
    return ordinal, None if inside.all() else ~inside


def _through_view(ordinal: Array, layout: Layout, view: View, t: ty.TensorView) -> Array:
    """TA-033: read the number as coordinates of the permuted view, and those as an ordinal of the span."""
    if not t.has_dimensions and t.dim > layout.span.shape[1]:
        raise Misuse(f"a view of {t.dim} dimensions without dimensions of its own, on a layout of fewer (TA-065)")
    extents = view.dimension if t.has_dimensions else layout.span[:, : t.dim]
    strides = view.stride if t.has_dimensions else row_major(extents)
    # The permutation lists view dimensions from the slowest running to the fastest.
    coordinates = _digits(ordinal, _per_dimension(extents), t.permutation)
    terms = [coordinates[k] * stride for k, stride in enumerate(_per_dimension(strides))]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _digits(number: Array, radices: list[Array], slow_to_fast: tuple[int, ...] | range) -> list[Array]:
    """A mixed-radix number's digit of each dimension; the slowest wraps as well (TA-082)."""
    digits: list[Array] = [number] * len(radices)
    for dimension in reversed(slow_to_fast):
        rest = number // radices[dimension]
        digits[dimension] = number - rest * radices[dimension]
        number = rest
    return digits


def _in_tensor(coordinates: Array, layout: Layout, clamp: int, is_store: bool) -> tuple[Array, Array | None]:
    """TA-035: shift span coordinates (dims, instances, rows, cols) into the tensor, resolve those out of bounds.

    Returns int64 coordinates of the same shape, and which elements have no place in the tensor.
    """
    # Sums wrap in 32 bits and are then read as signed; from there on 64 bits hold every number exactly.
    shifted = (coordinates + _leading(layout.offset)).view(np.int32).astype(np.int64)
    extent = _leading(layout.dimension).astype(np.int64)
    wrong = (shifted < 0) | (shifted >= extent)
    outside = None
    if wrong.any():
        # A store writes nothing out of bounds, in every mode that is defined (TA-035).
        if clamp == CONSTANT or (is_store and clamp != UNDEFINED):
            outside = np.asarray(wrong.any(axis=0))
        elif clamp == CLAMP_TO_EDGE:
            shifted = np.clip(shifted, 0, np.maximum(extent - 1, 0))
        elif clamp == REPEAT:
            shifted = np.where(wrong, np.mod(shifted, extent), shifted)
        elif clamp == REPEAT_MIRRORED:
            period = 2 * extent - 2
            phase = np.mod(shifted, period)
            shifted = np.where(wrong, np.minimum(phase, period - phase), shifted)
    return shifted, outside


def _leading(values: Array) -> Array:
    """(instances, dims) to (dims, instances, 1, 1)."""
    return values.T[:, :, None, None]


def _per_dimension(values: Array) -> list[Array]:
    """(instances, dims) to one (instances, 1, 1) per dimension; a scalar where all agree, to divide faster."""
    if len(values) == 1:
        return list(values[0])
    return list(values.T[:, :, None, None])
