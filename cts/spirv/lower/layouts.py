"""Tensor layouts and views (TA-010..TA-012, TA-018)."""

from __future__ import annotations

from cts.case.model import TensorLayout, TensorView
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
