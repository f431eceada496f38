"""Values by the names of members to bytes: structures and push constants, as the module lays them out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from cts.base.errors import did_you_mean
from cts.modules.dispatch.elements import Array as Numbers
from cts.modules.dispatch.elements import ElementType, encode
from cts.modules.dispatch.types import Array, Member, Pointer, Scalar, Struct, Type, runtime_array

#: Where in nested values something is: names of members and indices.
Path: TypeAlias = "tuple[str | int, ...]"


class BadMember(ValueError):
    """A value that a type does not take. `path` is where it stands in the values."""

    def __init__(self, what: str, path: Path, remedy: str) -> None:
        super().__init__(what)
        self.path, self.remedy = path, remedy


class Field(msgspec.Struct, frozen=True):
    """A number at byte `at`, named as shaders name it: `items[2].weight`. `value` is one element."""

    name: str
    at: int
    element: ElementType
    value: Numbers


class Link(msgspec.Struct, frozen=True):
    """A device address at byte `at`: that of buffer `of` plus `offset`; `path` is where it stands."""

    at: int
    of: str
    offset: int
    path: Path


class Laid(msgspec.Struct, frozen=True):
    """Values laid out as their type says: `size` bytes, of which those without a field or an address are zeros."""

    size: int
    fields: tuple[Field, ...]
    links: tuple[Link, ...]

    def bytes(self) -> npt.NDArray[np.uint8]:
        """All bytes, addresses as zeros."""
        data = np.zeros(self.size, np.uint8)
        for f in self.fields:
            data[f.at : f.at + f.element.size] = f.value.view(np.uint8)
        return data


def lay_out(type_: Type, value: object, *, count: int | None = None, most: int = 1 << 30) -> Laid:
    """Lay out a value of a type: a mapping for a structure, a list for an array, vector or matrix (by its columns).

    Members that are left out, and the end of arrays, are zeros. The runtime array has as many elements as are given, or
    `count`. A structure with one member takes that member's value as well. At most `most` bytes. Raises BadMember.
    """
    writer = _Writer(most)
    length = writer.write(type_, value, 0, "", ())
    size = type_.size
    if (last := runtime_array(type_)) is not None:
        if count is not None and length > count:
            raise BadMember(f"{length} elements are given, and the shape has {count}", (), "a shape of as many")
        at = type_.members[-1].offset if isinstance(type_, Struct) else 0
        size = at + last.stride * max(length, count or 0)
    if size > most:
        raise BadMember(f"the values take {size} bytes", (), f"at most {most}")
    if (end := max((f.at + f.element.size for f in writer.fields), default=0)) > size:
        remedy = "a module whose ArrayStride and Offset leave its numbers room"
        raise BadMember(f"a number ends at byte {end} of {size}", (), remedy)
    return Laid(-(-size // 4) * 4, tuple(writer.fields), tuple(writer.links))


def _means_member(type_: Struct, value: object) -> bool:
    """Whether a value is that of a structure's only member, which it does not name."""
    if len(type_.members) != 1:
        return False
    (member,) = type_.members
    if isinstance(value, Mapping):
        return isinstance(member.type, Struct) and not set(map(str, value)) <= {member.name}
    return True


@dataclass
class _Writer:
    most: int
    fields: list[Field] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)

    def write(self, type_: Type | None, value: object, at: int, name: str, path: Path) -> int:
        """Write a value at a byte. Returns how many elements a runtime array has at its end, 0 without one."""
        if at > self.most:
            raise BadMember(f"the values take more than {self.most} bytes", path, "fewer")
        match type_:
            case Scalar():
                self.number(type_, value, at, name, path)
            case Pointer():
                self.address(value, at, path)
            case Array():
                return self.array(type_, value, at, name, path)
            case Struct():
                return self.struct(type_, value, at, name, path)
            case _:
                raise BadMember("the module's type of it is none that lies in memory", path, "leave it out")
        return 0

    def number(self, type_: Scalar, value: object, at: int, name: str, path: Path) -> None:
        if not isinstance(value, (bool, int, float, str)):
            raise BadMember(f"{_value_text(value)} for a number", path, f"one {type_}")
        try:
            self.fields.append(Field(name, at, type_.element, encode(type_.element, [value])))
        except ValueError as e:
            raise BadMember(str(e), path, f"a number that {type_} holds, or its bits") from e

    def address(self, value: object, at: int, path: Path) -> None:
        match value:
            case str():
                self.links.append(Link(at, value, 0, path))
            case {"of": str(of), **rest} if not rest:
                self.links.append(Link(at, of, 0, path))
            case {"of": str(of), "offset": int(offset), **rest} if not rest and abs(offset) <= 2**40:
                self.links.append(Link(at, of, offset, path))
            case 0 if not isinstance(value, bool):
                pass
            case _:
                raise BadMember(
                    f"{_value_text(value)} for a device address",
                    path,
                    "the name of a buffer, {of: buffer, offset: bytes} or 0",
                )

    def array(self, type_: Array, value: object, at: int, name: str, path: Path) -> int:
        if not isinstance(value, list):
            many = "" if type_.count is None else f"{type_.count} "
            raise BadMember(f"{_value_text(value)} for an array of {type_.of}", path, f"a list of {many}values")
        if type_.count is not None and len(value) > type_.count:
            raise BadMember(f"{len(value)} values for {type_.count}", path, f"at most {type_.count}")
        for n, item in enumerate(value):
            self.write(type_.of, item, at + n * type_.stride, f"{name}[{n}]", (*path, n))
        return len(value) if type_.count is None else 0

    def struct(self, type_: Struct, value: object, at: int, name: str, path: Path) -> int:
        if _means_member(type_, value):
            (only,) = type_.members
            return self.write(only.type, value, at + only.offset, name, path)
        if not isinstance(value, Mapping):
            listed = ", ".join(f"{m.name}: ..." for m in type_.members[:8])
            raise BadMember(f"{_value_text(value)} for the {type_}", path, f"a mapping: {{{listed}}}")
        length = 0
        by_name = {m.name: m for m in type_.members}
        for key, item in value.items():
            member = by_name.get(str(key))
            if member is None:
                raise _no_member(type_, key, by_name, path)
            inner = f"{name}.{member.name}" if name else member.name
            elements = self.write(member.type, item, at + member.offset, inner, (*path, key))
            if member is type_.members[-1]:
                length = elements
        return length


def _no_member(type_: Struct, key: str | int, known: dict[str, Member], path: Path) -> BadMember:
    remedy = did_you_mean(str(key), known)
    return BadMember(f"the {type_} has no member {str(key)!r}", (*path, key), remedy)


def _value_text(value: Any) -> str:
    return {dict: "a mapping", list: "a list", type(None): "nothing"}.get(type(value), repr(value))
