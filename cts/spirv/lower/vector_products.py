"""Matrices times cooperative vectors (CV-014..CV-018)."""

from __future__ import annotations

from cts.case.model import VectorMatrixMul
from cts.case.model.vector_products import layout_of
from cts.spirv.encode import Value
from cts.spirv.lower.context import Lowering
from cts.spirv.lower.instruction import lower_instruction
from cts.spirv.lower.pointers import byte_place
from cts.spirv.lower.type_constants import type_constant
from cts.spirv.lower.vector_types import vector_type


@lower_instruction.register
def vector_matrix_mul(instruction: VectorMatrixMul, lowering: Lowering) -> None:
    """CV-014, CV-015: the optional stride of an optimal layout is left out where it is 0 and no operand follows."""
    i, mask = instruction, "|".join(bit.spirv for bit in instruction.operands)
    operands: list[Value] = [
        lowering.results[i.input].id,
        type_constant(lowering, i.input_interpretation, "input_interpretation"),
        *byte_place(lowering, i.matrix, "matrix_offset", i.matrix_offset),
        type_constant(lowering, i.matrix_interpretation, "matrix_interpretation"),
    ]
    if i.bias is not None and i.bias_interpretation is not None:
        operands += byte_place(lowering, i.bias, "bias_offset", i.bias_offset)
        operands.append(type_constant(lowering, i.bias_interpretation, "bias_interpretation"))
    operands += (type_constant(lowering, getattr(i, field), field) for field in ("m", "k", "layout", "transpose"))
    if mask or i.stride != 0 or not layout_of(i.layout).optimal:
        operands.append(lowering.operand("stride", i.stride))
    lowering.define(i.id, i.spirv, vector_type(lowering, i.type), *operands, *((mask,) if mask else ()))
