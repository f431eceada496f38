"""Cooperative vectors made, taken apart, loaded and stored (CV-011, CV-013, KM-021)."""

from __future__ import annotations

from collections.abc import Sequence

from cts.model import (
    Operand,
    SpecNumber,
    VectorConstant,
    VectorConstruct,
    VectorExtract,
    VectorInsert,
    VectorLoad,
    VectorNull,
    VectorStore,
    constant_of,
)
from cts.model.operand import ComponentValue
from cts.spirv.encode import Id
from cts.spirv.lower.context import Lowering
from cts.spirv.lower.instruction import lower_instruction
from cts.spirv.lower.pointers import buffer_of, load_operands, store_operands, whole_array
from cts.spirv.lower.sets import byte_in_window
from cts.spirv.lower.types import scalar
from cts.spirv.lower.values import component_value
from cts.spirv.lower.vector_types import vector_type

#: The alignment of every load and store of a vector, in bytes (VK-050).
VECTOR_ALIGNMENT = 16


@lower_instruction.register
def vector_constant(instruction: VectorConstant, lowering: Lowering) -> None:
    """CV-011; KM-021 where one value stands for all."""
    type_ = vector_type(lowering, instruction.type)
    if instruction.value is not None:
        value = component_value(lowering, instruction.type.component, instruction.value, "value")
        opcode = _composite((instruction.value,))
        if instruction.replicated:
            lowering.module.capability("ReplicatedCompositesEXT")
            lowering.define(instruction.id, f"{opcode}ReplicateEXT", type_, value)
        else:
            assert isinstance(instruction.type.length, int), "resolve asks for `replicated`"
            lowering.define(instruction.id, opcode, type_, *[value] * instruction.type.length)
    else:
        values = instruction.values or ()
        ids = (component_value(lowering, instruction.type.component, v, "values", n) for n, v in enumerate(values))
        lowering.define(instruction.id, _composite(values), type_, *ids)


def _composite(values: Sequence[ComponentValue]) -> str:
    """The instruction that makes a composite of values of these kinds."""
    delivered = [v for v in values if isinstance(v, SpecNumber)]
    if any(v.dynamic is not None for v in delivered):
        return "OpCompositeConstruct"
    return "OpSpecConstantComposite" if delivered else "OpConstantComposite"


@lower_instruction.register
def vector_null(instruction: VectorNull, lowering: Lowering) -> None:
    """CV-011."""
    lowering.define(instruction.id, instruction.opcode, vector_type(lowering, instruction.type))


@lower_instruction.register
def vector_load(instruction: VectorLoad, lowering: Lowering) -> None:
    """CV-013."""
    type_, buffer = vector_type(lowering, instruction.type), buffer_of(lowering, instruction.buffer)
    pointer = whole_array(lowering, buffer)
    offset = byte_in_window(lowering, buffer, lowering.operand("offset", instruction.offset))
    memory = load_operands(lowering, buffer, VECTOR_ALIGNMENT)
    lowering.define(instruction.id, instruction.opcode, type_, pointer, offset, *memory)


@lower_instruction.register
def vector_store(instruction: VectorStore, lowering: Lowering) -> None:
    """CV-013."""
    vector, buffer = lowering.results[instruction.vector], buffer_of(lowering, instruction.buffer)
    pointer = whole_array(lowering, buffer)
    offset = byte_in_window(lowering, buffer, lowering.operand("offset", instruction.offset))
    memory = store_operands(lowering, buffer, VECTOR_ALIGNMENT)
    lowering.module.op(instruction.opcode, pointer, offset, vector.id, *memory)


@lower_instruction.register
def vector_construct(instruction: VectorConstruct, lowering: Lowering) -> None:
    """CV-011: of scalars and ordinary vectors. Cooperative vectors are no constituents, so they are taken apart."""
    parts = (part for name in instruction.parts for part in _constituents(lowering, name))
    lowering.define(instruction.id, instruction.opcode, vector_type(lowering, instruction.type), *parts)


def _constituents(lowering: Lowering, name: str) -> tuple[Id, ...]:
    """A scalar itself; a vector as one ordinary vector if its length allows that, or else as its components."""
    op, part = lowering.module.op, lowering.results[name]
    if part.type not in lowering.vector_of_type:
        return (part.id,)
    declared = lowering.vector(name).declared
    type_, length = scalar(lowering.module, declared.component), constant_of(declared.length)
    assert isinstance(length, int)
    components = tuple(op("OpCompositeExtract", type_, part.id, n) for n in range(length))
    if not 2 <= length <= 4:
        return components
    return (op("OpCompositeConstruct", op("OpTypeVector", type_, length), *components),)


@lower_instruction.register
def vector_extract(instruction: VectorExtract, lowering: Lowering) -> None:
    """CV-011: by the literal itself where the index is one."""
    vector = lowering.results[instruction.vector].id
    type_ = scalar(lowering.module, lowering.vector(instruction.vector).declared.component)
    if isinstance(instruction.index, int):
        lowering.define(instruction.id, "OpCompositeExtract", type_, vector, instruction.index)
    else:
        lowering.define(instruction.id, instruction.opcode, type_, vector, _index(lowering, instruction.index))


@lower_instruction.register
def vector_insert(instruction: VectorInsert, lowering: Lowering) -> None:
    """CV-011: by the literal itself where the index is one."""
    vector, value = lowering.results[instruction.vector], lowering.results[instruction.scalar].id
    if isinstance(instruction.index, int):
        lowering.define(instruction.id, "OpCompositeInsert", vector.type, value, vector.id, instruction.index)
    else:
        index = _index(lowering, instruction.index)
        lowering.define(instruction.id, instruction.opcode, vector.type, vector.id, value, index)


def _index(lowering: Lowering, index: Operand) -> Id:
    return lowering.operand("index", index)
