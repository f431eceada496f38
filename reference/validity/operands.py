"""Rules on operands of matrix instructions: alignment and strides (KM-013, TA-070 (TA-043), VK-040, AM-59); VK-025."""

from __future__ import annotations

from collections.abc import Iterator

from cts.case.model import ArrayInstruction, MatrixShape, Order, Scope, StridedInstruction, VectorAtomicAdd
from cts.case.oracle.expectation import Violation
from cts.reference.addressing.accesses import Access, Grid
from cts.reference.common.broken import Broken, broken, everywhere, first_of, of_set
from cts.reference.execution.program import Evaluation
from cts.reference.validity import vectors

#: Alignment of a tensor instruction's Pointer, in bytes (TA-043).
TENSOR_POINTER_ALIGNMENT = 16

#: The same of a load or store in a blocked layout, whose lines have no bytes of their own (AM-59).
BLOCKED_POINTER_ALIGNMENT = 16


def of_access(evaluation: Evaluation, access: Access) -> Iterator[Broken]:
    """Rules on one load or store."""
    instruction = evaluation.case.program[access.instruction]
    if isinstance(access.shape, Grid):
        yield from vectors.of_access(access, atomic=isinstance(instruction, VectorAtomicAdd))
    elif isinstance(instruction, StridedInstruction):
        yield from _stride(access)
        if isinstance(instruction, ArrayInstruction):
            return  # Invocations load and store elements by themselves: VK-040 does not bind them.
        if instruction.order.blocked:
            yield from _blocked_alignment(access)
        else:
            yield from _khr_alignment(evaluation, access, instruction.order)
    else:
        yield from _tensor_alignment(access)


def of_dispatch(evaluation: Evaluation) -> Iterator[Broken]:
    """Rules on workgroups of several subgroups."""
    if evaluation.case.dispatch.subgroups > 1:
        yield from _workgroup_size(evaluation)


def _stride(access: Access) -> Iterator[Broken]:
    """KM-013."""
    stride, least = access.stride, int(access.store)
    assert stride is not None
    verb = "store" if access.store else "load"
    yield from broken(
        "KM-013",
        f"program[{access.instruction}].stride",
        stride < least,
        lambda n: (f"the stride of a {verb} is {int(of_set(stride, n).min())}", f"a stride of at least {least}"),
    )


def _khr_alignment(evaluation: Evaluation, access: Access, order: Order) -> Iterator[Broken]:
    """VK-040: pointer and stride, to the length in bytes of a row (column) or to 16."""
    assert access.stride is not None
    shape = access.shape
    length = (shape.cols if order is Order.RowMajor else shape.rows) * shape.component.size
    alignment = min(16, length)
    pitch = access.stride * evaluation.case.buffers[access.buffer].element_size
    remedy = f"a multiple of {alignment} bytes: the lesser of 16 and a {_line(order)}'s {length} bytes"
    for field, values in (("offset", access.pointer), ("stride", pitch)):
        yield from vectors.misaligned("VK-040", access.instruction, field, values, alignment, remedy)


def _blocked_alignment(access: Access) -> Iterator[Broken]:
    """AM-59: VK-040 speaks of rows and columns."""
    remedy = f"a multiple of {BLOCKED_POINTER_ALIGNMENT} bytes, which every reading of VK-040 is content with"
    yield from vectors.misaligned(
        "AM-59", access.instruction, "offset", access.pointer, BLOCKED_POINTER_ALIGNMENT, remedy
    )


def _line(order: Order) -> str:
    return "row" if order is Order.RowMajor else "column"


def _tensor_alignment(access: Access) -> Iterator[Broken]:
    """TA-070 (TA-043)."""
    pointer = access.pointer
    bad = pointer % TENSOR_POINTER_ALIGNMENT != 0

    def words(number: int) -> tuple[str, str]:
        byte = int(first_of(pointer, bad, number))
        return (
            f"the pointer is {byte} bytes into the buffer, not a multiple of {TENSOR_POINTER_ALIGNMENT}",
            f"an offset that is a multiple of {TENSOR_POINTER_ALIGNMENT} bytes; move finer with the layout's slice",
        )

    yield from broken("TA-070", f"program[{access.instruction}].offset", bad, words)


def _workgroup_size(evaluation: Evaluation) -> Iterator[Broken]:
    """VK-025."""
    subgroups = evaluation.case.dispatch.subgroups
    workgroup = any(isinstance(t, MatrixShape) and t.scope is Scope.Workgroup for t in evaluation.types.values())
    if workgroup and subgroups & (subgroups - 1):
        what = f"{subgroups} subgroups in a workgroup with matrices of Workgroup scope"
        yield everywhere(Violation("VK-025", "dispatch.subgroups", what, "a power of two"))
