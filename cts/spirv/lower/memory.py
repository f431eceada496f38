"""Loads and stores of matrices and vectors (KM-012, KM-013, CM-010, CM-011, CV-013)."""

from __future__ import annotations

from cts.case.model import MatrixLoad, MatrixLoadTensor, MatrixStore, MatrixStoreTensor, Order, VectorLoad, VectorStore
from cts.spirv.encode import Id, Value
from cts.spirv.grammar import grammar
from cts.spirv.lower.callbacks import callback
from cts.spirv.lower.context import Lowering
from cts.spirv.lower.instruction import lower_instruction
from cts.spirv.lower.matrix_types import declared_type
from cts.spirv.lower.pointers import TENSOR_ALIGNMENT, buffer_of, byte_place, load_operands, place_of, store_operands

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
    """CV-013."""
    type_ = declared_type(lowering, instruction.type)
    place = byte_place(lowering, instruction.buffer, "offset", instruction.offset)
    memory = load_operands(lowering, buffer_of(lowering, instruction.buffer), VECTOR_ALIGNMENT)
    lowering.define(instruction.id, instruction.opcode, type_, *place, *memory)


@lower_instruction.register
def vector_store(instruction: VectorStore, lowering: Lowering) -> None:
    """CV-013."""
    place = byte_place(lowering, instruction.buffer, "offset", instruction.offset)
    memory = store_operands(lowering, buffer_of(lowering, instruction.buffer), VECTOR_ALIGNMENT)
    lowering.module.op(instruction.opcode, *place, lowering.results[instruction.vector].id, *memory)
