"""Address generation: every invocation computes, in scalar arithmetic, where each of its elements lives.

All values are 32-bit, held in int64 and reduced where the specification's type says so (TA-030).
"""

from __future__ import annotations

import numpy as np

from cts.drivers.emulator.jit import device, kernel
from cts.drivers.emulator.matrices import state
from cts.drivers.emulator.mutants import matrices as m

#: No linear index: the element is clipped.
CLIPPED = -1


@device
def matrix_linear(row: int, col: int, rows: int, cols: int, is_b: bool, bug: int) -> int:
    """TA-031: neither the rows nor the Use enter (TA-040)."""
    if bug == m.LINEAR_USES_ROWS:
        return (row * rows + col) & state.U32
    if bug == m.USE_B_TRANSPOSED and is_b:
        return (col * rows + row) & state.U32
    return (row * cols + col) & state.U32


@device
def is_clipped(v: state.Ints, row: int, col: int, bug: int) -> bool:
    """Outside the view's clip rectangle (TA-032)."""
    row_start, row_end = (
        v[state.VIEW_CLIP, state.ROW_OFFSET],
        (v[state.VIEW_CLIP, state.ROW_OFFSET] + v[state.VIEW_CLIP, state.ROW_SPAN]) & state.U32,
    )
    col_start, col_end = (
        v[state.VIEW_CLIP, state.COL_OFFSET],
        (v[state.VIEW_CLIP, state.COL_OFFSET] + v[state.VIEW_CLIP, state.COL_SPAN]) & state.U32,
    )
    if bug == m.CLIP_END_64_BIT:
        row_end, col_end = (
            row_start + v[state.VIEW_CLIP, state.ROW_SPAN],
            col_start + v[state.VIEW_CLIP, state.COL_SPAN],
        )
    elif bug == m.CLIP_ROW_START_EXCLUSIVE and row_start > 0:
        row_start += 1
    elif bug == m.CLIP_ROW_END_INCLUSIVE:
        row_end += 1
    elif bug == m.CLIP_COLUMN_END_INCLUSIVE:
        col_end += 1
    elif bug == m.CLIP_SPAN_AS_END:
        row_end, col_end = v[state.VIEW_CLIP, state.ROW_SPAN], v[state.VIEW_CLIP, state.COL_SPAN]
    return bool(row < row_start or row >= row_end or col < col_start or col >= col_end)


@device
def clip_linear(v: state.Ints, row: int, col: int, cols: int, is_store: bool, bug: int) -> int:
    """CLIPPED, or the index counted from the clip's corner with the clip's pitch (TA-032)."""
    ignored = (bug == m.CLIP_IGNORED_ON_STORE and is_store) or (bug == m.CLIP_IGNORED_ON_LOAD and not is_store)
    if not ignored and is_clipped(v, row, col, bug):
        return CLIPPED
    row_offset, col_offset = v[state.VIEW_CLIP, state.ROW_OFFSET], v[state.VIEW_CLIP, state.COL_OFFSET]
    width = min(cols, v[state.VIEW_CLIP, state.COL_SPAN])
    if bug == m.CLIP_ROW_OFFSET_KEPT:
        row_offset = 0
    elif bug == m.CLIP_COLUMN_OFFSET_KEPT:
        col_offset = 0
    elif bug == m.CLIP_WIDTH_COLUMNS:
        width = cols
    elif bug == m.CLIP_WIDTH_SPAN:
        width = v[state.VIEW_CLIP, state.COL_SPAN]
    elif bug == m.CLIP_WIDTH_REMAINING:
        width = min(cols - col_offset, width)
    return int(((row - row_offset) * width + (col - col_offset)) & state.U32)


@device
def permuted(v: state.Ints, d: int, bug: int) -> int:
    """The view dimension that takes digit d of the matrix index."""
    if bug == m.PERM_INVERSE:
        for i in range(v[state.VIEW_INFO, state.RANK]):
            if v[state.VIEW_PERM, i] == d:
                return i
    return int(v[state.VIEW_PERM, d])


