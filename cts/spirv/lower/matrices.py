"""Matrix types, constants, loads and stores (KM-010..KM-016, CM-010, CM-011)."""

from __future__ import annotations

from cts.model import (
    ComponentType,
    MatrixConstant,
    MatrixLoad,
    MatrixLoadTensor,
    MatrixStore,
    MatrixStoreTensor,
    MatrixType,
    Order,
    SpecNumber,
    encode,
    number_of,
)
from cts.spirv.encode import Id, Value
from cts.spirv.grammar import grammar
from cts.spirv.lower.buffers import TENSOR_ALIGNMENT, element
from cts.spirv.lower.context import Lowering
from cts.spirv.lower.instruction import lower_instruction
from cts.spirv.lower.structure import SPEC_DEFAULT
from cts.spirv.lower.type_constants import type_constant
from cts.spirv.lower.types import matrix_component, scalar


def matrix_type(lowering: Lowering, declared: MatrixType) -> Id:
    """OpTypeCooperativeMatrixKHR. Types declared alike are one type, their spec constants included."""
    if declared not in lowering.types:
        component = matrix_component(lowering.module, declared.component)
        operands = [
            type_constant(lowering, getattr(declared, field), "type", field)
            for field in ("scope", "rows", "cols", "use")
        ]
        lowering.types[declared] = lowering.module.op("OpTypeCooperativeMatrixKHR", component, *operands)
    return lowering.types[declared]


@lower_instruction.register
def matrix_constant(instruction: MatrixConstant, lowering: Lowering) -> None:
    """KM-016: constant, spec constant composite, or constructed from a parameter."""
    type_ = matrix_type(lowering, instruction.type)
    component = instruction.type.component
    scalar_type = scalar(lowering.module, component)
    value = instruction.value
    if isinstance(value, SpecNumber) and value.dynamic is not None:
        opcode, constituent = "OpCompositeConstruct", _from_word(lowering, component, lowering.parameter("value"))
    elif isinstance(value, SpecNumber):
        default = _literal(component, encode(component, [SPEC_DEFAULT])[0])
        constituent = lowering.spec_constant("OpSpecConstant", scalar_type, (default,), "value")
        opcode = "OpSpecConstantComposite"
    else:
        bits = encode(component, [number_of(value)])[0]
        constituent = lowering.module.op("OpConstant", scalar_type, _literal(component, bits))
        opcode = instruction.opcode
    lowering.define(instruction.id, opcode, type_, constituent)


def _literal(component: ComponentType, bits: int) -> int:
    """Bits as the emitter takes a literal of the type: signed integers as numbers."""
    width = 8 * component.size
    bits = int(bits)
    return bits - (1 << width) if component.is_signed and bits >> width - 1 else bits


def _from_word(lowering: Lowering, component: ComponentType, word: Id) -> Id:
    """The component whose bit pattern is in the low bits of a 32-bit word."""
    op = lowering.module.op
    type_ = scalar(lowering.module, component)
    if component.size == 4:
        return word if type_ == lowering.uint else op("OpBitcast", type_, word)
    if component.is_float:
        # Through a vector of the word's size: no integer type of the component's width is needed.
        vector = op("OpTypeVector", type_, 4 // component.size)
        return op("OpCompositeExtract", type_, op("OpBitcast", vector, word), 0)
    return op("OpSConvert" if component.is_signed else "OpUConvert", type_, word)


@lower_instruction.register
def matrix_load_tensor(instruction: MatrixLoadTensor, lowering: Lowering) -> None:
    """CM-010. The object gives the result its type."""
    lowering.module.capability("CooperativeMatrixTensorAddressingNV")
    source, layout = lowering.results[instruction.object], lowering.results[instruction.layout]
    pointer, memory = element(lowering, instruction.buffer, instruction.offset, TENSOR_ALIGNMENT)
    tail = (*(memory or ("None",)), *_tensor_operands(lowering, instruction.view))
    lowering.define(instruction.id, instruction.opcode, source.type, pointer, source.id, layout.id, *tail)


@lower_instruction.register
def matrix_store_tensor(instruction: MatrixStoreTensor, lowering: Lowering) -> None:
    """CM-011."""
    lowering.module.capability("CooperativeMatrixTensorAddressingNV")
    matrix, layout = lowering.results[instruction.matrix], lowering.results[instruction.layout]
    pointer, memory = element(lowering, instruction.buffer, instruction.offset, TENSOR_ALIGNMENT)
    tail = (*(memory or ("None",)), *_tensor_operands(lowering, instruction.view))
    lowering.module.op(instruction.opcode, pointer, matrix.id, layout.id, *tail)


def _tensor_operands(lowering: Lowering, view: str | None) -> tuple[Value, ...]:
    """The mandatory Tensor Addressing Operands (CM-005)."""
    return ("None",) if view is None else ("TensorView", lowering.results[view].id)


@lower_instruction.register
def matrix_load(instruction: MatrixLoad, lowering: Lowering) -> None:
    """KM-012: the stride is mandatory before memory operands."""
    type_ = matrix_type(lowering, instruction.type)
    pointer, memory = element(lowering, instruction.buffer, instruction.offset)
    stride = lowering.operand("stride", instruction.stride)
    order = _order(lowering, instruction.order)
    lowering.define(instruction.id, instruction.opcode, type_, pointer, order, stride, *memory)


@lower_instruction.register
def matrix_store(instruction: MatrixStore, lowering: Lowering) -> None:
    """KM-012."""
    matrix = lowering.results[instruction.matrix]
    pointer, memory = element(lowering, instruction.buffer, instruction.offset)
    stride = lowering.operand("stride", instruction.stride)
    order = _order(lowering, instruction.order)
    lowering.module.op(instruction.opcode, pointer, matrix.id, order, stride, *memory)


def _order(lowering: Lowering, order: Order) -> Id:
    return lowering.constant(grammar().value("CooperativeMatrixLayout", f"{order.value}KHR"))
