"""Tensor layouts and views (TA-010..TA-022)."""

from __future__ import annotations

from cts.export.glsl.instruction import write_instruction
from cts.export.glsl.shader import Declared, Shader
from cts.export.glsl.type_constants import type_constant
from cts.model import (
    ClampMode,
    TensorLayout,
    TensorLayoutSetBlockSize,
    TensorLayoutSetClampValue,
    TensorLayoutSetDimension,
    TensorLayoutSetStride,
    TensorLayoutSlice,
    TensorView,
    TensorViewSetClip,
    TensorViewSetDimension,
    TensorViewSetStride,
    constant_of,
)

_EXTENSION = "GL_NV_cooperative_matrix2"


@write_instruction.register
def tensor_layout(instruction: TensorLayout, shader: Shader) -> None:
    """TA-010 and TA-012. Layouts declared alike are of one type."""
    shader.extensions.add(_EXTENSION)
    key = (TensorLayout, instruction.dim, instruction.clamp)
    if key not in shader.matrix_types:
        dim = type_constant(shader, instruction.dim, "dim")
        clamp = type_constant(shader, instruction.clamp, "clamp")
        mode = constant_of(instruction.clamp)
        assert isinstance(mode, ClampMode)
        name = shader.type_name(
            f"Layout_{constant_of(instruction.dim)}D_{mode.value}", f"tensorLayoutNV<{dim}, {clamp}>"
        )
        shader.matrix_types[key] = Declared(name, {"arguments": f"{dim}, {clamp}"})
    type_ = shader.matrix_types[key]
    shader.define(instruction.id, type_, f"createTensorLayoutNV({type_.constants['arguments']})")


@write_instruction.register
def set_block_size(instruction: TensorLayoutSetBlockSize, shader: Shader) -> None:
    """TA-013."""
    sizes = shader.operands("block_size", instruction.block_size)
    _changed(shader, instruction.id, instruction.of, "setTensorLayoutBlockSizeNV", sizes)


@write_instruction.register
def set_dimension(instruction: TensorLayoutSetDimension, shader: Shader) -> None:
    """TA-014."""
    dims = shader.operands("dims", instruction.dims)
    _changed(shader, instruction.id, instruction.of, "setTensorLayoutDimensionNV", dims)


@write_instruction.register
def set_stride(instruction: TensorLayoutSetStride, shader: Shader) -> None:
    """TA-015."""
    strides = shader.operands("strides", instruction.strides)
    _changed(shader, instruction.id, instruction.of, "setTensorLayoutStrideNV", strides)


@write_instruction.register
def layout_slice(instruction: TensorLayoutSlice, shader: Shader) -> None:
    """TA-016: offsets and spans interleaved."""
    offsets = shader.operands("offset", instruction.offset)
    spans = shader.operands("span", instruction.span)
    arguments = [text for pair in zip(offsets, spans, strict=True) for text in pair]
    _changed(shader, instruction.id, instruction.of, "sliceTensorLayoutNV", arguments)


@write_instruction.register
def set_clamp_value(instruction: TensorLayoutSetClampValue, shader: Shader) -> None:
    """TA-017."""
    value = shader.operand("value", instruction.value)
    _changed(shader, instruction.id, instruction.of, "setTensorLayoutClampValueNV", [value])


@write_instruction.register
def tensor_view(instruction: TensorView, shader: Shader) -> None:
    """TA-011 and TA-018. Views declared alike are of one type."""
    shader.extensions.add(_EXTENSION)
    key = (TensorView, instruction.dim, instruction.has_dimensions, instruction.permutation)
    if key not in shader.matrix_types:
        dim = type_constant(shader, instruction.dim, "dim")
        has_dimensions = type_constant(shader, instruction.has_dimensions, "has_dimensions")
        permutation = [type_constant(shader, p, "permutation", i) for i, p in enumerate(instruction.permutation)]
        arguments = ", ".join((dim, has_dimensions, *permutation))
        order = "".join(str(constant_of(p)) for p in instruction.permutation)
        name = shader.type_name(f"View_{constant_of(instruction.dim)}D_{order}", f"tensorViewNV<{arguments}>")
        shader.matrix_types[key] = Declared(name, {"arguments": arguments})
    type_ = shader.matrix_types[key]
    shader.define(instruction.id, type_, f"createTensorViewNV({type_.constants['arguments']})")


@write_instruction.register
def set_view_dimension(instruction: TensorViewSetDimension, shader: Shader) -> None:
    """TA-019."""
    dims = shader.operands("dims", instruction.dims)
    _changed(shader, instruction.id, instruction.of, "setTensorViewDimensionsNV", dims)


@write_instruction.register
def set_view_stride(instruction: TensorViewSetStride, shader: Shader) -> None:
    """TA-020."""
    strides = shader.operands("strides", instruction.strides)
    _changed(shader, instruction.id, instruction.of, "setTensorViewStrideNV", strides)


@write_instruction.register
def set_clip(instruction: TensorViewSetClip, shader: Shader) -> None:
    """TA-021."""
    fields = ("row_offset", "row_span", "col_offset", "col_span")
    rectangle = [shader.operand(field, getattr(instruction, field)) for field in fields]
    _changed(shader, instruction.id, instruction.of, "setTensorViewClipNV", rectangle)


def _changed(shader: Shader, name: str, source: str, function: str, arguments: list[str]) -> None:
    shader.define(name, shader.declared[source], f"{function}({', '.join((shader.results[source], *arguments))})")
