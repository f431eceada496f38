"""Constants, and construction, extraction and insertion of components (CV-011)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cts.case.model import VectorConstant, VectorType, constant_of
from cts.drivers.emulator.mutants import vectors as v
from cts.drivers.emulator.operands import InstanceOperands
from cts.drivers.emulator.vectors.registers import Active, Ints, Vector

#: Components that a bug fills or reaches.
FEW, SOME = 4, 16


def length_of(declared: VectorType) -> int:
    """How many components a type has, whether a literal or a specialization constant says so."""
    length = constant_of(declared.length)
    assert isinstance(length, int)
    return length


def constant(i: VectorConstant, operands: InstanceOperands, bug: int) -> Vector:
    """The vector that a constant is in every invocation."""
    length, component = length_of(i.type), i.type.component
    values = i.values if i.value is None else [i.value] * length
    assert values is not None, "resolve asks for a value or values"
    bits = operands.bits(values, component)
    if bug == v.VECTOR_REPLICATED_16 and i.replicated:
        bits[:, SOME:] = 0
    return Vector(component, bits)


def null(declared: VectorType, count: int) -> Vector:
    """Zeros in every one of `count` invocations."""
    return Vector(declared.component, np.zeros((count, length_of(declared)), np.uint32))


def construct(parts: list[Vector], bug: int) -> Vector:
    """Scalars and vectors, one after the other."""
    if bug == v.VECTOR_CONSTRUCT_SCALARS_FIRST:
        parts = sorted(parts, key=lambda part: not part.is_scalar)
    wide = None
    if any(part.wide is not None for part in parts):
        wide = np.concatenate([part.floats() for part in parts], 1)
    return Vector(parts[0].component, np.concatenate([part.registers for part in parts], 1), wide)


def extract(vector: Vector, index: Ints) -> Vector:
    """The component `index` (invocations,) of each invocation's vector; the last one beyond it (undefined)."""
    indices = np.minimum(index, vector.length - 1)[:, None]
    registers = np.take_along_axis(vector.registers, indices, 1)
    wide = None if vector.wide is None else np.take_along_axis(vector.wide, indices, 1)
    return replace(vector, registers=registers, wide=wide, is_scalar=True)


def insert(vector: Vector, scalar: Vector, index: Ints, running: Active, bug: int) -> Vector:
    """The vector with the component `index` (invocations,) replaced; `running` are those that a bug can change."""
    indices = np.minimum(index, vector.length - 1)[:, None]
    registers = vector.registers if bug == v.VECTOR_INSERT_IN_PLACE else vector.registers.copy()
    added = scalar.registers
    if bug == v.VECTOR_INSERT_FOUR:
        added = np.where(indices < FEW, added, np.take_along_axis(registers, indices, 1))
    elif bug == v.VECTOR_INSERT_IN_PLACE:
        added = np.where(running[:, None], added, np.take_along_axis(registers, indices, 1))
    np.put_along_axis(registers, indices, added, 1)
    wide = None
    if vector.wide is not None or scalar.wide is not None:
        wide = vector.floats().copy()
        np.put_along_axis(wide, indices, scalar.floats(), 1)
    return replace(vector, registers=registers, wide=wide)


def changed(index: Ints, length: int, bug: int) -> Ints:
    """A dynamic index as a bug has it."""
    if bug == v.VECTOR_INDEX_OFF_BY_ONE:
        return (index + 1) % length
    return index & (SOME - 1) if bug == v.VECTOR_INDEX_4_BIT else index
