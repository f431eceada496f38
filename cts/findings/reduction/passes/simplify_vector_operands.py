"""A vector instruction with less of one thing: a bias, an offset, an index, a listed value, a part."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import structs

from cts.case import model
from cts.findings.reduction.candidates import with_instruction


def propose(case: model.Case, i: int) -> Iterator[model.Case]:
    for simpler in _simpler(case.program[i], model.types_of(case)):
        yield with_instruction(case, i, simpler)


def _simpler(instruction: model.AnyInstruction, types: dict[str, Any]) -> Iterator[model.AnyInstruction]:
    if isinstance(instruction, model.VectorMatrixMul):
        if instruction.bias is not None:
            yield structs.replace(instruction, bias=None, bias_offset=0, bias_interpretation=None)
        for field in ("matrix_offset", "bias_offset"):
            if getattr(instruction, field) != 0:
                yield structs.replace(instruction, **{field: 0})
    if isinstance(instruction, model.VectorTimesScalar) and instruction.scalar is not None:
        yield structs.replace(instruction, scalar=None, value=1)
    if isinstance(instruction, model.VectorExtract) and instruction.index != 0:
        yield structs.replace(instruction, index=0)
    if isinstance(instruction, model.VectorAtomicAdd) and instruction.scope is not model.AtomicScope.QueueFamily:
        yield structs.replace(instruction, scope=model.AtomicScope.QueueFamily)
    if isinstance(instruction, model.VectorConstant) and instruction.values:
        yield structs.replace(instruction, values=None, value=instruction.values[0])
    if isinstance(instruction, model.VectorConstruct) and len(instruction.parts) > 1:
        for n, name in enumerate(instruction.parts):
            part, parts = types[name], instruction.parts[:n] + instruction.parts[n + 1 :]
            if len(parts) == 1 and isinstance(types[parts[0]], model.VectorShape):
                continue  # CV-011: no vector by itself
            length = model.constant_of(instruction.type.length)
            assert isinstance(length, int)
            left = length - (1 if isinstance(part, model.ScalarType) else part.length)
            yield structs.replace(instruction, parts=parts, type=structs.replace(instruction.type, length=left))
