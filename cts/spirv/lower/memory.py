"""Loads and stores of matrices and vectors (KM-012, KM-013, CM-010, CM-011, CV-013)."""

from __future__ import annotations

from cts.case.model import (
    MatrixLoad,
    MatrixLoadTensor,
    MatrixStore,
    MatrixStoreTensor,
    Order,
    VectorLoad,
    VectorStore,
    constant_of,
)
from cts.spirv.encode import Id, Value
from cts.spirv.grammar import grammar
from cts.spirv.lower.callbacks import callback
from cts.spirv.lower.context import Lowering, Vector
from cts.spirv.lower.instruction import lower_instruction
from cts.spirv.lower.matrix_types import declared_type
from cts.spirv.lower.pointers import (
    TENSOR_ALIGNMENT,
    buffer_of,
    byte_place,
    element,
    load_operands,
    place_of,
    store_operands,
)
from cts.spirv.lower.types import scalar

#: The alignment of every load and store of a vector, in bytes (VK-050).
VECTOR_ALIGNMENT = 16


@lower_instruction.register
def matrix_load_tensor(instruction: MatrixLoadTensor, lowering: Lowering) -> None:
    """CM-010, DV-010. The object gives the result its type."""
    lowering.module.capability("CooperativeMatrixTensorAddressingNV")
    source, layout = lowering.results[instruction.object], lowering.results[instruction.layout]
    place = place_of(lowering, instruction)
    memory = load_operands(lowering, place.buffer, TENSOR_ALIGNMENT) or ("None",)
    operands = [] if instruction.view is None else [("TensorView", lowering.results[instruction.view].id)]
    if instruction.decode is not None:
        lowering.module.capability("CooperativeMatrixBlockLoadsNV")
        operands.append(("DecodeFunc", callback(lowering, instruction.decode)))
    if instruction.decode_vector is not None:
        vector = callback(lowering, instruction.decode_vector)
        if lowering.decode_vector:
            lowering.module.capability("CooperativeMatrixDecodeVectorNV")
            operands.append(("DecodeVectorFunc", vector))
    tail = (*memory, *_tensor_operands(operands))
    lowering.define(instruction.id, instruction.opcode, source.type, place.pointer, source.id, layout.id, *tail)


@lower_instruction.register
def matrix_store_tensor(instruction: MatrixStoreTensor, lowering: Lowering) -> None:
    """CM-011."""
    lowering.module.capability("CooperativeMatrixTensorAddressingNV")
    matrix, layout = lowering.results[instruction.matrix], lowering.results[instruction.layout]
    place = place_of(lowering, instruction)
    memory = store_operands(lowering, place.buffer, TENSOR_ALIGNMENT) or ("None",)
    operands = [] if instruction.view is None else [("TensorView", lowering.results[instruction.view].id)]
    lowering.module.op(instruction.opcode, place.pointer, matrix.id, layout.id, *memory, *_tensor_operands(operands))


def _tensor_operands(operands: list[tuple[str, Id]]) -> tuple[Value, ...]:
    """The mandatory Tensor Addressing Operands, in increasing bit order (CM-005)."""
    return ("|".join(name for name, _ in operands) or "None", *(value for _, value in operands))


@lower_instruction.register
def matrix_load(instruction: MatrixLoad, lowering: Lowering) -> None:
    """KM-012: the stride is mandatory before memory operands."""
    type_ = declared_type(lowering, instruction.type)
    place = place_of(lowering, instruction)
    stride = lowering.operand("stride", instruction.stride)
    order, memory = _order(lowering, instruction.order), load_operands(lowering, place.buffer)
    lowering.define(instruction.id, instruction.opcode, type_, place.pointer, order, stride, *memory)


@lower_instruction.register
def matrix_store(instruction: MatrixStore, lowering: Lowering) -> None:
    """KM-012."""
    matrix = lowering.results[instruction.matrix]
    place = place_of(lowering, instruction)
    stride = lowering.operand("stride", instruction.stride)
    order, memory = _order(lowering, instruction.order), store_operands(lowering, place.buffer)
    lowering.module.op(instruction.opcode, place.pointer, matrix.id, order, stride, *memory)


def _order(lowering: Lowering, order: Order) -> Id:
    if order.blocked:
        lowering.module.capability("CooperativeMatrixLayoutsARM")
    name = order.value if order.blocked else f"{order.value}KHR"
    return lowering.constant(grammar().value("CooperativeMatrixLayout", name))


@lower_instruction.register
def vector_load(instruction: VectorLoad, lowering: Lowering) -> None:
    """CV-013; component by component of an ordinary vector."""
    type_ = declared_type(lowering, instruction.type)
    if instruction.type.ordinary:
        vector = lowering.vector_of_type[type_]
        buffer, op = buffer_of(lowering, instruction.buffer), lowering.module.op
        stored = scalar(lowering.module, buffer.type)
        memory = load_operands(lowering, buffer)
        loaded = [op("OpLoad", stored, pointer, *memory) for pointer in _components(lowering, instruction, vector)]
        own = scalar(lowering.module, instruction.type.component)
        parts = loaded if own == stored else [op("OpBitcast", own, part) for part in loaded]
        lowering.define(instruction.id, "OpCompositeConstruct", type_, *parts)
        return
    place = byte_place(lowering, instruction.buffer, "offset", instruction.offset)
    memory = load_operands(lowering, buffer_of(lowering, instruction.buffer), VECTOR_ALIGNMENT)
    lowering.define(instruction.id, instruction.opcode, type_, *place, *memory)


@lower_instruction.register
def vector_store(instruction: VectorStore, lowering: Lowering) -> None:
    """CV-013; component by component of an ordinary vector."""
    vector = lowering.vector(instruction.vector)
    if vector.declared.ordinary:
        buffer, op = buffer_of(lowering, instruction.buffer), lowering.module.op
        stored, own = scalar(lowering.module, buffer.type), scalar(lowering.module, vector.declared.component)
        for n, pointer in enumerate(_components(lowering, instruction, vector)):
            part = op("OpCompositeExtract", own, lowering.results[instruction.vector].id, n)
            value = part if own == stored else op("OpBitcast", stored, part)
            op("OpStore", pointer, value, *store_operands(lowering, buffer))
        return
    place = byte_place(lowering, instruction.buffer, "offset", instruction.offset)
    memory = store_operands(lowering, buffer_of(lowering, instruction.buffer), VECTOR_ALIGNMENT)
    lowering.module.op(instruction.opcode, *place, lowering.results[instruction.vector].id, *memory)


def _components(lowering: Lowering, instruction: VectorLoad | VectorStore, vector: Vector) -> list[Id]:
    """Pointers to the components of an ordinary vector, each an element of the buffer or a part of one."""
    op, buffer = lowering.module.op, buffer_of(lowering, instruction.buffer)
    offset = lowering.operand("offset", instruction.offset)
    first = op("OpShiftRightLogical", lowering.uint, offset, lowering.constant(buffer.element_size.bit_length() - 1))
    length, pointers = constant_of(vector.declared.length), []
    assert isinstance(length, int)
    for n in range(length):
        # Offsets are multiples of 16 bytes, and so of every element.
        index, part = divmod(n, buffer.components)
        whole = element(lowering, buffer, op("OpIAdd", lowering.uint, first, lowering.constant(index)))
        if buffer.components > 1:
            to_part = op("OpTypePointer", buffer.storage.value, scalar(lowering.module, buffer.type))
            whole = op("OpAccessChain", to_part, whole, lowering.constant(part))
        pointers.append(whole)
    return pointers
