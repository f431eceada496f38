"""Composites: construct, take apart, shuffle, copy."""

from __future__ import annotations

from typing import Any

import numpy as np

from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.compile import Compiler
from cts.drivers.interpreter.constants import assemble, constituents
from cts.drivers.interpreter.declare import Declarations
from cts.drivers.interpreter.machine import Machine
from cts.drivers.interpreter.parse import Instruction
from cts.drivers.interpreter.problems import Malformed
from cts.drivers.interpreter.registry import Pure, Step, pure, step, typed
from cts.drivers.interpreter.values import Array, Matrix, Value, stack, zero


@step("OpCompositeConstruct")
def construct(c: Compiler, i: Instruction) -> Step:
    """Of a vector's parts some may be vectors, but not its only one; a cooperative matrix takes one scalar (KM-016)."""
    t = c.declared.result_type(i)
    if isinstance(t, ty.CooperativeMatrix):
        return _splat(i, t)
    result, operands = i.result, i.ids
    if isinstance(t, ty.Vector):
        dtype, count = t.component.dtype, t.count
        _refuse_whole(c.declared, i)

        def vector(m: Machine) -> None:
            parts: list[Array] = []
            for id_ in operands:
                value = m.registers[id_]
                parts += [value] if value.ndim == 1 else [value[:, k] for k in range(value.shape[1])]
            if len(parts) != count:
                raise Malformed(f"{len(parts)} components for a vector of {count}")
            m.registers[result] = stack(parts, dtype)

        return vector

    def composite(m: Machine) -> None:
        m.registers[result] = assemble(t, [m.registers[id_] for id_ in operands])

    return composite


def _refuse_whole(d: Declarations, i: Instruction) -> None:
    """CV-011: "there must be at least two Constituent operands", a sentence that SPV_EXT_long_vector removes."""
    whole = len(i.ids) == 1 and isinstance(d.type_of.get(i.id(0)), ty.Vector)
    if whole and "LongVectorEXT" not in d.module.capabilities:
        raise Malformed("a vector of one whole vector; it takes two constituents at least, or one for each component")


def _splat(i: Instruction, t: ty.CooperativeMatrix) -> Step:
    if len(i.ids) != 1:
        raise Malformed(f"a cooperative matrix of {len(i.ids)} constituents; it takes one (KM-016)")
    result, operand = i.result, i.id(0)

    def splat(m: Machine) -> None:
        instances = m.topology.scopes[t.scope]
        instances.active(m.mask)
        m.registers[result] = assemble(t, [instances.value(m.registers[operand], m.mask)])

    return splat


@step("OpCompositeConstructReplicateEXT")
def replicate(c: Compiler, i: Instruction) -> Step:
    """One value for every constituent (KM-021)."""
    t = c.declared.result_type(i)
    if isinstance(t, ty.CooperativeMatrix):
        return _splat(i, t)
    result, operand, count = i.result, i.id(0), constituents(t)

    def composite(m: Machine) -> None:
        m.registers[result] = assemble(t, [m.registers[operand]] * count)

    return composite


@typed("OpCompositeExtract")
def extract(d: Declarations, i: Instruction) -> Pure:
    path = tuple(i.number(k) for k in range(1, len(i.operands)))
    return lambda value: _part_at(value, path)


def _part_at(value: Value, path: tuple[int, ...]) -> Value:
    for index in path:
        if isinstance(value, Matrix):
            raise Malformed("OpCompositeExtract of a cooperative matrix")
        count = len(value) if isinstance(value, tuple) else value.shape[1] if value.ndim > 1 else 0
        if index >= count:
            raise Malformed(f"constituent {index} of {count}")
        value = value[index] if isinstance(value, tuple) else value[:, index]
    return value


@typed("OpCompositeInsert")
def insert(d: Declarations, i: Instruction) -> Pure:
    path = tuple(i.number(k) for k in range(2, len(i.operands)))
    return lambda part, whole: _replaced(whole, path, part)


def _replaced(whole: Value, path: tuple[int, ...], part: Value) -> Value:
    if not path:
        return part
    _part_at(whole, path)  # refuses wrong indices
    if isinstance(whole, tuple):
        parts = list(whole)
        parts[path[0]] = _replaced(parts[path[0]], path[1:], part)
        return tuple(parts)
    lanes = max(len(whole), len(part))
    out = np.array(np.broadcast_to(whole, (lanes, *whole.shape[1:])))
    key: tuple[Any, ...] = (slice(None), *path)
    out[key] = part
    return out


@typed("OpVectorShuffle")
def shuffle(d: Declarations, i: Instruction) -> Pure:
    """Components of both vectors by number; 0xFFFFFFFF leaves one undefined (here: the first)."""
    chosen = [i.number(k) for k in range(2, len(i.operands))]
    dtype = ty.dense_dtype(d.result_type(i))
    assert dtype is not None

    def shuffled(a: Array, b: Array) -> Array:
        parts = [v[:, k] for v in (a, b) for k in range(v.shape[1])]
        return stack([parts[0 if k == 0xFFFFFFFF else k] for k in chosen], dtype)

    return shuffled


@pure("OpVectorExtractDynamic")
def extract_dynamic(v: Array, index: Array) -> Array:
    """Undefined outside the vector (here: the last component)."""
    index = np.minimum(index, index.dtype.type(v.shape[1] - 1))
    components: Array = v[0, index] if len(v) == 1 else v[np.arange(len(v)), index]
    return components


@pure("OpVectorInsertDynamic")
def insert_dynamic(v: Array, component: Array, index: Array) -> Array:
    """Undefined outside the vector (here: no component changes)."""
    hit = index[:, None] == np.arange(v.shape[1], dtype=index.dtype)
    return np.where(hit, component[:, None], v)


@pure("OpCopyObject", "OpCopyLogical")
def copy(value: Value) -> Value:
    return value


@step("OpUndef")
def undef(c: Compiler, i: Instruction) -> Step:
    """Any value will do: zeros, unless somebody asks what it decides."""
    t, result = c.declared.result_type(i), i.result
    value = zero(t)

    def undefined(m: Machine) -> None:
        if (asked := m.run.undefined) is None:
            m.registers[result] = value
        else:
            asked.note(result, "OpUndef")
            m.registers[result] = asked.value(result, t, m.topology)

    return undefined
