"""Where tensor loads and stores of a sweep go: what failing sets may have in common that no single operand says."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cts.case.model import Case, TensorLayoutSetBlockSize, types_of
from cts.case.model.sweep import Sweep
from cts.case.oracle.expectation import Extent, Reach
from cts.reference.addressing.coordinates import Status
from cts.reference.addressing.elements import tensor_coordinates
from cts.reference.execution.program import TensorOperands, check_size, tensor_instructions
from cts.reference.numeric.arrays import I64, U32, Mask, some_sets

#: How many elements' coordinates are computed at a time.
ELEMENTS = 1 << 17


def coordinates(sweep: Sweep) -> dict[str, I64]:
    """For each tensor load and store, by name, what it reaches under each set, (n,).

    That is the lowest and highest coordinate, and block where the layout has them, in each dimension of what is
    accessed (-1: nothing is), and of matrices without a view how many elements the span has no room for. Where a
    template has several such instructions, the names say which.
    """
    check_size(sweep.template, types_of(sweep.template), max(1, len(sweep)))
    # In loops, as in the last iteration.
    accesses = {operands.instruction: operands for operands in tensor_instructions(sweep.template, sweep.sets)}
    blocks = any(isinstance(i, TensorLayoutSetBlockSize) for i in sweep.template.program)
    return {
        f"{quantity} of program[{number}]" if len(accesses) > 1 else quantity: column
        for number, access in accesses.items()
        for quantity, column in _columns(access, len(sweep), blocks)
    }


def extents(case: Case) -> dict[int, Extent]:
    """What each tensor load and store of a case reaches in the last iteration of loops, by its place.

    Raises BadInput for a case too large to be judged.
    """
    check_size(case, types_of(case), 1)
    return {operands.instruction: _extent(operands) for operands in tensor_instructions(case, None)}


def _extent(access: TensorOperands) -> Extent:
    elements, block, inside = tensor_coordinates(
        access.layout, access.view, access.shape.rows, access.shape.cols, access.store
    )
    accessed = elements.status == Status.OK
    status = frozenset(_MEANS[Status(n)] for n in np.unique(elements.status).tolist() if Status(n) in _MEANS)
    first: list[int] = []
    last: list[int] = []
    for dim in range(access.layout.dim):
        coordinate = block[dim] * access.layout.block_size[..., dim, None, None] + inside[dim]
        for numbers, end in zip((first, last), _ends(coordinate, accessed), strict=True):
            numbers.append(int(end.min() if numbers is first else end.max()))
    return Extent(tuple(first), tuple(last), status)


_MEANS = {
    Status.OK: Reach.MEMORY,
    Status.SKIP: Reach.CLIPPED,
    Status.CLAMPED: Reach.CLAMPED,
    Status.DISCARD: Reach.CLAMPED,
    Status.UNDEFINED: Reach.OUTSIDE,
    Status.UNCLEAR: Reach.OUTSIDE,
}


def _columns(access: TensorOperands, sets: int, blocks: bool) -> Iterator[tuple[str, I64]]:
    layout, rows, cols = access.layout, access.shape.rows, access.shape.cols
    ends = np.empty((2, layout.dim, sets), np.int64)
    step = max(1, ELEMENTS // (rows * cols))
    for start in range(0, sets, step):
        some = np.arange(start, min(start + step, sets))
        part = layout.map(lambda a, some=some: some_sets(a, some))  # type: ignore[misc]
        view = access.view and access.view.map(lambda a, some=some: some_sets(a, some))  # type: ignore[misc]
        elements, block, inside = tensor_coordinates(part, view, rows, cols, access.store)
        accessed = elements.status == Status.OK
        for dim in range(layout.dim):
            coordinate = block[dim] * part.block_size[..., dim, None, None] + inside[dim]
            ends[:, dim, some] = _ends(coordinate, accessed)
    for end, numbers in zip(("lowest", "highest"), ends, strict=True):
        for dim, coordinate in enumerate(numbers):
            yield f"{end} coordinate {dim}", coordinate
            if blocks:
                # Blocks of a dimension have one size under a set, but for what workgroups add: then its least.
                size = np.broadcast_to(layout.block_size[..., dim].min(axis=-1).astype(np.int64), sets)
                yield f"{end} block {dim}", np.where(coordinate < 0, -1, coordinate // np.maximum(size, 1))
    if access.view is None:
        room = np.prod(layout.span.astype(np.float64), axis=-1).min(axis=-1)
        yield "elements beyond the span", np.broadcast_to(np.maximum(rows * cols - room, 0), sets).astype(np.int64)


def _ends(numbers: U32, accessed: Mask) -> tuple[I64, I64]:
    """The least and the largest number of those that are accessed, (n,); -1 where none is."""
    # Accessed elements are in bounds, so their coordinates are not negative.
    signed, accessed = np.broadcast_arrays(numbers.view(np.int32), accessed)
    signed, accessed = signed.reshape(len(signed), -1), accessed.reshape(len(accessed), -1)
    if accessed.all():
        return signed.min(axis=1).astype(np.int64), signed.max(axis=1).astype(np.int64)
    largest = np.where(accessed, signed, np.int32(-1)).max(axis=1).astype(np.int64)
    least = np.where(accessed, signed, np.int32(np.iinfo(np.int32).max)).min(axis=1).astype(np.int64)
    return np.where(accessed.any(axis=1), least, -1), largest
