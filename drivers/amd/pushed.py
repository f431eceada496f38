"""Which words of the push constants a module loads: RADV puts those into registers that it loads at constant places.

Loads of less than a word are loads of that word. An index that is known only when the shader runs goes through the
address of the push constants.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

_TYPES = range(21, 33)
_VECTOR, _MATRIX, _ARRAY, _STRUCT = 23, 24, 28, 30
_CONSTANT, _VARIABLE, _LOAD, _DECORATE, _MEMBER_DECORATE = 43, 59, 61, 71, 72
_CHAINS, _SPEC_CONSTANT, _SPECIALIZED = (65, 66), 50, (48, 49, 51, 52)
#: What gives a pointer another name: calls, copies, arithmetic, selections, phis, returned values.
_ESCAPES = (57, 63, 64, 67, 70, 83, 169, 245, 254)
_PUSH_CONSTANT, _SPEC_ID, _ROW_MAJOR, _ARRAY_STRIDE, _MATRIX_STRIDE, _OFFSET = 9, 1, 4, 6, 7, 35


@dataclass(frozen=True)
class _Place:
    """A type at an offset in bytes; of a matrix and its columns, the bytes between columns and between rows.

    `computed`: or a part of it, which an index chooses that the module computes.
    """

    type: int
    offset: int
    steps: tuple[int, int] = (0, 0)
    computed: bool = False


@dataclass
class _Types:
    """Instructions that make types by their result, values of constants, and decorations."""

    specialization: dict[int, int]
    opcodes: dict[int, int] = field(default_factory=dict)
    made: dict[int, list[int]] = field(default_factory=dict)
    constants: dict[int, int] = field(default_factory=dict)
    specialized: set[int] = field(default_factory=set)
    spec_ids: dict[int, int] = field(default_factory=dict)
    strides: dict[int, int] = field(default_factory=dict)
    members: dict[tuple[int, int, int], int] = field(default_factory=dict)

    def declare(self, opcode: int, i: list[int]) -> None:
        """Keep what an instruction declares."""
        if opcode in _TYPES:
            self.opcodes[i[1]], self.made[i[1]] = opcode, i
        elif opcode == _CONSTANT:
            self.constants[i[2]] = i[3]
        elif opcode == _SPEC_CONSTANT:
            self.constants[i[2]] = self.specialization.get(self.spec_ids.get(i[2], -1), i[3])
        elif opcode in _SPECIALIZED:
            self.specialized.add(i[2])
        elif opcode == _DECORATE and i[2] == _SPEC_ID:
            self.spec_ids[i[1]] = i[3]
        elif opcode == _DECORATE and i[2] == _ARRAY_STRIDE:
            self.strides[i[1]] = i[3]
        elif opcode == _MEMBER_DECORATE:
            self.members[i[1], i[2], i[3]] = i[4] if len(i) > 4 else 1

    def size(self, kind: int) -> int:
        """Bytes of a scalar."""
        return self.made[kind][2] // 8

    def inside(self, at: _Place, n: int) -> _Place:
        """A part of a composite. Raises KeyError for one that no layout is known of."""
        opcode, words = self.opcodes[at.type], self.made[at.type]
        if opcode == _STRUCT:
            return self._member(at.type, words[2 + n], n, at.offset)
        if opcode == _ARRAY:
            return _Place(words[2], at.offset + n * self.strides[at.type], at.steps)
        if opcode == _MATRIX:
            return _Place(words[2], at.offset + n * at.steps[0], at.steps)
        if opcode == _VECTOR:
            return _Place(words[2], at.offset + n * (at.steps[1] or self.size(words[2])))
        raise KeyError(at.type)

    def _member(self, structure: int, kind: int, n: int, start: int) -> _Place:
        offset, stride = self.members[structure, n, _OFFSET], self.members.get((structure, n, _MATRIX_STRIDE), 0)
        steps = (0, 0)
        if stride:
            scalar = self.size(self._scalar(kind))
            steps = (scalar, stride) if (structure, n, _ROW_MAJOR) in self.members else (stride, scalar)
        return _Place(kind, start + offset, steps)

    def _scalar(self, kind: int) -> int:
        while self.opcodes[kind] in (_ARRAY, _MATRIX, _VECTOR):
            kind = self.made[kind][2]
        return kind

    def count(self, kind: int) -> int:
        """Parts of a composite, 0 of a scalar."""
        opcode, words = self.opcodes[kind], self.made[kind]
        if opcode == _ARRAY:
            return self.constants[words[3]]
        return {_STRUCT: len(words) - 2, _MATRIX: words[-1], _VECTOR: words[-1]}.get(opcode, 0)

    def words(self, at: _Place) -> Iterator[int]:
        """The words in which the scalars of a type lie."""
        count = self.count(at.type)
        for n in range(count):
            yield from self.words(self.inside(at, n))
        if not count:
            yield from range(at.offset // 4, -(-(at.offset + self.size(at.type)) // 4))


class LoadedWords(NamedTuple):
    """Words of the push constants that a module loads at constant places, and at places that it computes."""

    at_constants: frozenset[int]
    at_indices: frozenset[int]


def loaded_words(module: bytes, specialization: Mapping[int, int]) -> LoadedWords | None:
    """The words that are loaded; None if the module does something with the block that is not understood.

    `specialization` has values by SpecId. An index that the module computes may be constant once loops are unrolled.
    """
    types, places = _Types(dict(specialization)), dict[int, _Place]()
    at_constants, at_indices = set[int](), set[int]()
    try:
        for opcode, i in instructions(module):
            types.declare(opcode, i)
            if opcode == _VARIABLE and i[3] == _PUSH_CONSTANT:
                places[i[2]] = _Place(types.made[i[1]][3], 0)
            elif opcode in _CHAINS and i[3] in places:
                places[i[2]] = _chained(types, places[i[3]], i[4:])
            elif opcode == _LOAD and i[3] in places:
                at = places[i[3]]
                (at_indices if at.computed else at_constants).update(types.words(at))
            elif opcode in _ESCAPES and not places.keys().isdisjoint(i[1:]):
                return None
    except (KeyError, IndexError):
        return None
    return LoadedWords(frozenset(at_constants), frozenset(at_indices - at_constants))


def _chained(types: _Types, at: _Place, indices: list[int]) -> _Place:
    """The part that indices lead to; at the first one that is computed, all from there on."""
    for index in indices:
        if at.computed or index not in types.constants:
            if index in types.specialized:
                raise KeyError(index)
            return replace(at, computed=True)
        at = types.inside(at, types.constants[index])
    return at


def instructions(module: bytes) -> Iterator[tuple[int, list[int]]]:
    """Each instruction: its opcode, and all its words."""
    words, at = np.frombuffer(module, "<u4"), 5
    while at < len(words):
        count = int(words[at]) >> 16
        yield int(words[at]) & 0xFFFF, words[at : at + count].tolist()
        at += count
