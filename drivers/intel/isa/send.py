"""Messages: loads, stores and fences of the load/store cache, and of the gateway, which ends threads and has barriers.

The words of a message are those of Mesa's src/intel/compiler/brw/brw_eu.h, lsc_msg_desc: an operation, the size of
addresses and of elements, how many elements a lane has, and what kind of surface addresses are offsets of.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cts.drivers.intel.listing import Instruction, Operand
from cts.drivers.intel.numbers import units
from cts.drivers.intel.registry import Context, Effect, instruction, lanes_of
from cts.drivers.intel.thread import Bools, Thread
from cts.drivers.machine.memory import BASE
from cts.drivers.machine.problems import Unsupported, Wrong

Offsets = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

_LOAD, _STORE, _FENCE = 0, 4, 31
#: Atomic additions, of integers and of floats, by the operation and the code of an element: what they add.
_ADDITIONS = {(12, 2): "u4", (19, 2): "f4", (19, 5): "f2"}

#: Bytes of an element in memory and in a register, by its code; elements of a lane; bytes of an address.
_ELEMENTS = {0: (1, 1), 1: (2, 2), 2: (4, 4), 3: (8, 8), 4: (1, 4), 5: (2, 4)}
_COUNTS = (1, 2, 3, 4, 8, 16, 32, 64)
_ADDRESSES = {2: 4, 3: 8}
_FLAT, _SCRATCH, _TABLE = 0, 2, 3

#: What Mesa's code has for a number that is known when it is loaded: for a surface, that of descriptors.
_LOADED = 0x4A7CC037

#: Bytes of a thread's own memory, at most: what the hardware has.
_MAX_SCRATCH = 1 << 18


class Message(NamedTuple):
    """A load, a store or an atomic addition: bytes of an element in memory and in a register, and elements of a lane.

    `transposed`: one lane has them all, and they follow each other. `surface` is an index of the binding table,
    "scratch", "shared" or "flat"; `offset` is added to addresses, and for "scratch" a word of the address register.
    `adds`: the type that is added.
    """

    stores: bool
    size: int
    held: int
    components: int
    transposed: bool
    address: int
    surface: int | str
    offset: int
    adds: str = ""


@instruction("send.gtwy")
def _gateway(i: Instruction, context: Context) -> Effect:
    reads = _mask(i.operands[1], int(i.words[1], 16) >> 25 & 15, context)
    function = int(i.words[1], 16) & 7
    if "EOT" in i.notes:

        def run(t: Thread) -> None:
            t.done = True

    elif function == 4:

        def run(t: Thread) -> None:
            t.signalled = True

    else:
        raise Unsupported(f"function {function} of the gateway")
    return Effect(run, reads, 0)


@instruction("send.ugm", "send.slm")
def _send(i: Instruction, context: Context) -> Effect:
    word = int(i.words[1], 16)
    reads = _mask(i.operands[1], word >> 25 & 15, context)
    writes = _mask(i.operands[0], word >> 20 & 31, context)
    if word & 63 == _FENCE:
        return Effect(lambda t: None, reads, writes)
    message = _message(i, word)
    reads |= _mask(i.operands[2], i.operands[2].length, context)
    locate = _addresses(i, message, context)
    if message.transposed:
        if message.stores or i.lanes != 1:
            raise Unsupported("a store of what one lane has")
        return Effect(_block_load(i, message, locate, context), reads, writes)
    move = _addition if message.adds else _transfer
    return Effect(move(i, message, locate, context), reads, writes)


def _mask(o: Operand, count: int, context: Context) -> int:
    return units(o.number * context.grf, count * context.grf) if o.file == "r" and count else 0


def _message(i: Instruction, word: int) -> Message:
    operation, elements, kind = word & 63, word >> 9 & 7, word >> 29 & 3
    adds = _ADDITIONS.get((operation, elements), "")
    if (
        (operation not in (_LOAD, _STORE) and not (adds and _COUNTS[word >> 12 & 7] == 1))
        or elements not in _ELEMENTS
        or word >> 7 & 3 not in _ADDRESSES
    ):
        raise Unsupported(f"the message {word:#x}")
    extended = 0 if i.words[0].startswith("a0") else int(i.words[0], 16)
    surface: int | str = "shared" if i.name == "send.slm" else "flat"
    offset = extended >> 12
    if kind == _TABLE:
        surface, offset = extended >> 24, extended >> 12 & 0xFFF
        offset -= (offset & 0x800) << 1
    elif kind == _SCRATCH and i.words[0].startswith("a0"):
        # The word of the address register that has the surface.
        surface, offset = "scratch", int(i.words[0].partition(".")[2])
    elif kind != _FLAT:
        raise Unsupported(f"the message {word:#x}")
    else:
        offset -= (offset & 0x80000) << 1
    size, held = _ELEMENTS[elements]
    return Message(
        operation == _STORE,
        size,
        held,
        _COUNTS[word >> 12 & 7],
        bool(word >> 15 & 1),
        _ADDRESSES[word >> 7 & 3],
        surface,
        offset,
        adds,
    )


def _addresses(i: Instruction, m: Message, context: Context) -> Callable[[Thread], Offsets]:
    first = i.operands[1].number * context.grf // m.address
    view, at = ("uq", "ud")[m.address == 4], slice(first, first + i.lanes)
    offset = 0 if m.surface == "scratch" else m.offset

    def locate(t: Thread) -> Offsets:
        values = t.views[view][at].astype(np.int64) + offset
        return values & 0xFFFFFFFF if m.address == 4 else values

    return locate


def _block_load(
    i: Instruction, m: Message, locate: Callable[[Thread], Offsets], context: Context
) -> Callable[[Thread], None]:
    start, size = i.operands[0].number * context.grf, m.size * m.components

    def run(t: Thread) -> None:
        offsets = locate(t)[0] + m.size * np.arange(m.components)
        t.bytes[start : start + size] = _read(t, m, offsets, i.where).reshape(-1)

    return run


def _transfer(
    i: Instruction, m: Message, locate: Callable[[Thread], Offsets], context: Context
) -> Callable[[Thread], None]:
    """Each component of all lanes lies in registers of its own."""
    data = i.operands[2] if m.stores else i.operands[0]
    step = -(-i.lanes * m.held // context.grf) * context.grf
    starts = [data.number * context.grf + c * step for c in range(m.components)]
    length, on = i.lanes * m.held, lanes_of(i)

    def run(t: Thread) -> None:
        mask = on(t)
        offsets = locate(t)
        lanes = np.arange(i.lanes) if mask is None else np.flatnonzero(mask)
        if not len(lanes):
            return
        for c, start in enumerate(starts):
            held = t.bytes[start : start + length].reshape(i.lanes, m.held)
            places = offsets[lanes] + c * m.size
            if m.stores:
                _write(t, m, places, held[lanes, : m.size], i.where)
            else:
                values = np.zeros((len(lanes), m.held), np.uint8)
                values[:, : m.size] = _read(t, m, places, i.where)
                held[lanes] = values

    return run


def _addition(
    i: Instruction, m: Message, locate: Callable[[Thread], Offsets], context: Context
) -> Callable[[Thread], None]:
    """Lane by lane, from the lowest on: memory gains the lane's number, and the lane gets what was there before."""
    first, length, on = i.operands[2].number * context.grf, i.lanes * m.held, lanes_of(i)
    result = i.operands[0].number * context.grf if i.operands[0].file == "r" else None

    def run(t: Thread) -> None:
        mask, offsets = on(t), locate(t)
        data = t.bytes[first : first + length].reshape(i.lanes, m.held)[:, : m.size]
        for lane in range(i.lanes) if mask is None else np.flatnonzero(mask):
            place = offsets[lane : lane + 1]
            before = _read(t, m, place, i.where)
            with np.errstate(all="ignore"):
                total = before.view(m.adds) + np.ascontiguousarray(data[lane : lane + 1]).view(m.adds)
            _write(t, m, place, total.view(np.uint8), i.where)
            if result is not None:
                t.bytes[result + lane * m.held : result + lane * m.held + m.size] = before[0]

    return run


