"""Composites: constants of matrices and vectors, and vectors made and taken apart (KM-016, KM-021, CV-011)."""

from __future__ import annotations

from collections.abc import Iterator

from cts.case import model
from cts.showing.export.glsl.instruction import write_instruction
from cts.showing.export.glsl.shader import Declared, Shader
from cts.showing.export.glsl.type_constants import declared_type


@write_instruction.register
def constant(instruction: model.MatrixConstant | model.VectorConstant, shader: Shader) -> None:
    """KM-016, CV-011; KM-021 where one value stands for all."""
    type_, component = declared_type(shader, instruction.type), instruction.type.component
    if instruction.replicated:
        shader.note("composites are replicated in the module (SPV_EXT_replicated_composites)")
    if instruction.value is not None:
        values = [shader.value(component, instruction.value, "value")]
    else:
        values = [shader.value(component, v, "values", n) for n, v in enumerate(instruction.values or ())]
    shader.define(instruction.id, type_, f"{type_.name}({', '.join(values)})")


@write_instruction.register
def null(instruction: model.MatrixNull | model.VectorNull, shader: Shader) -> None:
    """KM-016, CV-011."""
    type_ = declared_type(shader, instruction.type)
    shader.define(instruction.id, type_, f"{type_.name}({shader.number(instruction.type.component, 0)})")


@write_instruction.register
def vector_construct(instruction: model.VectorConstruct, shader: Shader) -> None:
    """CV-011: of scalars and ordinary vectors; cooperative vectors are taken apart."""
    type_ = declared_type(shader, instruction.type)
    parts = ", ".join(part for name in instruction.parts for part in _parts(shader, name))
    shader.define(instruction.id, type_, f"{type_.name}({parts})")


def _parts(shader: Shader, name: str) -> Iterator[str]:
    """A scalar; an ordinary vector, or the components of a vector that is too long for one."""
    shape, text = shader.types[name], shader.results[name]
    if not isinstance(shape, model.VectorShape):
        yield text
        return
    components = [f"{text}[{n}]" for n in range(shape.length)]
    if 2 <= shape.length <= 4:
        yield f"{shader.component(shape.component, shape.length)}({', '.join(components)})"
    else:
        yield from components


@write_instruction.register
def vector_extract(instruction: model.VectorExtract, shader: Shader) -> None:
    """CV-011."""
    type_ = Declared(shader.component(shader.composite(instruction.vector).component), {})
    index = shader.operand("index", instruction.index)
    shader.define(instruction.id, type_, f"{shader.results[instruction.vector]}[{index}]")


@write_instruction.register
def vector_insert(instruction: model.VectorInsert, shader: Shader) -> None:
    """CV-011."""
    index = shader.operand("index", instruction.index)
    result = shader.define(instruction.id, shader.declared[instruction.vector], shader.results[instruction.vector])
    shader.line(f"{result}[{index}] = {shader.results[instruction.scalar]};")
