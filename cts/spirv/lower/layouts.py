"""Tensor layout instructions (TA-010, TA-012..TA-017)."""

from __future__ import annotations

from cts.model import (
    TensorLayout,
    TensorLayoutSetBlockSize,
    TensorLayoutSetClampValue,
    TensorLayoutSetDimension,
    TensorLayoutSetStride,
    TensorLayoutSlice,
)
from cts.spirv.lower.context import Lowering
from cts.spirv.lower.instruction import lower_instruction
from cts.spirv.lower.type_constants import type_constant


@lower_instruction.register
def tensor_layout(instruction: TensorLayout, lowering: Lowering) -> None:
    """TA-010 and TA-012. Layouts declared alike are of one type, their spec constants included."""
    lowering.module.capability("TensorAddressingNV")
    key = (TensorLayout, instruction.dim, instruction.clamp)
    if key not in lowering.types:
        dim = type_constant(lowering, instruction.dim, "dim")
        clamp = type_constant(lowering, instruction.clamp, "clamp")
        lowering.types[key] = lowering.module.op("OpTypeTensorLayoutNV", dim, clamp)
    lowering.define(instruction.id, instruction.opcode, lowering.types[key])


@lower_instruction.register
def set_block_size(instruction: TensorLayoutSetBlockSize, lowering: Lowering) -> None:
    """TA-013."""
    # The device feature covers block sizes without a decode function too (VK-012, AM-24).
    lowering.module.capability("CooperativeMatrixBlockLoadsNV")
    layout = lowering.results[instruction.of]
    sizes = lowering.operands("block_size", instruction.block_size)
    lowering.define(instruction.id, instruction.opcode, layout.type, layout.id, *sizes)


@lower_instruction.register
def set_dimension(instruction: TensorLayoutSetDimension, lowering: Lowering) -> None:
    """TA-014."""
    layout = lowering.results[instruction.of]
    dims = lowering.operands("dims", instruction.dims)
    lowering.define(instruction.id, instruction.opcode, layout.type, layout.id, *dims)


@lower_instruction.register
def set_stride(instruction: TensorLayoutSetStride, lowering: Lowering) -> None:
    """TA-015."""
    layout = lowering.results[instruction.of]
    strides = lowering.operands("strides", instruction.strides)
    lowering.define(instruction.id, instruction.opcode, layout.type, layout.id, *strides)


@lower_instruction.register
def layout_slice(instruction: TensorLayoutSlice, lowering: Lowering) -> None:
    """TA-016: offsets and spans interleaved."""
    layout = lowering.results[instruction.of]
    offsets = lowering.operands("offset", instruction.offset)
    spans = lowering.operands("span", instruction.span)
    interleaved = [v for pair in zip(offsets, spans, strict=True) for v in pair]
    lowering.define(instruction.id, instruction.opcode, layout.type, layout.id, *interleaved)


@lower_instruction.register
def set_clamp_value(instruction: TensorLayoutSetClampValue, lowering: Lowering) -> None:
    """TA-017."""
    layout = lowering.results[instruction.of]
    value = lowering.operand("value", instruction.value)
    lowering.define(instruction.id, instruction.opcode, layout.type, layout.id, value)
