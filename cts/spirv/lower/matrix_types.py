"""Types of matrices and vectors: as the case declares them, and as they follow from those of operands (KM-010)."""

from __future__ import annotations

from cts.case.model import Instruction, MatrixShape, MatrixType, Scope, Use, VectorType, constant_of, references
from cts.case.model.names import TypingContext
from cts.spirv.encode import Id
from cts.spirv.lower.context import Lowering, Matrix
from cts.spirv.lower.type_constants import type_constant
from cts.spirv.lower.types import matrix_component
from cts.spirv.lower.vector_types import vector_type, with_component

_CONSTANTS = ("scope", "rows", "cols", "use")


def declared_type(lowering: Lowering, declared: MatrixType | VectorType) -> Id:
    """A type as the case declares it. Types declared alike are one type, their spec constants included."""
    if isinstance(declared, VectorType):
        return vector_type(lowering, declared)
    if declared not in lowering.matrices:
        ids = {field: type_constant(lowering, getattr(declared, field), "type", field) for field in _CONSTANTS}
        _declare(lowering, declared, ids)
    return lowering.matrices[declared].id


def derived_type(lowering: Lowering, instruction: Instruction, operand: str) -> Id:
    """The type of an instruction's result, which follows from that of the operand in the field `operand`.

    It has the constants of the operand's type, spec constants included, but for those that the
    instruction changes: these are constants of the instruction's own fields.
    """
    name: str = getattr(instruction, operand)
    if lowering.results[name].type in lowering.vector_of_type:
        return with_component(lowering, lowering.vector(name), getattr(instruction, "component"))  # noqa: B009
    source = lowering.matrix(name)
    names = (n for n in references(instruction) if lowering.results[n].type in lowering.matrix_of_type)
    shapes = {n: _shape(lowering.matrix(n).declared) for n in names}
    *_, declared = instruction.typed(TypingContext(shapes, lowering.functions))
    assert isinstance(declared, MatrixType), f"{instruction.spirv} of a case that is not well-formed"
    if declared not in lowering.matrices:
        _declare(lowering, declared, {f: _constant(lowering, instruction, declared, source, f) for f in _CONSTANTS})
    return lowering.matrices[declared].id


def _constant(lowering: Lowering, instruction: Instruction, declared: MatrixType, source: Matrix, field: str) -> Id:
    """The constant of a derived type: the instruction's own, one of the source's, or one of the case's rules."""
    value = getattr(declared, field)
    if getattr(instruction, field, None) is None:
        for other in (field, *{"rows": ("cols",), "cols": ("rows",)}.get(field, ())):
            if value is getattr(source.declared, other):
                constant: Id = getattr(source, other)
                return constant
    return type_constant(lowering, value, field)


def _declare(lowering: Lowering, declared: MatrixType, ids: dict[str, Id]) -> None:
    component = matrix_component(lowering.module, declared.component)
    type_ = lowering.module.op("OpTypeCooperativeMatrixKHR", component, *(ids[field] for field in _CONSTANTS))
    matrix = Matrix(declared, type_, ids["scope"], ids["rows"], ids["cols"], ids["use"])
    lowering.matrices[declared] = matrix
    lowering.matrix_of_type[type_] = matrix


def _shape(declared: MatrixType) -> MatrixShape:
    rows, cols = constant_of(declared.rows), constant_of(declared.cols)
    scope, use = constant_of(declared.scope), constant_of(declared.use)
    assert isinstance(rows, int) and isinstance(cols, int) and isinstance(scope, Scope) and isinstance(use, Use)
    return MatrixShape(declared.component, scope, rows, cols, use, declared)
