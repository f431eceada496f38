"""Matrices times cooperative vectors (CV-014..CV-018)."""

from __future__ import annotations

from msgspec import structs

from cts.case.model import MulAddOperand, VectorMatrixMul, interpretation_of
from cts.showing.export.glsl.arithmetic import signed_as
from cts.showing.export.glsl.instruction import write_instruction
from cts.showing.export.glsl.memory import memory_place
from cts.showing.export.glsl.shader import Shader
from cts.showing.export.glsl.type_constants import declared_type, type_constant, with_component
from cts.showing.export.glsl.types import with_sign

#: The bits that have a meaning for cooperative vectors (CV-017).
_SIGNS = {MulAddOperand.MatrixBSigned, MulAddOperand.MatrixResultSigned}


@write_instruction.register
def vector_matrix_mul(instruction: VectorMatrixMul, shader: Shader) -> None:
    """CV-014, CV-015; CV-017: GLSL takes the signs of input and result from their types."""
    i = instruction
    if set(i.operands) - _SIGNS:
        raise shader.cannot("Cooperative Matrix Operands that mean nothing for cooperative vectors (CV-017)")
    packed = interpretation_of(i.input_interpretation).packed
    signed = None if packed else MulAddOperand.MatrixBSigned in i.operands
    vector, _ = signed_as(shader, i.input, signed)
    arguments = [
        vector,
        type_constant(shader, i.input_interpretation, "input_interpretation"),
        *memory_place(shader, i.matrix, "matrix_offset", i.matrix_offset),
        type_constant(shader, i.matrix_interpretation, "matrix_interpretation"),
    ]
    if i.bias is not None:
        arguments += memory_place(shader, i.bias, "bias_offset", i.bias_offset)
        arguments.append(type_constant(shader, i.bias_interpretation, "bias_interpretation"))
    arguments += (type_constant(shader, getattr(i, field), field) for field in ("m", "k", "layout", "transpose"))
    arguments.append(shader.operand("stride", i.stride))
    function = "coopVecMatMulNV" if i.bias is None else "coopVecMatMulAddNV"
    type_, component = declared_type(shader, i.type), i.type.component
    signed = MulAddOperand.MatrixResultSigned in i.operands
    if component.is_float or component.is_signed is signed:
        result = shader.define(i.id, type_)
        shader.line(f"{function}({', '.join((result, *arguments))});")
        return
    wanted = structs.replace(i.type, component=with_sign(component, signed))
    other, product = with_component(shader, type_, wanted), shader.names.fresh(f"product_{i.id}")
    shader.line(f"{other.name} {product};")
    shader.line(f"{function}({', '.join((product, *arguments))});")
    shader.define(i.id, type_, f"{type_.name}({product})")
