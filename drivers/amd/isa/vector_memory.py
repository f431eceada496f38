"""Buffers and global memory (RDNA 4 ISA, "Vector Memory Buffer Instructions", "Flat Memory Instructions").

A buffer access outside its descriptor reads zeros and writes nothing; one of several words is checked word by word.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from cts.drivers.amd.formats import Array
from cts.drivers.amd.isa.lds import LOADS, STORES, Shape, deliver, loaded, stored
from cts.drivers.amd.listing import Instruction, Operand
from cts.drivers.amd.operands import registers, scalar
from cts.drivers.amd.registry import Context, Run, instruction
from cts.drivers.amd.wave import Pending, Wave
from cts.drivers.machine.problems import Unsupported, Wrong

#: Without those of LDS alone.
_LOADS = {name: shape for name, shape in LOADS.items() if not name.endswith(("d16", "d16_hi"))}
_STORES = {name: shape for name, shape in STORES.items() if not name.endswith("d16_hi")}

#: Addresses and, in bytes, how much of each access is within bounds; by wave.
Place: TypeAlias = Callable[[Wave], "tuple[Array, Array | None]"]


def buffer_place(i: Instruction, operands: tuple[Operand, ...], size: int) -> Place:
    """Where a buffer instruction accesses memory: descriptor, offsets, and bounds in bytes (OOB_SELECT 3, stride 0)."""
    address, resource, offset = operands
    if i.flag("idxen") or resource.count != 4:
        raise Unsupported("a buffer access by index")
    constant, more, n, r = i.number("offset"), scalar(offset), address.number, resource.number
    varying = i.flag("offen")

    def place(w: Wave) -> tuple[Array, Array | None]:
        base = (w.s[r] | w.s[r + 1] << 32) & (1 << 48) - 1
        base |= (base >> 47) * 0xFFFF << 48  # an address of 48 bits has a sign
        # Of the code's constants RADV writes the sign of the address where a stride is.
        if w.s[r + 1] >> 16 & 0x3FFF and w.s[r + 1] >> 16 != 0xFFFF:
            raise Wrong("a descriptor with a stride", i.where)
        lanes = int(np.count_nonzero(w.mask))
        own = w.v[n][w.mask].astype(np.int64) if varying else np.zeros(lanes, np.int64)
        # The sum wraps around: compilers fold negative parts into the register.
        offsets = own + (constant + more(w)) & 0xFFFFFFFF
        within = np.clip(w.s[r + 2] - offsets, 0, size)
        if (within == size).all():
            return offsets.astype(np.uint64) + np.uint64(base), None
        w.group.beyond.append(i.where)
        return offsets.astype(np.uint64) + np.uint64(base), within

    return place


def global_place(i: Instruction, address: Operand, base: Operand) -> Place:
    """Where a global instruction accesses memory: a vector's 64 bits, or a scalar's and 32 bits of a vector."""
    constant, n = i.number("offset"), address.number
    constant = constant - (1 << 24) if constant >= 1 << 23 else constant
    if base.kind == "word":  # off

        def far(w: Wave) -> tuple[Array, Array | None]:
            own = w.v[n] | w.v[n + 1].astype(np.uint64) << np.uint64(32)
            return (own + np.uint64(constant & (1 << 64) - 1))[w.mask], None

        return far
    read = scalar(base, 64)

    def near(w: Wave) -> tuple[Array, Array | None]:
        own = w.v[n].astype(np.uint64)
        return (own + np.uint64(read(w) + constant & (1 << 64) - 1))[w.mask], None

    return near


def _loads(i: Instruction, target: Operand, shape: Shape, place: Place) -> Run:
    written, where = registers(target), i.where

    def run(w: Wave) -> None:
        addresses, within = place(w)
        data = _read(w, addresses, within, shape.size, where)
        w.issue("load", Pending(written, where, deliver(target, loaded(data, shape), shape, w.mask)))

    return run


def _read(w: Wave, addresses: Array, within: Array | None, size: int, where: str) -> Array:
    if within is None:
        return w.group.memory.read(addresses, size, where)
    data = np.zeros((len(addresses), size), np.uint8)
    step = min(size, 4)
    for start in range(0, size, step):
        inside = within >= start + step
        data[inside, start : start + step] = w.group.memory.read(addresses[inside] + np.uint64(start), step, where)
    return data


def _stores(i: Instruction, source: Operand, shape: Shape, place: Place) -> Run:
    where, size = i.where, shape.size

    def run(w: Wave) -> None:
        addresses, within = place(w)
        data = stored(w, source, shape)
        if within is None:
            w.group.memory.write(addresses, data, where)
            return
        step = min(size, 4)
        for start in range(0, size, step):
            inside = within >= start + step
            w.group.memory.write(addresses[inside] + np.uint64(start), data[inside, start : start + step], where)

    return run


@instruction(*(f"buffer_load_{name}" for name in _LOADS), counter="load")
def _buffer_load(i: Instruction, _: Context) -> Run:
    shape = _LOADS[i.mnemonic.removeprefix("buffer_load_")]
    return _loads(i, i.operands[0], shape, buffer_place(i, i.operands[1:4], shape.size))


@instruction(*(f"buffer_store_{name}" for name in _STORES), outs=0)
def _buffer_store(i: Instruction, _: Context) -> Run:
    shape = _STORES[i.mnemonic.removeprefix("buffer_store_")]
    return _stores(i, i.operands[0], shape, buffer_place(i, i.operands[1:4], shape.size))


@instruction(*(f"global_load_{name}" for name in _LOADS), counter="load")
def _global_load(i: Instruction, _: Context) -> Run:
    target, address, base = i.operands
    return _loads(i, target, _LOADS[i.mnemonic.removeprefix("global_load_")], global_place(i, address, base))


@instruction(*(f"global_store_{name}" for name in _STORES), outs=0)
def _global_store(i: Instruction, _: Context) -> Run:
    address, source, base = i.operands
    return _stores(i, source, _STORES[i.mnemonic.removeprefix("global_store_")], global_place(i, address, base))


SIZE = 16

#: The lane that has the address of each row's first 8 elements, and of its last 8; by the bytes of a lane.
_SOURCES = {
    16: np.array([[row // 8 * 16 + row % 8 + 8 * half for half in (0, 1)] for row in range(SIZE)]).ravel(),
    8: np.array([[row // 4 * 8 + row % 4 + 4 * half for half in (0, 1)] for row in range(SIZE)]).ravel(),
}


@instruction("global_load_tr_b128", "global_load_tr_b64", counter="load")
def _transposed_load(i: Instruction, context: Context) -> Run:
    """A 16x16 matrix of halves or bytes, transposed (RDNA 4 ISA, "Matrix load with transpose").

    Each of the first 32 lanes has the address of 8 elements of a row; `_SOURCES` lists the row of each lane. A lane
    gets 8 elements of a column. In a wave of 64 lanes the first 32 lanes get the first half of their column, the other
    lanes the second half. No document says which lane has which row: the order is the one that RADV uses
    (radv_nir_opt_cooperative_matrix.c).
    """
    target, address, base = i.operands
    bytes_each = 16 if i.mnemonic.endswith("b128") else 8
    place, shape = global_place(i, address, base), Shape(bytes_each * 32 // context.lanes)
    written, where, order = registers(target), i.where, _SOURCES[bytes_each]
    if 4 * target.count != shape.size:
        raise Unsupported(f"{target.count} registers of a load with transpose")

    def run(w: Wave) -> None:
        if not w.exec:  # as s_nop
            return
        if not w.full:
            raise Wrong("a load with transpose with inactive lanes", where)
        addresses, _ = place(w)
        rows = w.group.memory.read(addresses[:32], bytes_each, where)
        size = bytes_each // 8
        tile = rows.reshape(32, 8, size)[order].reshape(SIZE, SIZE, size)
        # (row, column) to (half of the rows, column, row in that half)
        columns = tile.reshape(2, 8, SIZE, size).transpose(0, 2, 1, 3).reshape(32, bytes_each)
        if w.lanes == 64:
            columns = columns.reshape(32, 2, -1).transpose(1, 0, 2).reshape(64, -1)
        values = loaded(columns, shape)
        w.issue("load", Pending(written, where, deliver(target, values, shape, w.mask)))

    return run
