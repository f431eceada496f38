"""Conditions of tensor layouts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from cts.known.conditions.registry import condition
from cts.model import (
    Case,
    ClampMode,
    Dispatch,
    LayoutInstruction,
    LayoutType,
    MatrixLoadTensor,
    MatrixShape,
    Operand,
    Scalar,
    Scope,
    TensorLayout,
    TensorLayoutSetBlockSize,
    TensorLayoutSetDimension,
    TensorLayoutSetStride,
    TensorLayoutSlice,
    ViewType,
    base_of,
    factors_of,
    types_of,
)


@condition("clamp-mirrored-dimension-one", operands=("dims",))
def clamp_mirrored_dimension_one(case: Case) -> bool:
    """A RepeatMirrored layout is given a dimension of 1, in some workgroup or subgroup: its period is 2 * 1 - 2 = 0."""
    types = types_of(case)
    return any(
        1 in values(operand, case.dispatch)
        for instruction in case.program
        if isinstance(instruction, TensorLayoutSetDimension)
        and isinstance(layout := types[instruction.id], LayoutType)
        and layout.clamp is ClampMode.RepeatMirrored
        for operand in instruction.dims
    )


@condition("layout-stride-far", operands=("strides",))
def layout_stride_far(case: Case) -> bool:
    """A layout is given a stride of 2^24 or more: a device that errs by one coordinate accesses memory far away."""
    return any(
        value >= 1 << 24
        for instruction in case.program
        if isinstance(instruction, TensorLayoutSetStride)
        for operand in instruction.strides
        for value in values(operand, case.dispatch)
    )


@condition("layout-blocks-uneven", operands=("dims", "block_size"))
def layout_blocks_uneven(case: Case) -> bool:
    """A layout's SetDimension has a dimension, not the outermost, that its block size does not divide."""
    blocks: dict[str, tuple[Operand, ...]] = {}
    for instruction in case.program:
        if isinstance(instruction, TensorLayout):
            blocks[instruction.id] = ()
        elif isinstance(instruction, TensorLayoutSetBlockSize):
            blocks[instruction.id] = instruction.block_size
        elif isinstance(instruction, LayoutInstruction):
            block = blocks[instruction.id] = blocks[instruction.of]
            if isinstance(instruction, TensorLayoutSetDimension):
                for extent, size in zip(instruction.dims[1:], block[1:], strict=False):
                    if any(e % max(b, 1) for e, b in product(*(values(o, case.dispatch) for o in (extent, size)))):
                        return True
    return False


@condition("layout-innermost-stride", operands=("strides",))
def layout_innermost_stride(case: Case) -> bool:
    """A layout's SetStride gives an innermost stride other than 1."""
    return any(
        value != 1
        for instruction in case.program
        if isinstance(instruction, TensorLayoutSetStride)
        for value in values(instruction.strides[-1], case.dispatch)
    )


@condition("layout-odd-strides", operands=())
def layout_odd_strides(case: Case) -> bool:
    """A Workgroup matrix of less than 32 bits is loaded as it is by literal spans and strides of 4 dimensions or more.

    Rows of the span are its rows, and a stride, not the innermost, is odd.
    """
    types = types_of(case)
    for load, spans, strides in _loads(case):
        shape = types[load.id]
        assert isinstance(shape, MatrixShape)
        plain = load.view is None and load.decode is None and shape.scope is Scope.Workgroup
        literal = len(strides) > 3 and all(isinstance(operand, int) for operand in (*spans, *strides))
        odd = any(value % 2 for stride in strides[:-1] for value in values(stride, case.dispatch))
        if plain and literal and odd and shape.component.size < 4 and spans[-1] == shape.cols:
            return True
    return False


@condition("layout-view-of-endless-span", operands=("dims", "span"))
def layout_view_of_endless_span(case: Case) -> bool:
    """A matrix is loaded through a view without dimensions of its own from a layout with a span of 2^31 or more."""
    types = types_of(case)
    return any(
        isinstance(view := types[load.view], ViewType)
        and not view.has_dimensions
        and any(value >= 1 << 31 for operand in spans for value in values(operand, case.dispatch))
        for load, spans, _ in _loads(case)
        if load.view is not None
    )


@condition("layout-span-runs-out", operands=("dims", "span"))
def layout_span_runs_out(case: Case) -> bool:
    """A matrix without a view is loaded from a 2-D layout whose span has its columns, but not all its rows."""
    types = types_of(case)
    for load, spans, _ in _loads(case):
        if load.view is None and len(spans) == 2:
            shape, (rows, cols) = types[load.id], (values(operand, case.dispatch) for operand in spans)
            assert isinstance(shape, MatrixShape)
            if any(r < shape.rows and c == shape.cols for r, c in product(rows, cols)):
                return True
    return False


def _loads(case: Case) -> Iterator[tuple[MatrixLoadTensor, tuple[Operand, ...], tuple[Operand, ...]]]:
    """Loads by layouts, with the spans of each and the strides that it was given: none since its last SetDimension."""
    spans: dict[str, tuple[Operand, ...]] = {}
    strides: dict[str, tuple[Operand, ...]] = {}
    for i in case.program:
        if isinstance(i, TensorLayout):
            spans[i.id] = strides[i.id] = ()
        elif isinstance(i, LayoutInstruction):
            spans[i.id], strides[i.id] = spans[i.of], strides[i.of]
            if isinstance(i, TensorLayoutSetDimension):
                spans[i.id], strides[i.id] = i.dims, ()
            elif isinstance(i, TensorLayoutSlice):
                spans[i.id] = i.span
            elif isinstance(i, TensorLayoutSetStride):
                strides[i.id] = i.strides
        elif isinstance(i, MatrixLoadTensor):
            yield i, spans[i.layout], strides[i.layout]


@condition("layout-span-endless", operands=("span",))
def layout_span_endless(case: Case) -> bool:
    """A layout of five dimensions is given a span of 2^31 or more."""
    return any(
        value >= 1 << 31
        for i in case.program
        if isinstance(i, TensorLayoutSlice) and len(i.span) == 5
        for operand in i.span
        for value in values(operand, case.dispatch)
    )


def values(operand: int | Scalar, dispatch: Dispatch) -> Iterator[int]:
    """The operand's value mod 2^32 in each subgroup of each workgroup."""
    factors = factors_of(operand)
    x, y, z = dispatch.workgroups
    # Where a factor is 0, one index of its axis stands for all.
    axes = ((x, factors.wg_x), (y, factors.wg_y), (z, factors.wg_z), (dispatch.subgroups, factors.sg))
    for index in product(*(range(extent if factor else 1) for extent, factor in axes)):
        terms = (i * factor for i, (_, factor) in zip(index, axes, strict=True))
        yield (base_of(operand) + sum(terms)) % 2**32
