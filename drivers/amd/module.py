"""Facts about a shader's registers that its SPIR-V has and its texts (NIR and listing) do not have.

RADV puts the used words of the push constants into scalar registers, in order, and no text of RADV lists these words.
So the module is compiled again for each member of its block, with that member moved to an offset that registers cannot
hold: if the code stays the same, the shader does not use the member. Of the members that it uses, `pushed` says which
words it loads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from cts.drivers.amd.interface import Place
from cts.drivers.amd.pushed import loaded_words
from cts.drivers.machine.problems import Unsupported
from cts.drivers.vulkan.session import Loss
from cts.drivers.vulkan.worker.protocol import Done, Run

#: Makes the pipeline of a run.
Compile = Callable[[Run], "Done | Loss"]

Words = npt.NDArray[np.uint32]

_HEADER = 5
_TYPE_STRUCT, _TYPE_POINTER, _VARIABLE, _LOAD, _ACCESS_CHAIN, _DECORATE, _MEMBER_DECORATE, _EXTRACT = (
    30,
    32,
    59,
    61,
    65,
    71,
    72,
    81,
)
_PUSH_CONSTANT, _OFFSET, _BUILT_IN, _WORKGROUP_ID, _NUM_SUBGROUPS = 9, 35, 11, 26, 38

#: Bytes that a member is moved by: beyond all that are ever in registers (Mesa's MAX_PUSH_CONSTANTS_SIZE is 256).
_AWAY = 4096


class _Member(NamedTuple):
    """A member of the block or of a structure in it: its offset in bytes, and the place of its number in the module."""

    offset: int
    place: int


def used_words(run: Run, code: str, make: Compile) -> tuple[list[int], ...]:
    """The numbers of the words that may be in registers, in order: first those of constant places, if others differ.

    Raises Unsupported where that cannot be found out.
    """
    words = np.frombuffer(run.module, "<u4")
    members = sorted(_members(words))
    if not members:
        raise Unsupported("push constants of which it is not known which are used: the module has no block of them")
    ends = [*(m.offset for m in members[1:]), len(run.sets[0].push_constants)]
    used = set[int]()
    for member, end in zip(members, ends, strict=True):
        moved = words.copy()
        moved[member.place] += _AWAY
        made = make(msgspec.structs.replace(run, module=moved.tobytes()))
        if isinstance(made, Loss):
            raise Unsupported(f"push constants of which it is not known which are used: {made.what}")
        if made.listing.get("Assembly") != code:
            used |= set(range(member.offset // 4, -(-end // 4)))
    loaded = loaded_words(run.module, {n: int.from_bytes(v, "little") for n, v in run.specialization.items()})
    if loaded is None:
        return (sorted(used),)
    sure, every = sorted(used & loaded.at_constants), sorted(used & (loaded.at_constants | loaded.at_indices))
    return (sure, every) if sure != every else (sure,)


def _members(words: Words) -> Iterator[_Member]:
    every = list(_instructions(words))
    variables = {i[1] for _, opcode, i in every if opcode == _VARIABLE and i[3] == _PUSH_CONSTANT}
    blocks = {i[3] for _, opcode, i in every if opcode == _TYPE_POINTER and i[1] in variables}
    structures = {i[1]: i[2:] for _, opcode, i in every if opcode == _TYPE_STRUCT}
    offsets = {
        (i[1], i[2]): (i[4], at + 4) for at, opcode, i in every if opcode == _MEMBER_DECORATE and i[3] == _OFFSET
    }
    uses = Counter(member for members in structures.values() for member in members)

    def within(block: int, start: int) -> Iterator[_Member]:
        for number, member in enumerate(structures.get(block, ())):
            offset, place = offsets.get((block, number), (0, 0))
            if member in structures and uses[member] == 1:  # whose members move alone
                yield from within(member, start + offset)
            elif place:
                yield _Member(start + offset, place)

    for block in blocks:
        yield from within(block, 0)


def short_numbers(module: bytes) -> tuple[Place, ...]:
    """Which of y and z of a workgroup's numbers a module uses, both if it is unknown; "wave" if it counts subgroups."""
    variables, loaded, used = set(), set(), set()
    counts: tuple[Place, ...] = ()
    for _, opcode, i in _instructions(np.frombuffer(module, "<u4")):
        if opcode == _DECORATE and i[2:4] == [_BUILT_IN, _WORKGROUP_ID]:
            variables.add(i[1])
        elif opcode == _DECORATE and i[2:4] == [_BUILT_IN, _NUM_SUBGROUPS]:
            counts = ("wave",)
        elif opcode == _LOAD and i[3] in variables:
            loaded.add(i[2])
        elif opcode == _EXTRACT and i[3] in loaded:
            used.add(i[4])
        elif opcode == _ACCESS_CHAIN and i[3] in variables:
            used |= {1, 2}
    names: tuple[Place, ...] = ("y", "z")
    return (tuple(name for n, name in enumerate(names, 1) if n in used) or names) + counts


def _instructions(words: Words) -> Iterator[tuple[int, int, list[int]]]:
    """Each instruction: its place in the module, its opcode, and all its words."""
    at = _HEADER
    while at < len(words):
        count, opcode = int(words[at]) >> 16, int(words[at]) & 0xFFFF
        yield at, opcode, words[at : at + count].tolist()
        at += count
