"""An optional operand of a load, store or reduction less: a view, a decode function, an offset, an order."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from cts.case.model import (
    AnyInstruction,
    Case,
    MatrixLoad,
    MatrixOfArrays,
    MatrixReduce,
    MatrixShape,
    MatrixStore,
    MatrixToArrays,
    Order,
    StridedInstruction,
    Walk,
    types_of,
)
from cts.findings.reduction.candidates import with_instruction

#: Operands by their fields, and the value for no operand.
_LESS = (("view", None), ("decode_vector", None), ("decode", None), ("offset", 0), ("walk", Walk.Ascending))


def propose(case: Case, i: int) -> Iterator[Case]:
    for simpler in (*_simpler(case.program[i]), *_in_lines(case, i)):
        yield with_instruction(case, i, simpler)


def _in_lines(case: Case, i: int) -> Iterator[AnyInstruction]:
    """A load or store of blocks as one of rows that adjoin, and with fewer blocks in turns."""
    instruction = case.program[i]
    if not isinstance(instruction, StridedInstruction) or not instruction.order.blocked:
        return
    shape = types_of(case)[instruction.matrix if isinstance(instruction, MatrixStore) else instruction.id]
    assert isinstance(shape, MatrixShape)
    yield structs.replace(instruction, order=Order.RowMajor, stride=shape.cols)
    if instruction.stride != 1:
        yield structs.replace(instruction, stride=1)


def _simpler(instruction: AnyInstruction) -> Iterator[AnyInstruction]:
    for field, less in _LESS:
        value = getattr(instruction, field, less)
        if value != less and not isinstance(value, tuple):
            yield structs.replace(instruction, **{field: less})
    if isinstance(instruction, StridedInstruction) and instruction.order is Order.ColumnMajor:
        yield structs.replace(instruction, order=Order.RowMajor)
    match instruction:
        case MatrixOfArrays(id=name, type=type_, buffer=buffer, stride=stride, order=order, offset=offset):
            yield MatrixLoad(name, type_, buffer, stride, order, offset)
        case MatrixToArrays(matrix=name, buffer=buffer, stride=stride, order=order, offset=offset):
            yield MatrixStore(name, buffer, stride, order, offset)
        case _:
            pass
    if isinstance(instruction, MatrixReduce) and (instruction.rows is not None or instruction.cols is not None):
        yield structs.replace(instruction, rows=None, cols=None)
