"""Arithmetic on whole matrices (KM-014, KM-017)."""

from __future__ import annotations

from collections.abc import Iterable

from cts.model import FastMathBits, MatrixArithmetic, MatrixMulAdd, MatrixTimesScalar, MulAddOperand
from cts.spirv.lower.context import Lowering
from cts.spirv.lower.instruction import lower_instruction
from cts.spirv.lower.values import component_value

#: Cooperative Matrix Operands by their names in the grammar, in increasing bit order (KM-002).
_OPERANDS = {
    MulAddOperand.MatrixASigned: "MatrixASignedComponentsKHR",
    MulAddOperand.MatrixBSigned: "MatrixBSignedComponentsKHR",
    MulAddOperand.MatrixCSigned: "MatrixCSignedComponentsKHR",
    MulAddOperand.MatrixResultSigned: "MatrixResultSignedComponentsKHR",
    MulAddOperand.SaturatingAccumulation: "SaturatingAccumulationKHR",
}


@lower_instruction.register
def matrix_mul_add(instruction: MatrixMulAdd, lowering: Lowering) -> None:
    """KM-014. Without bits there is no mask: it is optional."""
    a, b, c = (lowering.results[name] for name in (instruction.a, instruction.b, instruction.c))
    lowering.define(instruction.id, instruction.opcode, c.type, a.id, b.id, c.id, *operand_mask(instruction.operands))


def operand_mask(operands: Iterable[MulAddOperand]) -> tuple[str, ...]:
    """The Cooperative Matrix Operands, or nothing where no bit is set."""
    mask = "|".join(_OPERANDS[o] for o in operands)
    return (mask,) if mask else ()


@lower_instruction.register
def matrix_arithmetic(instruction: MatrixArithmetic, lowering: Lowering) -> None:
    """KM-017."""
    operands = [lowering.results[name] for name in (instruction.a, instruction.b) if name is not None]
    lowering.define(instruction.id, instruction.spirv, operands[0].type, *(o.id for o in operands))
    _bind(lowering, instruction.id, instruction.fast_math)


@lower_instruction.register
def matrix_times_scalar(instruction: MatrixTimesScalar, lowering: Lowering) -> None:
    """KM-017."""
    source = lowering.results[instruction.matrix]
    component = lowering.matrix(instruction.matrix).declared.component
    factor = component_value(lowering, component, instruction.scalar, "scalar")
    lowering.define(instruction.id, instruction.opcode, source.type, source.id, factor)
    _bind(lowering, instruction.id, instruction.fast_math)


def _bind(lowering: Lowering, name: str, fast_math: FastMathBits | None) -> None:
    if lowering.matrix(name).declared.component.is_float:
        lowering.strict(lowering.results[name].id, fast_math)
