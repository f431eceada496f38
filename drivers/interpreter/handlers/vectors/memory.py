"""Loads and stores of cooperative vectors, and the operands that all their memory instructions share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from cts.drivers.interpreter import layout
from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.compile import Compiler
from cts.drivers.interpreter.machine import Machine
from cts.drivers.interpreter.parse import Instruction
from cts.drivers.interpreter.problems import Malformed
from cts.drivers.interpreter.registry import Step, step
from cts.drivers.interpreter.values import Array

Numbers: TypeAlias = Callable[[Machine], Array]

STORAGE = ("StorageBuffer", "PhysicalStorageBuffer")


def vector_type(c: Compiler, id_: int) -> ty.CooperativeVector:
    """The type of a value that must be a cooperative vector."""
    t = c.declared.type(id_)
    if not isinstance(t, ty.CooperativeVector):
        raise Malformed(f"{c.module.label(id_)} is not a cooperative vector")
    return t


def number_type(t: ty.CooperativeVector) -> ty.Int | ty.Float:
    """The type of the components."""
    return ty.component_of(t)


def integers(c: Compiler, id_: int, role: str) -> Numbers:
    """An operand of 32-bit integers as int64 (lanes or 1,), by the signedness of its type.

    With Shader64BitIndexingEXT it may have 64 bits.
    """
    t = c.declared.type(id_)
    wide = "Shader64BitIndexingEXT" in c.declared.module.capabilities
    if not isinstance(t, ty.Int) or t.width not in ((32, 64) if wide else (32,)):
        raise Malformed(f"{role} must be a 32-bit integer{' or one of 64 bits' if wide else ''}, not {t}")
    dtype = np.dtype(f"{'i' if t.signed else 'u'}{t.size}")
    return lambda m: np.asarray(m.registers[id_].view(dtype).astype(np.int64))


def place(c: Compiler, pointer: int, offset: int, role: str, storage: tuple[str, ...] = STORAGE) -> Numbers:
    """Byte addresses (lanes or 1,) of a pointer to an array and a byte offset. Raises Malformed (CV-013, CV-016b)."""
    storage_class = c.declared.storage(pointer)
    if storage_class not in storage:
        raise Malformed(f"the storage class of {role} is {storage_class}; it must be {' or '.join(storage)}")
    t = c.declared.pointee(pointer)
    if not isinstance(t, ty.Array) or not isinstance(t.element, (ty.Int, ty.Float, ty.Vector)):
        raise Malformed(f"{role} must point to an array of numbers or vectors, not to {type(t).__name__}")
    start = integers(c, offset, f"the offset of {role}")
    return lambda m: np.asarray(m.registers[pointer] + start(m))


def scalars_only(c: Compiler, pointer: int, role: str) -> None:
    """Refuse arrays of vectors (CV-016b)."""
    t = c.declared.pointee(pointer)
    if isinstance(t, ty.Array) and isinstance(t.element, ty.Vector):
        raise Malformed(f"{role} must point to an array of scalars (CV-016b)")


def _plan(t: ty.CooperativeVector) -> layout.Leaf:
    """Components one after the other, whatever the array's elements (CV-013)."""
    size = t.component.size
    return layout.Leaf(number_type(t).dtype, np.arange(t.count, dtype=np.int64) * size, is_bool=False)


@step("OpCooperativeVectorLoadNV")
def load(c: Compiler, i: Instruction) -> Step:
    result, plan = i.result, _plan(vector_type(c, i.result))
    addresses = place(c, i.id(0), i.id(1), "Pointer", ("Workgroup", *STORAGE))

    def loaded(m: Machine) -> None:
        from_, fragments = addresses(m), m.run.fragments
        m.registers[result] = m.load(plan, from_ if fragments is None else fragments.loaded_from(from_))

    return loaded


@step("OpCooperativeVectorStoreNV")
def store(c: Compiler, i: Instruction) -> Step:
    object_ = i.id(2)
    plan = _plan(vector_type(c, object_))
    addresses = place(c, i.id(0), i.id(1), "Pointer", ("Workgroup", *STORAGE))
    return lambda m: m.store(plan, addresses(m), m.registers[object_])
