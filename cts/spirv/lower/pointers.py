"""Pointers to elements of buffers, and the memory operands of accesses through them."""

from __future__ import annotations

from typing import NamedTuple

from cts.case.model import MemoryInstruction, Operand, Pointer, PointerSelect, Scope, StorageClass
from cts.spirv.encode import Id, Value
from cts.spirv.lower.buffers import array_type, block_pointer, of_storage
from cts.spirv.lower.context import ADDRESSES, Lowering, Result
from cts.spirv.lower.instruction import lower_instruction
from cts.spirv.lower.sets import byte_in_window, element_in_window
from cts.spirv.lower.structure import BufferStructure
from cts.spirv.lower.type_constants import word_of
from cts.spirv.lower.types import shared, stored

#: The alignment that tensor addressing asks of every pointer, in bytes (TA-043).
TENSOR_ALIGNMENT = 16

#: What pointer arithmetic and choices between pointers need; physical pointers are ordinary values.
_VARIABLE = {
    StorageClass.StorageBuffer: ("VariablePointersStorageBuffer",),
    StorageClass.Workgroup: ("VariablePointers",),
    StorageClass.PhysicalStorageBuffer: (),
}


class ElementPointer(NamedTuple):
    """A pointer to an element of a buffer."""

    pointer: Id
    buffer: BufferStructure


def place_of(lowering: Lowering, instruction: MemoryInstruction) -> ElementPointer:
    """Where a memory instruction points to: an element of a buffer, or one that many elements past a pointer."""
    name = instruction.buffer
    if name not in lowering.pointees:
        buffer = buffer_of(lowering, name)
        return ElementPointer(element(lowering, buffer, lowering.operand("offset", instruction.offset)), buffer)
    base, buffer = lowering.results[name], buffer_of(lowering, lowering.pointees[name])
    if instruction.offset == 0:
        return ElementPointer(base.id, buffer)
    lowering.module.capability(*_VARIABLE[buffer.storage])
    index = lowering.operand("offset", instruction.offset)
    return ElementPointer(lowering.module.op("OpPtrAccessChain", base.type, base.id, index), buffer)


def buffer_of(lowering: Lowering, name: str) -> BufferStructure:
    """The buffer or opaque matrix of a name."""
    return next(b for b in lowering.structure.buffers if b.name == name)


def element(lowering: Lowering, buffer: BufferStructure, index: Id, type_: Id | None = None) -> Id:
    """A pointer to an element of a buffer, in the memory where the program has it."""
    op = lowering.module.op
    if buffer.storage is StorageClass.Workgroup:
        to_element = op("OpTypePointer", "Workgroup", shared(lowering.module, buffer.of, buffer.components))
        return op("OpAccessChain", type_ or to_element, lowering.parts[buffer.name], index)
    if buffer.storage is StorageClass.StorageBuffer:
        return stored_element(lowering, buffer, index, type_)
    base, index = _address(lowering, buffer), element_in_window(lowering, buffer, index)
    to_element = op("OpTypePointer", "PhysicalStorageBuffer", stored(lowering.module, buffer.of, buffer.components))
    return op("OpAccessChain", type_ or to_element, base, lowering.constant(0), index)


def whole_array(lowering: Lowering, buffer: BufferStructure) -> Id:
    """A pointer to all elements of a buffer, in the memory where the program has it (CV-013, CV-016b)."""
    op = lowering.module.op
    if buffer.storage is StorageClass.Workgroup:
        return lowering.parts[buffer.name]
    physical = buffer.storage is StorageClass.PhysicalStorageBuffer
    base = _address(lowering, buffer) if physical else lowering.variables[buffer.name]
    to_array = op("OpTypePointer", buffer.storage.value, array_type(lowering, buffer))
    return op("OpAccessChain", to_array, base, lowering.constant(0))


def byte_place(lowering: Lowering, name: str, field: str, offset: Operand) -> tuple[Id, Id]:
    """A pointer to all elements of a buffer or opaque matrix, and the offset in bytes that a field holds."""
    buffer = buffer_of(lowering, name)
    pointer = whole_array(lowering, buffer)
    return pointer, byte_in_window(lowering, buffer, lowering.operand(field, offset))


