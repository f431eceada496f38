"""The blocks of push constants of SPIR-V modules: where their members' offsets are, so that they can be changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint32]

_HEADER = 5
_TYPE_STRUCT, _TYPE_POINTER, _VARIABLE, _MEMBER_DECORATE = 30, 32, 59, 72
_PUSH_CONSTANT, _OFFSET = 9, 35


class Member(NamedTuple):
    """A member of a block or of a structure in it: its offset in bytes, and the place of its number in the module."""

    offset: int
    place: int


def members(words: Words) -> list[Member]:
    """The members of a module's blocks of push constants, by their offsets."""
    every = list(instructions(words))
    variables = {i[1] for _, opcode, i in every if opcode == _VARIABLE and i[3] == _PUSH_CONSTANT}
    blocks = {i[3] for _, opcode, i in every if opcode == _TYPE_POINTER and i[1] in variables}
    structures = {i[1]: i[2:] for _, opcode, i in every if opcode == _TYPE_STRUCT}
    offsets = {
        (i[1], i[2]): (i[4], at + 4) for at, opcode, i in every if opcode == _MEMBER_DECORATE and i[3] == _OFFSET
    }
    uses = Counter(member for members in structures.values() for member in members)

    def within(block: int, start: int) -> Iterator[Member]:
        for number, member in enumerate(structures.get(block, ())):
            offset, place = offsets.get((block, number), (0, 0))
            if member in structures and uses[member] == 1:  # whose members move alone
                yield from within(member, start + offset)
            elif place:
                yield Member(start + offset, place)

    return sorted(member for block in blocks for member in within(block, 0))


def instructions(words: Words) -> Iterator[tuple[int, int, list[int]]]:
    """Each instruction: its place in the module, its opcode, and all its words."""
    at = _HEADER
    while at < len(words):
        count, opcode = int(words[at]) >> 16, int(words[at]) & 0xFFFF
        yield at, opcode, words[at : at + count].tolist()
        at += count
