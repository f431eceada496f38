"""Cooperative matrices: length, loads and stores, strided and through tensor layouts."""

from __future__ import annotations

import numpy as np

from cts.drivers.interpreter import layout as memory_layout
from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.addressing import Elements, elements
from cts.drivers.interpreter.compile import Compiler
from cts.drivers.interpreter.machine import Machine, matrix_of
from cts.drivers.interpreter.parse import Instruction
from cts.drivers.interpreter.problems import Malformed, Unsupported
from cts.drivers.interpreter.registry import Step, step
from cts.drivers.interpreter.values import WORKGROUP, Array, Matrix, signed_index
from cts.spirv.encode import Id
from cts.spirv.encode import Value as Operand


def _matrix_type(c: Compiler, id_: int) -> ty.CooperativeMatrix:
    t = c.declared.type(id_)
    if not isinstance(t, ty.CooperativeMatrix):
        raise Malformed(f"{c.module.label(id_)} is not a cooperative matrix")
    return t


def _require_address(c: Compiler, pointer: int) -> None:
    storage = c.declared.storage(pointer)
    if storage not in ("Workgroup", "StorageBuffer", "PhysicalStorageBuffer"):
        raise Malformed(f"the pointer's storage class is {storage} (CM-013)")


@step("OpCooperativeMatrixLengthKHR")
def length(c: Compiler, i: Instruction) -> Step:
    """KM-015: components per invocation when they are spread evenly."""
    t = c.declared.types.get(i.id(0))
    if not isinstance(t, ty.CooperativeMatrix):
        raise Malformed("the operand must be a cooperative matrix type (KM-015)")
    x, y, z = c.local_size
    invocations = x * y * z if t.scope == WORKGROUP else c.subgroup_size
    result, value = i.result, np.array([-(-t.rows * t.cols // invocations)], np.uint32)
    return lambda m: m.registers.__setitem__(result, value)


class _Strided:
    """The addresses of OpCooperativeMatrixLoadKHR and StoreKHR (KM-012, KM-013)."""

    def __init__(self, c: Compiler, t: ty.CooperativeMatrix, pointer: int, rest: tuple[Operand, ...]) -> None:
        _require_address(c, pointer)
        self.type, self.pointer = t, pointer
        assert isinstance(rest[0], Id)
        order = c.declared.number(rest[0])
        if order not in (0, 1):
            raise Unsupported(f"memory layout {order}; only RowMajorKHR (0) and ColumnMajorKHR (1)")
        if len(rest) < 2 or not isinstance(rest[1], Id):
            raise Malformed("row- and column-major layouts need a Stride (KM-013)")
        self.stride = int(rest[1])
        pitch = memory_layout.size_of(c.declared.pointee(pointer))
        row = np.arange(t.rows, dtype=np.int64)[:, None]
        col = np.arange(t.cols, dtype=np.int64)[None, :]
        along, across = (row, col) if order == 0 else (col, row)
        self.along, self.across = along * pitch, across * t.component.size

    def __call__(self, m: Machine) -> Array:
        """Byte addresses (instances or 1, rows, cols)."""
        instances = m.topology.scopes[self.type.scope]
        base = instances.value(m.registers[self.pointer], m.mask)[:, None, None]
        stride = signed_index(instances.value(m.registers[self.stride], m.mask))[:, None, None]
        addresses: Array = base + stride * self.along + self.across
        return addresses


@step("OpCooperativeMatrixLoadKHR")
def load(c: Compiler, i: Instruction) -> Step:
    t = c.declared.result_type(i)
    if not isinstance(t, ty.CooperativeMatrix):
        raise Malformed("the result type must be a cooperative matrix")
    result, addresses = i.result, _Strided(c, t, i.id(0), i.operands[1:])

    def loaded(m: Machine) -> None:
        active = m.topology.scopes[t.scope].active(m.mask)
        at = addresses(m)
        if active is None or len(at) == 1:
            bits = m.memory.gather(at, t.bits)
        else:
            bits = np.zeros(at.shape, t.bits)
            bits[active] = m.memory.gather(at[active], t.bits)
        m.registers[result] = Matrix(bits, t.scope)

    return loaded


@step("OpCooperativeMatrixStoreKHR")
def store(c: Compiler, i: Instruction) -> Step:
    object_ = i.id(1)
    t = _matrix_type(c, object_)
    addresses = _Strided(c, t, i.id(0), i.operands[2:])

    def stored(m: Machine) -> None:
        active = m.topology.scopes[t.scope].active(m.mask)
        at, bits = addresses(m), matrix_of(m, object_).bits
        if active is not None and (len(at) > 1 or len(bits) > 1):
            shape = (len(active), t.rows, t.cols)
            at, bits = np.broadcast_to(at, shape)[active], np.broadcast_to(bits, shape)[active]
        elif len(bits) > len(at):
            at = np.broadcast_to(at, bits.shape)
        m.memory.scatter(at, bits)

    return stored


class _Tensor:
    """The operands that OpCooperativeMatrixLoadTensorNV and StoreTensorNV share (CM-010, CM-011)."""

    def __init__(
        self, c: Compiler, t: ty.CooperativeMatrix, pointer: int, layout: int, rest: tuple[Operand, ...], is_store: bool
    ) -> None:
        _require_address(c, pointer)
        self.type, self.pointer, self.layout, self.is_store = t, pointer, layout, is_store
        layout_type = c.declared.type(layout)
        if not isinstance(layout_type, ty.TensorLayout):
            raise Malformed(f"{c.module.label(layout)} is not a tensor layout")
        self.layout_type = layout_type
        self.view, self.view_type = self._view(c, rest)

    def _view(self, c: Compiler, rest: tuple[Operand, ...]) -> tuple[int | None, ty.TensorView | None]:
        """The view behind the memory operands and their extras, if there is one (CM-005)."""
        at = 1 + sum(bit in _MEMORY_EXTRAS for bit in str(rest[0]).split("|"))
        names = str(rest[at]).split("|")
        others = [n for n in names if n not in ("TensorView", "None")]
        if others:
            raise Unsupported(" and ".join(others))
        if names == ["None"]:
            return None, None
        view = rest[at + 1]
        assert isinstance(view, Id)
        t = c.declared.type(view)
        if not isinstance(t, ty.TensorView):
            raise Malformed(f"{c.module.label(view)} is not a tensor view")
        return view, t

    def locate(self, m: Machine) -> tuple[Elements, Array, Array]:
        """The elements, their byte addresses (TA-036), and which of them to access, all broadcast alike."""
        t, instances = self.type, m.topology.scopes[self.type.scope]
        active = instances.active(m.mask)
        layout = instances.value(m.registers[self.layout], m.mask)
        view = None if self.view is None else instances.value(m.registers[self.view], m.mask)
        found = elements(t.rows, t.cols, layout, self.layout_type, view, self.view_type, is_store=self.is_store)
        base = instances.value(m.registers[self.pointer], m.mask)[:, None, None]
        addresses = base + found.index.astype(np.int64) * t.component.size
        accessed = np.ones((1, 1, 1), np.bool_) if active is None else active[:, None, None]
        for excluded in (found.skipped, found.outside):
            if excluded is not None:
                accessed = accessed & ~excluded
        return found, addresses, accessed


#: Bits of the memory operands that bring an extra operand along.
_MEMORY_EXTRAS = frozenset(
    {"Aligned", "MakePointerAvailable", "MakePointerVisible", "AliasScopeINTELMask", "NoAliasINTELMask"}
)


@step("OpCooperativeMatrixLoadTensorNV")
def load_tensor(c: Compiler, i: Instruction) -> Step:
    """CM-010, TA-038."""
    result, object_ = i.result, i.id(1)
    t = _matrix_type(c, object_)
    if t != c.declared.result_type(i):
        raise Malformed("Object must be of the result type (CM-010)")
    tensor = _Tensor(c, t, i.id(0), i.id(2), i.operands[3:], is_store=False)

    def loaded(m: Machine) -> None:
        found, addresses, accessed = tensor.locate(m)
        if accessed.all():
            bits = m.memory.gather(addresses, t.bits)
        else:
            kept = matrix_of(m, object_).bits
            layout = m.topology.scopes[t.scope].value(m.registers[tensor.layout], m.mask)
            clamp = layout.clamp_value.astype(t.bits)[:, None, None]  # low bits, not a conversion
            shape = np.broadcast_shapes(kept.shape, addresses.shape, accessed.shape, clamp.shape)
            bits = np.array(np.broadcast_to(kept, shape))
            if found.outside is not None:
                replaced = found.outside if found.skipped is None else found.outside & ~found.skipped
                np.copyto(bits, clamp, where=replaced)
            chosen = np.broadcast_to(accessed, shape)
            bits[chosen] = m.memory.gather(np.broadcast_to(addresses, shape)[chosen], t.bits)
        m.registers[result] = Matrix(bits, t.scope)

    return loaded


@step("OpCooperativeMatrixStoreTensorNV")
def store_tensor(c: Compiler, i: Instruction) -> Step:
    """CM-011; elements clipped or out of bounds write nothing (TA-035)."""
    object_ = i.id(1)
    t = _matrix_type(c, object_)
    tensor = _Tensor(c, t, i.id(0), i.id(2), i.operands[3:], is_store=True)

    def stored(m: Machine) -> None:
        _, addresses, accessed = tensor.locate(m)
        bits = matrix_of(m, object_).bits
        shape = np.broadcast_shapes(bits.shape, addresses.shape, accessed.shape)
        addresses = np.broadcast_to(addresses, shape)
        if accessed.all():
            m.memory.scatter(addresses, bits)
        else:
            chosen = np.broadcast_to(accessed, shape)
            m.memory.scatter(addresses[chosen], np.broadcast_to(bits, shape)[chosen])

    return stored