def _address(lowering: Lowering, buffer: BufferStructure) -> Id:
    """The address of a physical buffer."""
    op, block = lowering.module.op, block_pointer(lowering, buffer)
    member = lowering.constant(of_storage(lowering, StorageClass.PhysicalStorageBuffer).index(buffer))
    in_block = op("OpTypePointer", "PushConstant", block)
    return op("OpLoad", block, op("OpAccessChain", in_block, lowering.variables[ADDRESSES], member))


def stored_element(lowering: Lowering, buffer: BufferStructure, index: Id, type_: Id | None = None) -> Id:
    """A pointer to an element of the storage buffer behind a descriptor."""
    op, index = lowering.module.op, element_in_window(lowering, buffer, index)
    to_element = op("OpTypePointer", "StorageBuffer", stored(lowering.module, buffer.of, buffer.components))
    return op("OpAccessChain", type_ or to_element, lowering.variables[buffer.name], lowering.constant(0), index)


def load_operands(lowering: Lowering, buffer: BufferStructure, alignment: int | None = None) -> tuple[Value, ...]:
    """The memory operands of a load; `alignment` in bytes, or that of the buffer's scalars."""
    return _operands(lowering, buffer, alignment, "MakePointerVisible")


def store_operands(lowering: Lowering, buffer: BufferStructure, alignment: int | None = None) -> tuple[Value, ...]:
    """The memory operands of a store; `alignment` in bytes, or that of the buffer's scalars."""
    return _operands(lowering, buffer, alignment, "MakePointerAvailable")


def _operands(lowering: Lowering, buffer: BufferStructure, alignment: int | None, ordered: str) -> tuple[Value, ...]:
    """VK-043: physical pointers state an alignment. CM-012: what others see or have written is not private."""
    names: list[str] = []
    values: list[Value] = []
    if buffer.storage is StorageClass.PhysicalStorageBuffer:
        names.append("Aligned")
        values.append(alignment or buffer.type.size)
    if buffer.storage is StorageClass.Workgroup or lowering.synchronised:
        names += [ordered, "NonPrivatePointer"]
        values.append(workgroup_scope(lowering))
    return ("|".join(names), *values) if names else ()


def workgroup_scope(lowering: Lowering) -> Id:
    """The scope of barriers, and of what accesses make available or visible."""
    return lowering.constant(word_of(Scope.Workgroup))


@lower_instruction.register
def pointer(instruction: Pointer, lowering: Lowering) -> None:
    """A pointer that may be moved: its type says how far apart elements are."""
    buffer = buffer_of(lowering, instruction.buffer)
    type_ = pointer_type(lowering, buffer)
    index = lowering.operand("offset", instruction.offset)
    _define(lowering, instruction.id, Result(element(lowering, buffer, index, type_), type_), buffer.name)


@lower_instruction.register
def pointer_select(instruction: PointerSelect, lowering: Lowering) -> None:
    """A choice between pointers into one buffer."""
    op = lowering.module.op
    a, b = lowering.results[instruction.a], lowering.results[instruction.b]
    pointee = lowering.pointees[instruction.a]
    lowering.module.capability(*_VARIABLE[buffer_of(lowering, pointee).storage])
    selected = op("OpSelect", a.type, lowering.condition("condition", instruction.condition), a.id, b.id)
    _define(lowering, instruction.id, Result(selected, a.type), pointee)


def _define(lowering: Lowering, name: str, result: Result, buffer: str) -> None:
    lowering.module.name(result.id, name)
    lowering.results[name] = result
    lowering.pointees[name] = buffer


def pointer_type(lowering: Lowering, buffer: BufferStructure) -> Id:
    """A pointer type of the buffer's own with an ArrayStride, which OpPtrAccessChain goes by."""
    key = (Pointer, buffer)
    if key not in lowering.types:
        op = lowering.module.op
        if buffer.storage is StorageClass.Workgroup:
            component = shared(lowering.module, buffer.of, buffer.components)
            lowering.types[key] = op("OpTypePointer", "Workgroup", component)
        else:
            component = stored(lowering.module, buffer.of, buffer.components)
            type_ = op("OpTypePointer", buffer.storage.value, component, result=lowering.module.id())
            lowering.module.decorate(type_, "ArrayStride", buffer.element_size)
            lowering.types[key] = type_
    return lowering.types[key]
