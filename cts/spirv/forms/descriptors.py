"""A form of buffers: those of several variables are elements of an array of descriptors, which an index chooses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from cts.spirv.encode import Id, Value
from cts.spirv.forms.hosts import Place
from cts.spirv.forms.layout import LINES, Layout, Op
from cts.spirv.forms.scope import Scope

#: The share of buffers that are in arrays, that of dynamic indices, and of modules with some that are not uniform.
SHARE, DYNAMIC, WITH_NON_UNIFORM = 0.8, 0.7, 0.3

#: The share of buffers that nobody writes and that two descriptors of an array have; the most others in an array.
TWICE, OTHERS = 0.5, 2

#: The most accesses for each of which an index is read again.
MOST = 48

_CHAINS = ("OpAccessChain", "OpInBoundsAccessChain")

#: What makes pointers of pointers.
_FLOW = (
    *_CHAINS, "OpPtrAccessChain", "OpInBoundsPtrAccessChain", "OpCopyObject", "OpSelect", "OpPhi",
)  # fmt: skip

#: What only reads through its pointers.
_READS = (
    "OpLoad", "OpArrayLength", "OpCooperativeMatrixLoadKHR", "OpCooperativeMatrixLoadTensorNV",
    "OpCooperativeVectorLoadNV", "OpCooperativeVectorMatrixMulNV", "OpCooperativeVectorMatrixMulAddNV",
)  # fmt: skip

_SUBGROUP = 3


def descriptors(layout: Layout, random: np.random.Generator) -> None:
    """Storage buffers are descriptors of one or two arrays, by constant and by dynamic indices."""
    if layout.host.bound and not any(op.name == "OpDecorationGroup" for op in layout.annotations):
        _Arrays(layout, random).write()


@dataclass
class _Buffer:
    """A variable that becomes an element: its place before, its block, and the other decorations of the variable."""

    variable: Id
    place: tuple[int, int]
    pointer: Id
    block: Id
    decorations: tuple[tuple[Value, ...], ...]
    #: Whether nobody writes it, and what points into it if that is all known.
    is_read: bool
    pointers: frozenset[Id] | None
    #: The elements that its index may choose in invocations with an even and an odd number.
    elements: tuple[int, int] = (0, 0)
    array: Id | None = None
    number: int = 0
    is_dynamic: bool = False
    is_uniform: bool = True


@dataclass
class _Arrays:
    layout: Layout
    random: np.random.Generator
    scope: Scope = field(init=False)
    uint: Id = field(init=False)
    globals: dict[Id, Op] = field(init=False)
    uses: dict[Id, list[Op]] = field(init=False)
    #: The variable of the indices.
    indices: Id | None = None

    def __post_init__(self) -> None:
        self.scope = Scope(self.layout, self.random)
        self.uint = self.layout.type("OpTypeInt", 32, 0)
        self.globals = {op.result: op for op in self.layout.globals if op.result is not None}
        self.uses = {}
        for op in self.layout:
            for id_ in set(op.ids):
                self.uses.setdefault(id_, []).append(op)

    def write(self) -> None:
        buffers = [b for b in self.found() if self.random.random() < SHARE]
        if not buffers:
            return
        self.random.shuffle(buffers)
        cut = int(self.random.integers(1, len(buffers) + 1))
        taken = self.layout.taken_places()
        place = self.free(buffers[0].place[0], taken)
        self.layout.moves.indices = place
        non_uniform = self.random.random() < WITH_NON_UNIFORM and not self.has_wider_matrices()
        words: list[int] = []
        for group in (buffers[:cut], buffers[cut:]):
            if group:
                self.array(group, self.free(group[0].place[0], taken), non_uniform=non_uniform)
        for number, buffer in enumerate(buffers):
            buffer.number = number
            words += buffer.elements
        self.layout.moves.words = tuple(words)
        if any(b.is_dynamic for b in buffers):
            self.declare_indices(place)
        self.remove(buffers)
        by_variable = {b.variable: b for b in buffers}
        for number, function in enumerate(self.layout.functions):
            self.layout.functions[number] = self.rewritten(function, by_variable)
        self.declare_capabilities(buffers)

    def found(self) -> Iterator[_Buffer]:
        """Variables of storage buffers whose uses are all known, and that are alone at their places."""
        host, decorations = self.layout.host, dict[Value, list[tuple[Value, ...]]]()
        for op in self.layout.annotations:
            if op.name == "OpDecorate":
                decorations.setdefault(op.values[0], []).append(op.values[1:])
        placed: dict[tuple[int, int], list[Id]] = {}
        for variable, decorated in decorations.items():
            numbers = {v[0]: v[1] for v in decorated if len(v) == 2}
            if isinstance(set_ := numbers.get("DescriptorSet"), int) and isinstance(at := numbers.get("Binding"), int):
                placed.setdefault((set_, at), []).append(_id(variable))
        for place, variables in placed.items():
            declared = self.globals.get(variables[0])
            if len(variables) > 1 or declared is None or declared.values[1:] != ("StorageBuffer",):
                continue
            variable, type_ = variables[0], _id(declared.values[0])
            pointer = self.globals.get(type_)
            if declared.name != "OpVariable" or pointer is None or pointer.name != "OpTypePointer":
                continue
            block = self.globals.get(_id(pointer.values[1]))
            if block is None or block.name != "OpTypeStruct" or block.result is None or place not in host.bound:
                continue
            if not all(self.can_change(variable, use) for use in self.uses.get(variable, [])):
                continue
            others = tuple(v for v in decorations[variable] if v[0] not in ("DescriptorSet", "Binding"))
            is_read, pointers = self.reached(variable)
            yield _Buffer(variable, place, type_, block.result, others, is_read, pointers)

    def can_change(self, variable: Id, op: Op) -> bool:
        if op.name in ("OpEntryPoint", "OpDecorate", "OpName"):
            return True
        return (op.name in _CHAINS and op.values[1] == variable) or op.name == "OpArrayLength"

    def reached(self, variable: Id) -> tuple[bool, frozenset[Id] | None]:
        """Whether a buffer is only read, and the pointers into it: None where functions have some, too."""
        pointers, waiting, is_read = {variable}, [variable], True
        while waiting:
            for op in self.uses.get(waiting.pop(), []):
                if op.name == "OpFunctionCall":
                    return False, None
                if op.name in _FLOW and op.result is not None and op.result not in pointers:
                    pointers.add(op.result)
                    waiting.append(op.result)
                is_read &= op.name in (*_FLOW, *_READS, "OpEntryPoint", "OpDecorate", "OpName")
        return is_read, frozenset(pointers - {variable})

    def has_wider_matrices(self) -> bool:
        """Whether a workgroup has matrices together, whose pointers must be the same in all of it."""
        matrices = [op for op in self.globals.values() if op.name == "OpTypeCooperativeMatrixKHR"]
        constants = [self.globals.get(_id(op.values[1])) for op in matrices]
        return any(op is None or op.name != "OpConstant" or op.values[1] != _SUBGROUP for op in constants)

    def free(self, set_: int, taken: set[tuple[int, int]]) -> tuple[int, int]:
        """A place of its own in a set."""
        last = max(binding for s, binding in taken if s == set_)
        place = set_, last + int(self.random.integers(1, 4))
        taken.add(place)
        return place

    def array(self, group: Sequence[_Buffer], place: tuple[int, int], *, non_uniform: bool) -> None:
        """The descriptors of an array, and a variable of it for each type that its elements have."""
        layout, random, elements = self.layout, self.random, list[tuple[int, int] | None]()
        for buffer in group:
            elements.append(buffer.place)
            if buffer.is_read and buffer.place in layout.host.alone and random.random() < TWICE:
                elements.append(buffer.place)
        elements += [None] * int(random.integers(OTHERS + 1))
        elements = [elements[n] for n in random.permutation(len(elements))]
        layout.moves.elements.update({(*place, n): element for n, element in enumerate(elements)})
        # What `operands` asks of a place: each descriptor's window begins where those of others do.
        if all(buffer.place in layout.host.descriptors for buffer in group):
            layout.host = replace(layout.host, descriptors={**layout.host.descriptors, place: Place(0, 0)})
        variables: dict[tuple[object, ...], Id] = {}
        for buffer in group:
            at = [n for n, element in enumerate(elements) if element == buffer.place]
            buffer.elements = at[0], at[-1]
            buffer.is_dynamic = len(at) > 1 or random.random() < DYNAMIC
            can_differ = non_uniform and buffer.is_dynamic and buffer.pointers is not None
            buffer.is_uniform = not can_differ or random.random() < 0.5
            key = buffer.block, buffer.decorations
            if key not in variables:
                variables[key] = self.declared(buffer, place, len(elements))
            buffer.array = variables[key]

    def declared(self, buffer: _Buffer, place: tuple[int, int], length: int) -> Id:
        layout = self.layout
        array = layout.add("OpTypeArray", buffer.block, self.scope.number(length))
        return self.variable(layout.add("OpTypePointer", "StorageBuffer", array), place, buffer.decorations)

    def variable(self, pointer: Id, place: tuple[int, int], decorations: Sequence[tuple[Value, ...]]) -> Id:
        layout = self.layout
        variable = layout.add("OpVariable", pointer, "StorageBuffer")
        all_decorations = [*decorations, ("DescriptorSet", place[0]), ("Binding", place[1])]
        layout.annotations += [Op("OpDecorate", None, (variable, *d)) for d in all_decorations]
        if layout.version >= (1, 4):  # before, interfaces are inputs and outputs
            layout.entry_points = [Op(e.name, None, (*e.values, variable)) for e in layout.entry_points]
        return variable

    def declare_indices(self, place: tuple[int, int]) -> None:
        """A buffer with two indices for each variable that there was."""
        layout = self.layout
        words = layout.add("OpTypeRuntimeArray", self.uint)
        block = layout.add("OpTypeStruct", words)
        layout.annotations += [
            Op("OpDecorate", None, (words, "ArrayStride", 4)),
            Op("OpDecorate", None, (block, "Block")),
            Op("OpMemberDecorate", None, (block, 0, "Offset", 0)),
        ]
        pointer = layout.add("OpTypePointer", "StorageBuffer", block)
        self.indices = self.variable(pointer, place, [("NonWritable",)])

    def remove(self, buffers: Sequence[_Buffer]) -> None:
        """Remove the variables, with their names, decorations and places in entry points."""
        layout, gone = self.layout, {b.variable for b in buffers}
        layout.globals = [op for op in layout.globals if op.result not in gone]
        layout.names = [op for op in layout.names if op.values[0] not in gone]
        layout.annotations = [op for op in layout.annotations if op.values[0] not in gone]
        layout.entry_points = [
            Op(e.name, None, tuple(v for v in e.values if type(v) is not Id or v not in gone))
            for e in layout.entry_points
        ]

    def rewritten(self, function: Sequence[Op], buffers: dict[Id, _Buffer]) -> list[Op]:
        """A function that chooses its buffers from arrays: in its first block, or where each is accessed."""
        used = [b for b in buffers.values() if any(b.variable in op.ids for op in function)]
        count = {b.variable: sum(b.variable in op.ids for op in function) for b in used}
        early = {b.variable for b in used if count[b.variable] > MOST or self.random.random() < 0.5}
        chosen: dict[Id, Id] = {}
        written: list[Op] = []
        entered = done = False
        for op in function:
            if entered and not done and op.name not in ("OpVariable", *LINES):
                for buffer in (b for b in used if b.variable in early):
                    index, ops = self.index(buffer)
                    chain, pointer = self.chain("OpAccessChain", buffer, (index,))
                    written += [*ops, chain]
                    chosen[buffer.variable] = pointer
                done = True
            entered = entered or op.name == "OpLabel"
            at = 1 if op.name in _CHAINS or op.name == "OpArrayLength" else None
            buffer_ = buffers.get(_id(op.values[at])) if at is not None else None
            written += [op] if buffer_ is None else self.access(op, buffer_, chosen)
        return written

    def access(self, op: Op, buffer: _Buffer, chosen: dict[Id, Id]) -> list[Op]:
        """A chain into a buffer, or a question for its length."""
        assert op.result is not None
        if buffer.variable in chosen:
            return [Op(op.name, op.result, (op.values[0], chosen[buffer.variable], *op.values[2:]))]
        index, ops = self.index(buffer)
        if op.name in _CHAINS and self.random.random() < 0.5:
            assert buffer.array is not None
            return [*ops, Op(op.name, op.result, (op.values[0], buffer.array, index, *op.values[2:]))]
        chain, pointer = self.chain("OpAccessChain", buffer, (index,))
        return [*ops, chain, Op(op.name, op.result, (op.values[0], pointer, *op.values[2:]))]

    def chain(self, name: str, buffer: _Buffer, indices: tuple[Id, ...]) -> tuple[Op, Id]:
        """A pointer to the block that an index chooses."""
        assert buffer.array is not None
        made = self.layout.id()
        if not buffer.is_uniform:
            self.layout.annotations.append(Op("OpDecorate", None, (made, "NonUniform")))
        return Op(name, made, (buffer.pointer, buffer.array, *indices)), made

    def index(self, buffer: _Buffer) -> tuple[Id, list[Op]]:
        """The element of a buffer: a constant, or a number that is read by what is even or odd."""
        if not buffer.is_dynamic:
            return self.scope.number(buffer.elements[0]), []
        assert self.indices is not None
        layout, uint, number = self.layout, self.uint, self.scope.number
        who, ops = self.who(buffer)
        odd, at, place, index = (layout.id() for _ in range(4))
        pointer = layout.type("OpTypePointer", "StorageBuffer", uint)
        made = [
            *ops,
            Op("OpBitwiseAnd", odd, (uint, who, number(1))),
            Op("OpIAdd", at, (uint, odd, number(2 * buffer.number))),
            Op("OpAccessChain", place, (pointer, self.indices, number(0), at)),
            Op("OpLoad", index, (uint, place)),
        ]
        if not buffer.is_uniform:
            layout.annotations.append(Op("OpDecorate", None, (index, "NonUniform")))
        return index, made

    def who(self, buffer: _Buffer) -> tuple[Id, list[Op]]:
        """A number of the workgroup; where an index may differ, of the subgroup, or without matrices the invocation."""
        if buffer.is_uniform:
            return self.scope.coordinate("WorkgroupId")
        if not self.scope.has_matrices:
            return self.scope.coordinate("LocalInvocationId")
        layout = self.layout
        pointer = layout.type("OpTypePointer", "Input", self.uint)
        decorated = ("BuiltIn", "SubgroupId")
        decorated_ops = [op for op in layout.annotations if op.name == "OpDecorate" and op.values[1:] == decorated]
        if decorated_ops:
            variable = _id(decorated_ops[0].values[0])
        else:
            variable = layout.add("OpVariable", pointer, "Input")
            layout.annotations.append(Op("OpDecorate", None, (variable, *decorated)))
            layout.entry_points = [Op(e.name, None, (*e.values, variable)) for e in layout.entry_points]
        number = layout.id()
        return number, [Op("OpLoad", number, (self.uint, variable))]

    def declare_capabilities(self, buffers: Sequence[_Buffer]) -> None:
        layout, wanted = self.layout, list[str]()
        if any(b.is_dynamic for b in buffers):
            wanted.append("StorageBufferArrayDynamicIndexing")
        if different := [b for b in buffers if not b.is_uniform]:
            wanted += ["ShaderNonUniform", "StorageBufferArrayNonUniformIndexing"]
            wanted += ["GroupNonUniform"] * self.scope.has_matrices
            inside = {p for b in different for p in b.pointers or ()}
            layout.annotations += [Op("OpDecorate", None, (p, "NonUniform")) for p in sorted(inside)]
            if layout.version < (1, 5):
                layout.extensions.append(Op("OpExtension", None, ("SPV_EXT_descriptor_indexing",)))
        layout.capabilities += [Op("OpCapability", None, (name,)) for name in wanted]
        layout.capabilities = list(dict.fromkeys(layout.capabilities))
        layout.extensions = list(dict.fromkeys(layout.extensions))


def _id(value: Value) -> Id:
    assert type(value) is Id
    return value