@device
def through_view(t: state.Ints, v: state.Ints, index: int, bug: int) -> int:
    """Digits by the permuted view dimensions, then their sum weighted by the view's strides (TA-033).

    Without dimensions of its own, a view has the span's dimensions and dense strides over the span.
    """
    rank = v[state.VIEW_INFO, state.RANK]
    own = v[state.VIEW_INFO, state.HAS_DIMENSIONS] != 0
    total = 0
    for d in range(rank - 1, -1, -1):
        i = permuted(v, d, bug)
        extent = v[state.DIM, i] if own and bug != m.VIEW_DIMENSIONS_IGNORED else t[state.SPAN, i]
        digit = index % extent
        if bug == m.VIEW_OUTERMOST_UNREDUCED and d == 0:
            digit = index
        index //= extent
        weigh = d if bug == m.PERM_STRIDES_UNPERMUTED else i
        if own or bug == m.VIEW_STRIDE_FIELD:
            stride = v[state.VIEW_STRIDE, weigh]
        else:
            stride = 1
            last = t[state.INFO, state.RANK] if bug == m.VIEW_STRIDES_OF_ALL_SPANS else rank
            for inner in range(weigh + 1, last):
                stride = (stride * t[state.SPAN, inner]) & state.U32
        total += digit * stride
        if bug != m.VIEW_INDEX_64_BIT:
            total &= state.U32
    return total


@device
def out_of_bounds(t: state.Ints, c: int, d: int, is_store: bool, bug: int) -> bool:
    """Outside 0 to layoutDimension-1, whatever the span (TA-035)."""
    rank = t[state.INFO, state.RANK]
    low, high = c < 0, c >= t[state.DIM, d]
    if bug == m.LOW_BOUND_UNCHECKED or (bug == m.STORE_LOW_WRITTEN and is_store):
        low = False
    elif bug == m.STORE_HIGH_WRITTEN and is_store:
        high = False
    elif bug == m.HIGH_BOUND_INCLUSIVE:
        high = c > t[state.DIM, d]
    elif bug == m.HIGH_BOUND_FROM_SPAN:
        high = c >= t[state.SPAN, d]
    elif (
        (bug == m.INNERMOST_UNCHECKED and d == rank - 1)
        or (bug == m.OUTERMOST_UNCHECKED and d == 0 and rank > 1)
        or (bug == m.MIDDLE_UNCHECKED and 0 < d < rank - 1)
        or (bug == m.RANK_5_UNCHECKED and rank == 5 and d == 3)
    ):
        low = high = False
    return bool(low or high)


@device
def remainder(c: int, period: int) -> int:
    """C's %, with the sign of the dividend; only mutants use it."""
    return -(-c % period) if c < 0 else c % period


@device
def repeat(c: int, size: int, span: int, bug: int) -> int:
    """Floor-mod (TA-035, AM-39)."""
    if bug == m.REPEAT_REMAINDER:
        return remainder(c, size)
    if bug == m.REPEAT_ONE_PERIOD:
        return c + size if c < 0 else c - size
    if bug == m.REPEAT_SPAN:
        return c % span
    return c % size


@device
def mirror(c: int, size: int, bug: int) -> int:
    """Period 2D-2: the edge elements are not repeated (TA-035)."""
    if bug == m.MIRROR_EDGE_TWICE:
        c %= 2 * size
        return c if c < size else 2 * size - 1 - c
    if bug == m.MIRROR_ONE_BOUNCE:
        c = -c if c < 0 else 2 * size - 2 - c
        return min(max(c, 0), size - 1)
    period = 2 * size - 2
    if bug == m.MIRROR_PERIOD_ODD:
        period += 1
    c = remainder(c, period) if bug == m.MIRROR_REMAINDER else c % period
    return period - c if c >= size else c


