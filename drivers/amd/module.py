"""Facts about a shader's registers that its SPIR-V has and its texts (NIR and listing) do not have.

RADV puts the used words of the push constants into scalar registers, in order, and no text of RADV lists these words.
So the module is compiled again for each member of its block, with that member moved to an offset that registers cannot
hold: if the code stays the same, the shader does not use the member. Of the members that it uses, `pushed` says which
words it loads.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np

from cts.drivers.amd.interface import Place
from cts.drivers.amd.pushed import loaded_words
from cts.drivers.machine.blocks import instructions, members
from cts.drivers.machine.problems import Unsupported
from cts.drivers.vulkan.session import Loss
from cts.drivers.vulkan.worker.protocol import Done, Run

#: Makes the pipeline of a run.
Compile = Callable[[Run], "Done | Loss"]

_LOAD, _ACCESS_CHAIN, _DECORATE, _EXTRACT = 61, 65, 71, 81
_BUILT_IN, _WORKGROUP_ID, _NUM_SUBGROUPS = 11, 26, 38

#: Bytes that a member is moved by: beyond all that are ever in registers (Mesa's MAX_PUSH_CONSTANTS_SIZE is 256).
_AWAY = 4096


def used_words(run: Run, code: str, make: Compile) -> tuple[list[int], ...]:
    """The numbers of the words that may be in registers, in order: first those of constant places, if others differ.

    Raises Unsupported where that cannot be found out.
    """
    words = np.frombuffer(run.module, "<u4")
    found = members(words)
    if not found:
        raise Unsupported("push constants of which it is not known which are used: the module has no block of them")
    ends = [*(m.offset for m in found[1:]), len(run.sets[0].push_constants)]
    used = set[int]()
    for member, end in zip(found, ends, strict=True):
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


def short_numbers(module: bytes) -> tuple[Place, ...]:
    """Which of y and z of a workgroup's numbers a module uses, both if it is unknown; "wave" if it counts subgroups."""
    variables, loaded, used = set(), set(), set()
    counts: tuple[Place, ...] = ()
    for _, opcode, i in instructions(np.frombuffer(module, "<u4")):
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
