"""Executes a case: what memory and every matrix hold afterwards, for a batch of parameter sets at once.

Everything here is bit patterns: loads, stores and constants preserve bits (NU-014).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cts.model import (
    Buffer,
    Case,
    MatrixConstant,
    MatrixLoad,
    MatrixLoadTensor,
    MatrixStore,
    MatrixStoreTensor,
    SpecNumber,
    dynamics,
    encode,
    initial_bits,
    number_of,
)
from cts.reference.addressing import Status
from cts.reference.arrays import I64, U8, U32, Bits
from cts.reference.program import Access, Evaluation, evaluate, instances_of


@dataclass(frozen=True)
class Execution:
    """The result under each parameter set.

    `memory` maps each buffer to its contents after the run, guard bytes excluded, uint8, shape
    (sets, size). `matrices` maps each matrix id to its bit patterns, shape (sets, instances, rows,
    cols), the instances being those of the matrix's scope.
    """

    memory: dict[str, U8]
    matrices: dict[str, Bits]


def execute(case: Case, parameter_sets: U32) -> Execution:
    """Execute a case, which must have no violations, once per parameter set.

    `parameter_sets` is (sets, n), uint32: a word per operand of `cts.model.dynamics(case)`, in that order.
    """
    asked = sum(1 for _ in dynamics(case))
    if parameter_sets.ndim != 2 or parameter_sets.shape[1] != asked:
        raise ValueError(f"parameter sets have shape {parameter_sets.shape}; the case asks for (sets, {asked})")
    return run(evaluate(case, np.asarray(parameter_sets, np.uint32)), len(parameter_sets))


def run(evaluation: Evaluation, sets: int = 1) -> Execution:
    """Execute what `evaluate` prepared for so many parameter sets."""
    case = evaluation.case
    memory = {name: _Memory(buffer) for name, buffer in case.buffers.items()}
    matrices: dict[str, Bits] = {}
    for i, instruction in enumerate(case.program):
        match instruction:
            case MatrixConstant():
                matrices[instruction.id] = _constant(evaluation, i, instruction)
            case MatrixLoadTensor():
                access = evaluation.accesses[i]
                matrices[instruction.id] = _load(access, memory[access.buffer], matrices[instruction.object])
            case MatrixLoad():
                access = evaluation.accesses[i]
                matrices[instruction.id] = memory[access.buffer].load(access.byte, access.shape.component.bits_dtype)
            case MatrixStoreTensor() | MatrixStore():
                access = evaluation.accesses[i]
                memory[access.buffer].store(access, matrices[instruction.matrix])
    return Execution(
        {name: m.contents(sets) for name, m in memory.items()},
        {name: _expanded(evaluation, name, bits, sets) for name, bits in matrices.items()},
    )


def _constant(evaluation: Evaluation, i: int, instruction: MatrixConstant) -> Bits:
    """KM-016, as (sets, 1, 1, 1)."""
    component, value = instruction.type.component, instruction.value
    if isinstance(value, SpecNumber) and value.dynamic is not None:
        words = evaluation.operands.word(i, "value")
        return words.astype(component.bits_dtype)[..., None, None]
    return encode(component, [number_of(value)])[:, None, None, None]


def _load(access: Access, memory: _Memory, object_: Bits) -> Bits:
    """CM-010 and TA-038: clipped elements keep the Object's, clamped ones are low bits of clampValue."""
    dtype = access.shape.component.bits_dtype
    if not access.status.any():
        return memory.load(access.byte, dtype)
    assert access.layout is not None
    loaded = memory.load(np.where(access.status == Status.OK, access.byte, 0), dtype)
    clamp_value = access.layout.clamp_value[..., None].astype(dtype)
    result = np.where(access.status == Status.CLAMPED, clamp_value, loaded)
    return np.where(access.status == Status.SKIP, object_, result)


def _expanded(evaluation: Evaluation, name: str, bits: Bits, sets: int) -> Bits:
    shape = evaluation.shape_of(name)
    instances = instances_of(evaluation.case.dispatch, shape.scope)
    return np.broadcast_to(bits, (sets, instances, shape.rows, shape.cols))


class _Memory:
    """One buffer's contents under every parameter set; a single row until a store tells the sets apart."""

    def __init__(self, buffer: Buffer) -> None:
        bits = initial_bits(buffer).view(np.uint8)
        self.size = bits.size
        # Whole words of every component size.
        self.rows = np.zeros((1, -(-self.size // 4) * 4), np.uint8)
        self.rows[0, : self.size] = bits

    def contents(self, sets: int) -> U8:
        return np.broadcast_to(self.rows[:, : self.size], (sets, self.size))

    def load(self, byte: I64, dtype: np.dtype[Any]) -> Bits:
        """The components at byte offsets (sets, instances, rows, cols), which are multiples of their size."""
        components = self.rows.view(dtype)
        index = byte // dtype.itemsize
        if len(components) > 1:
            index = index + _first_of_each(components)
        found: Bits = components.reshape(-1)[index]
        return found

    def store(self, access: Access, bits: Bits) -> None:
        """Store a matrix's elements that are not clipped or discarded."""
        sets = max(len(self.rows), len(bits), len(access.byte))
        if sets > len(self.rows):
            self.rows = np.repeat(self.rows, sets, axis=0)
        components = self.rows.view(access.shape.component.bits_dtype)
        index = access.byte // access.shape.component.size + _first_of_each(components)
        index, bits, status = np.broadcast_arrays(index, bits, access.status)
        accessed = status == Status.OK
        components.reshape(-1)[index[accessed]] = bits[accessed]


def _first_of_each(components: Bits) -> I64:
    """The flat index of each row's first component, (sets, 1, 1, 1)."""
    sets, size = components.shape
    first: I64 = (np.arange(sets, dtype=np.int64) * size)[:, None, None, None]
    return first
