"""Operations on every component of cooperative vectors (CV-012)."""

from __future__ import annotations

from cts.model import FastMathBits, VectorArithmetic, VectorBitcast, VectorConvert, VectorTimesScalar
from cts.model.vector_arithmetic import EXTENDED
from cts.spirv.encode import Value
from cts.spirv.lower.context import Lowering
from cts.spirv.lower.instruction import lower_instruction
from cts.spirv.lower.values import component_value, glsl
from cts.spirv.lower.vector_types import with_component


@lower_instruction.register
def vector_arithmetic(instruction: VectorArithmetic, lowering: Lowering) -> None:
    """Of the core, or of GLSL.std.450, whose instructions NoContraction does not bind (NU-017)."""
    operation = instruction.operation
    operands = [lowering.results[name] for name in (instruction.a, instruction.b, instruction.c) if name is not None]
    type_, values = operands[0].type, [o.id for o in operands]
    if operation in EXTENDED:
        lowering.define(instruction.id, "OpExtInst", type_, *glsl(lowering, operation.value), *values)
        _allow(lowering, instruction)
    else:
        lowering.define(instruction.id, f"Op{operation.value}", type_, *values)
        _bind(lowering, instruction.id, instruction.fast_math)


@lower_instruction.register
def vector_times_scalar(instruction: VectorTimesScalar, lowering: Lowering) -> None:
    """By an earlier scalar, or by a value."""
    source = lowering.results[instruction.vector]
    if instruction.scalar is not None:
        factor: Value = lowering.results[instruction.scalar].id
    else:
        assert instruction.value is not None, "resolve asks for one of both"
        component = lowering.vector(instruction.vector).declared.component
        factor = component_value(lowering, component, instruction.value, "value")
    lowering.define(instruction.id, instruction.opcode, source.type, source.id, factor)
    _bind(lowering, instruction.id, instruction.fast_math)


@lower_instruction.register
def vector_convert(instruction: VectorConvert, lowering: Lowering) -> None:
    """To as many components of another type."""
    _define(instruction, lowering)
    _allow(lowering, instruction)


@lower_instruction.register
def vector_bitcast(instruction: VectorBitcast, lowering: Lowering) -> None:
    """The same bits."""
    _define(instruction, lowering)


def _define(instruction: VectorConvert | VectorBitcast, lowering: Lowering) -> None:
    source = lowering.results[instruction.vector]
    type_ = with_component(lowering, lowering.vector(instruction.vector), instruction.component)
    lowering.define(instruction.id, instruction.spirv, type_, source.id)


def _allow(lowering: Lowering, instruction: VectorArithmetic | VectorConvert) -> None:
    """What NoContraction is not for, but FPFastMathMode is."""
    lowering.allow(lowering.results[instruction.id].id, instruction.fast_math)


def _bind(lowering: Lowering, name: str, fast_math: FastMathBits | None) -> None:
    if lowering.vector(name).declared.component.is_float:
        lowering.strict(lowering.results[name].id, fast_math)
