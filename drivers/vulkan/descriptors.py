"""Which descriptors a module asks for: storage or uniform buffers, one by one or in arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from cts.spirv.decode import Decoded
from cts.spirv.encode import Id
from cts.spirv.reach import reached

_VARIABLES = ("OpVariable", "OpUntypedVariableKHR")

Kind: TypeAlias = Literal["storage", "uniform"]


class Descriptor(NamedTuple):
    """The descriptors of a buffer variable. `length` is 0 for an array of any length."""

    set: int
    binding: int
    kind: Kind = "storage"
    length: int = 1


#: By set and binding the kind of its descriptors and how many it has.
Descriptors: TypeAlias = "dict[tuple[int, int], tuple[Kind, int]]"

#: The limits of how many descriptors with dynamic offsets a pipeline may have.
_MOST = {"storage": "maxDescriptorSetStorageBuffersDynamic", "uniform": "maxDescriptorSetUniformBuffersDynamic"}


def dynamic(descriptors: Descriptors, limits: Mapping[str, Any]) -> frozenset[tuple[int, int]]:
    """The places whose offsets may be dynamic: the first ones, in order, of which a device takes so many."""
    left = {kind: int(limits[name]) for kind, name in _MOST.items()}
    places = set()
    for place, (kind, count) in sorted(descriptors.items()):
        if count <= left[kind]:
            left[kind] -= count
            places.add(place)
    return frozenset(places)


def read(module: Sequence[Decoded], entry: str, constants: Mapping[Id, int]) -> Iterator[Descriptor]:
    """The descriptors of buffer variables; `constants` are the values of constants, for lengths of arrays.

    Those that an entry point does not use count only where it uses none: front ends declare variables that nothing
    uses, at places where others are.
    """
    used = _used(module, entry)
    every = list(_declared(module, constants))
    taken = {(d.set, d.binding) for variable, d in every if variable in used}
    yield from (d for variable, d in every if variable in used or (d.set, d.binding) not in taken)


def _declared(module: Iterable[Decoded], constants: Mapping[Id, int]) -> Iterator[tuple[Id, Descriptor]]:
    """The buffer variables with their descriptors."""
    decorations: dict[Id, dict[str, object]] = {}
    pointers: dict[Id, Decoded] = {}
    arrays: dict[Id, Decoded] = {}
    for i in module:
        if i.name == "OpDecorate" and isinstance(i.values[0], Id):
            decorations.setdefault(i.values[0], {})[str(i.values[1])] = i.values[2] if len(i.values) > 2 else None
        elif i.name == "OpTypePointer" and i.result is not None:
            pointers[i.result] = i
        elif i.name in ("OpTypeArray", "OpTypeRuntimeArray") and i.result is not None:
            arrays[i.result] = i
        elif i.name in _VARIABLES and i.result is not None and i.values[1] in ("StorageBuffer", "Uniform"):
            pointer = pointers.get(_id(i.values[0]))
            place = decorations.get(i.result, {})
            set_, binding = place.get("DescriptorSet"), place.get("Binding")
            data = i.values[2:3] if i.name == "OpUntypedVariableKHR" else pointer.values[1:2] if pointer else ()
            if not data or not isinstance(set_, int) or not isinstance(binding, int):
                continue
            block, count = _id(data[0]), 1
            if (array := arrays.get(block)) is not None:
                block = _id(array.values[0])
                count = constants.get(_id(array.values[1]), 0) if array.name == "OpTypeArray" else 0
            is_storage = i.values[1] == "StorageBuffer" or "BufferBlock" in decorations.get(block, {})
            yield i.result, Descriptor(set_, binding, "storage" if is_storage else "uniform", count)


def _used(module: Iterable[Decoded], entry: str) -> set[Id]:
    """All ids that the functions of an entry point name."""
    named: dict[Id, set[Id]] = {}
    start = function = None
    for i in module:
        if i.name == "OpEntryPoint" and i.values[2] == entry:
            start = _id(i.values[1])
        elif i.name == "OpFunction":
            function = i.result
        if function is not None:
            named.setdefault(function, set()).update(v for v in i.values if isinstance(v, Id))
    return reached(named, start) if start is not None else set()


def _id(value: object) -> Id:
    assert isinstance(value, Id)
    return value
