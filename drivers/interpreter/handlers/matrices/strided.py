"""Loads and stores of cooperative matrices by pointer and stride."""

from __future__ import annotations

import numpy as np

from cts.drivers.interpreter import layout as memory_layout
from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.compile import Compiler
from cts.drivers.interpreter.machine import Machine, matrix_of
from cts.drivers.interpreter.parse import Instruction
from cts.drivers.interpreter.problems import Malformed, Unsupported
from cts.drivers.interpreter.registry import Step, step
from cts.drivers.interpreter.values import BLOCKED, Array, Matrix, signed_index
from cts.spirv.encode import Id
from cts.spirv.encode import Value as Operand


def matrix_type(c: Compiler, id_: int) -> ty.CooperativeMatrix:
    """The type of a value that must be a cooperative matrix."""
    t = c.declared.type(id_)
    if not isinstance(t, ty.CooperativeMatrix):
        raise Malformed(f"{c.module.label(id_)} is not a cooperative matrix")
    return t


def require_address(c: Compiler, pointer: int) -> None:
    """Refuse pointers that matrices cannot be loaded from."""
    storage = c.declared.storage(pointer)
    if storage not in ("Workgroup", "StorageBuffer", "PhysicalStorageBuffer"):
        raise Malformed(f"the pointer's storage class is {storage} (CM-013)")


def _blocked(c: Compiler, t: ty.CooperativeMatrix, order: int, stride: int) -> Array:
    """Bytes from the pointer to each element, (rows, cols), of blocks of 4 rows of 16 bytes (AL-002 to AL-006).

    Memory is dealt out as it lies: groups, of each the words, of each word one of each block in turn.
    """
    if stride not in c.declared.constants:
        raise Malformed(f"{c.module.label(stride)}, the Stride of a blocked layout, must be a constant (AL-006)")
    turns = c.declared.number(stride)
    if turns not in (1, 2, 4):
        raise Malformed(f"the Stride of a blocked layout is {turns}; it must be 1, 2 or 4 (AL-006)")
    size = t.component.size
    if size > 4:
        raise Unsupported(f"components of {size} bytes in a layout that is interleaved by 4 (AM-60)")
    down, along = order == BLOCKED[1], order == BLOCKED[0]
    rows, cols = 4 * (turns if down else 1), 16 // size * (turns if along else 1)
    if t.rows % rows or t.cols % cols:
        rule = "AL-003" if along else "AL-004"
        raise Malformed(f"{t.rows}x{t.cols} in a blocked layout: multiples of {rows} and {cols} are needed ({rule})")
    high, wide = t.rows // 4, t.cols * size // 16
    words = np.arange(t.rows * t.cols * size, step=4, dtype=np.int64)
    blocks = words.reshape(-1, 16, turns).swapaxes(1, 2).reshape(high * wide, 4, 4)
    grid = blocks.reshape(high, wide, 4, 4) if along else blocks.reshape(wide, high, 4, 4).swapaxes(0, 1)
    of_words: Array = grid.swapaxes(1, 2).reshape(t.rows, wide * 4)
    return np.repeat(of_words, 4 // size, axis=1) + np.tile(np.arange(0, 4, size, dtype=np.int64), wide * 4)


class _Strided:
    """The addresses of OpCooperativeMatrixLoadKHR and StoreKHR (KM-012, KM-013)."""

    def __init__(self, c: Compiler, t: ty.CooperativeMatrix, pointer: int, rest: tuple[Operand, ...]) -> None:
        require_address(c, pointer)
        self.type, self.pointer = t, pointer
        assert isinstance(rest[0], Id)
        order = c.declared.number(rest[0])
        if order not in (0, 1, *BLOCKED):
            raise Unsupported(f"memory layout {order}; only row- and column-major ones, and Arm's blocked ones")
        if len(rest) < 2 or not isinstance(rest[1], Id):
            raise Malformed("every layout but opaque ones needs a Stride (KM-013, AL-006)")
        self.stride = int(rest[1])
        if not isinstance(c.declared.type(self.stride), ty.Int):
            raise Malformed("Stride must be an integer (KM-013)")
        self.table = _blocked(c, t, order, self.stride) if order in BLOCKED else None
        # Of what an untyped pointer points to nothing is known: Stride counts bytes (KM-013b).
        pitch = 1 if c.declared.is_untyped(pointer) else memory_layout.size_of(c.declared.pointee(pointer))
        row = np.arange(t.rows, dtype=np.int64)[:, None]
        col = np.arange(t.cols, dtype=np.int64)[None, :]
        along, across = (row, col) if order == 0 else (col, row)
        self.along, self.across = along * pitch, across * t.component.size

    def __call__(self, m: Machine) -> Array:
        """Byte addresses (instances or 1, rows, cols)."""
        instances = m.topology.scopes[self.type.scope]
        base = instances.value(m.registers[self.pointer], m.mask)[:, None, None]
        if self.table is not None:
            blocked: Array = base + self.table
            return blocked
        stride = signed_index(instances.value(m.registers[self.stride], m.mask))[:, None, None]
        addresses: Array = base + stride * self.along + self.across
        return addresses


@step("OpCooperativeMatrixLoadKHR")
def load(c: Compiler, i: Instruction) -> Step:
    t = c.declared.result_type(i)
    if not isinstance(t, ty.CooperativeMatrix):
        raise Malformed("the result type must be a cooperative matrix")
    result, locate = i.result, _Strided(c, t, i.id(0), i.operands[1:])

    def loaded(m: Machine) -> None:
        active = m.topology.scopes[t.scope].active(m.mask)
        addresses = locate(m)
        if active is None or len(addresses) == 1:
            bits = m.of_instances(t.scope, None).gather(addresses, t.bits)
        else:
            bits = np.zeros(addresses.shape, t.bits)
            bits[active] = m.of_instances(t.scope, None).gather(addresses[active], t.bits)
        m.registers[result] = Matrix(bits, t.scope)

    return loaded


@step("OpCooperativeMatrixStoreKHR")
def store(c: Compiler, i: Instruction) -> Step:
    object_ = i.id(1)
    t = matrix_type(c, object_)
    locate = _Strided(c, t, i.id(0), i.operands[2:])

    def stored(m: Machine) -> None:
        active = m.topology.scopes[t.scope].active(m.mask)
        addresses, bits = locate(m), matrix_of(m, object_).bits
        if active is not None and (len(addresses) > 1 or len(bits) > 1):
            shape = (len(active), t.rows, t.cols)
            addresses, bits = np.broadcast_to(addresses, shape)[active], np.broadcast_to(bits, shape)[active]
        elif len(bits) > len(addresses):
            addresses = np.broadcast_to(addresses, bits.shape)
        m.of_instances(t.scope, None).scatter(addresses, bits)
        m.stored_apart(addresses, t.component.size, None, "TA-044")

    return stored
