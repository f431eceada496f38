"""Setters of tensor layouts and views, run by every subgroup on its own state (TA-013..TA-021)."""

from __future__ import annotations

from cts.drivers.emulator.jit import device, kernel
from cts.drivers.emulator.matrices import state
from cts.drivers.emulator.mutants import matrices as m

# Which setter
SET_BLOCK_SIZE, SET_DIMENSION, SET_STRIDE, SLICE, SET_CLAMP_VALUE, SET_CLIP = range(6)


@device
def dense_strides(t: state.Ints, bug: int) -> None:
    """stride[last] = 1; stride[i] = stride[i+1] * ceil(dim[i+1] / blockSize[i+1]) (TA-014)."""
    stride = 1
    for i in range(t[state.INFO, state.RANK] - 1, -1, -1):
        t[state.STRIDE, i] = stride
        extent, block = t[state.DIM, i], t[state.BLOCK, i]
        if bug == m.DIMENSION_OWN_EXTENT and i > 0:
            extent = t[state.DIM, i - 1]
        if bug == m.DIMENSION_STRIDE_ELEMENTS:
            block = 1
        blocks = (extent + block - 1) // block
        if bug == m.DIMENSION_FLOOR_BLOCKS:
            blocks = extent // block
        stride = (stride * blocks) & state.U32


@device
def set_block_size(t: state.Ints, sizes: state.Ints, bug: int) -> None:
    """Strides stay as they are: from here on they count blocks (TA-013)."""
    for i in range(t[state.INFO, state.RANK]):
        t[state.BLOCK, i] = sizes[i]
    if bug == m.BLOCK_RESETS_STRIDE:
        dense_strides(t, bug)


@device
def set_dimension(t: state.Ints, dims: state.Ints, bug: int) -> None:
    """Dimensions and span, offset 0, dense strides; block size and clamp value stay (TA-014)."""
    for i in range(t[state.INFO, state.RANK]):
        t[state.DIM, i] = t[state.SPAN, i] = dims[i]
        if bug != m.DIMENSION_KEEPS_OFFSET:
            t[state.OFFSET, i] = 0
        if bug == m.DIMENSION_RESETS_BLOCK:
            t[state.BLOCK, i] = 1
    if bug == m.DIMENSION_RESETS_CLAMP_VALUE:
        t[state.INFO, state.CLAMP_VALUE] = 0
    if bug == m.DIMENSION_KEEPS_STRIDE and t[state.STRIDE, t[state.INFO, state.RANK] - 1] != 0:
        return
    dense_strides(t, bug)


@device
def set_stride(t: state.Ints, strides: state.Ints, bug: int) -> None:
    """TA-015."""
    last = t[state.INFO, state.RANK] - 1
    for i in range(last + 1):
        t[state.STRIDE, i] = strides[i]
    if bug == m.STRIDE_INNERMOST_ONE:
        t[state.STRIDE, last] = 1


@device
def slice_layout(t: state.Ints, operands: state.Ints, bug: int) -> None:
    """Offsets add up, spans replace (TA-016). `operands` are the offsets, then the spans."""
    rank = t[state.INFO, state.RANK]
    for i in range(rank):
        offset, span = operands[i], operands[rank + i]
        if bug != m.SLICE_REPLACES_OFFSET:
            offset = (t[state.OFFSET, i] + offset) & state.U32
        if bug == m.SLICE_MIN_SPAN:
            span = min(t[state.SPAN, i], span)
        if bug == m.SLICE_CROPS_SPAN and offset < t[state.DIM, i]:
            span = min(span, t[state.DIM, i] - offset)
        t[state.OFFSET, i] = offset
        t[state.SPAN, i] = span
    if bug == m.SLICE_RESETS_STRIDE:
        dense_strides(t, bug)


@kernel("void(int64, int64[:,:,::1], int64[:,::1], int64)")
def set_layout(setter: int, layouts: state.Ints, operands: state.Ints, bug: int) -> None:
    """Apply a setter in place. `operands`: (subgroups, count), each in 0 to 2^32-1."""
    for s in range(layouts.shape[0]):
        t, values = layouts[s], operands[s]
        if setter == SET_BLOCK_SIZE:
            set_block_size(t, values, bug)
        elif setter == SET_DIMENSION:
            set_dimension(t, values, bug)
        elif setter == SET_STRIDE:
            set_stride(t, values, bug)
        elif setter == SLICE:
            slice_layout(t, values, bug)
        elif bug != m.CLAMP_VALUE_ZERO:
            t[state.INFO, state.CLAMP_VALUE] = values[0]


@device
def dense_view_strides(v: state.Ints) -> None:
    """Row-major products of the view's dimensions (TA-019)."""
    stride = 1
    for i in range(v[state.VIEW_INFO, state.RANK] - 1, -1, -1):
        v[state.VIEW_STRIDE, i] = stride
        stride = (stride * v[state.DIM, i]) & state.U32


@device
def set_view_dimension(v: state.Ints, dims: state.Ints, bug: int) -> None:
    """TA-019."""
    rank = v[state.VIEW_INFO, state.RANK]
    for i in range(rank):
        v[state.DIM, i] = dims[i]
    if bug == m.VIEW_DIMENSION_KEEPS_STRIDE and v[state.VIEW_STRIDE, rank - 1] != 0:
        return
    dense_view_strides(v)


@device
def set_view_stride(v: state.Ints, strides: state.Ints, bug: int) -> None:
    """TA-020."""
    if bug == m.VIEW_STRIDE_IGNORED:
        return
    for i in range(v[state.VIEW_INFO, state.RANK]):
        v[state.VIEW_STRIDE, i] = strides[i]


@device
def set_clip(v: state.Ints, operands: state.Ints, bug: int) -> None:
    """`operands`: row offset, row span, column offset, column span (TA-021)."""
    row, col = 0, 2
    if bug == m.VIEW_CLIP_SWAPPED:
        row, col = 2, 0
    v[state.VIEW_CLIP, state.ROW_OFFSET] = operands[row]
    v[state.VIEW_CLIP, state.ROW_SPAN] = operands[row + 1]
    v[state.VIEW_CLIP, state.COL_OFFSET] = operands[col]
    v[state.VIEW_CLIP, state.COL_SPAN] = operands[col + 1]


@kernel("void(int64, int64[:,:,::1], int64[:,::1], int64)")
def set_view(setter: int, views: state.Ints, operands: state.Ints, bug: int) -> None:
    """Apply a setter in place. `operands`: (subgroups, count), each in 0 to 2^32-1."""
    for s in range(views.shape[0]):
        v, values = views[s], operands[s]
        if setter == SET_DIMENSION:
            set_view_dimension(v, values, bug)
        elif setter == SET_STRIDE:
            set_view_stride(v, values, bug)
        else:
            set_clip(v, values, bug)
