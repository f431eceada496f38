"""A form of buffers of numbers that are only read at known places: uniform buffers, push constants, variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from cts.spirv.encode import Id, Value
from cts.spirv.forms.layout import Layout, Op

#: The most bytes of push constants that every device has, and of a uniform buffer (VkPhysicalDeviceLimits).
MOST_PUSHED, MOST_UNIFORM = 128, 16384

_CHAINS = ("OpAccessChain", "OpInBoundsAccessChain")

#: What comes first in a function, before which nothing may stand.
_FIRST = ("OpFunction", "OpFunctionParameter", "OpLabel", "OpVariable", "OpLine", "OpNoLine")


@dataclass
class _Numbers:
    """A buffer of 32-bit numbers: its variable, the type of a number, the place, and the loads by their chains."""

    variable: Op
    number: Id
    place: tuple[int, int]
    indices: dict[Id, int] = field(default_factory=dict)

    @property
    def words(self) -> int:
        return max(self.indices.values()) + 1


def parameters(layout: Layout, random: np.random.Generator) -> None:
    """Storage buffers of 32-bit numbers that are loaded by constant indices are memory of another kind.

    A uniform buffer, push constants where the module has none, or a Private variable that is filled first. Of a robust
    dispatch, and where other descriptors share the place or the buffer, they stay.
    """
    if any(op.name == "OpDecorationGroup" for op in layout.annotations):
        return
    for variable in [op for op in layout.globals if op.name == "OpVariable" and op.values[1] == "StorageBuffer"]:
        numbers = _numbers(layout, variable)
        if numbers is None or not numbers.indices:
            continue
        pushes = any(op.name == "OpVariable" and op.values[1] == "PushConstant" for op in layout.globals)
        kinds = ["Private"]
        if 4 * numbers.words <= MOST_UNIFORM:
            kinds.append("Uniform")
        if 4 * numbers.words <= MOST_PUSHED and not pushes:
            kinds += ["PushConstant"] * 2
        kind = kinds[int(random.integers(len(kinds)))]
        if kind == "Private":
            _copied(layout, numbers)
        else:
            _moved(layout, numbers, kind)


def _numbers(layout: Layout, variable: Op) -> _Numbers | None:
    """What a variable of a storage buffer is, where nothing is done with it but to load numbers by constants."""
    declared = {op.result: op for op in layout.globals if op.result is not None}

    def declaration(id_: Value | None, name: str) -> Op | None:
        op = declared.get(id_) if isinstance(id_, Id) else None
        return op if op is not None and op.name == name else None

    place = tuple(
        next((a.values[2] for a in layout.annotations if a.values[:2] == (variable.result, name)), None)
        for name in ("DescriptorSet", "Binding")
    )
    host = layout.host
    if place not in host.alone or place not in host.descriptors:
        return None
    pointer = declaration(variable.values[0], "OpTypePointer")
    block = declaration(pointer.values[1], "OpTypeStruct") if pointer else None
    array = declaration(block.values[0], "OpTypeRuntimeArray") if block and len(block.values) == 1 else None
    number = declaration(array.values[0], "OpTypeInt") if array else None
    if number is None or number.values[0] != 32 or number.result is None or variable.result is None:
        return None
    chain = _Numbers(variable, number.result, (int(place[0]), int(place[1])))
    loads: set[Id] = set()
    for op in (op for function in layout.functions for op in function):
        if variable.result in op.ids:
            index = declaration(op.values[3], "OpConstant") if op.name in _CHAINS and len(op.values) == 4 else None
            if index is None or op.result is None or not isinstance(index.values[1], int):
                return None
            chain.indices[op.result] = index.values[1]
        elif op.name == "OpLoad" and op.values[1] in chain.indices:
            loads.update(op.ids)
        elif any(id_ in chain.indices for id_ in op.ids):
            return None
    if chain.indices and 4 * chain.words > host.descriptors[chain.place].size:
        return None
    return chain


def _moved(layout: Layout, numbers: _Numbers, kind: str) -> None:
    """The numbers as members of a block of a uniform buffer, or of push constants."""
    members = {index: n for n, index in enumerate(sorted(set(numbers.indices.values())))}
    variable = numbers.variable.result
    assert variable is not None
    at = layout.globals.index(numbers.variable)
    block = layout.add("OpTypeStruct", *[numbers.number] * len(members), at=at)
    pointer = layout.add("OpTypePointer", kind, block, at=at + 1)
    layout.annotations.append(Op("OpDecorate", None, (block, "Block")))
    for index, n in members.items():
        layout.annotations.append(Op("OpMemberDecorate", None, (block, n, "Offset", 4 * index)))
    at = layout.globals.index(numbers.variable)
    layout.globals[at] = Op("OpVariable", variable, (pointer, kind))
    kept = ("DescriptorSet", "Binding") if kind == "Uniform" else ()
    layout.annotations = [op for op in layout.annotations if op.values[0] != variable or op.values[1] in kept]
    if kind == "PushConstant":
        layout.moves.pushed_words = numbers.place, 4 * numbers.words
    to_number = layout.type("OpTypePointer", kind, numbers.number)
    chosen = {index: layout.constant(n) for index, n in members.items()}
    for function in layout.functions:
        _read_elsewhere(function, numbers, to_number, variable, chosen)


def _copied(layout: Layout, numbers: _Numbers) -> None:
    """The numbers in an array of a Private variable, into which each entry point loads them first."""
    chosen = {index: n for n, index in enumerate(sorted(set(numbers.indices.values())))}
    constants = {n: layout.constant(n) for n in {*chosen, *chosen.values(), len(chosen)}}
    array = layout.add("OpTypeArray", numbers.number, constants[len(chosen)])
    pointer = layout.add("OpTypePointer", "Private", array)
    variable = layout.add("OpVariable", pointer, "Private")
    places = {index: constants[n] for index, n in chosen.items()}
    to_number = layout.type("OpTypePointer", "Private", numbers.number)
    in_buffer = layout.type("OpTypePointer", "StorageBuffer", numbers.number)
    if layout.version >= (1, 4):  # before, interfaces are inputs and outputs
        layout.entry_points = [Op(e.name, None, (*e.values, variable)) for e in layout.entry_points]
    zero = layout.constant(0)
    assert numbers.variable.result is not None
    entries = {e.values[1] for e in layout.entry_points}
    for function in layout.functions:
        _read_elsewhere(function, numbers, to_number, variable, places)
        if function[0].result not in entries:
            continue
        copies: list[Op] = []
        for index in chosen:
            read, value, written = layout.id(), layout.id(), layout.id()
            copies += [
                Op("OpAccessChain", read, (in_buffer, numbers.variable.result, zero, constants[index])),
                Op("OpLoad", value, (numbers.number, read)),
                Op("OpAccessChain", written, (to_number, variable, places[index])),
                Op("OpStore", None, (written, value)),
            ]
        after = next(n for n, op in enumerate(function) if op.name not in _FIRST)
        function[after:after] = copies


def _read_elsewhere(
    function: list[Op], numbers: _Numbers, to_number: Id, variable: Id, chosen: Mapping[int, Id]
) -> None:
    """Let a function load the numbers from a variable, at the index chosen for each."""
    for n, op in enumerate(function):
        if op.result in numbers.indices:
            function[n] = Op(op.name, op.result, (to_number, variable, chosen[numbers.indices[op.result]]))
        elif op.name == "OpLoad" and op.values[1] in numbers.indices:
            function[n] = Op(op.name, op.result, op.values[:2])
