"""Composites: constants of matrices and vectors, and vectors made and taken apart (KM-016, KM-021, CV-011)."""

from __future__ import annotations

from collections.abc import Sequence

from cts.case import model
from cts.case.model.operand import ComponentValue
from cts.spirv.encode import Id
from cts.spirv.lower.context import Lowering
from cts.spirv.lower.instruction import lower_instruction
from cts.spirv.lower.matrix_types import declared_type
from cts.spirv.lower.types import scalar
from cts.spirv.lower.values import component_value


@lower_instruction.register
def matrix_constant(instruction: model.MatrixConstant, lowering: Lowering) -> None:
    """KM-016: one constituent stands for all elements."""
    _one_value(instruction, lowering, instruction.value, 1)


@lower_instruction.register
def vector_constant(instruction: model.VectorConstant, lowering: Lowering) -> None:
    """CV-011."""
    if instruction.value is not None:
        length = instruction.type.length
        assert instruction.replicated or isinstance(length, int), "resolve asks for `replicated`"
        _one_value(instruction, lowering, instruction.value, length if isinstance(length, int) else 1)
        return
    type_, component = declared_type(lowering, instruction.type), instruction.type.component
    values = instruction.values or ()
    ids = (component_value(lowering, component, v, "values", n) for n, v in enumerate(values))
    lowering.define(instruction.id, _composite(values), type_, *ids)


def _one_value(
    instruction: model.MatrixConstant | model.VectorConstant, lowering: Lowering, value: ComponentValue, times: int
) -> None:
    """So many constituents of one value; a single one if it is replicated (KM-021)."""
    type_ = declared_type(lowering, instruction.type)
    constituent, opcode = component_value(lowering, instruction.type.component, value, "value"), _composite((value,))
    if instruction.replicated:
        lowering.module.capability("ReplicatedCompositesEXT")
        lowering.define(instruction.id, f"{opcode}ReplicateEXT", type_, constituent)
    else:
        lowering.define(instruction.id, opcode, type_, *[constituent] * times)


def _composite(values: Sequence[ComponentValue]) -> str:
    """The instruction that makes a composite of values of these kinds."""
    delivered = [v for v in values if isinstance(v, model.SpecNumber)]
    if any(v.dynamic is not None for v in delivered):
        return "OpCompositeConstruct"
    return "OpSpecConstantComposite" if delivered else "OpConstantComposite"


@lower_instruction.register
def vector_construct(instruction: model.VectorConstruct, lowering: Lowering) -> None:
    """CV-011: of scalars and ordinary vectors. Cooperative vectors are no constituents, so they are taken apart."""
    parts = (part for name in instruction.parts for part in _constituents(lowering, name))
    lowering.define(instruction.id, instruction.opcode, declared_type(lowering, instruction.type), *parts)


def _constituents(lowering: Lowering, name: str) -> tuple[Id, ...]:
    """A scalar itself; a vector as one ordinary vector if its length allows that, or else as its components."""
    op, part = lowering.module.op, lowering.results[name]
    if part.type not in lowering.vector_of_type:
        return (part.id,)
    declared = lowering.vector(name).declared
    type_, length = scalar(lowering.module, declared.component), model.constant_of(declared.length)
    assert isinstance(length, int)
    components = tuple(op("OpCompositeExtract", type_, part.id, n) for n in range(length))
    if not 2 <= length <= 4:
        return components
    return (op("OpCompositeConstruct", op("OpTypeVector", type_, length), *components),)


@lower_instruction.register
def vector_extract(instruction: model.VectorExtract, lowering: Lowering) -> None:
    """CV-011: by the literal itself where the index is one."""
    vector = lowering.results[instruction.vector].id
    type_ = scalar(lowering.module, lowering.vector(instruction.vector).declared.component)
    if isinstance(instruction.index, int):
        lowering.define(instruction.id, "OpCompositeExtract", type_, vector, instruction.index)
    else:
        lowering.define(instruction.id, instruction.opcode, type_, vector, _index(lowering, instruction.index))


@lower_instruction.register
def vector_insert(instruction: model.VectorInsert, lowering: Lowering) -> None:
    """CV-011: by the literal itself where the index is one."""
    vector, value = lowering.results[instruction.vector], lowering.results[instruction.scalar].id
    if isinstance(instruction.index, int):
        lowering.define(instruction.id, "OpCompositeInsert", vector.type, value, vector.id, instruction.index)
    else:
        index = _index(lowering, instruction.index)
        lowering.define(instruction.id, instruction.opcode, vector.type, vector.id, value, index)


def _index(lowering: Lowering, index: model.Operand) -> Id:
    return lowering.operand("index", index)
