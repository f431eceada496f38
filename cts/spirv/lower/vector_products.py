"""Matrices times cooperative vectors, and accumulation into memory (CV-014..CV-021)."""

from __future__ import annotations

from cts.model import Operand, VectorMatrixMul, VectorOuterProductAccumulate, VectorReduceSumAccumulate
from cts.model.vector_products import layout_of
from cts.spirv.encode import Id, Value
from cts.spirv.lower.arithmetic import operand_mask
from cts.spirv.lower.context import Lowering
from cts.spirv.lower.instruction import lower_instruction
from cts.spirv.lower.pointers import buffer_of, whole_array
from cts.spirv.lower.sets import byte_in_window
from cts.spirv.lower.type_constants import type_constant
from cts.spirv.lower.vector_types import vector_type


@lower_instruction.register
def vector_matrix_mul(instruction: VectorMatrixMul, lowering: Lowering) -> None:
    """CV-014, CV-015: the optional stride of an optimal layout is left out where it is 0 and no operand follows."""
    i, mask = instruction, operand_mask(instruction.operands)
    operands: list[Value] = [
        lowering.results[i.input].id,
        type_constant(lowering, i.input_interpretation, "input_interpretation"),
        *_place(lowering, i.matrix, "matrix_offset", i.matrix_offset),
        type_constant(lowering, i.matrix_interpretation, "matrix_interpretation"),
    ]
    if i.bias is not None and i.bias_interpretation is not None:
        operands += _place(lowering, i.bias, "bias_offset", i.bias_offset)
        operands.append(type_constant(lowering, i.bias_interpretation, "bias_interpretation"))
    operands += (type_constant(lowering, getattr(i, field), field) for field in ("m", "k", "layout", "transpose"))
    if mask or i.stride != 0 or not layout_of(i.layout).optimal:
        operands.append(lowering.operand("stride", i.stride))
    lowering.define(i.id, i.spirv, vector_type(lowering, i.type), *operands, *mask)


@lower_instruction.register
def outer_product_accumulate(instruction: VectorOuterProductAccumulate, lowering: Lowering) -> None:
    """CV-020."""
    lowering.module.capability("CooperativeVectorTrainingNV")
    i = instruction
    place = _place(lowering, i.matrix, "offset", i.offset)
    vectors = [lowering.results[name].id for name in (i.a, i.b)]
    constants = [type_constant(lowering, getattr(i, field), field) for field in ("layout", "interpretation")]
    stride = [lowering.operand("stride", i.stride)] if i.stride != 0 else []
    lowering.module.op(i.opcode, *place, *vectors, *constants, *stride)


@lower_instruction.register
def reduce_sum_accumulate(instruction: VectorReduceSumAccumulate, lowering: Lowering) -> None:
    """CV-021."""
    lowering.module.capability("CooperativeVectorTrainingNV")
    place = _place(lowering, instruction.buffer, "offset", instruction.offset)
    lowering.module.op(instruction.opcode, *place, lowering.results[instruction.vector].id)


def _place(lowering: Lowering, name: str, field: str, offset: Operand) -> tuple[Id, Id]:
    """A pointer to the array of a buffer or opaque matrix, and an offset in bytes."""
    buffer = buffer_of(lowering, name)
    pointer = whole_array(lowering, buffer)
    return pointer, byte_in_window(lowering, buffer, lowering.operand(field, offset))
