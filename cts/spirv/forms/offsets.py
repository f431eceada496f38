"""A form of buffers: blocks begin with members that nobody reads, and arrays of known length are no runtime arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from cts.spirv.encode import Id, Value
from cts.spirv.forms.hosts import WINDOW, Place
from cts.spirv.forms.layout import Layout, Op

#: How far an address may move: what every access through it may rely on.
ALIGNMENT = 16

#: The most bytes before what a block had first, of a descriptor's buffer and of one that has an address.
FURTHEST = {"StorageBuffer": 4 * WINDOW, "PhysicalStorageBuffer": 256}

#: The share of buffers that begin earlier, and of runtime arrays that get a length; of these, by how many more indices
#: their elements are found: in a structure of their own, or in one that is alone in an array.
MOVED, SIZED, DEEPER = 0.8, 0.5, (0, 0, 1, 2)

_CHAINS = ("OpAccessChain", "OpInBoundsAccessChain")

#: What may use a pointer to a whole array of another type, and needs nothing from the type but its elements.
_OF_ARRAYS = (
    *_CHAINS, "OpCooperativeVectorLoadNV", "OpCooperativeVectorStoreNV", "OpCooperativeVectorMatrixMulNV",
    "OpCooperativeVectorMatrixMulAddNV", "OpCooperativeVectorOuterProductAccumulateNV",
    "OpCooperativeVectorReduceSumAccumulateNV",
)  # fmt: skip


def offsets(layout: Layout, random: np.random.Generator) -> None:
    """Members before those of a block, which the host's windows and addresses allow for; arrays with a length."""
    if any(op.name == "OpDecorationGroup" for op in layout.annotations):
        return
    blocks = _Blocks(layout, random)
    for variable in [op for op in layout.globals if op.name == "OpVariable"]:
        if variable.values[1] == "StorageBuffer":
            blocks.descriptor(variable)
        elif variable.values[1] == "PushConstant":
            blocks.addresses(variable)


@dataclass
class _Use:
    """Where a pointer to a block is used: an instruction of a function."""

    function: list[Op]
    at: int

    @property
    def op(self) -> Op:
        return self.function[self.at]


