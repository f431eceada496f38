"""Tensor layouts and views (TA-010..TA-012, TA-018)."""

from __future__ import annotations

from cts.case.model import ClampMode, TensorLayout, TensorView, constant_of
from cts.showing.export.glsl.instruction import write_instruction
from cts.showing.export.glsl.shader import Declared, Shader
from cts.showing.export.glsl.type_constants import type_constant

_EXTENSION = "GL_NV_cooperative_matrix2"


@write_instruction.register
def tensor_layout(instruction: TensorLayout, shader: Shader) -> None:
    """TA-010 and TA-012. Layouts declared alike are of one type."""
    shader.extensions.add(_EXTENSION)
    key = (TensorLayout, instruction.dim, instruction.clamp)
    if key not in shader.composite_types:
        dim = type_constant(shader, instruction.dim, "dim")
        clamp = type_constant(shader, instruction.clamp, "clamp")
        mode = constant_of(instruction.clamp)
        assert isinstance(mode, ClampMode)
        name = shader.type_name(
            f"Layout_{constant_of(instruction.dim)}D_{mode.value}", f"tensorLayoutNV<{dim}, {clamp}>"
        )
        shader.composite_types[key] = Declared(name, {"arguments": f"{dim}, {clamp}"})
    type_ = shader.composite_types[key]
    shader.define(instruction.id, type_, f"createTensorLayoutNV({type_.constants['arguments']})")


@write_instruction.register
def tensor_view(instruction: TensorView, shader: Shader) -> None:
    """TA-011 and TA-018. Views declared alike are of one type."""
    shader.extensions.add(_EXTENSION)
    key = (TensorView, instruction.dim, instruction.has_dimensions, instruction.permutation)
    if key not in shader.composite_types:
        dim = type_constant(shader, instruction.dim, "dim")
        has_dimensions = type_constant(shader, instruction.has_dimensions, "has_dimensions")
        permutation = [type_constant(shader, p, "permutation", i) for i, p in enumerate(instruction.permutation)]
        arguments = ", ".join((dim, has_dimensions, *permutation))
        order = "".join(str(constant_of(p)) for p in instruction.permutation)
        name = shader.type_name(f"View_{constant_of(instruction.dim)}D_{order}", f"tensorViewNV<{arguments}>")
        shader.composite_types[key] = Declared(name, {"arguments": arguments})
    type_ = shader.composite_types[key]
    shader.define(instruction.id, type_, f"createTensorViewNV({type_.constants['arguments']})")