@device
def clamped(t: state.Ints, c: int, d: int, mode: int, bug: int) -> int:
    """A coordinate that is out of bounds, brought back by the clamp mode (TA-035)."""
    size = t[state.DIM, d]
    if mode == state.CLAMP_EDGE:
        if bug == m.EDGE_LOW_UNCLAMPED:
            return int(min(c, size - 1))
        if bug == m.EDGE_HIGH_TO_SIZE:
            return int(min(max(c, 0), size))
        return int(min(max(c, 0), size - 1))
    if mode == state.CLAMP_REPEAT:
        return repeat(c, size, t[state.SPAN, d], bug)
    if mode == state.CLAMP_MIRROR:
        return mirror(c, size, bug)
    return c


@device
def clamp_mode(t: state.Ints, is_store: bool, bug: int) -> int:
    """Stores discard in every defined mode (TA-035)."""
    mode = t[state.INFO, state.CLAMP]
    if not is_store or mode == state.CLAMP_UNDEFINED:
        return int(mode)
    if bug == m.STORE_EDGE_CLAMPS and mode == state.CLAMP_EDGE:
        return state.CLAMP_EDGE
    if bug == m.STORE_REPEAT_WRAPS and mode in (state.CLAMP_REPEAT, state.CLAMP_MIRROR):
        return int(mode)
    return state.CLAMP_CONSTANT


@device
def block_coordinates(
    t: state.Ints, digit: int, unclamped: int, c: int, d: int, coordinates: state.Ints, bug: int
) -> None:
    """What a decode function gets for dimension d: blockCoord in row 0, coordInBlock in row 1 (DV-011, TA-037)."""
    block, offset = t[state.BLOCK, d], t[state.OFFSET, d]
    outer, inner = c // block, c % block
    if bug == m.BLOCK_COORDINATE_IN_SLICE:
        outer -= offset // block
    elif bug == m.BLOCK_COORDINATE_4_BIT:
        outer &= 15
    elif bug == m.BLOCK_COORDINATE_8_BIT:
        outer &= 255
    elif bug == m.COORDINATE_IN_BLOCK_UNREDUCED:
        inner = c
    elif bug == m.COORDINATE_IN_BLOCK_IN_SLICE:
        inner = digit % block
    elif bug == m.DECODE_COORDINATES_BEFORE_CLAMP:
        outer, inner = unclamped // block, unclamped % block
    position = t[state.INFO, state.RANK] - 1 - d if bug == m.DECODE_COORDINATES_REVERSED else d
    coordinates[0, position], coordinates[1, position] = outer & state.U32, inner & state.U32


@device
def tensor_index(
    t: state.Ints, index: int, is_store: bool, decodes: bool, coordinates: state.Ints, bug: int
) -> tuple[int, int]:
    """What to do for the element at a linear index, and the index in memory where to do it.

    Span digits (TA-034), offset and clamping (TA-035), block coordinates and strides (TA-036). For loads that decode,
    fills `coordinates` (2, 5) as `block_coordinates` does.
    """
    total = 0
    for d in range(t[state.INFO, state.RANK] - 1, -1, -1):
        span = t[state.DIM, d] if bug == m.SPAN_IS_DIMENSION else t[state.SPAN, d]
        digit = index % span
        if bug == m.SPAN_OUTERMOST_UNREDUCED and d == 0:
            digit = index
        index //= span
        offset, block = t[state.OFFSET, d], t[state.BLOCK, d]
        if bug == m.BLOCK_OFFSET_ROUNDED:
            offset -= offset % block
        c = (digit + offset) & state.U32
        if c > state.U32 // 2 and bug != m.OFFSET_UNSIGNED:
            c -= state.U32 + 1
        unclamped = c
        if bug == m.BLOCK_BEFORE_CLAMP:
            c, block = c // block, 1
        if out_of_bounds(t, c, d, is_store, bug):
            mode = clamp_mode(t, is_store, bug)
            if mode == state.CLAMP_CONSTANT and bug == m.DECODE_OF_CLAMPED and decodes:
                mode = state.CLAMP_EDGE
            if mode == state.CLAMP_CONSTANT:
                return (state.DISCARD if is_store else state.TAKE_CLAMP_VALUE), 0
            c = clamped(t, c, d, mode, bug)
        if decodes:
            block_coordinates(t, digit, unclamped, c, d, coordinates, bug)
        coordinate, stride = c // block, t[state.STRIDE, d]
        if bug == m.BLOCK_UNDIVIDED:
            coordinate = c
        elif bug == m.STRIDE_24_BIT:
            coordinate, stride = coordinate & 0xFFFFFF, stride & 0xFFFFFF
        total += coordinate * stride
        if bug == m.BLOCK_COORDINATE_ADDED:
            total += c % block
        if bug != m.INDEX_64_BIT:
            total &= state.U32
    if bug == m.INDEX_24_BIT:
        total &= 0xFFFFFF
    return state.ACCESS, total