@dataclass
class _Blocks:
    """The blocks of a module, and who uses pointers to them."""

    layout: Layout
    random: np.random.Generator
    declared: dict[Id, Op] = field(init=False)
    uses: dict[Id, list[_Use]] = field(init=False)

    def __post_init__(self) -> None:
        self.declared = {op.result: op for op in self.layout.globals if op.result is not None}
        self.uses = {}
        for function in self.layout.functions:
            for at, op in enumerate(function):
                for id_ in set(op.ids):
                    self.uses.setdefault(id_, []).append(_Use(function, at))

    def descriptor(self, variable: Op) -> None:
        """A variable of a storage buffer gets a block of its own."""
        pointer, block = self.pointee(variable)
        if pointer is None or block is None or variable.result is None:
            return
        set_, binding = (self.decoration(variable.result, name) for name in ("DescriptorSet", "Binding"))
        place = None if set_ is None or binding is None else self.layout.host.descriptors.get((set_, binding))
        uses = self.uses.get(variable.result, [])
        if place is None or not self.is_block(block) or not self.can_change(variable.result, uses):
            return
        before = self.drawn(place, WINDOW, "StorageBuffer")
        assert set_ is not None and binding is not None
        self.layout.moves.descriptors[set_, binding] = before
        changed = self.changed(block, before, place.size, uses, variable)
        made = self.insert(variable, "OpTypePointer", "StorageBuffer", changed.type)
        self.replace(variable, Op("OpVariable", variable.result, (made, *variable.values[1:])))
        self.rewrite(uses, changed, "StorageBuffer")

    def addresses(self, variable: Op) -> None:
        """The types of the addresses in push constants point to other blocks, where nothing else has such pointers."""
        _, pushed = self.pointee(variable)
        if pushed is None or pushed.result is None or not self.is_block(pushed):
            return
        for type_ in dict.fromkeys(pushed.values):
            pointer = self.declared.get(_id(type_))
            if pointer is None or pointer.name != "OpTypePointer" or pointer.values[0] != "PhysicalStorageBuffer":
                continue
            block = self.declared.get(_id(pointer.values[1]))
            members = [n for n, member in enumerate(pushed.values) if member == type_]
            places = [self.layout.host.pushed.get(self.offset(pushed.result, n) or 0) for n in members]
            aligned = [p for p in places if p is not None and p.alignment % ALIGNMENT == 0]
            uses = self.loaded(variable, pushed, pointer)
            if len(aligned) < len(places) or uses is None or block is None or not self.is_block(block):
                continue
            place = Place(min(p.before for p in aligned), aligned[0].size if len(aligned) == 1 else 0)
            before = self.drawn(place, ALIGNMENT, "PhysicalStorageBuffer")
            for n in members:
                self.layout.moves.pushed[self.offset(pushed.result, n) or 0] = before
            changed = self.changed(block, before, place.size, uses, pointer)
            self.replace(pointer, Op(pointer.name, pointer.result, ("PhysicalStorageBuffer", changed.type)))
            self.rewrite(uses, changed, "PhysicalStorageBuffer")

    def pointee(self, variable: Op) -> tuple[Op | None, Op | None]:
        """The type of a variable, and of what it points to."""
        pointer = self.declared.get(_id(variable.values[0]))
        block = self.declared.get(_id(pointer.values[1])) if pointer and pointer.name == "OpTypePointer" else None
        return pointer, block

    def loaded(self, variable: Op, pushed: Op, pointer: Op) -> list[_Use] | None:
        """The uses of all pointers of a type; None if some are unknown or do not come from the push constants."""
        assert pointer.result is not None
        naming = [op for op in self.layout.globals if pointer.result in op.ids]
        to_it = [op.result for op in naming if op.name == "OpTypePointer" and op.values[0] == "PushConstant"]
        expected = [op for op in naming if op is pushed or op.result in to_it or op.name == "OpTypeForwardPointer"]
        if len(naming) != len(expected):
            return None
        chains: set[Id] = set()
        for use in self.uses.get(variable.result, []) if variable.result is not None else []:
            if use.op.name not in _CHAINS or use.op.values[1] != variable.result or len(use.op.values) != 3:
                return None
            if use.op.values[0] in to_it and use.op.result is not None:
                chains.add(use.op.result)
        all_uses: list[_Use] = []
        for use in self.uses.get(pointer.result, []):
            op = use.op
            if op.name != "OpLoad" or op.values[1] not in chains or op.result is None:
                return None
            uses = self.uses.get(op.result, [])
            if not self.can_change(op.result, uses):
                return None
            all_uses += uses
        return all_uses

    def is_block(self, type_: Op) -> bool:
        """Whether a type is a block that can be copied: all its decorations are known."""
        if type_.name != "OpTypeStruct" or type_.result is None or not type_.values:
            return False
        named = [op for op in self.layout.annotations if type_.result in op.ids]
        plain = all(op.name in ("OpDecorate", "OpMemberDecorate") for op in named)
        return plain and all(self.offset(type_.result, n) is not None for n in range(len(type_.values)))

    def can_change(self, pointer: Id, uses: Sequence[_Use]) -> bool:
        """Whether the members of what a pointer points to are chosen by known numbers, and nothing else is done."""
        return all(
            (use.op.name in _CHAINS and use.op.values[1] == pointer and self.number(use.op.values[2:3]) is not None)
            or (use.op.name == "OpArrayLength" and use.op.values[1] == pointer)
            for use in uses
        )

    def drawn(self, place: Place, unit: int, storage: str) -> int:
        """How much earlier a buffer begins."""
        most = min(place.before, FURTHEST[storage]) // unit
        return unit * int(self.random.integers(1, most + 1)) if most > 0 and self.random.random() < MOVED else 0

    def changed(self, block: Op, before: int, size: int, uses: Sequence[_Use], anchor: Op) -> _Changed:
        """A block with other members first, which is declared before `anchor`."""
        assert block.result is not None
        layout = self.layout
        uint = layout.type("OpTypeInt", 32, 0)
        head = self.head(before, uint, anchor) if before else []
        members: list[Value] = [type_ for type_, _ in head]
        members += block.values
        last = self.declared.get(_id(block.values[-1]))
        array: Id | None = None
        deeper = 0
        offset = self.offset(block.result, len(block.values) - 1)
        stride = self.decoration(_id(block.values[-1]), "ArrayStride")
        lengths = any(use.op.name == "OpArrayLength" for use in uses)
        if last is not None and last.name == "OpTypeRuntimeArray" and stride and offset is not None and not lengths:
            length = (size - offset) // stride
            if length > 0 and self.can_be_sized(uses, len(block.values) - 1) and self.random.random() < SIZED:
                number = self.insert(anchor, "OpConstant", uint, length)
                array = self.insert(anchor, "OpTypeArray", last.values[0], number)
                self.copy_annotations(_id(block.values[-1]), array)
                deeper = int(self.random.choice(DEEPER))
                members[-1] = self.deeper(array, deeper, length * stride, anchor)
        made = self.insert(anchor, "OpTypeStruct", *members)
        self.copy_annotations(block.result, made, len(head), before)
        for n, (_, place) in enumerate(head):
            layout.annotations.append(Op("OpMemberDecorate", None, (made, n, "Offset", place)))
        return _Changed(made, len(head), len(block.values) - 1, array, deeper)

    def head(self, before: int, uint: Id, anchor: Op) -> list[tuple[Id, int]]:
        """Types and offsets of members that come before: some numbers, or arrays of them."""
        words = before // 4
        kind = int(self.random.integers(3))
        if kind == 0:
            return [(uint, 0)]
        if kind == 1:
            return [(self.array(uint, words, anchor), 0)]
        some = int(self.random.integers(1, words))
        return [(uint, 0), (self.array(uint, words - some, anchor), 4 * some)]

    def array(self, uint: Id, length: int, anchor: Op) -> Id:
        made = self.insert(anchor, "OpTypeArray", uint, self.insert(anchor, "OpConstant", uint, length))
        self.layout.annotations.append(Op("OpDecorate", None, (made, "ArrayStride", 4)))
        return made

    def deeper(self, array: Id, levels: int, size: int, anchor: Op) -> Id:
        """An array as the only member of a structure, and that as the only element of an array."""
        made = array
        if levels > 0:
            made = self.insert(anchor, "OpTypeStruct", made)
            self.layout.annotations.append(Op("OpMemberDecorate", None, (made, 0, "Offset", 0)))
        if levels > 1:
            one = self.insert(anchor, "OpConstant", self.layout.type("OpTypeInt", 32, 0), 1)
            made = self.insert(anchor, "OpTypeArray", made, one)
            self.layout.annotations.append(Op("OpDecorate", None, (made, "ArrayStride", size)))
        return made

    def can_be_sized(self, uses: Sequence[_Use], last: int) -> bool:
        """Whether pointers to the whole of the last member go nowhere but where any array may."""
        whole = [u.op.result for u in uses if len(u.op.values) == 3 and self.number(u.op.values[2:3]) == last]
        return all(use.op.name in _OF_ARRAYS for result in whole if result for use in self.uses.get(result, []))

    def rewrite(self, uses: Iterable[_Use], changed: _Changed, storage: str) -> None:
        """Members by their new numbers."""
        for use in uses:
            op = use.op
            if op.name == "OpArrayLength":
                type_, pointer, member = op.values
                assert isinstance(member, int)
                values: tuple[Value, ...] = (type_, pointer, member + changed.head)
            else:
                type_, pointer, index, *more = op.values
                number = self.number((index,))
                assert number is not None
                if changed.array is not None and number == changed.last and not more:
                    type_ = self.layout.type("OpTypePointer", storage, changed.array)
                between = [self.like(_id(index), 0)] * changed.deeper if number == changed.last else []
                values = (type_, pointer, self.like(_id(index), number + changed.head), *between, *more)
            use.function[use.at] = Op(op.name, op.result, values)

    def number(self, index: Sequence[Value]) -> int | None:
        """The value of an index that no specialization changes."""
        op = self.declared.get(index[0]) if index and type(index[0]) is Id else None
        if op is None or op.name != "OpConstant" or not isinstance(op.values[1], int):
            return None
        return op.values[1]

    def like(self, index: Id, number: int) -> Id:
        """A constant of the type of another."""
        type_ = self.declared[index].values[0]
        for op in self.layout.globals:
            if op.name == "OpConstant" and op.values == (type_, number) and op.result is not None:
                return op.result
        made = self.layout.add("OpConstant", type_, number)
        self.declared[made] = self.layout.globals[-1]
        return made

    def insert(self, before: Op, name: str, *values: Value) -> Id:
        """Declare something before something else."""
        at = next(n for n, op in enumerate(self.layout.globals) if op is before)
        made = self.layout.add(name, *values, at=at)
        self.declared[made] = self.layout.globals[at]
        return made

    def replace(self, old: Op, new: Op) -> None:
        at = next(n for n, op in enumerate(self.layout.globals) if op is old)
        self.layout.globals[at] = new
        if new.result is not None:
            self.declared[new.result] = new

    def copy_annotations(self, old: Id, new: Id, head: int = 0, before: int = 0) -> None:
        """Names and decorations of a type for another one, which has `head` members more, and `before` bytes, first."""
        for section in (self.layout.annotations, self.layout.names):
            for op in list(section):
                if op.values[0] != old:
                    continue
                if op.name.startswith("OpMember"):
                    _, member, *rest = op.values
                    assert isinstance(member, int)
                    if rest[0] == "Offset" and isinstance(rest[1], int):
                        rest[1] += before
                    section.append(Op(op.name, None, (new, member + head, *rest)))
                else:
                    section.append(Op(op.name, None, (new, *op.values[1:])))

    def decoration(self, target: Id, name: str) -> int | None:
        return self.first("OpDecorate", lambda v: v[0] == target and v[1] == name)

    def offset(self, struct: Id, member: int) -> int | None:
        return self.first("OpMemberDecorate", lambda v: v[:3] == (struct, member, "Offset"))

    def first(self, name: str, fits: Callable[[tuple[Value, ...]], bool]) -> int | None:
        """The number that a decoration gives."""
        literals = (op.values[-1] for op in self.layout.annotations if op.name == name and fits(op.values))
        return next((number for number in literals if isinstance(number, int)), None)


@dataclass(frozen=True)
class _Changed:
    """A block in place of another one: its type, how many members come first, the last of the others, its array.

    The array is found by `deeper` indices more.
    """

    type: Id
    head: int
    last: int
    array: Id | None
    deeper: int


def _id(value: Value) -> Id:
    assert type(value) is Id
    return value
