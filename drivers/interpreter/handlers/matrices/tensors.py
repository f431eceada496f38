"""Loads and stores of cooperative matrices through tensor layouts."""

from __future__ import annotations

import numpy as np

from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.addressing import Elements, elements
from cts.drivers.interpreter.compile import Compiler
from cts.drivers.interpreter.handlers.matrices.strided import matrix_type, require_address
from cts.drivers.interpreter.machine import Machine, matrix_of
from cts.drivers.interpreter.parse import Instruction
from cts.drivers.interpreter.problems import Malformed, Unsupported
from cts.drivers.interpreter.registry import Step, step
from cts.drivers.interpreter.values import Array, Matrix
from cts.spirv.encode import Id
from cts.spirv.encode import Value as Operand


class _Tensor:
    """The operands that OpCooperativeMatrixLoadTensorNV and StoreTensorNV share (CM-010, CM-011)."""

    def __init__(
        self, c: Compiler, t: ty.CooperativeMatrix, pointer: int, layout: int, rest: tuple[Operand, ...], is_store: bool
    ) -> None:
        require_address(c, pointer)
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
    t = matrix_type(c, object_)
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
    t = matrix_type(c, object_)
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
