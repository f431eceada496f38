"""Tensor view instructions (TA-011, TA-018..TA-021)."""

from __future__ import annotations

from cts.model import TensorView, TensorViewSetClip, TensorViewSetDimension, TensorViewSetStride
from cts.spirv.lower.context import Lowering
from cts.spirv.lower.instruction import lower_instruction
from cts.spirv.lower.type_constants import type_constant


@lower_instruction.register
def tensor_view(instruction: TensorView, lowering: Lowering) -> None:
    """TA-011 and TA-018. Views declared alike are of one type, their spec constants included."""
    lowering.module.capability("TensorAddressingNV")
    key = (TensorView, instruction.dim, instruction.has_dimensions, instruction.permutation)
    if key not in lowering.types:
        dim = type_constant(lowering, instruction.dim, "dim")
        has_dimensions = type_constant(lowering, instruction.has_dimensions, "has_dimensions")
        permutation = [type_constant(lowering, p, "permutation", i) for i, p in enumerate(instruction.permutation)]
        lowering.types[key] = lowering.module.op("OpTypeTensorViewNV", dim, has_dimensions, *permutation)
    lowering.define(instruction.id, instruction.opcode, lowering.types[key])


@lower_instruction.register
def set_dimension(instruction: TensorViewSetDimension, lowering: Lowering) -> None:
    """TA-019."""
    view = lowering.results[instruction.of]
    dims = lowering.operands("dims", instruction.dims)
    lowering.define(instruction.id, instruction.opcode, view.type, view.id, *dims)


@lower_instruction.register
def set_stride(instruction: TensorViewSetStride, lowering: Lowering) -> None:
    """TA-020."""
    view = lowering.results[instruction.of]
    strides = lowering.operands("strides", instruction.strides)
    lowering.define(instruction.id, instruction.opcode, view.type, view.id, *strides)


@lower_instruction.register
def set_clip(instruction: TensorViewSetClip, lowering: Lowering) -> None:
    """TA-021."""
    view = lowering.results[instruction.of]
    fields = ("row_offset", "row_span", "col_offset", "col_span")
    rectangle = [lowering.operand(field, getattr(instruction, field)) for field in fields]
    lowering.define(instruction.id, instruction.opcode, view.type, view.id, *rectangle)
