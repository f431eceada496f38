"""Arrays of the invocations that become lines of matrices, and the other way round (QC-002 to QC-010)."""

from __future__ import annotations

from cts.case import model
from cts.showing.export.glsl.instruction import write_instruction
from cts.showing.export.glsl.memory import array_of
from cts.showing.export.glsl.shader import Shader, plain
from cts.showing.export.glsl.type_constants import declared_type

_EXTENSIONS = ("GL_QCOM_cooperative_matrix_conversion", "GL_KHR_shader_subgroup_basic")


@write_instruction.register
def of_arrays(instruction: model.MatrixOfArrays, shader: Shader) -> None:
    """QC-002, QC-003: invocations without a line give ones."""
    buffer, shape = shader.case.buffers[instruction.buffer].type, shader.composite(instruction.id)
    assert isinstance(shape, model.MatrixShape)
    element, n, inside = _element(shader, instruction, shape)
    array = _declared(shader, shape, buffer)
    ones = shader.number(buffer, (1 << 8 * buffer.size) - 1)
    shader.line(f"for (uint {n} = 0; {n} < {_length(shape, buffer)}; ++{n})")
    shader.nested(f"{array}[{n}] = {inside} ? {element} : {ones};")
    array = _cast(shader, shape, array, buffer, instruction.element)
    result = shader.define(instruction.id, declared_type(shader, instruction.type))
    shader.line(f"vectorToCoopmatQCOM({array}, {result});")


@write_instruction.register
def to_arrays(instruction: model.MatrixToArrays, shader: Shader) -> None:
    """QC-004: invocations without a line store nothing."""
    buffer, shape = shader.case.buffers[instruction.buffer].type, shader.composite(instruction.matrix)
    assert isinstance(shape, model.MatrixShape)
    array = _extracted(shader, shape, shader.results[instruction.matrix], instruction.element)
    array = _cast(shader, shape, array, instruction.element, buffer)
    element, n, inside = _element(shader, instruction, shape)
    shader.line(f"for (uint {n} = 0; {inside} && {n} < {_length(shape, buffer)}; ++{n})")
    shader.nested(f"{element} = {array}[{n}];")


@write_instruction.register
def through_arrays(instruction: model.MatrixThroughArrays, shader: Shader) -> None:
    """QC-002, QC-004, QC-009, QC-010."""
    source, target = shader.composite(instruction.matrix), shader.composite(instruction.id)
    assert isinstance(source, model.MatrixShape) and isinstance(target, model.MatrixShape)
    array = _extracted(shader, source, shader.results[instruction.matrix], instruction.extracted)
    array = _cast(shader, source, array, instruction.extracted, instruction.constructed)
    if instruction.part(source, target) is not None:
        part = _declared(shader, target, instruction.constructed)
        shader.line(f"extractSubArrayQCOM({array}, int({shader.operand('start', instruction.start)}), {part});")
        array = part
    result = shader.define(instruction.id, declared_type(shader, instruction.type))
    shader.line(f"vectorToCoopmatQCOM({array}, {result});")


def _element(
    shader: Shader, instruction: model.MatrixOfArrays | model.MatrixToArrays, shape: model.MatrixShape
) -> tuple[str, str, str]:
    """An element of the invocation's array in its buffer, its index, and whether the invocation has a line."""
    shader.extensions.update(_EXTENSIONS)
    inside = f"gl_SubgroupInvocationID < {model.line_of(shape)[0]}"
    along = model.Order.ColumnMajor if shape.use is model.Use.B else model.Order.RowMajor
    line, stride = f"({inside} ? gl_SubgroupInvocationID : 0u)", f"uint({shader.operand('stride', instruction.stride)})"
    n = shader.names.fresh("element")
    place = f"{line} * {stride} + {n}" if instruction.order is along else f"{line} + {n} * {stride}"
    offset = shader.operand("offset", instruction.offset)
    return f"{array_of(shader, instruction.buffer)}[uint({offset}) + {place}]", n, inside


def _extracted(shader: Shader, shape: model.MatrixShape, matrix: str, element: model.ComponentType) -> str:
    array = _declared(shader, shape, element)
    shader.line(f"coopmatToVectorQCOM({matrix}, {array});")
    return array


def _cast(
    shader: Shader, shape: model.MatrixShape, array: str, of: model.ComponentType, to: model.ComponentType
) -> str:
    if of is to:
        return array
    cast = _declared(shader, shape, to)
    shader.line(f"bitcastQCOM({array}, {cast});")
    return cast


def _declared(shader: Shader, shape: model.MatrixShape, element: model.ComponentType) -> str:
    """A new array of the elements that hold a line of a matrix."""
    shader.extensions.update(_EXTENSIONS)
    name = shader.names.fresh("array")
    shader.line(f"{shader.component(element)} {name}[{plain(_length(shape, element))}];")
    return name


def _length(shape: model.MatrixShape, element: model.ComponentType) -> int:
    return model.line_of(shape)[1] * shape.component.size // element.size
