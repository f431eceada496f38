"""Loads and stores of matrices and vectors (KM-012, KM-013, CM-010, CM-011, CV-013)."""

from __future__ import annotations

from collections.abc import Iterator

from cts.case.model import (
    MatrixLoad,
    MatrixLoadTensor,
    MatrixStore,
    MatrixStoreTensor,
    Order,
    VectorLoad,
    VectorStore,
    VectorType,
    constant_of,
)
from cts.spirv.encode import Id, Value
from cts.spirv.grammar import grammar
from cts.spirv.lower.callbacks import callback
from cts.spirv.lower.context import Lowering
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
    type_, buffer = declared_type(lowering, instruction.type), buffer_of(lowering, instruction.buffer)
    if instruction.type.ordinary:
        op, memory = lowering.module.op, load_operands(lowering, buffer)
        own, element_type = (scalar(lowering.module, c) for c in (instruction.type.component, buffer.type))
        loaded = [op("OpLoad", element_type, p, *memory) for p in _components(lowering, instruction, instruction.type)]
        parts = loaded if own == element_type else [op("OpBitcast", own, part) for part in loaded]
        lowering.define(instruction.id, "OpCompositeConstruct", type_, *parts)
        return
    place = byte_place(lowering, instruction.buffer, "offset", instruction.offset)
    memory = load_operands(lowering, buffer, VECTOR_ALIGNMENT)
    lowering.define(instruction.id, instruction.opcode, type_, *place, *memory)


@lower_instruction.register
def vector_store(instruction: VectorStore, lowering: Lowering) -> None:
    """CV-013; component by component of an ordinary vector."""
    op, buffer, vector = (
        lowering.module.op,
        buffer_of(lowering, instruction.buffer),
        lowering.results[instruction.vector],
    )
    declared = lowering.vector(instruction.vector).declared
    if not declared.ordinary:
        place = byte_place(lowering, instruction.buffer, "offset", instruction.offset)
        op(instruction.opcode, *place, vector.id, *store_operands(lowering, buffer, VECTOR_ALIGNMENT))
        return
    own, element_type = (scalar(lowering.module, c) for c in (declared.component, buffer.type))
    for n, pointer in enumerate(_components(lowering, instruction, declared)):
        part = op("OpCompositeExtract", own, vector.id, n)
        value = part if own == element_type else op("OpBitcast", element_type, part)
        op("OpStore", pointer, value, *store_operands(lowering, buffer))


def _components(lowering: Lowering, instruction: VectorLoad | VectorStore, declared: VectorType) -> Iterator[Id]:
    """Pointers to the components of an ordinary vector, each an element of the buffer or a part of one.

    Offsets are multiples of 16 bytes, and so of every element.
    """
    op, uint, buffer = lowering.module.op, lowering.uint, buffer_of(lowering, instruction.buffer)
    offset, shift = lowering.operand("offset", instruction.offset), buffer.element_size.bit_length() - 1
    first, length = op("OpShiftRightLogical", uint, offset, lowering.constant(shift)), constant_of(declared.length)
    assert isinstance(length, int)
    for index, part in (divmod(n, buffer.components) for n in range(length)):
        pointer = element(lowering, buffer, op("OpIAdd", uint, first, lowering.constant(index)))
        if buffer.components > 1:
            to_part = op("OpTypePointer", buffer.storage.value, scalar(lowering.module, buffer.type))
            pointer = op("OpAccessChain", to_part, pointer, lowering.constant(part))
        yield pointer
