"""The steps of one element's address calculation (TA-031..TA-036)."""

from __future__ import annotations

from collections.abc import Generator, Sequence

import numpy as np

from cts.case.model import ClampMode
from cts.case.oracle.trace import StepKind, TraceStep
from cts.reference.addressing import coordinates as addressing
from cts.reference.addressing.coordinates import Status
from cts.reference.addressing.layout import TensorLayoutState, packed_strides
from cts.reference.addressing.view import TensorViewState
from cts.reference.numeric.arrays import U32

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
        numbers = {"row": row, "col": col, "cols": n, "linear": int(linear.item())}
        yield TraceStep(StepKind.MATRIX_COORD_TO_LINEAR, "TA-031", numbers=numbers)
    else:
        linear, skipped = addressing.matrix_coord_to_linear_with_view(view, at_row, at_col, n)
        yield _clip_step(view, row, col, n, None if skipped.item() else linear.item())
        if skipped.item():
            return None
        linear = yield from _view_steps(layout, view, linear)
    span_coord = addressing.linear_to_span_coord(layout, linear)
    yield TraceStep(
        StepKind.LINEAR_TO_SPAN_COORD,
        "TA-034",
        numbers={"linear": int(linear.item()), "span": _member(layout.span), "coord": _coords(span_coord)},
        idle=bool(layout.dim == 1 and span_coord[0].item() == linear.item()),
    )
    tensor = addressing.span_coord_to_tensor_coord(layout, span_coord, store)
    for dim in range(layout.dim):
        step, outside = _clamp_step(layout, dim, span_coord[dim].item(), tensor.coord[dim].item(), store)
        yield step
        if outside and tensor.status.item() != Status.OK:
            return None
    if (layout.block_size != 1).any():
        yield TraceStep(
            StepKind.BLOCK_COORD,
            "TA-035",
            numbers={
                "coord": _coords(tensor.coord),
                "block_size": _member(layout.block_size),
                "block": _coords(tensor.block_coord),
                "within": _coords(tensor.coord_in_block(layout)),
            },
        )
    index = int(addressing.tensor_coord_to_linear(layout, tensor.block_coord).item())
    yield TraceStep(
        StepKind.TENSOR_COORD_TO_LINEAR,
        "TA-030",
        numbers={"coord": _coords(tensor.block_coord), "strides": _member(layout.stride), "index": index},
    )
    return index


def _clip_step(view: TensorViewState, row: int, col: int, n: int, linear: int | None) -> TraceStep:
    numbers = {
        "row_offset": int(view.clip_row_offset.item()),
        "row_span": int(view.clip_row_span.item()),
        "col_offset": int(view.clip_col_offset.item()),
        "col_span": int(view.clip_col_span.item()),
        "row": row,
        "col": col,
    }
    if linear is None:
        return TraceStep(StepKind.OUTSIDE_CLIP, "TA-032", numbers=numbers)
    numbers |= {"width": min(n, numbers["col_span"]), "linear": linear}
    return TraceStep(StepKind.CLIP, "TA-032", numbers=numbers, idle=linear == row * n + col)


def _view_steps(layout: TensorLayoutState, view: TensorViewState, linear: U32) -> Generator[TraceStep, None, U32]:
    own = view.type.has_dimensions
    coord = addressing.linear_to_view_coord(layout, view, linear)
    index = addressing.view_coord_to_linear(layout, view, coord)
    same = bool(index.item() == linear.item())
    yield TraceStep(
        StepKind.LINEAR_TO_VIEW_COORD,
        "TA-033",
        names={"dimensions_of": "view" if own else "span"},
        numbers={
            "linear": int(linear.item()),
            "dimensions": _member(view.view_dimension if own else layout.span[..., : view.dim]),
            "permutation": tuple(view.type.permutation),
            "coord": _coords(coord),
        },
        idle=same,
    )
    strides = view.view_stride if own else packed_strides(layout.span[..., : view.dim])
    yield TraceStep(
        StepKind.VIEW_COORD_TO_LINEAR,
        "TA-033",
        numbers={"coord": _coords(coord), "strides": _member(strides), "linear": int(index.item())},
        idle=same,
    )
    return index


def _clamp_step(
    layout: TensorLayoutState, dim: int, span_coord: int, clamped: int, store: bool
) -> tuple[TraceStep, bool]:
    """What happens in one dimension, and whether its coordinate was out of bounds."""
    offset, dimension = _signed(layout.offset[0, dim].item()), layout.layout_dimension[0, dim].item()
    c = _signed((span_coord + offset) & 0xFFFFFFFF)
    numbers = {"dimension": dim, "span_coord": span_coord, "offset": offset, "coord": c, "size": dimension}
    if 0 <= c < dimension:
        return TraceStep(StepKind.IN_BOUNDS, "TA-035", numbers=numbers, idle=offset == 0), False
    mode = layout.type.clamp
    names = {"clamp": mode.value}
    if store and mode is not ClampMode.Undefined:
        return TraceStep(StepKind.STORE_DISCARDED, "TA-035", names=names, numbers=numbers), True
    if mode is ClampMode.Constant:
        return TraceStep(StepKind.CLAMPED_TO_VALUE, "TA-039", names=names, numbers=numbers), True
    return TraceStep(StepKind.CLAMPED, "TA-035", names=names, numbers=numbers | {"clamped": clamped}), True


def _signed(bits: int) -> int:
    return bits - ((bits & 0x80000000) << 1)


def _member(member: U32) -> tuple[int, ...]:
    return tuple(member[0].tolist())


def _coords(coord: Sequence[U32]) -> tuple[int, ...]:
    return tuple(int(c.item()) for c in coord)
