"""Matrix constants, loads and stores (KM-012..KM-016, KM-021, CM-010, CM-011)."""

from __future__ import annotations

from cts.export.glsl.callbacks import callback
from cts.export.glsl.instruction import write_instruction
from cts.export.glsl.memory import place_of
from cts.export.glsl.shader import Shader
from cts.export.glsl.type_constants import matrix_type
from cts.model import (
    MatrixConstant,
    MatrixLoad,
    MatrixLoadTensor,
    MatrixNull,
    MatrixStore,
    MatrixStoreTensor,
    Order,
)


@write_instruction.register
def matrix_constant(instruction: MatrixConstant, shader: Shader) -> None:
    """KM-016, KM-021."""
    type_ = matrix_type(shader, instruction.type)
    value = shader.value(instruction.type.component, instruction.value, "value")
    if instruction.replicated:
        shader.note("composites are replicated in the module (SPV_EXT_replicated_composites)")
    shader.define(instruction.id, type_, f"{type_.name}({value})")


@write_instruction.register
def matrix_null(instruction: MatrixNull, shader: Shader) -> None:
    """KM-016."""
    type_ = matrix_type(shader, instruction.type)
    shader.define(instruction.id, type_, f"{type_.name}({shader.number(instruction.type.component, 0)})")


@write_instruction.register
def matrix_load_tensor(instruction: MatrixLoadTensor, shader: Shader) -> None:
    """CM-010, DV-010. The matrix is the object before it is the result."""
    arguments = [place_of(shader, instruction), shader.results[instruction.layout]]
    if instruction.view is not None:
        arguments.append(shader.results[instruction.view])
    if instruction.decode is not None:
        arguments.append(callback(shader, instruction.decode))
    if instruction.decode_vector is not None:
        shader.extensions.add("GL_NV_cooperative_matrix_decode_vector")
        arguments.append(callback(shader, instruction.decode_vector))
    result = shader.define(instruction.id, shader.declared[instruction.object], shader.results[instruction.object])
    shader.line(f"coopMatLoadTensorNV({', '.join((result, *arguments))});")


@write_instruction.register
def matrix_store_tensor(instruction: MatrixStoreTensor, shader: Shader) -> None:
    """CM-011."""
    arguments = [shader.results[instruction.matrix], place_of(shader, instruction), shader.results[instruction.layout]]
    if instruction.view is not None:
        arguments.append(shader.results[instruction.view])
    shader.line(f"coopMatStoreTensorNV({', '.join(arguments)});")


@write_instruction.register
def matrix_load(instruction: MatrixLoad, shader: Shader) -> None:
    """KM-012."""
    result = shader.define(instruction.id, matrix_type(shader, instruction.type))
    stride = shader.operand("stride", instruction.stride)
    shader.line(f"coopMatLoad({result}, {place_of(shader, instruction)}, {stride}, {_order(instruction.order)});")


@write_instruction.register
def matrix_store(instruction: MatrixStore, shader: Shader) -> None:
    """KM-012."""
    matrix = shader.results[instruction.matrix]
    stride = shader.operand("stride", instruction.stride)
    shader.line(f"coopMatStore({matrix}, {place_of(shader, instruction)}, {stride}, {_order(instruction.order)});")


def _order(order: Order) -> str:
    return f"gl_CooperativeMatrixLayout{order.value}"
