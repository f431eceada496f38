"""A form of accesses: memory operands that say more of a load or a store, and change nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from cts.spirv.encode import Id, Value
from cts.spirv.forms.hosts import WINDOW
from cts.spirv.forms.layout import Layout, Op
from cts.spirv.grammar import grammar

#: The share of accesses that get each kind of operand, and that of modules with some of device scope.
SHARE, WITH_DEVICE = 0.4, 0.3

#: The largest alignment that an access states: no instruction's rules need a larger one.
LARGEST = 16

#: Scopes by number, which accesses of several invocations may be made available to or visible in.
_DEVICE, _WORKGROUP, _QUEUE_FAMILY = 1, 2, 5

#: Memory that several invocations may access, and memory that each has for itself.
_SHARED = ("StorageBuffer", "PhysicalStorageBuffer", "Workgroup", "Uniform")
_OWN = ("Function", "Private")

#: Memory whose addresses the dispatch knows.
_PLACED = ("StorageBuffer", "PhysicalStorageBuffer")

_CHAINS = ("OpAccessChain", "OpInBoundsAccessChain")
_POINTER_CHAINS = ("OpPtrAccessChain", "OpInBoundsPtrAccessChain")

#: Memory operands in the order of their bits; those that name a number or a scope.
_BITS = (
    "Volatile", "Aligned", "Nontemporal", "MakePointerAvailable", "MakePointerVisible", "NonPrivatePointer",
)  # fmt: skip
_WITH_OPERAND = ("Aligned", "MakePointerAvailable", "MakePointerVisible")


class _Access(NamedTuple):
    """Where an instruction has its pointer and its memory operands, among its values.

    `least` values come before the operands. Among them may be how many elements rows lie apart, and an offset in
    bytes.
    """

    pointer: int
    least: int
    stores: bool
    stride: int | None = None
    offset: int | None = None


ACCESSES = {
    "OpLoad": _Access(1, 2, stores=False),
    "OpStore": _Access(0, 2, stores=True),
    "OpCooperativeMatrixLoadKHR": _Access(1, 4, stores=False, stride=3),
    "OpCooperativeMatrixStoreKHR": _Access(0, 4, stores=True, stride=3),
    "OpCooperativeMatrixLoadTensorNV": _Access(1, 4, stores=False),
    "OpCooperativeMatrixStoreTensorNV": _Access(0, 3, stores=True),
    "OpCooperativeVectorLoadNV": _Access(1, 3, stores=False, offset=2),
    "OpCooperativeVectorStoreNV": _Access(0, 3, stores=True, offset=1),
}


def operands(layout: Layout, random: np.random.Generator) -> None:
    """Volatile and Nontemporal accesses, all that is known of their alignment, wider availability and visibility."""
    accesses = _Accesses(layout, random)
    layout.functions = [[accesses.written(op) for op in function] for function in layout.functions]


@dataclass
class _Accesses:
    layout: Layout
    random: np.random.Generator
    scopes: list[int] = field(init=False)
    defined: dict[Value | None, Op] = field(init=False)
    offsets: dict[tuple[Value | None, Value | None], int] = field(init=False)
    decorations: dict[tuple[Value | None, Value | None], int] = field(init=False)
    alignments: dict[Value, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.defined = {op.result: op for op in self.layout if op.result is not None}
        self.offsets, self.decorations = {}, {}
        for op in self.layout.annotations:
            *named, number = op.values
            if op.name == "OpDecorate" and isinstance(number, int):
                self.decorations[named[0], named[1]] = number
            elif op.name == "OpMemberDecorate" and isinstance(number, int) and named[2:] == ["Offset"]:
                self.offsets[named[0], named[1]] = number
        models = [op.values[1] for op in self.layout.memory_model]
        self.scopes = [_WORKGROUP, _QUEUE_FAMILY] if models == ["Vulkan"] else []
        if self.scopes and self.random.random() < WITH_DEVICE:
            self.scopes.append(_DEVICE)

    def written(self, op: Op) -> Op:
        """An access with other memory operands; other instructions unchanged."""
        access = ACCESSES.get(op.name)
        if access is None or len(op.values) < access.least:
            return op
        numbers, rest = self.given(op.values[access.least :])
        storage = self.storage(op.values[access.pointer])
        if numbers is None or storage not in (*_SHARED, *_OWN):
            return op
        named = dict(numbers)
        for name in ("Volatile", "Nontemporal"):
            if self.random.random() < SHARE:
                named[name] = None
        if storage in _PLACED and self.random.random() < SHARE:
            named |= {"Aligned": alignment} if (alignment := self.alignment(op, access, named.get("Aligned"))) else {}
        if storage in _SHARED and self.scopes and self.random.random() < SHARE:
            named |= {"NonPrivatePointer": None}
            if self.random.random() < 0.75:
                made = "MakePointerAvailable" if access.stores else "MakePointerVisible"
                named[made] = self.scope(named.get(made))
        if named == numbers:
            return op
        names = [name for name in _BITS if name in named]
        extras = [value for name in names if (value := named[name]) is not None]
        return Op(op.name, op.result, (*op.values[: access.least], "|".join(names), *extras, *rest))

    def given(self, values: Sequence[Value]) -> tuple[dict[str, Value | None] | None, Sequence[Value]]:
        """The memory operands that are there, and the values after them; None where some are of another kind."""
        if not values:
            return {}, ()
        names = [name for name in str(values[0]).split("|") if name != "None"]
        if not set(names) <= set(_BITS):
            return None, ()
        rest = list(values[1:])
        return {name: rest.pop(0) if name in _WITH_OPERAND else None for name in names}, rest

    def storage(self, pointer: Value) -> str:
        """The storage class of a pointer."""
        type_ = self.defined.get(self.type_of(pointer))
        return str(type_.values[0]) if type_ is not None and type_.name == "OpTypePointer" else ""

    def scope(self, there: Value | None) -> Id:
        """A constant for a scope; never a narrower one than is there."""
        number = self.number(there)
        if type(there) is Id and (number is None or number in (_DEVICE, _QUEUE_FAMILY)):
            return there
        drawn = self.scopes[int(self.random.integers(len(self.scopes)))]
        if drawn == _DEVICE:
            wanted = Op("OpCapability", None, ("VulkanMemoryModelDeviceScope",))
            if wanted not in self.layout.capabilities:
                self.layout.capabilities.append(wanted)
        return self.layout.constant(drawn)

    def alignment(self, op: Op, access: _Access, given: Value | None) -> int | None:
        """The known alignment of an access, if it is larger than `given`; None otherwise.

        The stride of a matrix must be a multiple of the alignment, so that every row has it: no specification says that
        it is only the pointer's.
        """
        pointer = op.values[access.pointer]
        alignment = math.gcd(self.known(pointer), LARGEST)
        if access.stride is not None:
            stride, size = self.number(op.values[access.stride]), self.size(self.pointee(pointer))
            alignment = math.gcd(alignment, stride * size) if stride is not None and size is not None else 1
        if access.offset is not None:
            alignment = math.gcd(alignment, self.factor(op.values[access.offset]))
        least = given if isinstance(given, int) else self.size(self.pointee(pointer), scalar=True) or LARGEST
        return alignment if alignment >= least and alignment != given else None

    def known(self, pointer: Value) -> int:
        """A number of bytes of which an address is a multiple: 1 where nothing is known."""
        op = self.defined.get(pointer) if type(pointer) is Id else None
        if op is None:
            return 1
        if pointer not in self.alignments:
            self.alignments[pointer] = 1  # what an invalid module makes of itself
            self.alignments[pointer] = self.computed(op)
        return self.alignments[pointer]

    def computed(self, op: Op) -> int:
        host = self.layout.host
        if op.name == "OpVariable":
            place = self.decoration(op.result, "DescriptorSet"), self.decoration(op.result, "Binding")
            return WINDOW if place in host.descriptors else 1
        if op.name == "OpLoad" and self.storage(op.values[1]) == "PushConstant":
            chain = self.defined.get(op.values[1])
            at = self.pushed(chain) if chain is not None else None
            return 1 if at is None or at not in host.pushed else host.pushed[at].alignment
        if op.name in _CHAINS:
            type_, indices = self.pointee(op.values[1]), op.values[2:]
            variable = self.defined.get(op.values[1])
            if (array := self.descriptors(variable, type_)) is not None:
                type_, indices = array.values[0], indices[1:]  # each descriptor is aligned for itself
            return math.gcd(self.known(op.values[1]), self.steps(type_, indices))
        if op.name in _POINTER_CHAINS:
            pitch = self.decoration(self.type_of(op.values[1]), "ArrayStride") or 1
            first = math.gcd(pitch * self.factor(op.values[2]), self.known(op.values[1]))
            return math.gcd(first, self.steps(self.pointee(op.values[1]), op.values[3:]))
        return 1

    def descriptors(self, variable: Op | None, type_: Value | None) -> Op | None:
        """The type of an array of descriptors, if a variable is one."""
        array = self.defined.get(type_)
        is_buffer = variable is not None and variable.name == "OpVariable" and variable.values[1] == "StorageBuffer"
        return array if is_buffer and array is not None and array.name == "OpTypeArray" else None

    def pushed(self, chain: Op) -> int | None:
        """The byte of a member of push constants."""
        variable = self.defined.get(chain.values[1]) if chain.name in _CHAINS else None
        if variable is None or variable.name != "OpVariable" or len(chain.values) != 3:
            return None
        block, member = self.pointee(chain.values[1]), self.number(chain.values[2])
        return self.offsets.get((block, member))

    def steps(self, type_: Value | None, indices: Sequence[Value]) -> int:
        """A divisor of the byte offset that indices into a type lead to; 0 if the offset is 0."""
        bytes_, others = 0, 0
        for index in indices:
            op, number = self.defined.get(type_), self.number(index)
            if op is None:
                return 1
            if op.name == "OpTypeStruct" and number is not None and number < len(op.values):
                bytes_ += self.offsets.get((type_, number), 1)
                type_ = op.values[number]
                continue
            vector = op.name == "OpTypeVector"
            stride = (self.size(op.values[0]) if vector else self.decoration(type_, "ArrayStride")) or 1
            if number is None:
                others = math.gcd(others, stride)
            else:
                bytes_ += stride * number
            type_ = op.values[0] if op.values else None
        return math.gcd(bytes_, others)

    def size(self, type_: Value | None, *, scalar: bool = False) -> int | None:
        """Bytes of a number, a vector, or one of its components; of an array's elements where `scalar`."""
        op = self.defined.get(type_) if type(type_) is Id else None
        if op is not None and op.name in ("OpTypeInt", "OpTypeFloat") and isinstance(op.values[0], int):
            return op.values[0] // 8
        if op is not None and op.name == "OpTypeVector":
            size, count = self.size(op.values[0]), op.values[1]
            return size if scalar or size is None or not isinstance(count, int) else size * count
        if scalar and op is not None and op.name in ("OpTypeArray", "OpTypeRuntimeArray"):
            return self.size(op.values[0], scalar=True)
        return None

    def type_of(self, value: Value) -> Value | None:
        op = self.defined.get(value) if type(value) is Id else None
        return op.values[0] if op is not None and grammar().by_name[op.name].has_type else None

    def pointee(self, pointer: Value) -> Value | None:
        type_ = self.defined.get(self.type_of(pointer))
        return type_.values[1] if type_ is not None and type_.name == "OpTypePointer" else None

    def number(self, value: Value | None) -> int | None:
        """The value of a constant that no specialization changes."""
        op = self.defined.get(value) if type(value) is Id else None
        number = op.values[1] if op is not None and op.name == "OpConstant" else None
        return number if isinstance(number, int) else None

    def factor(self, value: Value) -> int:
        """What a number is a multiple of."""
        number = self.number(value)
        return 1 if number is None else number

    def decoration(self, target: Value | None, name: str) -> int | None:
        return self.decorations.get((target, name))