@kernel(
    "void(int32[:,::1], int64[:,:,::1], int64[:,:,::1], int64[::1], int64, int64, int64, int64, boolean,"
    " boolean, int64, uint8[:,::1], int64[:,::1], int64[:,:,:,::1])"
)
def tensor_addresses(
    work: state.Work,
    layouts: state.Ints,
    views: state.Ints,
    base: state.Ints,
    scale: int,
    subgroup_size: int,
    rows: int,
    cols: int,
    is_b: bool,
    is_store: bool,
    bug: int,
    action: state.Actions,
    byte: state.Ints,
    coordinates: state.Ints,
) -> None:
    """For every scope instance and work item: what to do, and at which byte of the buffer's memory.

    `work` (n, 4) lists invocation, slot, row, column. Layouts, views and `base` (bytes) are per
    subgroup: an invocation uses its own subgroup's. `action` and `byte` (instances, n) are results, and
    for loads that decode also `coordinates` (instances, n, 2, 5), as `block_coordinates` fills them; for
    others its second extent is 0.
    """
    per_instance = layouts.shape[0] // action.shape[0]
    decodes = coordinates.shape[1] > 0
    unused = np.empty((2, state.MAX_RANK), np.int64)
    for instance in range(action.shape[0]):
        for k in range(work.shape[0]):
            s = instance * per_instance + work[k, 0] // subgroup_size
            t, v, row, col = layouts[s], views[s], work[k, 2], work[k, 3]
            if v[state.VIEW_INFO, state.RANK] == 0:
                index = matrix_linear(row, col, rows, cols, is_b, bug)
            else:
                index = clip_linear(v, row, col, cols, is_store, bug)
                if index == CLIPPED and bug == m.DECODE_OF_CLIPPED and decodes:
                    index = 0
                elif index == CLIPPED:
                    action[instance, k] = state.DISCARD if is_store else state.KEEP_OBJECT
                    continue
                index = through_view(t, v, index, bug)
            element_coordinates = coordinates[instance, k] if decodes else unused
            action[instance, k], index = tensor_index(t, index, is_store, decodes, element_coordinates, bug)
            byte[instance, k] = base[s] + index * scale


@kernel("void(int32[:,::1], int64[::1], int64[::1], int64, boolean, int64, int64[:,::1])")
def matrix_addresses(
    work: state.Work,
    base: state.Ints,
    stride: state.Ints,
    scale: int,
    column_major: bool,
    subgroup_size: int,
    byte: state.Ints,
) -> None:
    """OpCooperativeMatrixLoadKHR / StoreKHR: row times stride plus column, or the reverse (KM-013).

    `base` and `stride`, in bytes, are per subgroup; `work` and `byte` as in `tensor_addresses`.
    """
    per_instance = base.shape[0] // byte.shape[0]
    for instance in range(byte.shape[0]):
        for k in range(work.shape[0]):
            s = instance * per_instance + work[k, 0] // subgroup_size
            outer, inner = work[k, 2], work[k, 3]
            if column_major:
                outer, inner = inner, outer
            byte[instance, k] = base[s] + outer * stride[s] + inner * scale
