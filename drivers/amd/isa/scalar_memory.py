"""Scalar loads: SMEM (RDNA 4 ISA, "Scalar Memory Operations")."""

from __future__ import annotations

from functools import partial

import numpy as np

from cts.drivers.amd.listing import Instruction
from cts.drivers.amd.operands import registers, scalar
from cts.drivers.amd.registry import Context, Run, instruction
from cts.drivers.amd.wave import MASK64, Pending, Wave

_SIZES = (32, 64, 96, 128, 256, 512)


@instruction(*(f"s_load_b{bits}" for bits in _SIZES), counter="km")
def _load(i: Instruction, _: Context) -> Run:
    target, base, offset = i.operands[:3]
    address, more = scalar(base, 64), scalar(offset)
    extra, size, where, written = i.number("offset"), 4 * target.count, i.where, registers(target)

    def run(w: Wave) -> None:
        # The lowest two bits of each part of an address are ignored.
        place = (address(w) & ~3) + (more(w) & ~3) + (extra & ~3) & MASK64
        data = w.group.memory.read_one(place, size, where)
        w.issue("km", Pending(written, where, partial(_deliver, first=target.number, data=data)))

    return run


@instruction(*(f"s_buffer_load_b{bits}" for bits in _SIZES), counter="km")
def _buffer_load(i: Instruction, _: Context) -> Run:
    target, resource, offset = i.operands[:3]
    low, high, more, n = scalar(resource, 64), resource.number + 2, scalar(offset), resource.number
    extra, size, where, written = i.number("offset"), 4 * target.count, i.where, registers(target)

    def run(w: Wave) -> None:
        address, records = low(w) & (1 << 48) - 4, w.s[high]
        address |= (address >> 47) * 0xFFFF << 48  # an address of 48 bits has a sign
        stride = w.s[n + 1] >> 16 & 0x3FFF if w.s[n + 1] >> 16 != 0xFFFF else 0  # the sign of an address
        start = (more(w) & ~3) + (extra & ~3)
        within = max(0, min(size, records * max(1, stride) - start)) & ~3
        data = w.group.memory.read_one(address + start, within, where) if within else b""
        w.issue("km", Pending(written, where, partial(_deliver, first=target.number, data=data.ljust(size, b"\0"))))

    return run


def _deliver(w: Wave, first: int, data: bytes) -> None:
    words = np.frombuffer(data, "<u4").tolist()
    w.s[first : first + len(words)] = words
