"""Types of memory as a module declares them: which scalars lie where, and under which names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TypeAlias

import msgspec

from cts.modules.dispatch.elements import ElementType
from cts.spirv.decode import Decoded
from cts.spirv.encode import Id, Value

#: How deep types may be nested: a bound for hostile modules. Real types stay far below.
_DEEPEST = 64


class Scalar(msgspec.Struct, frozen=True, eq=False):
    """A number."""

    element: ElementType

    @property
    def size(self) -> int:
        return self.element.size

    def __str__(self) -> str:
        return self.element.value


class Pointer(msgspec.Struct, frozen=True, eq=False):
    """A 64-bit device address of something of the type with the id `pointee`."""

    pointee: Id
    size: int = 8

    def __str__(self) -> str:
        return "address"


class Array(msgspec.Struct, frozen=True, eq=False):
    """`count` values, `stride` bytes apart: an array, a vector, or a matrix as an array of its columns.

    `count` is None for a runtime array. `size` is in bytes from the start of the first to the end of the last value,
    without those of a runtime array.
    """

    of: Type
    count: int | None
    stride: int
    size: int

    def __str__(self) -> str:
        return f"{self.of}[{'' if self.count is None else self.count}]"


class Member(msgspec.Struct, frozen=True, eq=False):
    """A member of a structure: its name, or its number where the module has no name for it; `type` may be unknown."""

    name: str
    offset: int
    type: Type | None


class Struct(msgspec.Struct, frozen=True, eq=False):
    """A structure; `size` is in bytes up to the end of its last member, without a runtime array."""

    name: str
    members: tuple[Member, ...]
    size: int

    def __str__(self) -> str:
        return f"structure {self.name}" if self.name else "structure"


Type: TypeAlias = Scalar | Pointer | Array | Struct

#: The SPIR-V name of a float's encoding, and what its type is called here.
_ENCODINGS = {
    "BFloat16KHR": ElementType.bfloat16,
    "Float8E4M3EXT": ElementType.float8_e4m3fn,
    "Float8E5M2EXT": ElementType.float8_e5m2,
}


@dataclass
class Declarations:
    """The types that a module declares.

    `numbers` are the values of integer constants, specialization constants included. The members' decorations are by
    structure and number.
    """

    types: dict[Id, Decoded] = field(default_factory=dict)
    numbers: dict[Id, int] = field(default_factory=dict)
    names: dict[Id, str] = field(default_factory=dict)
    member_names: dict[Id, dict[int, str]] = field(default_factory=dict)
    array_strides: dict[Id, int] = field(default_factory=dict)
    offsets: dict[Id, dict[int, int]] = field(default_factory=dict)
    matrix_strides: dict[Id, dict[int, int]] = field(default_factory=dict)
    row_major: dict[Id, set[int]] = field(default_factory=dict)


class Types:
    """The types of a module by id. What is no type of explicitly laid out memory, or damaged, is None."""

    def __init__(self, declared: Declarations, numbers: Mapping[Id, int]) -> None:
        self._declared, self._numbers = declared, numbers
        self._known: dict[tuple[Id, int, bool], Type | None] = {}

    def type_of(self, id_: Id, stride: int = 0, row_major: bool = False, depth: int = 0) -> Type | None:
        """The type with this id; `stride` and `row_major` are how matrices in it lie."""
        key = id_, stride, row_major
        if key not in self._known:
            self._known[key] = self._made(id_, stride, row_major, depth) if depth <= _DEEPEST else None
        return self._known[key]

    def _made(self, id_: Id, stride: int, row_major: bool, depth: int) -> Type | None:
        i = self._declared.types.get(id_)
        if i is None:
            return None
        v = i.values

        def inner() -> Type | None:
            return self.type_of(_id(v[0]), stride, row_major, depth + 1)

        match i.name:
            case "OpTypeInt" | "OpTypeFloat":
                return _scalar(i)
            case "OpTypePointer" if v[0] == "PhysicalStorageBuffer":
                return Pointer(_id(v[1]))
            case "OpTypeVector" | "OpTypeVectorIdEXT":
                of, count = inner(), v[1] if i.name == "OpTypeVector" else self._numbers.get(_id(v[1]))
                return _array(of, count, of.size) if of and isinstance(count, int) else None
            case "OpTypeMatrix":
                column = inner()
                return self._matrix(column, _int(v[1]), stride, row_major)
            case "OpTypeArray":
                of, count = inner(), self._numbers.get(_id(v[1]))
                return _array(of, count, self._declared.array_strides.get(id_, 0)) if of and count else None
            case "OpTypeRuntimeArray":
                of = inner()
                return Array(of, None, self._declared.array_strides.get(id_, 0), 0) if of else None
            case "OpTypeStruct":
                return self._struct(id_, [_id(m) for m in v], depth)
        return None

    @staticmethod
    def _matrix(column: Type | None, columns: int, stride: int, row_major: bool) -> Array | None:
        if not isinstance(column, Array) or column.count is None:
            return None
        if row_major:
            return _array(_array(column.of, column.count, stride), columns, column.of.size)
        return _array(column, columns, stride)

    def _struct(self, id_: Id, members: list[Id], depth: int) -> Struct:
        d = self._declared
        offsets, strides, rows = (d.offsets.get(id_, {}), d.matrix_strides.get(id_, {}), d.row_major.get(id_, set()))
        names = d.member_names.get(id_, {})
        made = tuple(
            Member(
                names.get(n) or str(n), offsets.get(n, 0), self.type_of(member, strides.get(n, 0), n in rows, depth + 1)
            )
            for n, member in enumerate(members)
        )
        size = reduce(max, (m.offset + (m.type.size if m.type else 0) for m in made), 0)
        return Struct(d.names.get(id_, ""), made, size)


def _scalar(i: Decoded) -> Scalar | None:
    element = element_of(i.name, i.values)
    return Scalar(element) if element else None


def element_of(opcode: str, values: Sequence[Value]) -> ElementType | None:
    """The number that OpTypeInt or OpTypeFloat declares; None for another one than buffers have."""
    if opcode == "OpTypeInt":
        name = f"{'int' if values[1] == 1 else 'uint'}{values[0]}"
    elif len(values) > 1:
        return _ENCODINGS.get(str(values[1]))
    else:
        name = f"float{values[0]}"
    return ElementType.__members__.get(name)


def _array(of: Type, count: int, stride: int) -> Array:
    return Array(of, count, stride, stride * (count - 1) + of.size)


def runtime_array(type_: Type) -> Array | None:
    """The runtime array at the end of a block, where there is one."""
    if isinstance(type_, Array):
        return type_ if type_.count is None else None
    if isinstance(type_, Struct) and type_.members:
        last = type_.members[-1].type
        return last if isinstance(last, Array) and last.count is None else None
    return None


def one_element(type_: Type) -> ElementType | None:
    """The element type of all scalars of a type; None where they differ, or something is unknown."""
    elements: set[ElementType | None] = set()
    visited: set[int] = set()

    def visit(t: Type | None) -> None:
        if id(t) in visited:
            return
        visited.add(id(t))
        match t:
            case Scalar():
                elements.add(t.element)
            case Array():
                visit(t.of)
            case Struct():
                for member in t.members:
                    visit(member.type)
            case _:
                elements.add(None)

    visit(type_)
    return elements.pop() if len(elements) == 1 else None


def unknown_parts(type_: Type | None, depth: int = 0) -> bool:
    """Whether a type, or a part of it, is unknown to the suite."""
    match type_:
        case Array() if depth <= _DEEPEST:
            return unknown_parts(type_.of, depth + 1)
        case Struct() if depth <= _DEEPEST:
            return any(unknown_parts(m.type, depth + 1) for m in type_.members)
    return type_ is None


def extents(type_: Type) -> tuple[int | None, ...] | None:
    """The shape of a type as an array of scalars without gaps, None for the extent of a runtime array; else None.

    A structure with one member is that member.
    """
    shape: list[int | None] = []
    t: Type | None = type_
    while not isinstance(t, Scalar):
        if isinstance(t, Struct) and len(t.members) == 1 and t.members[0].offset == 0:
            t = t.members[0].type
        elif isinstance(t, Array) and t.stride == t.of.size:
            shape.append(t.count)
            t = t.of
        else:
            return None
    return tuple(shape)


def at_byte(type_: Type | None, byte: int) -> Scalar | Pointer | None:
    """The number or the address that begins at a byte of a type."""
    match type_:
        case Scalar() | Pointer():
            return type_ if byte == 0 else None
        case Array():
            inside = type_.count is None or byte < type_.stride * type_.count
            return at_byte(type_.of, byte % type_.stride) if type_.stride and inside else None
        case Struct():
            under = [m for m in type_.members if m.offset <= byte]
            member = max(under, key=lambda m: m.offset, default=None)
            return at_byte(member.type, byte - member.offset) if member is not None else None
    return None


def _id(value: object) -> Id:
    assert isinstance(value, Id)
    return value


def _int(value: object) -> int:
    assert isinstance(value, int)
    return int(value)
