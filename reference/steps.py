"""The steps of one element's address calculation (TA-031..TA-036), in words."""

from __future__ import annotations

from collections.abc import Generator, Sequence

import numpy as np

from cts.expectation import TraceStep
from cts.model import ClampMode
from cts.reference import addressing
from cts.reference.addressing import Status
from cts.reference.arrays import U32
from cts.reference.layout import TensorLayoutState, packed_strides
from cts.reference.view import TensorViewState

Steps = Generator[TraceStep, None, int | None]


def tensor_steps(
    layout: TensorLayoutState, view: TensorViewState | None, row: int, col: int, n: int, store: bool
) -> Steps:
    """Yield every step for element (row, col) of a matrix of n columns; return its index, if it has one.

    Members of the states have shape (1, dim).
    """
    at_row, at_col = np.array([[row]], np.uint32), np.array([[col]], np.uint32)
    if view is None:
        linear = addressing.matrix_coord_to_linear(at_row, at_col, n)
        yield TraceStep("TA-031", f"matrixCoordToLinear: {row} * {n} + {col}", str(linear.item()))
    else:
        linear, skipped = addressing.matrix_coord_to_linear_with_view(view, at_row, at_col, n)
        yield _clip_step(view, row, col, n, None if skipped.item() else linear.item())
        if skipped.item():
            return None
        linear = yield from _view_steps(layout, view, linear)
    span_coord = addressing.linear_to_span_coord(layout, linear)
    what = f"linearToSpanCoord: digits of {linear.item()} in span {_list(layout.span)}"
    yield TraceStep("TA-034", what, _coords(span_coord), layout.dim == 1 and span_coord[0].item() == linear.item())
    tensor = addressing.span_coord_to_tensor_coord(layout, span_coord, store)
    for dim in range(layout.dim):
        step, outside = _clamp_step(layout, dim, span_coord[dim].item(), tensor.coord[dim].item(), store)
        yield step
        if outside and tensor.status.item() != Status.OK:
            return None
    if (layout.block_size != 1).any():
        what = f"coordinates {_coords(tensor.coord)} in blocks of {_list(layout.block_size)}"
        value = f"block {_coords(tensor.block_coord)}, within it {_coords(tensor.coord_in_block(layout))}"
        yield TraceStep("TA-035", what, value)
    index = int(addressing.tensor_coord_to_linear(layout, tensor.block_coord).item())
    what = f"tensorCoordToLinear: {_products(tensor.block_coord, layout.stride)} mod 2^32"
    yield TraceStep("TA-030", what, f"index {index}")
    return index


def _clip_step(view: TensorViewState, row: int, col: int, n: int, linear: int | None) -> TraceStep:
    cro, crs = view.clip_row_offset.item(), view.clip_row_span.item()
    cco, ccs = view.clip_col_offset.item(), view.clip_col_span.item()
    what = f"clip to rows {_range(cro, crs)} and columns {_range(cco, ccs)}"
    if linear is None:
        return TraceStep("TA-032", f"{what}: ({row}, {col}) is outside", "skipped")
    width = min(n, ccs)
    what = f"{what}, then ({row} - {cro}) * {width} + ({col} - {cco})"
    return TraceStep("TA-032", what, str(linear), linear == row * n + col)


def _view_steps(layout: TensorLayoutState, view: TensorViewState, linear: U32) -> Generator[TraceStep, None, U32]:
    own = view.type.has_dimensions
    coord = addressing.linear_to_view_coord(layout, view, linear)
    index = addressing.view_coord_to_linear(layout, view, coord)
    same = bool(index.item() == linear.item())
    dimensions = f"the view's {_list(view.view_dimension)}" if own else f"the span {_list(layout.span)}"
    yield TraceStep(
        "TA-033",
        f"linearToViewCoord: digits of {linear.item()} in {dimensions}, permutation {list(view.type.permutation)}",
        _coords(coord),
        same,
    )
    strides = view.view_stride if own else packed_strides(layout.span)
    what = f"viewCoordToLinear: {_products(coord, strides)} mod 2^32"
    yield TraceStep("TA-033", what, str(index.item()), same)
    return index


def _clamp_step(
    layout: TensorLayoutState, dim: int, span_coord: int, clamped: int, store: bool
) -> tuple[TraceStep, bool]:
    """What happens in one dimension, and whether its coordinate was out of bounds."""
    offset, dimension = _signed(layout.offset[0, dim].item()), layout.layout_dimension[0, dim].item()
    c = _signed((span_coord + offset) & 0xFFFFFFFF)
    what = f"dimension {dim}: span coordinate {span_coord} + offset {offset} = {c}"
    if 0 <= c < dimension:
        return TraceStep("TA-035", f"{what}, in [0, {dimension})", str(c), offset == 0), False
    mode = layout.type.clamp
    what = f"{what}, out of [0, {dimension}) with {mode.value}"
    if store and mode is not ClampMode.Undefined:
        return TraceStep("TA-035", what, "the store is discarded"), True
    if mode is ClampMode.Constant:
        return TraceStep("TA-039", what, "clampValue"), True
    return TraceStep("TA-035", what, str(clamped)), True


def _range(offset: int, span: int) -> str:
    """A clip range in words; 0xFFFFFFFF is the span of a fresh view (TA-018)."""
    return f"from {offset} on" if span == 0xFFFFFFFF else f"[{offset}, {offset + span})"


def _signed(bits: int) -> int:
    return bits - ((bits & 0x80000000) << 1)


def _list(member: U32) -> str:
    return str(member[0].tolist())


def _coords(coord: Sequence[U32]) -> str:
    return f"({', '.join(str(c.item()) for c in coord)})"


def _products(coord: Sequence[U32], stride: U32) -> str:
    return " + ".join(f"{c.item()} * {s}" for c, s in zip(coord, stride[0].tolist(), strict=True))
