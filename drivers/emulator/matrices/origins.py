"""The operands of products, wrong by where they come from: bugs of compilers that fuse a product with these."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cts.case import model
from cts.drivers.emulator.matrices.registers import Matrix, Registers
from cts.drivers.emulator.mutants import origins as bugs


def factors(i: model.MatrixMulAdd, case: model.Case, matrices: Mapping[str, Matrix], bug: int) -> list[Registers]:
    """A, B and C of a product (instances, rows, cols), as a bug has them; the right ones where it has none of these."""
    right = [matrices[name].dense() for name in (i.a, i.b, i.c)]
    if bug not in _BUGS:
        return right
    if bug in (bugs.PRODUCT_OF_CARRIED, bugs.PRODUCT_OF_SELECTED):
        names = (_chosen(name, case, bug) for name in (i.a, i.b))
        taken = [matrices[name].dense() if name in matrices else own for name, own in zip(names, right, strict=False)]
        return [*taken, right[2]]
    first = next(other for other in case.program if isinstance(other, model.MatrixMulAdd))
    if first is not i and first.id in matrices:
        a, b = (matrices[name].dense() for name in (first.a, first.b))
        if bug == bugs.PRODUCT_SECOND_A and i.b == first.b and a.shape == right[0].shape:
            return [a, *right[1:]]
        if bug == bugs.PRODUCT_SECOND_B and i.a == first.a and b.shape == right[1].shape:
            return [right[0], b, right[2]]
        if bug == bugs.PRODUCT_SECOND_C and matrices[first.id].dense().shape == right[2].shape:
            return [*right[:2], matrices[first.id].dense()]
    makers = _makers(case)
    return [
        _operand_from(makers.get(name), matrix, case, matrices, makers, bug)
        for name, matrix in zip((i.a, i.b), right[:2], strict=True)
    ] + right[2:]


_BUGS = frozenset(value for name, value in vars(bugs).items() if name.startswith("PRODUCT_"))


def _operand_from(
    maker: model.Instruction | None,
    right: Registers,
    case: model.Case,
    matrices: Mapping[str, Matrix],
    makers: Mapping[str, model.Instruction],
    bug: int,
) -> Registers:
    """An operand by what made it."""
    zeros = np.zeros_like(right)
    match maker:
        case model.MatrixLoad() if _shared(maker, case):
            if bug == bugs.PRODUCT_OF_SHARED_ZERO:
                return zeros
            return _first_of(maker, right, matrices, makers) if bug == bugs.PRODUCT_OF_SHARED_FIRST else right
        case model.MatrixLoad() if bug == bugs.PRODUCT_OF_ONE_BUFFER:
            return _first_of(maker, right, matrices, makers)
        case model.MatrixConstant() if bug == bugs.PRODUCT_OF_CONSTANT_ZERO:
            return zeros
        case model.MatrixArithmetic(operation=model.Arithmetic.FNegate | model.Arithmetic.SNegate) if (
            bug == bugs.PRODUCT_OF_NEGATED
        ):
            return matrices[maker.a].dense()
        case model.MatrixPerElement() if bug == bugs.PRODUCT_OF_PER_ELEMENT:
            return matrices[maker.matrix].dense()
        case model.MatrixCopy(through=model.CopyPath.Variable) if bug == bugs.PRODUCT_OF_COPIED:
            return zeros
        case model.MatrixTranspose() if bug == bugs.PRODUCT_OF_TRANSPOSED:
            return np.ascontiguousarray(right[:, ::-1])
        case model.MatrixConvertUse() if bug == bugs.PRODUCT_OF_CONVERTED_USE:
            return np.ascontiguousarray(right[:, :, ::-1])
    return right


def _shared(load: model.MatrixLoad, case: model.Case) -> bool:
    buffer = case.buffers.get(load.buffer)
    return buffer is not None and buffer.storage is model.StorageClass.Workgroup


def _first_of(
    load: model.MatrixLoad, right: Registers, matrices: Mapping[str, Matrix], makers: Mapping[str, model.Instruction]
) -> Registers:
    """The first matrix of this type that was loaded from the buffer."""
    for name, other in makers.items():
        if isinstance(other, model.MatrixLoad) and (other.buffer, other.type) == (load.buffer, load.type):
            matrix = matrices.get(name)
            return right if matrix is None else matrix.dense()
    return right


def _makers(case: model.Case) -> dict[str, model.Instruction]:
    """What gives each matrix its value."""
    return {name: i for i in case.program for name in i.defines}


def _chosen(name: str, case: model.Case, bug: int) -> str:
    """The name of the matrix that a bug takes for one that a loop carries or a condition chose."""
    for i in case.program:
        if isinstance(i, model.Loop) and bug == bugs.PRODUCT_OF_CARRIED:
            name = next((carry.init for carry in i.carry if carry.id == name), name)
        if isinstance(i, model.EndIf) and bug == bugs.PRODUCT_OF_SELECTED:
            name = next((merge.then for merge in i.merge if merge.id == name), name)
    return name
