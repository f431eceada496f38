"""The types that a module declares for the buffers of a dispatch file, by their bindings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from cts.modules.dispatch.declarations import Resource
from cts.modules.dispatch.interface import Interface
from cts.modules.dispatch.model import Address, Settings
from cts.modules.dispatch.sources import Defaults
from cts.modules.dispatch.types import Array, Pointer, Struct, Type, at_byte, extents, one_element


def declared_types(
    file: Settings, module: Interface, pushed: Type | None, bound: Iterable[tuple[Resource, str]]
) -> dict[str, Type]:
    """The types of buffers by name: of those that are bound, and of those behind device addresses of declared types.

    A buffer that is there under several types has the first of them.
    """
    types: dict[str, Type] = {}
    waiting: list[str] = []

    def add_type(name: str, type_: Type | None) -> None:
        if type_ is not None and name not in types and name in file.buffers:
            types[name] = type_
            waiting.append(name)

    def follow(type_: Type, members: object, addresses: Iterable[Address]) -> None:
        for pointer, name in _named(type_, members):
            add_type(name, module.types.type_of(pointer.pointee))
        for address in addresses:
            pointer_ = at_byte(type_, address.at)
            if isinstance(pointer_, Pointer) and address.offset == 0:
                add_type(address.of, module.types.type_of(pointer_.pointee))

    for resource, name in bound:
        add_type(name, resource.type)
    if pushed is not None and file.push_constants is not None:
        follow(pushed, file.push_constants.members, file.push_constants.addresses)
    while waiting:
        name = waiting.pop()
        buffer = file.buffers[name]
        follow(types[name], buffer.members, buffer.addresses)
    return types


def _named(type_: Type | None, value: Any) -> Iterator[tuple[Pointer, str]]:
    """The names of buffers among members, where the type has pointers; what does not fit the type is passed over."""
    match type_:
        case Pointer():
            name = value.get("of") if isinstance(value, dict) and not value.get("offset") else value
            if isinstance(name, str):
                yield type_, name
        case Array() if isinstance(value, list):
            for item in value:
                yield from _named(type_.of, item)
        case Struct() if isinstance(value, dict) and {str(key) for key in value} & {m.name for m in type_.members}:
            for member in type_.members:
                yield from _named(member.type, value.get(member.name))
        case Struct() if len(type_.members) == 1:
            yield from _named(type_.members[0].type, value)


def defaults(type_: Type | None) -> Defaults:
    """The element type of a buffer of a type, and its shape, where these follow from the type."""
    if type_ is None:
        return Defaults(why_none="the module does not say one, for nothing of a declared type leads to the buffer")
    element, shape = one_element(type_), extents(type_)
    if element is None:
        return Defaults(why_none=f"the module has numbers of several types there, in {type_}; or give `members`")
    whole = tuple(n for n in shape or () if n is not None)
    return Defaults(element, whole if shape and len(whole) == len(shape) else None)
