"""Buffers: descriptors in case order, addresses as push constants, pointers to elements."""

from __future__ import annotations

from cts.model import ComponentType, Operand, StorageClass
from cts.spirv.encode import Id, Value
from cts.spirv.lower.context import ADDRESSES, PARAMETERS, Lowering
from cts.spirv.lower.structure import BufferStructure
from cts.spirv.lower.types import scalar, stored

#: The alignment that tensor addressing asks of every pointer, in bytes (TA-043).
TENSOR_ALIGNMENT = 16


def of_storage(lowering: Lowering, storage: StorageClass) -> list[BufferStructure]:
    """The buffers of one storage class, in case order: that of bindings, and of addresses."""
    return [b for b in lowering.structure.buffers if b.storage is storage]


def declare(lowering: Lowering) -> None:
    """The variables of all buffers: set 0, bindings from 0, the parameters' after the case's own."""
    op, name = lowering.module.op, lowering.module.name
    binding = 0
    for binding, buffer in enumerate(of_storage(lowering, StorageClass.StorageBuffer), 1):
        element = stored(lowering.module, buffer.type, buffer.components)
        _descriptor(lowering, buffer.name, element, buffer.element_size, binding - 1)
    if lowering.parameters:
        variable = _descriptor(lowering, PARAMETERS, lowering.uint, ComponentType.uint32.size, binding)
        lowering.module.decorate(variable, "NonWritable")
    physical = of_storage(lowering, StorageClass.PhysicalStorageBuffer)
    if physical:
        lowering.module.capability("PhysicalStorageBufferAddresses")
        for buffer in physical:
            # spirv-val 2025.5 takes a push constant that points to narrow elements for a narrow push
            # constant, unless the module may compute with the type.
            scalar(lowering.module, buffer.type)
        pointers = [_block_pointer(lowering, buffer) for buffer in physical]
        block = name(op("OpTypeStruct", *pointers), "Addresses")
        lowering.module.decorate(block, "Block")
        for i, buffer in enumerate(physical):
            op("OpMemberDecorate", block, i, "Offset", 8 * i)
            op("OpMemberName", block, i, buffer.name)
        variable = op("OpVariable", op("OpTypePointer", "PushConstant", block), "PushConstant")
        lowering.interface.append(name(variable, ADDRESSES))
        lowering.variables[ADDRESSES] = variable


def _block(lowering: Lowering, element: Id, size: int) -> Id:
    """The type of a whole buffer: a block of one runtime array."""
    op, decorate = lowering.module.op, lowering.module.decorate
    array = op("OpTypeRuntimeArray", element)
    decorate(array, "ArrayStride", size)
    block = op("OpTypeStruct", array)
    decorate(block, "Block")
    op("OpMemberDecorate", block, 0, "Offset", 0)
    return block


def _descriptor(lowering: Lowering, name: str, element: Id, size: int, binding: int) -> Id:
    op, decorate = lowering.module.op, lowering.module.decorate
    pointer = op("OpTypePointer", "StorageBuffer", _block(lowering, element, size))
    variable = lowering.module.name(op("OpVariable", pointer, "StorageBuffer"), name)
    decorate(variable, "DescriptorSet", 0)
    decorate(variable, "Binding", binding)
    lowering.interface.append(variable)
    lowering.variables[name] = variable
    return variable


def _block_pointer(lowering: Lowering, buffer: BufferStructure) -> Id:
    element = stored(lowering.module, buffer.type, buffer.components)
    block = _block(lowering, element, buffer.element_size)
    return lowering.module.op("OpTypePointer", "PhysicalStorageBuffer", block)


def element(
    lowering: Lowering, name: str, offset: Operand, alignment: int | None = None
) -> tuple[Id, tuple[Value, ...]]:
    """A pointer to element `offset` of a buffer, and the memory operands of an access through it.

    Accesses through physical pointers state an alignment (VK-043): `alignment`, or that of the
    buffer's scalars, which every element has.
    """
    op = lowering.module.op
    buffer = next(b for b in lowering.structure.buffers if b.name == name)
    memory: tuple[Value, ...] = ()
    if buffer.storage is StorageClass.StorageBuffer:
        base = lowering.variables[name]
    else:
        physical = of_storage(lowering, StorageClass.PhysicalStorageBuffer)
        member = lowering.constant(physical.index(buffer))
        pointer = _block_pointer(lowering, buffer)
        in_block = op("OpTypePointer", "PushConstant", pointer)
        base = op("OpLoad", pointer, op("OpAccessChain", in_block, lowering.variables[ADDRESSES], member))
        memory = ("Aligned", alignment or buffer.type.size)
    index = lowering.operand("offset", offset)
    to_element = op("OpTypePointer", buffer.storage.value, stored(lowering.module, buffer.type, buffer.components))
    return op("OpAccessChain", to_element, base, lowering.constant(0), index), memory
