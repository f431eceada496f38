"""The registers that RADV sets for a compute shader, read from the head of the shader's NIR.

The order of scalar arguments is that of radv_declare_shader_args in Mesa's src/amd/vulkan/radv_shader_args.c: an
address of each descriptor set and of the push constants, words of these, the number of workgroups; on RDNA 3 the
numbers of the workgroup; and a word with how many waves a workgroup has, and on RDNA 3 with the wave's number. RDNA 4
has the numbers of a workgroup and of its waves in registers that the hardware sets (RDNA 4 ISA, "Initial Wave State").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from cts.drivers.amd.listing import TTMP
from cts.drivers.machine.problems import Unsupported

_WORKGROUP = re.compile(r"^workgroup_size: (\d+), (\d+), (\d+)", re.MULTILINE)
_SUBGROUP = re.compile(r"^m(?:ax|in)_subgroup_size: (\d+)", re.MULTILINE)
_SHARED = re.compile(r"^shared_size: (\d+)", re.MULTILINE)
_SET = re.compile(r"(%\d+) = pack_64_2x32_split (%\d+), %\d+ \(0xffff8000\)")
_FETCH_COMPUTED = r"@load_(?:global|smem)_amd \({}, %\d+\)"
_FETCH = r"(\d+)(?:x(\d+))? +%\d+ = @load_(?:global|smem)_amd \({}, %\d+ \((0x[0-9a-f]+)[^)]*\)\) \(base=(\d+)"
_LOADED = re.compile(
    r"32(x3)? +(%\d+) = @load_scalar_arg(_wg_div)?_amd \(base=(\d+)(?:, arg_upper_bound_u32_amd=(\d+))?"
)
_START = re.compile(r"^(.*)= p_startpgm", re.MULTILINE)
_ARGUMENT = re.compile(r"\bs(\d+): (?:\(\w+\))*%\d+:s\[(\d+)")

#: Registers of the numbers of a workgroup: x; y and z; and, from bit 25 on, of the wave in its workgroup.
TTMP_X, TTMP_YZ, TTMP_WAVE = TTMP + 9, TTMP + 7, TTMP + 8
WAVE_SHIFT = 25

#: Invocations of a workgroup, and bytes of its LDS, at most: as many as the hardware has room for.
MAX_INVOCATIONS, MAX_LDS = 1024, 1 << 17

#: Words of push constants in registers at most, the first of those that are used (Mesa's AC_MAX_INLINE_PUSH_CONSTS).
MAX_INLINE = 8

#: Where an RDNA 3 wave has its number in its last argument, whose low bits are the number of waves.
_WAVE_SHIFTS_RDNA3 = 6, 20

#: The kind of an argument, from the NIR: three numbers at once, the word of a wave, a number below 65,536, or another.
Kind: TypeAlias = Literal["three", "wave", "short", "other"]

#: What a register holds that is known only when a workgroup begins: a coordinate of it, or the word of its waves.
Place: TypeAlias = Literal["x", "y", "z", "wave"]


class Pushed(NamedTuple):
    """Push constants: the words that the code uses, and the address of all of them, for those not in registers."""

    words: dict[int, int]
    address: int


class Loaded(NamedTuple):
    """An argument that the code uses: its number, and what is known of it."""

    number: int
    kind: Kind


@dataclass(frozen=True)
class Interface:
    """A shader's workgroup, the lanes of its waves, bytes of LDS, and how many scalar registers hold arguments.

    `pointers` are the arguments that its code takes for addresses of the driver's memory, `loaded` all that it uses.
    `fetched` are the words that it loads by the last of these addresses at constant offsets; `fetches_computed` says
    whether it loads others. `first` is the register of the first argument: in front of it Mesa 26.1 has an address that
    no shader uses. `marked`: the NIR has the kinds of all arguments, as in Mesa 26.2 and later.
    """

    workgroup: tuple[int, int, int]
    lanes: int
    lds: int
    arguments: int
    pointers: tuple[int, ...]
    loaded: tuple[Loaded, ...] = ()
    first: int = 0
    marked: bool = True
    fetched: frozenset[int] = frozenset()
    fetches_computed: bool = False

    @property
    def has_sets(self) -> bool:
        """Whether there are registers for descriptor sets: of such as the code uses, or has used before."""
        return bool(self.pointers) or min((a.number for a in self.loaded), default=0) > 0

    @property
    def invocations(self) -> int:
        """Invocations of a workgroup."""
        x, y, z = self.workgroup
        return x * y * z


def interface(nir: str, aco: str) -> Interface:
    """What the texts of a shader say. Raises Unsupported where they do not, ValueError for what no GPU has."""
    size, lanes, start = _WORKGROUP.search(nir), set(_SUBGROUP.findall(nir)), _START.search(aco)
    if size is None or len(lanes) != 1 or start is None:
        raise Unsupported("a shader whose NIR or ACO IR does not say how it is called")
    shared = _SHARED.search(nir)
    registers = [(int(first), int(count)) for count, first in _ARGUMENT.findall(start[1])]
    first = 2 if registers[:1] == [(0, 2)] else 0
    values = {value: Loaded(int(number) - bool(first), _kind(*kind)) for *kind, value, number in _loads(nir)}
    pointers: dict[int, list[str]] = {}
    for packed, value in _SET.findall(nir):
        if value in values:
            pointers.setdefault(values[value].number, []).append(packed)
    x, y, z = (int(n) for n in size.groups())
    width, lds = int(lanes.pop()), int(shared[1]) if shared else 0
    if not 0 < x * y * z <= MAX_INVOCATIONS or width not in (32, 64) or lds > MAX_LDS:
        # Texts come from another process: they may ask for any amount of memory and time.
        raise ValueError(f"no GPU has workgroups of {x} x {y} x {z} in waves of {width}, with {lds} bytes of LDS")
    end = max((at + count for at, count in registers), default=first)
    addresses = pointers.get(max(pointers, default=0), [])
    return Interface(
        (x, y, z),
        width,
        lds,
        end - first,
        tuple(sorted(pointers)),
        tuple(sorted(set(values.values()))),
        first,
        "arg_num_lsb_zero" in nir or not values,
        frozenset(n for address in addresses for n in _fetched(nir, address)),
        any(re.search(_FETCH_COMPUTED.format(re.escape(address)), nir) for address in addresses),
    )


def _fetched(nir: str, address: str) -> Iterator[int]:
    """The words that are loaded at constant offsets from an address."""
    for bits, count, offset, base in re.findall(_FETCH.format(re.escape(address)), nir):
        start = int(offset, 16) + int(base)
        yield from range(start // 4, -(-(start + int(bits) * int(count or 1) // 8) // 4))


def _loads(nir: str) -> Iterator[tuple[str, str, str, str, str]]:
    for three, value, wave, number, bound in _LOADED.findall(nir):
        yield three, wave, bound, value, number


def _kind(three: str, wave: str, bound: str) -> Kind:
    if three:
        return "three"
    return "wave" if wave else "short" if bound == "65535" else "other"


def arguments(
    shader: Interface,
    sets: Sequence[int],
    pushed: Pushed,
    workgroups: tuple[int, int, int],
    short: Sequence[Place] = (),
) -> list[int | Place]:
    """The scalar registers from `shader.first` on: addresses of descriptor sets and of push constants, words of these,
    number of workgroups.

    On RDNA 3 `short` are the numbers of a workgroup that the module uses, of y and z, and "wave" if it uses the number
    of subgroups. Raises Unsupported where the shader has other registers.
    """
    values: list[int | Place] = [a & 0xFFFFFFFF for a in sets] if shader.has_sets else []
    words = pushed.words
    if pushed.words and len(shader.pointers) > len(sets):  # not all are in registers
        values.append(pushed.address & 0xFFFFFFFF)
        words = _in_registers(shader, len(values), words, bool(short))
    elif len(shader.pointers) not in (0, len(sets)):
        raise Unsupported(f"{len(shader.pointers)} addresses of descriptor sets, of {len(sets)}")
    values += words.values()
    more = shader.arguments - len(values)
    later = [a for a in shader.loaded if a.number >= len(values)]
    if more < 0 or (not short and more not in (0, 1, 3, 4)):
        what = f"{shader.arguments} registers of arguments, of {len(sets)} descriptor sets and {len(words)}"
        raise Unsupported(f"{what} words of push constants")
    three = any(a.kind == "three" for a in later) or (not short and more >= 3)
    values += workgroups if three else ()
    if not short and more in (1, 4):
        values.append("wave")
    if short and not shader.marked and any(a.kind != "three" for a in later):
        raise Unsupported("numbers of workgroups and waves, which Mesa tells apart from 26.2 on")
    shorts = [a for a in later if a.kind == "short"]
    coordinates = [name for name in short if name != "wave"]
    if len(shorts) > len(coordinates):
        raise Unsupported("numbers of a workgroup of which it is not known which they are")
    names: dict[int, Place] = {a.number: name for a, name in zip(shorts, coordinates, strict=False)}
    others = sorted({a.number for a in later if a.kind == "other"})
    if "wave" in short and others and all(a.kind != "wave" for a in later):
        # What counts the waves is the last argument.
        if others[-1] != shader.arguments - 1 - 2 * three:
            raise Unsupported("a number of which it is not known whether it counts waves")
        names[others.pop()] = "wave"
    if short and len(set(others) - {a.number for a in later if a.kind == "wave"}) > 1:
        raise Unsupported("more numbers of a workgroup than are known")
    if short:
        values += [0] * (shader.arguments - len(values))
        for a in later:
            if a.kind != "three":
                values[a.number + 2 * three] = names.get(a.number, "wave" if a.kind == "wave" else "x")
    return values


def _in_registers(shader: Interface, at: int, words: dict[int, int], short: bool) -> dict[int, int]:
    """The words that registers from `at` on hold: the first ones, or the first that the code does not load."""
    inline = {a.number for a in shader.loaded if a.kind == "other" and a.number >= at}
    for chosen in (words, {n: word for n, word in words.items() if n not in shader.fetched}):
        first = dict(list(chosen.items())[:MAX_INLINE])
        # A load of several words of which one is in no register loads them all.
        held = {n for n, word in enumerate(first, at) if n in inline or word not in shader.fetched}
        more = shader.arguments - at - len(first)
        if inline >= held and (more >= 0 if short else inline <= held and more in (0, 1, 3, 4)):
            return first
    raise Unsupported(f"{len(inline)} registers for words of push constants, of {len(chosen)} that may be in them")


def filled(given: Sequence[int | Place], number: tuple[int, int, int], wave: int, waves: int) -> list[int]:
    """The registers of a wave of a workgroup, which has so many `waves`."""
    word = waves | sum(wave << n for n in _WAVE_SHIFTS_RDNA3)
    values = {"x": number[0], "y": number[1], "z": number[2], "wave": word}
    return [a if isinstance(a, int) else values[a] for a in given]
