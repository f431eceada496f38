"""A plain load, store or constant in place of an instruction that takes more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cts.case import model
from cts.findings.reduction.candidates import with_instruction


def propose(case: model.Case, i: int) -> Iterator[model.Case]:
    types, instruction = model.types_of(case), case.program[i]
    for plain in (*_matrix(case, instruction, types), *_vector(case, instruction, types)):
        yield with_instruction(case, i, plain)


def _matrix(
    case: model.Case, instruction: model.AnyInstruction, types: dict[str, Any]
) -> Iterator[model.AnyInstruction]:
    if isinstance(instruction, model.TensorInstruction) and isinstance(instruction, model.Store):
        yield model.MatrixStore(instruction.matrix, instruction.buffer, types[instruction.matrix].cols)
    name = getattr(instruction, "id", None)
    if name is None or not isinstance(instruction, model.MatrixInstruction):
        return
    shape = types[name]
    if isinstance(instruction, model.TensorInstruction):
        yield model.MatrixLoad(name, shape.declared, instruction.buffer, shape.cols)
    elif not isinstance(instruction, (model.MatrixLoad, model.MatrixConstant)):
        for buffer in case.buffers:
            if case.buffers[buffer].type is shape.component:
                yield model.MatrixLoad(name, shape.declared, buffer, shape.cols)
    if not isinstance(instruction, model.MatrixConstant):
        yield model.MatrixConstant(name, shape.declared, 1)


def _vector(
    case: model.Case, instruction: model.AnyInstruction, types: dict[str, Any]
) -> Iterator[model.AnyInstruction]:
    shape = types.get(getattr(instruction, "id", ""))
    if not isinstance(instruction, model.VectorInstruction) or not isinstance(shape, model.VectorShape):
        return
    name = instruction.id  # type: ignore[union-attr]
    if not isinstance(instruction, model.Load | model.Constant):
        for buffer, declared in case.buffers.items():
            if declared.type is shape.component:
                yield model.VectorLoad(id=name, type=shape.declared, buffer=buffer)
    if not isinstance(instruction, model.VectorConstant):
        replicated = not isinstance(shape.declared.length, int)
        yield model.VectorConstant(id=name, type=shape.declared, value=1, replicated=replicated)
