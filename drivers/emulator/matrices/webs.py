"""Instructions as bugs have them that look at what made an operand."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import structs

from cts.case import model
from cts.drivers.emulator.matrices.registers import Matrix
from cts.drivers.emulator.mutants import webs as bugs

BUGS = frozenset(value for value in vars(bugs).values() if isinstance(value, int))


def fused(i: model.Instruction, case: model.Case, bug: int) -> model.Instruction:
    """The instruction that a bug makes of one; itself where no operand has the maker that the bug is about."""
    makers = {name: maker for maker in case.program for name in maker.defines}
    match i:
        case model.MatrixMulAdd() if bug == bugs.C_OF_NEGATED_PRODUCT:
            negation = makers.get(i.c)
            if _negates(negation) and isinstance(makers.get(negation.a), model.MatrixMulAdd):  # type: ignore[union-attr]
                return structs.replace(i, c=negation.a)  # type: ignore[union-attr]
        case model.MatrixMulAdd() if bug == bugs.C_OF_REDUCED:
            return structs.replace(i, c=_reduced(makers, i.c))
        case model.MatrixStoreTensor() if bug == bugs.TENSOR_STORE_OF_REDUCED:
            return structs.replace(i, matrix=_reduced(makers, i.matrix))
        case model.MatrixPerElement() if bug == bugs.FUNCTION_OF_TENSOR_LOAD:
            if isinstance(makers.get(i.matrix), model.MatrixLoadTensor):
                return _copy(i.id, i.matrix)
        case model.MatrixPerElement() if bug == bugs.EXTRA_OF_CARRIED:
            return structs.replace(i, matrices=tuple(_initial(makers, name) for name in i.matrices))
        case model.MatrixConvert() if bug == bugs.CONVERT_OF_SCALED:
            scaled = makers.get(i.matrix)
            return structs.replace(i, matrix=scaled.matrix) if isinstance(scaled, model.MatrixTimesScalar) else i
        case model.MatrixLoadTensor() if bug == bugs.OBJECT_OF_NEGATION:
            negation = makers.get(i.object)
            return structs.replace(i, object=negation.a) if _negates(negation) else i  # type: ignore[union-attr]
        case model.MatrixArithmetic() if bug == bugs.NEGATION_OF_COPY:
            if _negates(i) and isinstance(makers.get(i.a), model.MatrixCopy):
                return _copy(i.id, i.a)
    return i


def spoil(i: model.Instruction, matrices: Mapping[str, Matrix], bug: int) -> None:
    """What a bug does to operands behind an instruction."""
    if isinstance(i, model.MatrixMulAdd):
        spoiled = {bugs.PRODUCT_SPOILS_A: i.a, bugs.PRODUCT_SPOILS_B: i.b}.get(bug)
        if spoiled is not None:
            matrices[spoiled].registers[:] = 0


def _negates(i: model.Instruction | None) -> bool:
    return isinstance(i, model.MatrixArithmetic) and i.operation.value in ("FNegate", "SNegate")


def _reduced(makers: Mapping[str, model.Instruction], name: str) -> str:
    """What a reduction to its own shape reduced."""
    maker = makers.get(name)
    return maker.matrix if isinstance(maker, model.MatrixReduce) and maker.rows is maker.cols is None else name


def _initial(makers: Mapping[str, model.Instruction], name: str) -> str:
    maker = makers.get(name)
    if isinstance(maker, model.Loop):
        return next((carry.init for carry in maker.carry if carry.id == name), name)
    loops = (i for i in makers.values() if isinstance(i, model.Loop))
    return next((c.init for loop in loops for c in loop.carry if c.id == name), name)


def _copy(name: str, matrix: str) -> model.MatrixCopy:
    return model.MatrixCopy(id=name, matrix=matrix, through=model.CopyPath.CopyObject)
