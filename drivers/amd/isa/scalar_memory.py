"""Scalar loads: SMEM (RDNA 4 ISA, "Scalar Memory Operations")."""

from __future__ import annotations

from functools import partial

import numpy as np

from cts.drivers.amd.listing import Instruction
from cts.drivers.amd.operands import registers, scalar
from cts.drivers.amd.registry import Context, Run, instruction
from cts.drivers.amd.wave import MASK32, MASK64, Pending, Wave

#: Whole words, and bytes and halves that fill a word with zeros or their sign.
_LOADS = ("b32", "b64", "b96", "b128", "b256", "b512", "u8", "i8", "u16", "i16")


def _size(i: Instruction) -> int:
    """Bytes that are loaded."""
    return int(i.mnemonic.rpartition("_")[2][1:]) // 8


@instruction(*(f"s_load_{kind}" for kind in _LOADS), counter="km")
def _load(i: Instruction, _: Context) -> Run:
    target, base, offset = i.operands[:3]
    address, more = scalar(base, 64), scalar(offset)
    extra, size, where, written = i.number("offset"), _size(i), i.where, registers(target)
    aligned, deliver = -min(size, 4), partial(_deliver, first=target.number, signed="_i" in i.mnemonic)

    def run(w: Wave) -> None:
        # The lowest bits of each part of an address are ignored: two for words, one for halves.
        place = (address(w) & aligned) + (more(w) & aligned) + (extra & aligned) & MASK64
        data = w.group.memory.read_one(place, size, where)
        w.issue("km", Pending(written, where, partial(deliver, data=data)))

    return run


@instruction(*(f"s_buffer_load_{kind}" for kind in _LOADS), counter="km")
def _buffer_load(i: Instruction, _: Context) -> Run:
    target, resource, offset = i.operands[:3]
    low, high, more, n = scalar(resource, 64), resource.number + 2, scalar(offset), resource.number
    extra, size, where, written = i.number("offset"), _size(i), i.where, registers(target)
    aligned, deliver = -min(size, 4), partial(_deliver, first=target.number, signed="_i" in i.mnemonic)

    def run(w: Wave) -> None:
        address, records = low(w) & (1 << 48) - 4, w.s[high]
        address |= (address >> 47) * 0xFFFF << 48  # an address of 48 bits has a sign
        stride = w.s[n + 1] >> 16 & 0x3FFF if w.s[n + 1] >> 16 != 0xFFFF else 0  # the sign of an address
        start = (more(w) & aligned) + (extra & aligned)
        within = max(0, min(size, records * max(1, stride) - start)) & aligned
        data = w.group.memory.read_one(address + start, within, where) if within else b""
        w.issue("km", Pending(written, where, partial(deliver, data=data.ljust(size, b"\0"))))

    return run


def _deliver(w: Wave, first: int, signed: bool, data: bytes) -> None:
    if len(data) < 4:
        data = (int.from_bytes(data, "little", signed=signed) & MASK32).to_bytes(4, "little")
    words = np.frombuffer(data, "<u4").tolist()
    w.s[first : first + len(words)] = words
