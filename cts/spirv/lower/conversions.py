"""Conversions of matrices to other components, uses and shapes (KM-018, CM-050..CM-052, MX-002, MX-003)."""

from __future__ import annotations

from cts.model import MatrixBitcast, MatrixConvert, MatrixConvertUse, MatrixTranspose
from cts.spirv.encode import Id
from cts.spirv.lower.context import Lowering
from cts.spirv.lower.instruction import lower_instruction
from cts.spirv.lower.matrix_types import derived_type

_CONVERSIONS = "CooperativeMatrixConversions"
_TRANSPOSED = "CooperativeMatrixTransposeEXT"


@lower_instruction.register
def matrix_convert(instruction: MatrixConvert, lowering: Lowering) -> None:
    """KM-018; CM-050 where the use changes too; NU-033 where it saturates."""
    if instruction.use is not None:
        lowering.declare(_CONVERSIONS)
    result = _define(instruction, lowering)
    if instruction.transpose:
        lowering.module.decorate(result, _TRANSPOSED)
    lowering.allow(result, instruction.fast_math)
    if instruction.saturate:
        lowering.module.decorate(result, "SaturatedToLargestFloat8NormalConversionEXT")


@lower_instruction.register
def matrix_bitcast(instruction: MatrixBitcast, lowering: Lowering) -> None:
    """KM-018."""
    _define(instruction, lowering)


@lower_instruction.register
def matrix_convert_use(instruction: MatrixConvertUse, lowering: Lowering) -> None:
    """CM-051."""
    lowering.declare(_CONVERSIONS)
    result = _define(instruction, lowering)
    if instruction.transpose:
        lowering.module.decorate(result, _TRANSPOSED)


@lower_instruction.register
def matrix_transpose(instruction: MatrixTranspose, lowering: Lowering) -> None:
    """CM-052: of VK_NV_cooperative_matrix2 alone."""
    lowering.module.capability("CooperativeMatrixConversionsNV")
    _define(instruction, lowering)


def _define(instruction: MatrixConvert | MatrixBitcast | MatrixConvertUse | MatrixTranspose, lowering: Lowering) -> Id:
    source = lowering.results[instruction.matrix]
    type_ = derived_type(lowering, instruction, lowering.matrix(instruction.matrix))
    lowering.define(instruction.id, instruction.spirv, type_, source.id)
    return lowering.results[instruction.id].id
