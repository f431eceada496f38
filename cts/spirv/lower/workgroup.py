"""Buffers in Workgroup memory: each workgroup's part is copied in before the program, and out after it."""

from __future__ import annotations

from cts.case.model import StorageClass
from cts.spirv.encode import Id
from cts.spirv.lower.buffers import of_storage
from cts.spirv.lower.context import Lowering
from cts.spirv.lower.control import barrier, counted_loop
from cts.spirv.lower.pointers import element, load_operands, store_operands, stored_element
from cts.spirv.lower.structure import BufferStructure
from cts.spirv.lower.types import shared


def copy_in(lowering: Lowering) -> None:
    """Every part from its buffer, then a barrier."""
    parts = of_storage(lowering, StorageClass.Workgroup)
    for buffer in parts:
        _copy(lowering, buffer, into=True)
    if parts:
        barrier(lowering)


def copy_out(lowering: Lowering) -> None:
    """A barrier, then every part to its buffer."""
    parts = of_storage(lowering, StorageClass.Workgroup)
    if parts:
        barrier(lowering)
    for buffer in parts:
        _copy(lowering, buffer, into=False)


def _copy(lowering: Lowering, buffer: BufferStructure, *, into: bool) -> None:
    """Invocation i copies elements i, i + n, i + 2 n, ... of the part, in a workgroup of n invocations."""
    op, constant, uint = lowering.module.op, lowering.constant, lowering.uint
    invocations = lowering.invocations
    first = op("OpLoad", uint, lowering.builtin("LocalInvocationIndex", uint))
    base = op("OpIMul", uint, _workgroup_index(lowering), constant(buffer.part))
    # The iterations of this invocation: (part - first + invocations - 1) / invocations, where first < invocations.
    left = op("OpISub", uint, constant(buffer.part + invocations - 1), first)
    iterations = op("OpUDiv", uint, left, constant(invocations))
    type_ = shared(lowering.module, buffer.of, buffer.components)
    with counted_loop(lowering, iterations) as iteration:
        index = op("OpIAdd", uint, first, op("OpIMul", uint, iteration, constant(invocations)))
        in_part = element(lowering, buffer, index)
        in_buffer = stored_element(lowering, buffer, op("OpIAdd", uint, base, index))
        if into:
            op("OpStore", in_part, op("OpLoad", type_, in_buffer), *store_operands(lowering, buffer))
        else:
            op("OpStore", in_buffer, op("OpLoad", type_, in_part, *load_operands(lowering, buffer)))


def _workgroup_index(lowering: Lowering) -> Id:
    """The index of the workgroup among all, x fastest: x + n_x (y + n_y z). Computed once, by the first copy."""
    if lowering.workgroup_index is not None:
        return lowering.workgroup_index
    op, uint = lowering.module.op, lowering.uint
    index = lowering.workgroup(2)
    for axis in (1, 0):
        rows = op("OpIMul", uint, index, lowering.workgroups(axis))
        index = op("OpIAdd", uint, lowering.workgroup(axis), rows)
    lowering.workgroup_index = index
    return index
