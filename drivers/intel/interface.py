"""What ANV gives a compute shader: registers, its workgroup, the binding table, and which push constants are where.

The texts of a pipeline say it: the head of the NIR, and "Shader push map". The order of registers is that of Mesa's
cs_thread_payload (src/intel/compiler/brw/brw_thread_payload.cpp): r0 with the numbers of workgroup and thread;
x, y and z of the invocations, each 16 bits a lane, which the hardware makes of workgroups whose x and y are powers of
two, and of which those after the last size above 1 are left out; then up to 8 words of push constants.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cts.drivers.intel.listing import Listing
from cts.drivers.intel.memory import SET
from cts.drivers.intel.numbers import units
from cts.drivers.intel.thread import Thread
from cts.drivers.machine.problems import Unsupported

_WORKGROUP = re.compile(r"^workgroup_size: (\d+), (\d+), (\d+)", re.MULTILINE)
_SHARED = re.compile(r"^shared_size: (\d+)", re.MULTILINE)
_RESOURCE = re.compile(
    r"@resource_intel \(%\d+[^%]*%(\d+)[^\n]*?\(desc_set=(\d+), binding=(-?\d+), resource_intel=([\w|]+)"
)
_CONSTANT = re.compile(r"%(\d+) = load_const \(0x(\w+)")
_CONSTANT_OF_LOADING = re.compile(r"@load_reloc_const_intel \(param_idx=(\d+)")
_MAP = re.compile(r"Inline promoted dwords: ([\d, ]*)")

#: Words of struct anv_push_constants, of which the first are the application's; where it keeps the
#: number of the first workgroup, and how many there are.
WORDS, OWN, FIRST_WORKGROUP, WORKGROUPS = 160, 64, 146, 149

#: How many sets of descriptors there are, whose places follow the application's words.
SETS = 8

#: Of the numbers that are known when the code is loaded: the surface of descriptors.
_DESCRIPTORS = "8"

#: What the map calls the lower and the upper half of the address of all these words.
ADDRESS_LOW, ADDRESS_HIGH = 255, 254

#: Invocations of a workgroup, and bytes that it shares, at most: as many as the hardware has room for.
MAX_INVOCATIONS, MAX_SHARED = 1024, 1 << 17

#: Bytes of a unit of shared memory; a workgroup has whole units (Mesa's intel_compute_slm_calculate_size). Loads of
#: several words in ANV's code may end behind the shader's own, in the same unit.
SHARED_UNIT = 1 << 10

_WORD = 0xFFFFFFFF


@dataclass(frozen=True)
class Interface:
    """A shader's workgroup, lanes of its threads, bytes that it shares.

    `local` is whether registers have the invocations' numbers, `inline` the words of push constants in registers, and
    `table` the entry of the binding table for each set and binding.
    """

    workgroup: tuple[int, int, int]
    lanes: int
    shared: int
    local: bool
    inline: tuple[int, ...]
    table: dict[tuple[int, int], int]

    @property
    def invocations(self) -> int:
        """Invocations of a workgroup."""
        x, y, z = self.workgroup
        return x * y * z


def interface(texts: dict[str, str], listing: Listing) -> Interface:
    """What the texts of a shader say. Raises Unsupported where they do not, ValueError for what no GPU has."""
    nir = texts.get("Final NIR", "")
    size, shared = _WORKGROUP.search(nir), _SHARED.search(nir)
    ends = {i.lanes for i in listing.instructions if "EOT" in i.notes}
    if size is None or len(ends) != 1:
        raise Unsupported("a shader whose texts do not say how it is called")
    x, y, z = (int(n) for n in size.groups())
    lanes, held = ends.pop(), int(shared[1]) if shared else 0
    if not 0 < x * y * z <= MAX_INVOCATIONS or lanes not in (8, 16, 32) or held > MAX_SHARED:
        # Texts come from another process: they may ask for any amount of memory and time.
        raise ValueError(f"no GPU has workgroups of {x} x {y} x {z} in subgroups of {lanes}, which share {held} bytes")
    constants = {value: int(bits, 16) for value, bits in _CONSTANT.findall(nir)}
    table: dict[tuple[int, int], int] = {}
    for entry, number, binding, flags in _RESOURCE.findall(nir):
        if "internal" not in flags:
            if entry not in constants:
                raise Unsupported("an array of descriptors whose index is computed")
            key = int(number), int(binding)
            table[key] = min(table.get(key, 1 << 32), constants[entry])
    if set(_CONSTANT_OF_LOADING.findall(nir)) - {_DESCRIPTORS}:
        raise Unsupported("a number that is known when the code is loaded, such as the address of constant data")
    found = _MAP.search(texts.get("Shader push map", ""))
    inline = tuple(int(word) for word in found[1].replace(" ", "").split(",") if word) if found else ()
    strange = [w for w in inline if not (w < OWN + SETS or FIRST_WORKGROUP <= w < WORKGROUPS + 3 or w >= ADDRESS_HIGH)]
    if strange:
        raise Unsupported(f"word {strange[0]} of ANV's push constants")
    return Interface((x, y, z), lanes, held, not (x & x - 1 or y & y - 1), inline, table)


def push_words(push_constants: bytes, first: Sequence[int], workgroups: Sequence[int]) -> list[int]:
    """All words of ANV's push constants."""
    words = [0] * WORDS
    own = np.frombuffer(push_constants + bytes(-len(push_constants) % 4), "<u4").tolist()
    words[: len(own)] = own
    words[OWN : OWN + SETS] = [number * SET for number in range(SETS)]
    words[FIRST_WORKGROUP : FIRST_WORKGROUP + 3] = first
    words[WORKGROUPS : WORKGROUPS + 3] = workgroups
    return words


def begin(t: Thread, shader: Interface, number: int, words: Sequence[int], address: int) -> None:
    """Set the registers of a thread of a workgroup."""
    header = t.views["ud"][: t.grf // 4]
    header[:] = 0
    x, y, z = t.group.number
    header[1], header[6], header[7] = x, y, z
    header[2] = number
    at = 1
    if shader.local:
        local = number * shader.lanes + np.arange(shader.lanes)
        size_x, size_y, size_z = shader.workgroup
        made = [local % size_x] if shader.invocations > 1 else []
        made += [local // size_x % size_y] if size_y > 1 or size_z > 1 else []
        made += [local // (size_x * size_y)] if size_z > 1 else []
        for numbers in made:
            start = at * t.grf // 2
            t.views["uw"][start : start + shader.lanes] = numbers
            at += max(1, shader.lanes * 2 // t.grf)
    special = {ADDRESS_LOW: address & _WORD, ADDRESS_HIGH: address >> 32}
    for n, word in enumerate(shader.inline):
        t.views["ud"][at * t.grf // 4 + n] = special[word] if word in special else words[word]
    t.written = units(0, (at + bool(shader.inline)) * t.grf)
