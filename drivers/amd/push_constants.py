"""Which words of push constants a compiled shader has in registers.

RADV puts those that are used into scalar registers, in order, and nothing that it hands out says which. So the module
is compiled again for each member of its block, with that member moved to where registers cannot have it: where the code
is the same, the member is not used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from cts.drivers.amd.problems import Unsupported
from cts.drivers.vulkan.session import Loss
from cts.drivers.vulkan.worker.protocol import Done, Run

#: Makes the pipeline of a run.
Compile = Callable[[Run], "Done | Loss"]

Words = npt.NDArray[np.uint32]

_HEADER = 5
_TYPE_POINTER, _VARIABLE, _MEMBER_DECORATE = 32, 59, 72
_PUSH_CONSTANT, _OFFSET = 9, 35

#: Bytes that a member is moved by: beyond all that are ever in registers (Mesa's MAX_PUSH_CONSTANTS_SIZE is 256).
_AWAY = 4096


class _Member(NamedTuple):
    """A member of the block: its offset in bytes, and the place of that number in the module."""

    offset: int
    place: int


def used(run: Run, code: str, make: Compile) -> list[int]:
    """The numbers of the words that are used, in order. Raises Unsupported where that cannot be found out."""
    words = np.frombuffer(run.module, "<u4")
    members = sorted(_members(words))
    if not members:
        raise Unsupported("push constants of which it is not known which are used: the module has no block of them")
    ends = [*(m.offset for m in members[1:]), len(run.sets[0].push_constants)]
    found: list[int] = []
    for member, end in zip(members, ends, strict=True):
        moved = words.copy()
        moved[member.place] += _AWAY
        made = make(msgspec.structs.replace(run, module=moved.tobytes()))
        if isinstance(made, Loss):
            raise Unsupported(f"push constants of which it is not known which are used: {made.what}")
        if made.listing.get("Assembly") != code:
            found += range(member.offset // 4, end // 4)
    return found


def _members(words: Words) -> Iterator[_Member]:
    variables = {int(i[1]) for _, i in _instructions(words) if i[0] & 0xFFFF == _VARIABLE and i[3] == _PUSH_CONSTANT}
    pointers = ((int(i[1]), int(i[3])) for _, i in _instructions(words) if i[0] & 0xFFFF == _TYPE_POINTER)
    blocks = {pointee for pointer, pointee in pointers if pointer in variables}
    for at, i in _instructions(words):
        if i[0] & 0xFFFF == _MEMBER_DECORATE and int(i[1]) in blocks and i[3] == _OFFSET:
            yield _Member(int(i[4]), at + 4)


def _instructions(words: Words) -> Iterator[tuple[int, Words]]:
    at = _HEADER
    while at < len(words):
        count = int(words[at]) >> 16
        yield at, words[at : at + count]
        at += count
