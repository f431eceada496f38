"""A vector instruction with less of one thing: a bias, an offset, an index, a listed value, a part."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import structs

from cts.case.model import (
    AnyInstruction,
    AtomicScope,
    Case,
    ScalarType,
    VectorAtomicAdd,
    VectorConstant,
    VectorConstruct,
    VectorExtract,
    VectorMatrixMul,
    VectorShape,
    VectorTimesScalar,
    constant_of,
    types_of,
)
from cts.findings.reduction.candidates import with_instruction


def propose(case: Case, i: int) -> Iterator[Case]:
    for simpler in _simpler(case.program[i], types_of(case)):
        yield with_instruction(case, i, simpler)


def _simpler(instruction: AnyInstruction, types: dict[str, Any]) -> Iterator[AnyInstruction]:
    if isinstance(instruction, VectorMatrixMul):
        if instruction.bias is not None:
            yield structs.replace(instruction, bias=None, bias_offset=0, bias_interpretation=None)
        for field in ("matrix_offset", "bias_offset"):
            if getattr(instruction, field) != 0:
                yield structs.replace(instruction, **{field: 0})
    if isinstance(instruction, VectorTimesScalar) and instruction.scalar is not None:
        yield structs.replace(instruction, scalar=None, value=1)
    if isinstance(instruction, VectorExtract) and instruction.index != 0:
        yield structs.replace(instruction, index=0)
    if isinstance(instruction, VectorAtomicAdd) and instruction.scope is not AtomicScope.QueueFamily:
        yield structs.replace(instruction, scope=AtomicScope.QueueFamily)
    if isinstance(instruction, VectorConstant) and instruction.values:
        yield structs.replace(instruction, values=None, value=instruction.values[0])
    if isinstance(instruction, VectorConstruct) and len(instruction.parts) > 1:
        for n, name in enumerate(instruction.parts):
            part, parts = types[name], instruction.parts[:n] + instruction.parts[n + 1 :]
            if len(parts) == 1 and isinstance(types[parts[0]], VectorShape):
                continue  # CV-011: no vector by itself
            length = constant_of(instruction.type.length)
            assert isinstance(length, int)
            left = length - (1 if isinstance(part, ScalarType) else part.length)
            yield structs.replace(instruction, parts=parts, type=structs.replace(instruction.type, length=left))
