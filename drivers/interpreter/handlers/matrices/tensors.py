"""Loads and stores of cooperative matrices through tensor layouts."""

from __future__ import annotations

import numpy as np

from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.compile import Compiler
from cts.drivers.interpreter.handlers.matrices.strided import matrix_type, require_address
from cts.drivers.interpreter.machine import Machine, matrix_of
from cts.drivers.interpreter.matrices.addressing import Elements, elements
from cts.drivers.interpreter.matrices.decode import Decoder
from cts.drivers.interpreter.parse import Instruction
from cts.drivers.interpreter.problems import Malformed, Unsupported
from cts.drivers.interpreter.registry import Step, step
from cts.drivers.interpreter.values import Array, Matrix
from cts.spirv.encode import Id
from cts.spirv.encode import Value as Operand


class Tensor:
    """The operands that OpCooperativeMatrixLoadTensorNV and StoreTensorNV share (CM-010, CM-011)."""

    def __init__(
        self, c: Compiler, t: ty.CooperativeMatrix, pointer: int, layout: int, rest: tuple[Operand, ...], is_store: bool
    ) -> None:
        require_address(c, pointer)
        if c.declared.is_untyped(pointer):
            raise Unsupported(f"through the untyped pointer {c.module.label(pointer)}")
        self.type, self.pointer, self.layout, self.is_store = t, pointer, layout, is_store
        layout_type = c.declared.type(layout)
        if not isinstance(layout_type, ty.TensorLayout):
            raise Malformed(f"{c.module.label(layout)} is not a tensor layout")
        self.layout_type = layout_type
        self.functions = _addressing_operands(rest)
        self.view = self.functions.pop("TensorView", None)
        self.view_type: ty.TensorView | None = None
        if self.view is not None:
            view_type = c.declared.type(self.view)
            if not isinstance(view_type, ty.TensorView):
                raise Malformed(f"{c.module.label(self.view)} is not a tensor view")
            self.view_type = view_type

    def locate(self, m: Machine) -> tuple[Elements, Array, Array]:
        """The elements, the pointer (instances or 1, 1, 1), and which elements to access; all broadcast alike."""
        t, instances = self.type, m.topology.scopes[self.type.scope]
        active = instances.active(m.mask)
        layout = instances.value(m.registers[self.layout], m.mask)
        view = None if self.view is None else instances.value(m.registers[self.view], m.mask)
        located = elements(t.rows, t.cols, layout, self.layout_type, view, self.view_type, is_store=self.is_store)
        base = instances.value(m.registers[self.pointer], m.mask)[:, None, None]
        accessed = np.ones((1, 1, 1), np.bool_) if active is None else active[:, None, None]
        for excluded in (located.skipped, located.outside):
            if excluded is not None:
                accessed = accessed & ~excluded
        return located, base, accessed

    def addresses(self, located: Elements, base: Array) -> Array:
        """The elements' byte addresses (TA-036)."""
        addresses: Array = base + located.index.astype(np.int64) * self.type.component.size
        return addresses


#: Bits of the memory operands that add an extra operand.
_MEMORY_EXTRAS = frozenset(
    {"Aligned", "MakePointerAvailable", "MakePointerVisible", "AliasScopeINTELMask", "NoAliasINTELMask"}
)


def _addressing_operands(rest: tuple[Operand, ...]) -> dict[str, int]:
    """The ids of the tensor addressing operands by name, which follow the memory operands and their extras (CM-005)."""
    mask_index = 1 + sum(bit in _MEMORY_EXTRAS for bit in str(rest[0]).split("|"))
    names = [n for n in str(rest[mask_index]).split("|") if n != "None"]
    ids = [id_ for id_ in rest[mask_index + 1 :] if isinstance(id_, Id)]
    return dict(zip(names, ids, strict=True))


def _decoder(c: Compiler, tensor: Tensor) -> Decoder | None:
    single, group = tensor.functions.get("DecodeFunc"), tensor.functions.get("DecodeVectorFunc")
    if single is None:
        if group is not None:
            raise Malformed("DecodeVectorFunc without DecodeFunc (DV-010)")
        return None
    if c.declared.storage(tensor.pointer) == "Workgroup":
        raise Malformed("with DecodeFunc the pointer must be PhysicalStorageBuffer or StorageBuffer (CM-010)")
    return Decoder(c, tensor.type, tensor.layout_type, single, group)


@step("OpCooperativeMatrixLoadTensorNV")
def load_tensor(c: Compiler, i: Instruction) -> Step:
    """CM-010, TA-038."""
    result, object_ = i.result, i.id(1)
    t = matrix_type(c, object_)
    if t != c.declared.result_type(i):
        raise Malformed("Object must be of the result type (CM-010)")
    tensor = Tensor(c, t, i.id(0), i.id(2), i.operands[3:], is_store=False)
    decode = _decoder(c, tensor)

    def loaded(m: Machine) -> None:
        located, base, accessed = tensor.locate(m)
        if decode is None and accessed.all():
            memory = m.of_instances(t.scope, None)
            m.registers[result] = Matrix(memory.gather(tensor.addresses(located, base), t.bits), t.scope)
            return
        instances = m.topology.scopes[t.scope]
        kept = matrix_of(m, object_).bits
        layout = instances.value(m.registers[tensor.layout], m.mask)
        clamp = layout.clamp_value.astype(t.bits)[:, None, None]  # low bits, not a conversion
        count = instances.count if decode is not None and decode.varies else 1
        parts = (kept, located.index, base, accessed, clamp)
        shape = np.broadcast_shapes((count, 1, 1), *(part.shape for part in parts))
        bits = np.array(np.broadcast_to(kept, shape))
        if located.outside is not None:
            replaced = located.outside if located.skipped is None else located.outside & ~located.skipped
            np.copyto(bits, clamp, where=replaced)
        wanted = np.broadcast_to(accessed, shape)
        if decode is None:
            memory = m.of_instances(t.scope, np.nonzero(wanted)[0] if len(wanted) > 1 else None)
            bits[wanted] = memory.gather(np.broadcast_to(tensor.addresses(located, base), shape)[wanted], t.bits)
        else:
            bits[wanted] = decode(m, located, base, layout, wanted)
        m.registers[result] = Matrix(bits, t.scope)

    return loaded


@step("OpCooperativeMatrixStoreTensorNV")
def store_tensor(c: Compiler, i: Instruction) -> Step:
    """CM-011; elements clipped or out of bounds write nothing (TA-035)."""
    object_ = i.id(1)
    t = matrix_type(c, object_)
    tensor = Tensor(c, t, i.id(0), i.id(2), i.operands[3:], is_store=True)
    if tensor.functions:
        raise Malformed(f"a store with {' and '.join(tensor.functions)} (CM-011)")

    def stored(m: Machine) -> None:
        located, base, accessed = tensor.locate(m)
        addresses, bits = tensor.addresses(located, base), matrix_of(m, object_).bits
        shape = np.broadcast_shapes(bits.shape, addresses.shape, accessed.shape)
        addresses = np.broadcast_to(addresses, shape)
        if accessed.all():
            m.of_instances(t.scope, None).scatter(addresses, bits)
        else:
            chosen = np.broadcast_to(accessed, shape)
            memory = m.of_instances(t.scope, np.nonzero(chosen)[0] if len(chosen) > 1 else None)
            memory.scatter(addresses[chosen], np.broadcast_to(bits, shape)[chosen])
        m.stored_apart(addresses, t.component.size, None if accessed.all() else chosen, "TA-067")

    return stored
