"""Instructions that are one of SPIR-V, as their structs declare it."""

from __future__ import annotations

from typing import Any

from cts.case.model import Instruction
from cts.case.model.fields import Held, held
from cts.spirv.encode import Id, Value
from cts.spirv.lower.callbacks import callback
from cts.spirv.lower.context import Lowering
from cts.spirv.lower.instruction import lower_instruction
from cts.spirv.lower.matrix_types import declared_type, derived_type
from cts.spirv.lower.pointers import byte_place
from cts.spirv.lower.type_constants import type_constant
from cts.spirv.lower.values import component_value, glsl


@lower_instruction.register
def by_form(instruction: Instruction, lowering: Lowering) -> None:
    """The opcode, the type of the result, and the operands in the order of the form."""
    kind, name = type(instruction).__name__, getattr(instruction, "id", None)
    if instruction.form is None:
        raise NotImplementedError(f"no lowering of {kind}: see docs/adding-an-instruction.md")
    for capability in instruction.capabilities:
        lowering.declare(capability)
    type_ = None if name is None else _result_type(instruction, lowering)
    opcode, *extended = instruction.spirv.split()
    operands: list[Value] = [number for extended_name in extended for number in glsl(lowering, extended_name)]
    for word in instruction.form.split():
        fields = word.rstrip("?").split("/")
        if word.endswith("?") and getattr(instruction, fields[0]) == 0:
            continue
        together = [_operands(instruction, lowering, field) for field in fields]
        operands += (value for values in zip(*together, strict=True) for value in values)
    if name is None or type_ is None:
        lowering.module.op(opcode, *operands)
        return
    lowering.define(name, opcode, type_, *operands)
    _decorate(instruction, lowering, name)


def _result_type(instruction: Instruction, lowering: Lowering) -> Id:
    """The type of the operand that is passed, the declared one, or the one that follows from the first operand."""
    if instruction.typed_as and getattr(instruction, "component", None) is None:
        return lowering.results[getattr(instruction, instruction.typed_as)].type
    declared = getattr(instruction, "type", None)
    if declared is not None:
        return declared_type(lowering, declared)
    return derived_type(lowering, instruction, instruction.typed_as or (instruction.form or "").split()[0])


def _operands(instruction: Instruction, lowering: Lowering, field: str) -> list[Value]:
    """The operands that a field holds."""
    value: Any = getattr(instruction, field)
    if value is None:
        return []
    match held(type(instruction), field):
        case Held.RESULT | Held.LAYOUT:
            return [lowering.results[value].id]
        case Held.OPERAND if isinstance(value, tuple):
            return [*lowering.operands(field, value)]
        case Held.OPERAND:
            return [lowering.operand(field, value)]
        case Held.COMPONENT:
            component = lowering.component(getattr(instruction, instruction.typed_as))
            return [component_value(lowering, component, value, field)]
        case Held.ENUM if isinstance(value, tuple):  # a mask: optional if no bit is set
            return ["|".join(bit.spirv for bit in value)] if value else []
        case Held.ENUM | Held.TRUTH | Held.INTEGER:
            return [type_constant(lowering, value, field)]
        case Held.FUNCTION:
            return [callback(lowering, value)]
        case Held.MEMORY:
            return [*byte_place(lowering, value, "offset", getattr(instruction, "offset"))]  # noqa: B009
        case other:
            raise NotImplementedError(f"no form of an instruction has {field}, which holds {other}")


def _decorate(instruction: Instruction, lowering: Lowering, name: str) -> None:
    """MX-003, NU-033, NU-048; NU-019 for what rounds."""
    result, fast_math = lowering.results[name].id, getattr(instruction, "fast_math", None)
    if getattr(instruction, "transpose", False):
        lowering.module.decorate(result, "CooperativeMatrixTransposeEXT")
    if not instruction.rounds:
        lowering.allow(result, fast_math)
    elif lowering.component(name).is_float:
        lowering.strict(result, fast_math)
    if getattr(instruction, "saturate", False):
        lowering.module.decorate(result, "SaturatedToLargestFloat8NormalConversionEXT")
