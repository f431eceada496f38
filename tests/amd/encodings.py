"""Registers and offsets of encoded instructions, read from their words alone (RDNA 4 ISA, "Microcode Formats")."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from cts.drivers.amd.listing import Instruction, Operand


class Fields(NamedTuple):
    """Operands in the order of the text: (scalar, number) or (vector, number); an offset, None where there is none."""

    operands: tuple[tuple[str, int], ...]
    offset: int | None = None


def _source(bits: int) -> tuple[str, int]:
    """A source of 9 bits: vector registers from 256 on, constants between 128 and 255 but for SCC."""
    if bits >= 256:
        return "vgpr", bits - 256
    return ("sgpr", bits) if bits < 128 else ("constant", bits)


def fields(i: Instruction) -> Fields | None:
    """What the words say; None for an encoding that is not read here."""
    words = i.words
    word, value = words[0], sum(w << 32 * n for n, w in enumerate(words))
    for matches, read in _FORMATS:
        if matches(word):
            return read(value, i)
    return None


def _part(value: int, low: int, bits: int) -> int:
    return value >> low & ((1 << bits) - 1)


def _sop2(v: int, i: Instruction) -> Fields:
    return Fields((("sgpr", _part(v, 16, 7)), _source(_part(v, 0, 8)), _source(_part(v, 8, 8))))


def _sop1(v: int, i: Instruction) -> Fields:
    return Fields((("sgpr", _part(v, 16, 7)), _source(_part(v, 0, 8))))


def _sopc(v: int, i: Instruction) -> Fields:
    return Fields((_source(_part(v, 0, 8)), _source(_part(v, 8, 8))))


def _smem(v: int, i: Instruction) -> Fields:
    return Fields((("sgpr", _part(v, 6, 7)), ("sgpr", 2 * _part(v, 0, 6))))


def _vop1(v: int, i: Instruction) -> Fields:
    return Fields((("vgpr", _part(v, 17, 8)), _source(_part(v, 0, 9))))


def _vop2(v: int, i: Instruction) -> Fields:
    return Fields((("vgpr", _part(v, 17, 8)), _source(_part(v, 0, 9)), ("vgpr", _part(v, 9, 8))))


def _vop3(v: int, i: Instruction) -> Fields:
    sources = [_source(_part(v, low, 9)) for low in (32, 41, 50)]
    if "_co_" in i.mnemonic:  # with a scalar register for carries
        return Fields((("vgpr", _part(v, 0, 8)), ("sgpr", _part(v, 8, 7)), *sources))
    scalar = i.mnemonic.startswith(("v_cmp", "v_read"))
    return Fields((("sgpr" if scalar else "vgpr", _part(v, 0, 8)), *sources))


def _vop3p(v: int, i: Instruction) -> Fields:
    return Fields((("vgpr", _part(v, 0, 8)), *(_source(_part(v, low, 9)) for low in (32, 41, 50))))


def _ds(v: int, i: Instruction) -> Fields:
    address, data, second, target = (("vgpr", _part(v, low, 8)) for low in (32, 40, 48, 56))
    operands = (target, address) if "_load" in i.mnemonic else (address, data, second)
    return Fields(operands, None if "2addr" in i.mnemonic else _part(v, 0, 16))


def _buffer(v: int, i: Instruction) -> Fields:
    operands = ("vgpr", _part(v, 32, 8)), ("vgpr", _part(v, 64, 8)), ("sgpr", _part(v, 41, 9)), ("sgpr", _part(v, 0, 7))
    return Fields(operands, _part(v, 72, 24))


def _global(v: int, i: Instruction) -> Fields:
    address, base = ("vgpr", _part(v, 64, 8)), ("sgpr", _part(v, 0, 7))
    if "_load" in i.mnemonic:
        return Fields((("vgpr", _part(v, 32, 8)), address, base), _part(v, 72, 24))
    return Fields((address, ("vgpr", _part(v, 55, 8)), base), _part(v, 72, 24))


#: By the topmost bits of the first word, more of them first.
_FORMATS: tuple[tuple[Callable[[int], bool], Callable[[int, Instruction], Fields]], ...] = (
    (lambda w: w >> 23 == 0b101111101, _sop1),
    (lambda w: w >> 23 == 0b101111110, _sopc),
    (lambda w: w >> 30 == 0b10 and w >> 28 != 0b1011, _sop2),
    (lambda w: w >> 26 == 0b111101, _smem),
    (lambda w: w >> 25 == 0b0111111, _vop1),
    (lambda w: w >> 31 == 0 and w >> 25 < 0b0111110, _vop2),
    (lambda w: w >> 26 == 0b110101, _vop3),
    (lambda w: w >> 24 == 0b11001100, _vop3p),
    (lambda w: w >> 26 == 0b110110, _ds),
    (lambda w: w >> 26 == 0b110001, _buffer),
    (lambda w: w >> 24 == 0b11101110, _global),
)


def disagreements(i: Instruction) -> Iterator[str]:
    """Where the text of an instruction says something else than its words."""
    found = fields(i)
    if found is None:
        return
    # Short encodings have no field for VCC.
    written = [o for o in i.operands if not (i.encoding == "e32" and o.text == "vcc")]
    for operand, (kind, number) in zip(written, found.operands, strict=False):
        if operand.is_register and not _same(operand, kind, number):
            yield f"{i.text}: {operand.text} is {kind} {number} in the words"
    if found.offset is not None and i.number("offset") != found.offset:
        yield f"{i.text}: the offset is {found.offset} in the words"


def _same(operand: Operand, kind: str, number: int) -> bool:
    if operand.half is not None and kind == "vgpr" and number >= 128:
        number -= 128  # the high half of a register in an encoding of 32 bits
    return (operand.kind, operand.number) == (kind, number)
