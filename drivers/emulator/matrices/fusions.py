"""Instructions of kernels as bugs have them: with operands of another iteration, call or tile."""

from __future__ import annotations

from typing import TypeVar

from msgspec import structs

from cts.case import model
from cts.drivers.emulator.mutants import fusions as bugs

_InstructionT = TypeVar("_InstructionT", bound=model.Instruction)

BUGS = frozenset(value for value in vars(bugs).values() if isinstance(value, int))

#: What a bug does once for all iterations of a loop.
_HOISTED: dict[int, tuple[type[model.Instruction], ...]] = {
    bugs.LOOP_REDUCE_HOISTED: (model.MatrixReduce,),
    bugs.LOOP_CONVERT_HOISTED: (model.MatrixConvert, model.MatrixConvertUse, model.MatrixTranspose),
}


def hoisted(i: model.Instruction, bug: int) -> bool:
    """Whether a bug leaves an instruction in a loop to its first iteration."""
    if bug == bugs.LOOP_FUNCTION_HOISTED:
        return isinstance(i, model.MatrixPerElement) and bool(i.matrices)
    return isinstance(i, _HOISTED.get(bug, ()))


def fused(i: model.Instruction, case: model.Case, bug: int) -> model.Instruction:
    """The instruction with the operands that a bug gives it; itself where it has none of these."""
    makers = {name: maker for maker in case.program for name in maker.defines}
    match i:
        case model.MatrixMulAdd() if bug == bugs.CARRIED_THIRD_STALE:
            late = {c.id: c.init for loop in case.program if isinstance(loop, model.Loop) for c in loop.carry[2:]}
            return structs.replace(i, c=late.get(i.c, i.c))
        case model.MatrixMulAdd() if bug == bugs.PRODUCT_OF_SCALED_C:
            return structs.replace(i, c=_unscaled(makers.get(i.c)) or i.c)
        case model.MatrixPerElement() if bug == bugs.FUNCTION_SCALARS_OF_FIRST:
            return structs.replace(i, scalars=_first(case, i, "function").scalars)
        case model.MatrixPerElement() if bug == bugs.FUNCTION_OF_REDUCED:
            return structs.replace(i, matrices=tuple(_before_reduction(makers.get(m)) or m for m in i.matrices))
        case model.MatrixReduce() if bug == bugs.REDUCE_OF_PRODUCT_EARLY:
            source = makers.get(i.matrix)
            return structs.replace(i, matrix=source.c) if isinstance(source, model.MatrixMulAdd) else i
        case model.TensorLayoutSlice() if bug == bugs.SLICE_OUTER_LOOP_IGNORED:
            return structs.replace(i, offset=tuple(map(_of_inner_loop, i.offset)))
        case model.MatrixStoreTensor() if bug == bugs.STORE_TENSOR_OF_FIRST:
            first = _first(case, i, "buffer")
            return structs.replace(i, layout=first.layout, view=first.view, offset=first.offset)
        case model.MatrixStore() if bug == bugs.STORE_OFFSET_OF_FIRST:
            return structs.replace(i, offset=_first(case, i, "buffer").offset)
    return i


def _first(case: model.Case, i: _InstructionT, field: str) -> _InstructionT:
    """The first instruction of this kind with the same function or buffer."""
    for other in case.program:
        if type(other) is type(i) and getattr(other, field) == getattr(i, field):
            return other
    return i


def _unscaled(maker: model.Instruction | None) -> str | None:
    if isinstance(maker, model.MatrixTimesScalar):
        return maker.matrix
    multiplied = isinstance(maker, model.MatrixArithmetic) and maker.operation.value in ("FMul", "IMul")
    return maker.a if multiplied and isinstance(maker, model.MatrixArithmetic) else None


def _before_reduction(maker: model.Instruction | None) -> str | None:
    """What a reduction to its own shape reduced."""
    return maker.matrix if isinstance(maker, model.MatrixReduce) and maker.rows is maker.cols is None else None


def _of_inner_loop(operand: model.Operand) -> model.Operand:
    """An operand without what it gains by the outer loop."""
    if not isinstance(operand, model.Scalar) or not operand.loop_outer:
        return operand
    plain = operand.literal is not None and not structs.replace(operand.factors, loop_outer=0).any_set
    return operand.base if plain else structs.replace(operand, loop_outer=0)
