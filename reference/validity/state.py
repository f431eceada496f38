"""Rules on the state of layouts and views, where it is computed or used (TA-061..TA-068, DV-014, AM-41)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from cts.case.model import Case, DecodeVector, TensorLayoutSetDimension, TensorLayoutSetStride
from cts.case.oracle.expectation import Violation
from cts.reference.addressing.accesses import Access, block_size
from cts.reference.addressing.layout import TensorLayoutState, least_strides
from cts.reference.addressing.view import TensorViewState
from cts.reference.common.broken import Broken, broken, everywhere, first_of, of_set
from cts.reference.execution.step import Step
from cts.reference.numeric.arrays import U32, U64, Mask

_NOT_ZERO = "at least 1 in every dimension"


def of_setter(case: Case, step: Step) -> Iterator[Broken]:
    """Rules on the instructions that compute with the current state."""
    instruction = case.program[step.index]
    if isinstance(instruction, (TensorLayoutSetDimension, TensorLayoutSetStride)):
        before, after = (_of_taking(state, step.taken.active) for state in (step.before, step.after))
        yield from _block_size(before, f"program[{step.index}].of")
        if isinstance(instruction, TensorLayoutSetStride):
            yield from _strides(before, after.stride, step.index)


def of_access(case: Case, access: Access) -> Iterator[Broken]:
    """Rules on the layout and view of a load or store."""
    if access.layout is not None:
        yield from _layout(access, access.layout)
        yield from _decoding(case, access, access.layout)
        if access.view is not None:
            yield from _view(access.layout, access.view, access.instruction)


def _of_taking(state: TensorLayoutState | None, active: Mask | None) -> TensorLayoutState:
    """The state of the subgroups that take a step; the same ones under every set."""
    assert state is not None
    if active is None:
        return state
    subgroups = np.flatnonzero(active[0])
    return state.map(lambda a: a if a.shape[1] == 1 or active.shape[1] == 1 else a[:, subgroups])


def _decoding(case: Case, access: Access, layout: TensorLayoutState) -> Iterator[Broken]:
    """DV-014 (TA-074) and AM-41, of loads with a decode function for several elements."""
    instruction = case.program[access.instruction]
    name = getattr(instruction, "decode_vector", None)
    if name is None:
        return
    function = case.functions[name]
    assert isinstance(function, DecodeVector)
    path, lanes = f"program[{access.instruction}].decode_vector", function.lanes
    last = layout.block_size[..., -1]
    bad = last % lanes != 0

    def words(number: int) -> tuple[str, str]:
        length = int(first_of(last, bad, number))
        what = f"blocks are {length} long in the last dimension, and {name!r} decodes {lanes} elements"
        return what, f"a block size whose last extent is a multiple of {lanes}"

    yield from broken("DV-014", path, bad, words)
    size = block_size(case, name)
    if size != access.size:
        what = f"its block has {size} bytes, that of the decode function {access.size}"
        yield everywhere(Violation("AM-41", path, what, "blocks of one size"))


def _block_size(layout: TensorLayoutState, path: str) -> Iterator[Broken]:
    """TA-062."""
    size = layout.block_size
    bad = size == 0
    yield from broken(
        "TA-062", path, bad, lambda n: (f"the layout's block size is {_example(size, bad, n)}", _NOT_ZERO)
    )


def _strides(before: TensorLayoutState, strides: U32, i: int) -> Iterator[Broken]:
    """TA-064, blamed on the first dimension with such a stride of the first subgroup that has one."""
    least = least_strides(before, strides)
    bad = strides[..., :-1] < least
    if not bad.any():
        return
    sets = len(bad)
    flat = bad.reshape(sets, -1)
    blamed = np.where(flat.any(axis=1), flat.argmax(axis=1) % bad.shape[-1], -1)
    for dim in range(bad.shape[-1]):
        yield from broken("TA-064", f"program[{i}].strides[{dim}]", blamed == dim, _stride_words(strides, least, dim))


def _stride_words(strides: U32, least: U64, dim: int) -> Callable[[int], tuple[str, str]]:
    def words(number: int) -> tuple[str, str]:
        stride, bound = np.broadcast_arrays(of_set(strides, number)[:, dim], of_set(least, number)[:, dim])
        first = int(np.argmax(stride < bound))
        return (
            f"stride {stride[first]} is less than the next dimension's stride times its blocks, {bound[first]}",
            f"at least {bound[first]}, or another layoutDimension before this instruction",
        )

    return words


def _layout(access: Access, layout: TensorLayoutState) -> Iterator[Broken]:
    path = f"program[{access.instruction}].layout"
    yield from _block_size(layout, path)
    span = layout.span
    right = "set dimensions, or slice with spans of at least 1"
    empty = span == 0
    yield from broken("TA-061", path, empty, lambda n: (f"the layout's span is {_example(span, empty, n)}", right))
    if access.store:
        size = layout.block_size
        several = size > 1
        yield from broken(
            "TA-068",
            path,
            several,
            lambda n: (f"a store with block size {_example(size, several, n)}", "block sizes of 1"),
        )


def _view(layout: TensorLayoutState, view: TensorViewState, i: int) -> Iterator[Broken]:
    path = f"program[{i}].view"
    if view.type.has_dimensions:
        dimension, right = view.view_dimension, "set the view's dimensions to at least 1"
        empty = dimension == 0
        yield from broken(
            "TA-061", path, empty, lambda n: (f"the view's dimensions are {_example(dimension, empty, n)}", right)
        )
    elif view.dim > layout.dim:
        what = f"a view of {view.dim} dimensions without its own, for a layout of {layout.dim}"
        right = f"at most {layout.dim} dimensions, or has_dimensions: true"
        yield everywhere(Violation("TA-065", path, what, right))


def _example(members: U32, bad: Mask, number: int) -> list[int]:
    """The first member array of a set with a bad member."""
    example: list[int] = of_set(members, number)[of_set(bad, number).any(axis=-1)][0].tolist()
    return example
