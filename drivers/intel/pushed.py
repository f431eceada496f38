"""Where the range of push constants begins that ANV hands to a shader, which no text of ANV says.

ANV's range begins at the first word that the shader uses, rounded down to 32 bytes (Mesa's
anv_nir_compute_push_layout), and the shader gets the address of that place. So the module is compiled again with the
members of the first 32 bytes moved away: if the code stays the same, the shader uses none of them, and the next 32
bytes are tried.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby

import msgspec
import numpy as np

from cts.drivers.intel.interface import ADDRESS_LOW, Interface
from cts.drivers.machine.blocks import Member, members
from cts.drivers.machine.problems import Unsupported
from cts.drivers.vulkan.session import Loss
from cts.drivers.vulkan.worker.protocol import Done, Run

#: Makes the pipeline of a run.
Compile = Callable[[Run], "Done | Loss"]

#: Bytes to whose multiples a range is rounded.
_UNIT = 32

#: Bytes that members are moved by: far beyond the others, and not by whole units, which a range of these would hide.
_AWAY = 4096 + _UNIT // 2

#: The texts that say what the code loads; others have a hash of the module.
_CODE = ("GEN Assembly", "Shader push map")


def range_start(run: Run, shader: Interface, texts: dict[str, str], make: Compile) -> int:
    """The first byte of the push constants whose address the shader gets.

    Raises Unsupported if that cannot be found out.
    """
    if ADDRESS_LOW not in shader.inline or len(run.sets[0].push_constants) <= _UNIT:
        return 0
    words = np.frombuffer(run.module, "<u4")
    for unit, group in groupby(members(words), _unit):
        moved = words.copy()
        for member in group:
            moved[member.place] += _AWAY
        made = make(msgspec.structs.replace(run, module=moved.tobytes()))
        if isinstance(made, Loss):
            raise Unsupported(f"push constants of which it is not known which are used: {made.what}")
        if any(made.listing.get(name) != texts.get(name) for name in _CODE):
            return unit * _UNIT
    return 0


def _unit(member: Member) -> int:
    return member.offset // _UNIT
