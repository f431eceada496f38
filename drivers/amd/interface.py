"""What RADV gives a compute shader in registers, and what it says of the shader in the head of its NIR.

The order of scalar arguments is that of radv_declare_shader_args in Mesa's src/amd/vulkan/radv_shader_args.c: an
address of each descriptor set, push constants, the number of workgroups, and a word that is of no use any more on this
hardware. The numbers of a workgroup and of its waves are in registers that the hardware sets (RDNA 4 ISA, "Initial Wave
State").
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from cts.drivers.amd.listing import TTMP
from cts.drivers.amd.problems import Unsupported

_WORKGROUP = re.compile(r"^workgroup_size: (\d+), (\d+), (\d+)", re.MULTILINE)
_SUBGROUP = re.compile(r"^m(?:ax|in)_subgroup_size: (\d+)", re.MULTILINE)
_SHARED = re.compile(r"^shared_size: (\d+)", re.MULTILINE)
_LOADED = re.compile(r"(%\d+) = @load_scalar_arg_amd \(base=(\d+)")
_SET = re.compile(r"pack_64_2x32_split (%\d+), %\d+ \(0xffff8000\)")
_START = re.compile(r"^(.*)= p_startpgm", re.MULTILINE)
_ARGUMENT = re.compile(r"\bs(\d+): (?:\(\w+\))*%\d+:s\[(\d+)")

#: Registers of the numbers of a workgroup: x; y and z; and, from bit 25 on, of the wave in its workgroup.
TTMP_X, TTMP_YZ, TTMP_WAVE = TTMP + 9, TTMP + 7, TTMP + 8
WAVE_SHIFT = 25


@dataclass(frozen=True)
class Interface:
    """A shader's workgroup, the lanes of its waves, bytes of LDS, and how many scalar registers hold arguments.

    `sets` is how many descriptor sets its code uses, `lowest` the lowest argument that it does, counted in registers; it
    may have a register for a set that its code uses no more. `first` is the register of the first argument: in front of it Mesa 26.1
    has an address that no shader uses.
    """

    workgroup: tuple[int, int, int]
    lanes: int
    lds: int
    arguments: int
    sets: int
    lowest: int = 0
    first: int = 0

    @property
    def has_sets(self) -> bool:
        """Whether there are registers for descriptor sets."""
        return self.sets > 0 or self.lowest > 0

    @property
    def invocations(self) -> int:
        """Invocations of a workgroup."""
        x, y, z = self.workgroup
        return x * y * z


def interface(nir: str, aco: str) -> Interface:
    """What the texts of a shader say. Raises Unsupported where they do not."""
    size, lanes, start = _WORKGROUP.search(nir), set(_SUBGROUP.findall(nir)), _START.search(aco)
    if size is None or len(lanes) != 1 or start is None:
        raise Unsupported("a shader whose NIR or ACO IR does not say how it is called")
    shared = _SHARED.search(nir)
    registers = [(int(first), int(count)) for count, first in _ARGUMENT.findall(start[1])]
    first = 2 if registers[:1] == [(0, 2)] else 0
    x, y, z = (int(n) for n in size.groups())
    loaded = dict(_LOADED.findall(nir))
    sets = {loaded[value] for value in _SET.findall(nir) if value in loaded}
    lds, end = int(shared[1]) if shared else 0, max((at + count for at, count in registers), default=first)
    lowest = min((int(base) for base in loaded.values()), default=0) - (1 if first and loaded else 0)
    return Interface((x, y, z), int(lanes.pop()), lds, end - first, len(sets), lowest, first)


def arguments(
    shader: Interface, sets: Sequence[int], push_constants: Sequence[int], workgroups: tuple[int, int, int]
) -> list[int]:
    """The scalar registers from `shader.first` on: addresses of descriptor sets, push constants, the number of workgroups.

    `push_constants` are the words that are used. Raises Unsupported where that is not how many registers the shader has.
    """
    given = [address & 0xFFFFFFFF for address in sets] if shader.has_sets else []
    more = shader.arguments - len(given) - len(push_constants)
    if shader.sets not in (0, len(sets)) or more not in (0, 1, 3, 4):
        what = f"{shader.arguments} registers of arguments, of {len(given)} descriptor sets and {len(push_constants)}"
        raise Unsupported(f"{what} words of push constants")
    return [*given, *push_constants, *(workgroups if more >= 3 else ())]
