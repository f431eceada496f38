"""The per-invocation view of matrices, and what else may hold or pass them (KM-011, KM-015)."""

from __future__ import annotations

from cts.case.model import (
    ComponentType,
    CopyPath,
    MatrixComponents,
    MatrixCopy,
    PerElement,
    VectorComponents,
    VectorShape,
    Walk,
)
from cts.showing.export.glsl.callbacks import callback
from cts.showing.export.glsl.instruction import write_instruction
from cts.showing.export.glsl.shader import Shader


@write_instruction.register
def matrix_components(instruction: MatrixComponents, shader: Shader) -> None:
    """Each component of the invocation passed through the function."""
    function = callback(shader, instruction.function)
    result = shader.define(instruction.id, shader.declared[instruction.matrix], shader.results[instruction.matrix])
    index = shader.names.fresh("component")
    arguments = f"{result}[{index}]"
    if instruction.coordinates:
        shader.extensions.add("GL_EXT_cooperative_matrix_maintenance1")
        called = shader.case.functions[instruction.function]
        assert isinstance(called, PerElement)
        place = f"coopMatGetCoordinateEXT({result}, uint({index}))"
        row, col = (f"{'int' if ComponentType(called.coords).is_signed else ''}({place}.{n})" for n in "xy")
        arguments = f"{row}, {col}, {arguments}"
    passed = f"{result}[{index}] = {function}({arguments});"
    every = f"for (int {index} = 0; {index} < {result}.length(); ++{index})"
    if instruction.walk is Walk.ByInvocation:
        start = "int(gl_LocalInvocationIndex & 1)"
        shader.line(f"for (int {index} = {start}; {index} < {result}.length(); {index} += 2)")
        shader.nested(passed)
        shader.line(every)
        shader.nested(f"if ((({index} + {start}) & 1) != 0) {passed}")
        return
    shader.line(every)
    shader.nested(passed)


@write_instruction.register
def vector_components(instruction: VectorComponents, shader: Shader) -> None:
    """Each component passed through the function."""
    function, shape = callback(shader, instruction.function), shader.composite(instruction.vector)
    assert isinstance(shape, VectorShape)
    result = shader.define(instruction.id, shader.declared[instruction.vector], shader.results[instruction.vector])
    values = [shader.results[name] for name in (instruction.vector, *instruction.vectors)]
    for n in range(shape.length):
        shader.line(f"{result}[{n}] = {function}(0, {n}, {', '.join(f'{v}[{n}]' for v in values)});")


@write_instruction.register
def matrix_copy(instruction: MatrixCopy, shader: Shader) -> None:
    """One way for each member of `CopyPath`."""
    source, type_ = shader.results[instruction.matrix], shader.declared[instruction.matrix]
    match instruction.through:
        case CopyPath.CopyObject | CopyPath.Variable | CopyPath.CopyMemory | CopyPath.CopyLogical:
            if instruction.through is not CopyPath.Variable:
                shader.note(f"Op{instruction.through.value} is an assignment here")
            shader.define(instruction.id, type_, source)
        case CopyPath.Function:
            text = f"{type_.name} NAME(const in {type_.name} matrix) {{ return matrix; }}"
            function = shader.function((CopyPath.Function, type_.name), "identity", text)
            shader.define(instruction.id, type_, f"{function}({source})")
        case CopyPath.Component:
            result = shader.define(instruction.id, type_, source)
            shader.line(f"{result}[{instruction.component}] = {source}[{instruction.component}];")
        case CopyPath.Array:
            array = shader.names.fresh(f"array_of_{instruction.id}")
            shader.line(f"{type_.name} {array}[2];")
            shader.line(f"{array}[1] = {source};")
            shader.define(instruction.id, type_, f"{array}[1]")
        case CopyPath.Struct:
            holder = shader.function(
                (CopyPath.Struct, type_.name), "Holder", f"struct NAME {{ uint other; {type_.name} matrix; }};"
            )
            struct = shader.names.fresh(f"holder_of_{instruction.id}")
            shader.line(f"{holder} {struct};")
            shader.line(f"{struct}.matrix = {source};")
            shader.define(instruction.id, type_, f"{struct}.matrix")
