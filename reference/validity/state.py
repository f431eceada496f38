"""Rules on the state of layouts and views, where it is computed or used (TA-061..TA-066, TA-068, DV-014)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cts.model import Case, ClampMode, DecodeVector, TensorLayoutSetDimension, TensorLayoutSetStride
from cts.oracle.expectation import Violation
from cts.reference.addressing.accesses import Access, block_size
from cts.reference.addressing.layout import TensorLayoutState, least_strides
from cts.reference.addressing.view import TensorViewState
from cts.reference.execution.program import Step
from cts.reference.numeric.arrays import U32, Mask

_NOT_ZERO = "at least 1 in every dimension"

#: The largest layoutDimension that a load's clamping can compute with in signed 32-bit arithmetic (TA-063).
_LARGEST_DIMENSION = {
    ClampMode.ClampToEdge: 2**31 - 1,
    ClampMode.Repeat: 2**31 - 1,
    ClampMode.RepeatMirrored: 2**30,
}


def of_setter(case: Case, step: Step) -> Iterator[Violation]:
    """Rules on the instructions that compute with state as it is then."""
    instruction = case.program[step.index]
    if isinstance(instruction, (TensorLayoutSetDimension, TensorLayoutSetStride)):
        before, after = (_of_taking(state, step.taken.active) for state in (step.before, step.after))
        yield from _block_size(before, f"program[{step.index}].of")
        if isinstance(instruction, TensorLayoutSetStride):
            yield from _strides(before, after.stride, step.index)


def of_access(case: Case, access: Access) -> Iterator[Violation]:
    """Rules on the layout and view of a load or store."""
    if access.layout is not None:
        yield from _layout(access, access.layout)
        yield from _decoding(case, access, access.layout)
        if access.view is not None:
            yield from _view(access.layout, access.view, access.instruction)


def _of_taking(state: TensorLayoutState | None, active: Mask | None) -> TensorLayoutState:
    """The state of the subgroups that take a step, of the only parameter set."""
    assert state is not None
    if active is None:
        return state
    subgroups = np.flatnonzero(active[0])
    return state.map(lambda a: a if a.shape[1] == 1 or active.shape[1] == 1 else a[:, subgroups])


def _decoding(case: Case, access: Access, layout: TensorLayoutState) -> Iterator[Violation]:
    """DV-014 (TA-074) and AM-41, of loads with a decode function for several elements."""
    instruction = case.program[access.instruction]
    name = getattr(instruction, "decode_vector", None)
    if name is None:
        return
    function = case.functions[name]
    assert isinstance(function, DecodeVector)
    path = f"program[{access.instruction}].decode_vector"
    last = layout.block_size[..., -1]
    bad = last[last % function.lanes != 0]
    if bad.size:
        what = f"blocks are {int(bad[0])} long in the last dimension, and {name!r} decodes {function.lanes} elements"
        yield Violation("DV-014", path, what, f"a block size whose last extent is a multiple of {function.lanes}")
    size = block_size(case, name)
    if size != access.size:
        what = f"its block has {size} bytes, that of the decode function {access.size}"
        yield Violation("AM-41", path, what, "blocks of one size")


def _block_size(layout: TensorLayoutState, path: str) -> Iterator[Violation]:
    """TA-062."""
    if (layout.block_size == 0).any():
        yield Violation("TA-062", path, f"the layout's block size is {_example(layout.block_size, 0)}", _NOT_ZERO)


def _strides(before: TensorLayoutState, strides: U32, i: int) -> Iterator[Violation]:
    """TA-064."""
    least = least_strides(before, strides)
    bad = strides[..., :-1] < least
    if bad.any():
        dim = int(np.argwhere(bad)[0][-1])
        mask = bad[..., dim]
        stride = int(np.broadcast_to(strides[..., dim], mask.shape)[mask][0])
        bound = int(np.broadcast_to(least[..., dim], mask.shape)[mask][0])
        yield Violation(
            "TA-064",
            f"program[{i}].strides[{dim}]",
            f"stride {stride} is less than the next dimension's stride times its blocks, {bound}",
            f"at least {bound}, or another layoutDimension before this instruction",
        )


def _layout(access: Access, layout: TensorLayoutState) -> Iterator[Violation]:
    path = f"program[{access.instruction}].layout"
    yield from _block_size(layout, path)
    if (layout.span == 0).any():
        yield Violation(
            "TA-061",
            path,
            f"the layout's span is {_example(layout.span, 0)}",
            "set dimensions, or slice with spans of at least 1",
        )
    if access.store and (layout.block_size > 1).any():
        block_size = layout.block_size[(layout.block_size > 1).any(axis=-1)][0]
        yield Violation("TA-068", path, f"a store with block size {block_size.tolist()}", "block sizes of 1")
    largest = _LARGEST_DIMENSION.get(layout.type.clamp)
    if not access.store and largest is not None:
        dimension = layout.layout_dimension
        for bad in (dimension == 0, dimension > largest):
            if bad.any():
                yield Violation(
                    "TA-063",
                    path,
                    f"layoutDimension {int(dimension[bad][0])} with clamp mode {layout.type.clamp.value}",
                    f"1 to {largest} in every dimension",
                )


def _view(layout: TensorLayoutState, view: TensorViewState, i: int) -> Iterator[Violation]:
    path = f"program[{i}].view"
    if view.type.has_dimensions:
        if (view.view_dimension == 0).any():
            yield Violation(
                "TA-061",
                path,
                f"the view's dimensions are {_example(view.view_dimension, 0)}",
                "set the view's dimensions to at least 1",
            )
    elif view.dim != layout.dim:
        yield Violation(
            "TA-065",
            path,
            f"a view of {view.dim} dimensions without its own, for a layout of {layout.dim}",
            "the same number of dimensions, or has_dimensions: true",
        )
    for name, offset, span in (
        ("row", view.clip_row_offset, view.clip_row_span),
        ("col", view.clip_col_offset, view.clip_col_span),
    ):
        end = offset + span.astype(np.uint64)
        bad = end >= 1 << 32
        if bad.any():
            yield Violation(
                "TA-066",
                path,
                f"clip {name} offset + span is {int(end[bad][0])}, which wraps past 2^32 (AM-06)",
                f"a smaller {name}_span wherever {name}_offset is not 0",
            )


def _example(members: U32, value: int) -> list[int]:
    """The first member array that contains `value`."""
    example: list[int] = members[(members == value).any(axis=-1)][0].tolist()
    return example