def _inside(t: Thread, m: Message, offsets: Offsets, where: str) -> tuple[int, Bools]:
    """Where a surface begins in memory, and which accesses lie in it."""
    surface = t.group.surfaces.get(m.surface) if isinstance(m.surface, int) else None
    if surface is None:
        raise Wrong(f"an access by entry {m.surface} of the binding table, which is not there", where)
    inside = offsets + m.size <= surface.size
    if not inside.all():
        t.group.beyond.append(f"byte {int(offsets.max())} of the {surface.size} of entry {m.surface}, {where}")
    return surface.start, inside


def _read(t: Thread, m: Message, offsets: Offsets, where: str) -> Bytes:
    memory = t.group.memory
    if m.surface == "shared":
        return t.group.shared.read(offsets, m.size, where)
    if m.surface == "scratch" and t.address[m.offset] == _LOADED:
        return memory.described(offsets, m.size, where)
    if m.surface == "scratch":
        found: Bytes = np.frombuffer(_scratch(t, m, offsets, where), np.uint8)
        values: Bytes = found[offsets[:, None] + np.arange(m.size)]
        return values
    if m.surface == "flat":
        return memory.read(offsets.view(np.uint64), m.size, where)
    start, inside = _inside(t, m, offsets, where)
    if inside.all():
        return memory.read((offsets + (BASE + start)).view(np.uint64), m.size, where)
    values = np.zeros((len(offsets), m.size), np.uint8)
    values[inside] = memory.read((offsets[inside] + (BASE + start)).view(np.uint64), m.size, where)
    return values


def _write(t: Thread, m: Message, offsets: Offsets, values: Bytes, where: str) -> None:
    memory = t.group.memory
    if m.surface == "shared":
        t.group.shared.write(offsets, values, where)
    elif m.surface == "scratch":
        found = np.frombuffer(_scratch(t, m, offsets, where), np.uint8)
        found[offsets[:, None] + np.arange(m.size)] = values
    elif m.surface == "flat":
        memory.write(offsets.view(np.uint64), values, where)
    else:
        start, inside = _inside(t, m, offsets, where)
        memory.write((offsets[inside] + (BASE + start)).view(np.uint64), values[inside], where)


def _scratch(t: Thread, m: Message, offsets: Offsets, where: str) -> bytearray:
    """A thread's own memory, which grows with use. Its surface is the one that r0.5 names, here 0."""
    if t.address[m.offset]:
        raise Unsupported("a surface that the code computes, or a store to descriptors", where)
    end = int(offsets.max()) + m.size
    if end > _MAX_SCRATCH:
        raise Wrong(f"an access to byte {end} of a thread's own memory", where)
    if end > len(t.scratch):
        more = -(-end // 4096) * 4096 - len(t.scratch)
        t.scratch = t.scratch + bytearray(t.poison.to_bytes(4, "little") * (more // 4))
    return t.scratch
