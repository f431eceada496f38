"""Conversions of matrices to other components, uses and shapes (KM-018, CM-050..CM-052)."""

from __future__ import annotations

from msgspec import structs

from cts.export.glsl.arithmetic import back, signed_as
from cts.export.glsl.instruction import write_instruction
from cts.export.glsl.shader import Shader
from cts.export.glsl.type_constants import derived_type, with_component
from cts.export.glsl.types import with_sign
from cts.model import (
    MAINTENANCE_1,
    Conversion,
    MatrixBitcast,
    MatrixConvert,
    MatrixConvertUse,
    MatrixTranspose,
    MatrixType,
)

#: What sign the source and the result have by which GLSL picks the instruction.
SIGNS = {
    Conversion.FConvert: (None, None),
    Conversion.SConvert: (True, True),
    Conversion.UConvert: (False, False),
    Conversion.ConvertFToS: (None, True),
    Conversion.ConvertFToU: (None, False),
    Conversion.ConvertSToF: (True, None),
    Conversion.ConvertUToF: (False, None),
}


@write_instruction.register
def matrix_convert(instruction: MatrixConvert, shader: Shader) -> None:
    """KM-018; CM-050 where the use changes too; NU-033 where it saturates."""
    if instruction.use is not None:
        shader.extensions.add(_extension(instruction))
    source_sign, target_sign = SIGNS[instruction.operation]
    type_ = derived_type(shader, instruction, instruction.matrix)
    source, _ = signed_as(shader, instruction.matrix, source_sign)
    if instruction.transpose and instruction.saturate:
        raise shader.cannot("a transposing conversion that saturates: coopMatTransposeEXT does not")
    if instruction.saturate:
        if shader.matrix(instruction.matrix).component.size == 1 and source_sign is None:
            raise shader.cannot("a saturating conversion from float8: saturatedConvertEXT takes none")
        result = shader.define(instruction.id, type_)
        shader.line(f"saturatedConvertEXT({result}, {source});")
        return
    computed = type_
    if target_sign is not None and instruction.component.is_signed is not target_sign:
        declared: MatrixType = shader.matrix(instruction.id).declared
        wanted = structs.replace(declared, component=with_sign(instruction.component, target_sign))
        computed = with_component(shader, type_, wanted)
    if instruction.transpose:
        converted = shader.names.fresh(f"transpose_of_{instruction.matrix}")
        shader.line(f"{computed.name} {converted};")
        shader.line(f"coopMatTransposeEXT({converted}, {source});")
        shader.define(instruction.id, type_, back(type_, computed, converted))
        return
    shader.define(instruction.id, type_, back(type_, computed, f"{computed.name}({source})"))


def _extension(instruction: MatrixConvert | MatrixConvertUse) -> str:
    """The extension that has a conversion of the use (MX-002, MX-003)."""
    ext = instruction.features & MAINTENANCE_1
    return "GL_EXT_cooperative_matrix_maintenance1" if ext else "GL_NV_cooperative_matrix2"


@write_instruction.register
def matrix_bitcast(instruction: MatrixBitcast, shader: Shader) -> None:
    """KM-018: between integers of one width, a constructor keeps the bits."""
    type_ = derived_type(shader, instruction, instruction.matrix)
    shader.define(instruction.id, type_, f"{type_.name}({shader.results[instruction.matrix]})")


@write_instruction.register
def matrix_convert_use(instruction: MatrixConvertUse, shader: Shader) -> None:
    """CM-051, MX-002, MX-003."""
    shader.extensions.add(_extension(instruction))
    type_ = derived_type(shader, instruction, instruction.matrix)
    if instruction.transpose:
        result = shader.define(instruction.id, type_)
        shader.line(f"coopMatTransposeEXT({result}, {shader.results[instruction.matrix]});")
        return
    shader.define(instruction.id, type_, f"{type_.name}({shader.results[instruction.matrix]})")


@write_instruction.register
def matrix_transpose(instruction: MatrixTranspose, shader: Shader) -> None:
    """CM-052."""
    shader.extensions.add("GL_NV_cooperative_matrix2")
    result = shader.define(instruction.id, derived_type(shader, instruction, instruction.matrix))
    shader.line(f"coopMatTransposeNV({result}, {shader.results[instruction.matrix]});")
