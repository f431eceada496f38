"""Buffers and opaque matrices: descriptors in case order, addresses as push constants."""

from __future__ import annotations

from cts.case.model import ComponentType, StorageClass
from cts.device.capabilities import PART_ALIGNMENT
from cts.spirv.encode import Id
from cts.spirv.lower.context import ADDRESSES, PARAMETERS, Lowering
from cts.spirv.lower.structure import BufferStructure
from cts.spirv.lower.types import of_value, shared, stored


def bound(lowering: Lowering) -> list[BufferStructure]:
    """The buffers with a descriptor, in case order: parts in Workgroup memory are copied from and to one."""
    return [b for b in lowering.structure.buffers if b.storage is not StorageClass.PhysicalStorageBuffer]


def of_storage(lowering: Lowering, storage: StorageClass) -> list[BufferStructure]:
    """The buffers of one storage class, in case order."""
    return [b for b in lowering.structure.buffers if b.storage is storage]


def declare(lowering: Lowering) -> None:
    """The variables of all buffers: set 0, bindings from 0, the parameters' after the case's own."""
    op, name = lowering.module.op, lowering.module.name
    binding = 0
    for binding, buffer in enumerate(bound(lowering), 1):
        element = stored(lowering.module, buffer.of, buffer.components)
        _descriptor(lowering, buffer.name, element, buffer.element_size, binding - 1)
    for buffer in of_storage(lowering, StorageClass.Workgroup):
        _part(lowering, buffer)
    if lowering.parameters:
        variable = _descriptor(lowering, PARAMETERS, lowering.uint, ComponentType.uint32.size, binding)
        lowering.module.decorate(variable, "NonWritable")
    physical = of_storage(lowering, StorageClass.PhysicalStorageBuffer)
    if physical:
        lowering.module.capability("PhysicalStorageBufferAddresses")
        for buffer in physical:
            # spirv-val 2025.5 takes a push constant that points to narrow elements for a narrow push
            # constant, unless the module may compute with the type.
            of_value(lowering.module, buffer.of)
        pointers = [block_pointer(lowering, buffer) for buffer in physical]
        block = name(op("OpTypeStruct", *pointers), "Addresses")
        lowering.module.decorate(block, "Block")
        for i, buffer in enumerate(physical):
            op("OpMemberDecorate", block, i, "Offset", 8 * i)
            op("OpMemberName", block, i, buffer.name)
        variable = op("OpVariable", op("OpTypePointer", "PushConstant", block), "PushConstant")
        lowering.interface.append(name(variable, ADDRESSES))
        lowering.variables[ADDRESSES] = variable


def array_type(lowering: Lowering, buffer: BufferStructure) -> Id:
    """The type of all elements of a buffer that is not in Workgroup memory."""
    return _array(lowering, stored(lowering.module, buffer.of, buffer.components), buffer.element_size)


def _array(lowering: Lowering, element: Id, size: int) -> Id:
    array = lowering.module.op("OpTypeRuntimeArray", element)
    lowering.module.decorate(array, "ArrayStride", size)
    return array


def _block(lowering: Lowering, element: Id, size: int) -> Id:
    """The type of a whole buffer: a block of one runtime array."""
    op, decorate = lowering.module.op, lowering.module.decorate
    array = _array(lowering, element, size)
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


def _part(lowering: Lowering, buffer: BufferStructure) -> None:
    """The part of a buffer in Workgroup memory: no block, no decorations, and its type may be computed with.

    It takes whole units of 16 bytes, so that the one behind it begins aligned (VK-040, VK-050).
    """
    op, size = lowering.module.op, buffer.element_size
    length = -(-buffer.part * size // PART_ALIGNMENT) * PART_ALIGNMENT // size
    array = op("OpTypeArray", shared(lowering.module, buffer.of, buffer.components), lowering.constant(length))
    variable = op("OpVariable", op("OpTypePointer", "Workgroup", array), "Workgroup")
    lowering.interface.append(lowering.module.name(variable, f"part of {buffer.name}"))
    lowering.parts[buffer.name] = variable


def block_pointer(lowering: Lowering, buffer: BufferStructure) -> Id:
    """The type of the address of a physical buffer."""
    element = stored(lowering.module, buffer.of, buffer.components)
    block = _block(lowering, element, buffer.element_size)
    return lowering.module.op("OpTypePointer", "PhysicalStorageBuffer", block)
