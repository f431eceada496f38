"""Matrices times cooperative vectors, and accumulation into memory (CV-014..CV-021)."""

from __future__ import annotations

from msgspec import structs

from cts.export.glsl.instruction import write_instruction
from cts.export.glsl.memory import array_of
from cts.export.glsl.shader import Shader
from cts.export.glsl.type_constants import type_constant, vector_type, vector_with_component
from cts.export.glsl.types import with_sign
from cts.export.glsl.vector_arithmetic import vector_signed_as
from cts.model import (
    MulAddOperand,
    Operand,
    VectorMatrixMul,
    VectorOuterProductAccumulate,
    VectorReduceSumAccumulate,
    interpretation_of,
    memory_of,
)

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
    vector, _ = vector_signed_as(shader, i.input, signed)
    arguments = [
        vector,
        type_constant(shader, i.input_interpretation, "input_interpretation"),
        *_place(shader, i.matrix, "matrix_offset", i.matrix_offset),
        type_constant(shader, i.matrix_interpretation, "matrix_interpretation"),
    ]
    if i.bias is not None:
        arguments += _place(shader, i.bias, "bias_offset", i.bias_offset)
        arguments.append(type_constant(shader, i.bias_interpretation, "bias_interpretation"))
    arguments += (type_constant(shader, getattr(i, field), field) for field in ("m", "k", "layout", "transpose"))
    arguments.append(shader.operand("stride", i.stride))
    function = "coopVecMatMulNV" if i.bias is None else "coopVecMatMulAddNV"
    type_, component = vector_type(shader, i.type), i.type.component
    signed = MulAddOperand.MatrixResultSigned in i.operands
    if component.is_float or component.is_signed is signed:
        result = shader.define(i.id, type_)
        shader.line(f"{function}({', '.join((result, *arguments))});")
        return
    wanted = structs.replace(i.type, component=with_sign(component, signed))
    other, product = vector_with_component(shader, type_, wanted), shader.names.fresh(f"product_{i.id}")
    shader.line(f"{other.name} {product};")
    shader.line(f"{function}({', '.join((product, *arguments))});")
    shader.define(i.id, type_, f"{type_.name}({product})")


@write_instruction.register
def outer_product_accumulate(instruction: VectorOuterProductAccumulate, shader: Shader) -> None:
    """CV-020."""
    i = instruction
    vectors = [shader.results[name] for name in (i.a, i.b)]
    place = _place(shader, i.matrix, "offset", i.offset)
    layout, interpretation = (type_constant(shader, getattr(i, f), f) for f in ("layout", "interpretation"))
    stride = shader.operand("stride", i.stride)
    arguments = ", ".join((*vectors, *place, stride, layout, interpretation))
    shader.line(f"coopVecOuterProductAccumulateNV({arguments});")


@write_instruction.register
def reduce_sum_accumulate(instruction: VectorReduceSumAccumulate, shader: Shader) -> None:
    """CV-021."""
    array, offset = _place(shader, instruction.buffer, "offset", instruction.offset)
    shader.line(f"coopVecReduceSumAccumulateNV({shader.results[instruction.vector]}, {array}, {offset});")


def _place(shader: Shader, name: str, field: str, offset: Operand) -> tuple[str, str]:
    """All elements of a buffer or opaque matrix, and an offset in bytes."""
    memory = memory_of(shader.case.opaque, name) if name in shader.case.opaque else name
    return array_of(shader, memory), shader.operand(field, offset)
