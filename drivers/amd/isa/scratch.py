"""Scratch memory, which each lane has for itself: SCRATCH (RDNA 4 ISA, "Flat Memory Instructions").

The texts do not say its size. It grows with the accesses, up to `MOST` bytes of a lane.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cts.drivers.amd.formats import Array
from cts.drivers.amd.isa.lds import LOADS, STORES, Shape, deliver, loaded, stored
from cts.drivers.amd.listing import Instruction, Operand
from cts.drivers.amd.operands import registers, scalar
from cts.drivers.amd.registry import Context, Run, instruction
from cts.drivers.amd.wave import Pending, Wave
from cts.drivers.machine.problems import Wrong

#: Bytes of a lane, at most.
MOST = 1 << 18

_LOADS = {name: shape for name, shape in LOADS.items() if not name.endswith(("d16", "d16_hi"))}
_STORES = {name: shape for name, shape in STORES.items() if not name.endswith("d16_hi")}


def _place(i: Instruction, address: Operand, base: Operand) -> Callable[[Wave], Array]:
    """Offsets of active lanes in bytes: the sum of a vector's, a scalar's and the instruction's, if they are there."""
    constant = i.number("offset")
    constant -= 1 << 24 if constant >= 1 << 23 else 0
    read = scalar(base) if base.kind != "word" else None

    def place(w: Wave) -> Array:
        own = w.v[address.number].astype(np.int64) if address.kind == "vgpr" else np.zeros(w.lanes, np.int64)
        offsets: Array = own[w.mask] + (constant + (read(w) if read else 0))
        return offsets

    return place


def _room(w: Wave, offsets: Array, size: int, where: str) -> Array:
    """The memory of all lanes, (lanes, bytes), large enough for an access."""
    if len(offsets) and not 0 <= int(offsets.min()) <= int(offsets.max()) <= MOST - size:
        raise Wrong(f"an access of {size} bytes at byte {int(offsets.max())} of scratch memory", where)
    end = int(offsets.max()) + size if len(offsets) else 0
    if w.scratch.shape[1] < end:
        fill = np.full((w.lanes, max(end, 2 * w.scratch.shape[1])), w.poison & 0xFF, np.uint8)
        fill[:, : w.scratch.shape[1]] = w.scratch
        w.scratch = fill
    return w.scratch


@instruction(*(f"scratch_load_{name}" for name in _LOADS), counter="load")
def _load(i: Instruction, _: Context) -> Run:
    shape, (target, address, base) = _LOADS[i.mnemonic.removeprefix("scratch_load_")], i.operands
    place, written, where = _place(i, address, base), registers(target), i.where

    def run(w: Wave) -> None:
        offsets = place(w)
        data = _room(w, offsets, shape.size, where)[
            np.flatnonzero(w.mask)[:, None], offsets[:, None] + np.arange(shape.size)
        ]
        w.issue("load", Pending(written, where, deliver(target, loaded(data, shape), shape, w.mask)))

    return run


@instruction(*(f"scratch_store_{name}" for name in _STORES), outs=0)
def _store(i: Instruction, _: Context) -> Run:
    shape: Shape = _STORES[i.mnemonic.removeprefix("scratch_store_")]
    address, source, base = i.operands
    place, where = _place(i, address, base), i.where

    def run(w: Wave) -> None:
        offsets = place(w)
        memory = _room(w, offsets, shape.size, where)
        memory[np.flatnonzero(w.mask)[:, None], offsets[:, None] + np.arange(shape.size)] = stored(w, source, shape)

    return run
