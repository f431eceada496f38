"""A form of storage buffers whose pointers do not say what they point to (SPV_KHR_untyped_pointers)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from cts.spirv.encode import Id, Value
from cts.spirv.forms.layout import Layout, Op
from cts.spirv.grammar import grammar

#: The share of buffers without types, and of those the share whose variables have none.
SHARE, VARIABLES = 0.8, 0.7

_CHAINS = {"OpAccessChain": "OpUntypedAccessChainKHR", "OpInBoundsAccessChain": "OpUntypedInBoundsAccessChainKHR"}

#: Accesses of matrices by rows or columns: where their values have the pointer and the stride.
_STRIDED = {"OpCooperativeMatrixLoadKHR": (1, 3), "OpCooperativeMatrixStoreKHR": (0, 3)}

#: Where they have the layout; and the layouts whose stride counts what a pointer points to, by rows or by columns.
_LAYOUT, _BY_LINES = 2, (0, 1)

#: Types of values in memory whose bytes do not depend on a pointer's decorations.
_PLAIN = ("OpTypeInt", "OpTypeFloat", "OpTypeVector")


def untyped(layout: Layout, random: np.random.Generator) -> None:
    """Buffers by untyped pointers, where numbers, vectors and rows of matrices are all that is accessed."""
    pointers = _Pointers(layout)
    kept = [op for op in layout.globals if op.name == "OpVariable" and op.values[1] == "StorageBuffer"]
    for variable in kept:
        if random.random() < SHARE and variable.result is not None and pointers.can_change(variable.result):
            pointers.change(variable, typed=random.random() >= VARIABLES)


@dataclass
class _Pointers:
    layout: Layout
    defined: dict[Value, Op] = field(init=False)
    uses: dict[Id, list[Op]] = field(init=False)
    changeable: dict[Id, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.defined = {op.result: op for op in self.layout if op.result is not None}
        self.uses = {}
        for op in (op for function in self.layout.functions for op in function):
            for id_ in set(op.ids):
                self.uses.setdefault(id_, []).append(op)

    def can_change(self, pointer: Id) -> bool:
        """Whether all uses of a pointer, and of pointers made from it, can be untyped."""
        if pointer not in self.changeable:
            self.changeable[pointer] = False  # in an invalid module a pointer can be made from itself
            uses = self.uses.get(pointer, [])
            self.changeable[pointer] = self.pointee(pointer) is not None and all(
                self.can_use(pointer, op) for op in uses
            )
        return self.changeable[pointer]

    def can_use(self, pointer: Id, op: Op) -> bool:
        if op.name in _CHAINS:
            return op.values[1] == pointer and op.result is not None and self.can_change(op.result)
        if op.name == "OpLoad":
            return self.is_plain(op.values[0])
        if op.name == "OpStore":
            return op.values[0] == pointer and self.is_plain(self.type_of(op.values[1]))
        if op.name in _STRIDED:
            _, stride = _STRIDED[op.name]
            has_stride = len(op.values) > stride and type(op.values[stride]) is Id and self.is_told(op)
            return has_stride and self.size(self.pointee(pointer)) is not None and self.is_word(op.values[stride])
        if op.name == "OpArrayLength":
            return True
        return op.name.startswith("OpAtomic") and op.name not in ("OpAtomicFlagTestAndSet", "OpAtomicFlagClear")

    def change(self, variable: Op, *, typed: bool) -> None:
        """All uses of a variable without types, and the variable too unless it stays `typed`."""
        assert variable.result is not None
        layout = self.layout
        layout.capabilities = list(
            dict.fromkeys([*layout.capabilities, Op("OpCapability", None, ("UntypedPointersKHR",))])
        )
        extension = Op("OpExtension", None, ("SPV_KHR_untyped_pointers",))
        layout.extensions = list(dict.fromkeys([*layout.extensions, extension]))
        pointer = layout.type("OpTypeUntypedPointerKHR", "StorageBuffer")
        whole = self.pointee(variable.result)
        assert whole is not None
        if not typed:
            at = next(n for n, op in enumerate(layout.globals) if op is variable)
            layout.globals[at] = Op("OpUntypedVariableKHR", variable.result, (pointer, "StorageBuffer", whole))
        changed = {variable.result} if not typed else set()
        for number, function in enumerate(layout.functions):
            layout.functions[number] = [
                new for op in function for new in self.written(op, variable.result, changed, pointer)
            ]

    def written(self, op: Op, variable: Id, changed: set[Id], pointer: Id) -> list[Op]:
        """An instruction with untyped pointers; `changed` has those that are so already."""
        if op.name in _CHAINS and (op.values[1] == variable or op.values[1] in changed):
            base = self.pointee(op.values[1])
            assert base is not None and op.result is not None
            changed.add(op.result)
            return [Op(_CHAINS[op.name], op.result, (pointer, base, *op.values[1:]))]
        if op.name == "OpArrayLength" and op.values[1] in changed:
            structure = self.pointee(op.values[1])
            assert structure is not None
            return [Op("OpUntypedArrayLengthKHR", op.result, (op.values[0], structure, *op.values[1:]))]
        if op.name in _STRIDED and op.values[_STRIDED[op.name][0]] in changed and self.order(op) in (None, *_BY_LINES):
            return self.in_bytes(op)
        return [op]

    def order(self, op: Op) -> Value | None:
        """The layout of an access of a matrix; None where a specialization says it."""
        definition = self.defined.get(op.values[_LAYOUT])
        return definition.values[1] if definition is not None and definition.name == "OpConstant" else None

    def is_told(self, op: Op) -> bool:
        """Whether it is known what the stride counts: in a blocked layout (AL-005) it is the same for all pointers."""
        blocked = Op("OpCapability", None, ("CooperativeMatrixLayoutsARM",))
        return blocked not in self.layout.capabilities or self.order(op) is not None

    def in_bytes(self, op: Op) -> list[Op]:
        """An access of a matrix whose stride counts bytes, in place of what its pointer pointed to (KM-013b)."""
        place, at = _STRIDED[op.name]
        stride, size = op.values[at], self.size(self.pointee(op.values[place]))
        type_ = self.type_of(stride)
        assert size is not None and type_ is not None
        definition = self.defined.get(stride)
        added = []
        if definition is not None and definition.name == "OpConstant" and isinstance(definition.values[1], int):
            other = self.constant(type_, definition.values[1] * size)
        else:
            other = self.layout.id()
            added = [Op("OpIMul", other, (type_, stride, self.constant(type_, size)))]
        return [*added, Op(op.name, op.result, (*op.values[:at], other, *op.values[at + 1 :]))]

    def constant(self, type_: Value, number: int) -> Id:
        for op in self.layout.globals:
            if op.name == "OpConstant" and op.values == (type_, number) and op.result is not None:
                return op.result
        return self.layout.add("OpConstant", type_, number)

    def pointee(self, pointer: Value) -> Value | None:
        """What a pointer pointed to when all had types."""
        type_ = self.defined.get(self.type_of(pointer) or 0)
        return type_.values[1] if type_ is not None and type_.name == "OpTypePointer" else None

    def type_of(self, value: Value) -> Value | None:
        op = self.defined.get(value)
        return op.values[0] if op is not None and grammar().by_name[op.name].has_type else None

    def is_plain(self, type_: Value | None) -> bool:
        op = self.defined.get(type_ or 0)
        return op is not None and op.name in _PLAIN

    def is_word(self, value: Value) -> bool:
        """Whether a value is an integer of 32 bits."""
        op = self.defined.get(self.type_of(value) or 0)
        return op is not None and op.name == "OpTypeInt" and op.values[0] == 32

    def size(self, type_: Value | None) -> int | None:
        """Bytes of a number or vector."""
        op = self.defined.get(type_ or 0)
        if op is None or op.name not in _PLAIN:
            return None
        if op.name == "OpTypeVector":
            component, count = self.size(op.values[0]), op.values[1]
            return component * count if component and isinstance(count, int) else None
        return op.values[0] // 8 if isinstance(op.values[0], int) else None
