"""Conversions of matrices and vectors to other components, uses and shapes (KM-018, CM-050..CM-052, CV-012)."""

from __future__ import annotations

from msgspec import structs

from cts.case import model
from cts.showing.export.glsl.arithmetic import back, signed_as
from cts.showing.export.glsl.instruction import write_instruction
from cts.showing.export.glsl.shader import Declared, Shader
from cts.showing.export.glsl.type_constants import derived_type, with_component
from cts.showing.export.glsl.types import with_sign


@write_instruction.register
def matrix_convert(instruction: model.MatrixConvert, shader: Shader) -> None:
    """KM-018; CM-050 where the use changes too; NU-033 where it saturates."""
    if instruction.use is not None:
        shader.extensions.add(_extension(instruction))
    source_sign, _ = instruction.operation.signs
    type_ = derived_type(shader, instruction, instruction.matrix)
    source, _ = signed_as(shader, instruction.matrix, source_sign)
    if instruction.transpose and instruction.saturate:
        raise shader.cannot("a transposing conversion that saturates: coopMatTransposeEXT does not")
    if instruction.saturate:
        if shader.composite(instruction.matrix).component.size == 1 and source_sign is None:
            raise shader.cannot("a saturating conversion from float8: saturatedConvertEXT takes none")
        result = shader.define(instruction.id, type_)
        shader.line(f"saturatedConvertEXT({result}, {source});")
        return
    computed = _computed(instruction, shader, type_)
    if instruction.transpose:
        converted = shader.names.fresh(f"transpose_of_{instruction.matrix}")
        shader.line(f"{computed.name} {converted};")
        shader.line(f"coopMatTransposeEXT({converted}, {source});")
        shader.define(instruction.id, type_, back(type_, computed, converted))
        return
    shader.define(instruction.id, type_, back(type_, computed, f"{computed.name}({source})"))


def _computed(instruction: model.MatrixConvert | model.VectorConvert, shader: Shader, type_: Declared) -> Declared:
    """The type of the result, with the sign by which GLSL picks the instruction."""
    component, signed = instruction.component, instruction.operation.signs.result
    if signed is None or component.is_signed is signed:
        return type_
    declared = shader.composite(instruction.id).declared
    return with_component(shader, type_, structs.replace(declared, component=with_sign(component, signed)))


def _extension(instruction: model.MatrixConvert | model.MatrixConvertUse) -> str:
    """The extension that has a conversion of the use (MX-002, MX-003)."""
    ext = instruction.features & model.MAINTENANCE_1
    return "GL_EXT_cooperative_matrix_maintenance1" if ext else "GL_NV_cooperative_matrix2"


@write_instruction.register
def matrix_convert_use(instruction: model.MatrixConvertUse, shader: Shader) -> None:
    """CM-051, MX-002, MX-003."""
    shader.extensions.add(_extension(instruction))
    type_ = derived_type(shader, instruction, instruction.matrix)
    if instruction.transpose:
        result = shader.define(instruction.id, type_)
        shader.line(f"coopMatTransposeEXT({result}, {shader.results[instruction.matrix]});")
        return
    shader.define(instruction.id, type_, f"{type_.name}({shader.results[instruction.matrix]})")


@write_instruction.register
def vector_convert(instruction: model.VectorConvert, shader: Shader) -> None:
    """CV-012."""
    source, _ = signed_as(shader, instruction.vector, instruction.operation.signs.source)
    type_ = _as_component(instruction, shader)
    computed = _computed(instruction, shader, type_)
    shader.define(instruction.id, type_, back(type_, computed, f"{computed.name}({source})"))


@write_instruction.register
def vector_bitcast(instruction: model.VectorBitcast, shader: Shader) -> None:
    """Between integers a constructor keeps the bits; between others GLSL has only casts of scalars."""
    source, component = shader.composite(instruction.vector).component, instruction.component
    type_, vector = _as_component(instruction, shader), shader.results[instruction.vector]
    if not source.is_float and not component.is_float:
        shader.define(instruction.id, type_, f"{type_.name}({vector})")
        return
    shader.note("a cooperative vector's bits are cast component by component here")
    result = shader.define(instruction.id, type_)
    index = shader.names.fresh("component")
    shader.line(f"for (uint {index} = 0; {index} < {type_.constants['length']}; ++{index})")
    shader.nested(f"{result}[{index}] = {shader.cast(component, source, f'{vector}[{index}]')};")


def _as_component(instruction: model.VectorConvert | model.VectorBitcast, shader: Shader) -> Declared:
    """The type of the source, with the components of the result."""
    return with_component(shader, shader.declared[instruction.vector], shader.composite(instruction.id).declared)
