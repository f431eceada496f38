"""A plain load, store or constant in place of an instruction that takes more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cts.case.model import (
    AnyInstruction,
    Case,
    Constant,
    Load,
    MatrixConstant,
    MatrixInstruction,
    MatrixLoad,
    MatrixStore,
    Store,
    TensorInstruction,
    VectorConstant,
    VectorInstruction,
    VectorLoad,
    VectorShape,
    types_of,
)
from cts.findings.reduction.candidates import with_instruction


def propose(case: Case, i: int) -> Iterator[Case]:
    types, instruction = types_of(case), case.program[i]
    for plain in (*_matrix(case, instruction, types), *_vector(case, instruction, types)):
        yield with_instruction(case, i, plain)


def _matrix(case: Case, instruction: AnyInstruction, types: dict[str, Any]) -> Iterator[AnyInstruction]:
    if isinstance(instruction, TensorInstruction) and isinstance(instruction, Store):
        yield MatrixStore(instruction.matrix, instruction.buffer, types[instruction.matrix].cols)
    name = getattr(instruction, "id", None)
    if name is None or not isinstance(instruction, MatrixInstruction):
        return
    shape = types[name]
    if isinstance(instruction, TensorInstruction):
        yield MatrixLoad(name, shape.declared, instruction.buffer, shape.cols)
    elif not isinstance(instruction, (MatrixLoad, MatrixConstant)):
        for buffer in case.buffers:
            if case.buffers[buffer].type is shape.component:
                yield MatrixLoad(name, shape.declared, buffer, shape.cols)
    if not isinstance(instruction, MatrixConstant):
        yield MatrixConstant(name, shape.declared, 1)


def _vector(case: Case, instruction: AnyInstruction, types: dict[str, Any]) -> Iterator[AnyInstruction]:
    shape = types.get(getattr(instruction, "id", ""))
    if not isinstance(instruction, VectorInstruction) or not isinstance(shape, VectorShape):
        return
    name = instruction.id  # type: ignore[union-attr]
    if not isinstance(instruction, Load | Constant):
        for buffer, declared in case.buffers.items():
            if declared.type is shape.component:
                yield VectorLoad(id=name, type=shape.declared, buffer=buffer)
    if not isinstance(instruction, VectorConstant):
        replicated = not isinstance(shape.declared.length, int)
        yield VectorConstant(id=name, type=shape.declared, value=1, replicated=replicated)
