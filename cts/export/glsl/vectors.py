"""Cooperative vectors made, taken apart, loaded and stored (CV-011, CV-013, KM-021)."""

from __future__ import annotations

from collections.abc import Iterator

from cts.export.glsl.instruction import write_instruction
from cts.export.glsl.memory import array_of
from cts.export.glsl.shader import Declared, Shader
from cts.export.glsl.type_constants import vector_type
from cts.model import (
    VectorConstant,
    VectorConstruct,
    VectorExtract,
    VectorInsert,
    VectorLoad,
    VectorNull,
    VectorShape,
    VectorStore,
)


@write_instruction.register
def vector_constant(instruction: VectorConstant, shader: Shader) -> None:
    """CV-011; KM-021 where one value stands for all."""
    type_, component = vector_type(shader, instruction.type), instruction.type.component
    if instruction.replicated:
        shader.note("composites are replicated in the module (SPV_EXT_replicated_composites)")
    if instruction.value is not None:
        values = [shader.value(component, instruction.value, "value")]
    else:
        values = [shader.value(component, v, "values", n) for n, v in enumerate(instruction.values or ())]
    shader.define(instruction.id, type_, f"{type_.name}({', '.join(values)})")


@write_instruction.register
def vector_null(instruction: VectorNull, shader: Shader) -> None:
    """CV-011."""
    type_ = vector_type(shader, instruction.type)
    shader.define(instruction.id, type_, f"{type_.name}({shader.number(instruction.type.component, 0)})")


@write_instruction.register
def vector_load(instruction: VectorLoad, shader: Shader) -> None:
    """CV-013."""
    result = shader.define(instruction.id, vector_type(shader, instruction.type))
    offset = shader.operand("offset", instruction.offset)
    shader.line(f"coopVecLoadNV({result}, {array_of(shader, instruction.buffer)}, {offset});")


@write_instruction.register
def vector_store(instruction: VectorStore, shader: Shader) -> None:
    """CV-013."""
    offset = shader.operand("offset", instruction.offset)
    vector = shader.results[instruction.vector]
    shader.line(f"coopVecStoreNV({vector}, {array_of(shader, instruction.buffer)}, {offset});")


@write_instruction.register
def vector_construct(instruction: VectorConstruct, shader: Shader) -> None:
    """CV-011: of scalars and ordinary vectors; cooperative vectors are taken apart."""
    type_ = vector_type(shader, instruction.type)
    parts = ", ".join(part for name in instruction.parts for part in _parts(shader, name))
    shader.define(instruction.id, type_, f"{type_.name}({parts})")


def _parts(shader: Shader, name: str) -> Iterator[str]:
    """A scalar itself; a vector as an ordinary one where there are such, or else as its components."""
    shape, text = shader.types[name], shader.results[name]
    if not isinstance(shape, VectorShape):
        yield text
        return
    components = [f"{text}[{n}]" for n in range(shape.length)]
    if 2 <= shape.length <= 4:
        yield f"{shader.component(shape.component, shape.length)}({', '.join(components)})"
    else:
        yield from components


@write_instruction.register
def vector_extract(instruction: VectorExtract, shader: Shader) -> None:
    """CV-011."""
    type_ = Declared(shader.component(shader.vector(instruction.vector).component), {})
    index = shader.operand("index", instruction.index)
    shader.define(instruction.id, type_, f"{shader.results[instruction.vector]}[{index}]")


@write_instruction.register
def vector_insert(instruction: VectorInsert, shader: Shader) -> None:
    """CV-011."""
    index = shader.operand("index", instruction.index)
    result = shader.define(instruction.id, shader.declared[instruction.vector], shader.results[instruction.vector])
    shader.line(f"{result}[{index}] = {shader.results[instruction.scalar]};")
