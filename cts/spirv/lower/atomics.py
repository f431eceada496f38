"""Atomic additions to elements of buffers (CV-040, CV-041, CV-042)."""

from __future__ import annotations

from cts.case.model import AtomicScope, VectorAtomicAdd, constant_of
from cts.spirv.encode import Id
from cts.spirv.lower.context import Lowering
from cts.spirv.lower.instruction import lower_instruction
from cts.spirv.lower.pointers import buffer_of, element
from cts.spirv.lower.types import scalar

#: Scopes as SPIR-V numbers them. Relaxed order is no bit of the memory semantics.
_SCOPES = {AtomicScope.Device: 1, AtomicScope.QueueFamily: 5}
_RELAXED = 0


@lower_instruction.register
def vector_atomic_add(instruction: VectorAtomicAdd, lowering: Lowering) -> None:
    """CV-040: one instruction for each component; what it finds in memory is not used."""
    op, declared = lowering.module.op, lowering.vector(instruction.vector).declared
    component, length = declared.component, constant_of(declared.length)
    assert isinstance(length, int)
    vector = lowering.results[instruction.vector].id
    adds = component.descriptor.atomic_add
    assert adds is not None, "resolve knows what is added to"
    if adds.capability:
        lowering.module.capability(adds.capability)
    if instruction.scope is AtomicScope.Device:
        lowering.module.capability("VulkanMemoryModelDeviceScope")
    buffer, type_ = buffer_of(lowering, instruction.buffer), scalar(lowering.module, component)
    opcode = instruction.opcode if component.is_float else "OpAtomicIAdd"
    scope, semantics = lowering.constant(_SCOPES[instruction.scope]), lowering.constant(_RELAXED)
    first = _element_at(lowering, lowering.operand("offset", instruction.offset), component.size)
    for n in range(length):
        index = first if n == 0 else op("OpIAdd", lowering.uint, first, lowering.constant(n))
        value = op("OpCompositeExtract", type_, vector, n)
        op(opcode, type_, element(lowering, buffer, index), scope, semantics, value)


def _element_at(lowering: Lowering, offset: Id, size: int) -> Id:
    """The index of the element at an offset in bytes."""
    return lowering.module.op("OpShiftRightLogical", lowering.uint, offset, lowering.constant(size.bit_length() - 1))
