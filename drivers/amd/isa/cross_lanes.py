"""Values of other lanes: permutations of lanes, and those that go through the LDS's crossbar (RDNA 4 ISA)."""

from __future__ import annotations

from typing import Any

import numpy as np

from cts.drivers.amd.dpp import QUAD, ROW
from cts.drivers.amd.isa.lds import Shape, deliver
from cts.drivers.amd.listing import Instruction
from cts.drivers.amd.operands import registers, scalar
from cts.drivers.amd.registry import Context, Run, instruction
from cts.drivers.amd.wave import Pending, Wave
from cts.drivers.machine.problems import Unsupported


@instruction("v_permlane16_b32", "v_permlanex16_b32", updates=True)
def _permuted_row(i: Instruction, context: Context) -> Run:
    """Lanes of the same row, or of the other row of a pair, by four bits for each lane of a row in two scalars.

    The first bit of op_sel reads inactive lanes, the second one makes them 0; without both the lane keeps its value.
    """
    target, source, *selectors = i.operands
    reads = [scalar(o) for o in selectors]
    fetches, zero = (bool(bit) for bit in i.bits("op_sel", (0, 0))[:2])
    lane = np.arange(context.lanes)
    row = lane - lane % ROW
    row = row ^ ROW if "x16" in i.mnemonic else row

    def run(w: Wave) -> None:
        low, high = (read(w) for read in reads)
        places = np.array([(low | high << 32) >> 4 * n & ROW - 1 for n in range(ROW)])
        chosen = row + places[lane % ROW]
        valid = np.ones(w.lanes, np.bool_) if fetches else w.mask[chosen]
        values = np.where(valid, w.v[source.number][chosen], np.uint32(0))
        np.copyto(w.v[target.number], values, where=w.mask & (valid | zero))

    return run


@instruction("v_permlane16_var_b32", "v_permlanex16_var_b32", updates=True)
def _permuted_row_by_lanes(i: Instruction, context: Context) -> Run:
    """As with scalars, but each lane says itself which lane of the row it takes."""
    target, source, selector = i.operands
    fetches, zero = (bool(bit) for bit in i.bits("op_sel", (0, 0))[:2])
    lane = np.arange(context.lanes)
    row = lane - lane % ROW
    row = row ^ ROW if "x16" in i.mnemonic else row

    def run(w: Wave) -> None:
        chosen = row + (w.v[selector.number] & np.uint32(ROW - 1)).astype(np.int64)
        valid = np.ones(w.lanes, np.bool_) if fetches else w.mask[chosen]
        values = np.where(valid, w.v[source.number][chosen], np.uint32(0))
        np.copyto(w.v[target.number], values, where=w.mask & (valid | zero))

    return run


@instruction("v_permlane64_b32")
def _swapped_halves(i: Instruction, context: Context) -> Run:
    """The halves of a wave of 64 lanes change places, inactive lanes' values too; waves of 32 keep theirs."""
    target, source = i.operands
    lane = np.arange(context.lanes)
    order = lane ^ 32 if context.lanes == 64 else lane
    return lambda w: np.copyto(w.v[target.number], w.v[source.number][order], where=w.mask)


def _issued(w: Wave, i: Instruction, values: Any) -> None:
    target = i.operands[0]
    row = np.asarray(values)[w.mask][None]
    w.issue("ds", Pending(registers(target), i.where, deliver(target, row, Shape(4), w.mask)))


@instruction("ds_bpermute_b32", "ds_bpermute_fi_b32", counter="ds")
def _fetched(i: Instruction, context: Context) -> Run:
    """Each lane names the lane, times four, of its half of the wave whose value it takes: 0 from an inactive one."""
    _, address, data = i.operands
    offset, half = i.number("offset"), np.arange(context.lanes) & 32
    fetches = "_fi_" in i.mnemonic

    def run(w: Wave) -> None:
        chosen = ((w.v[address.number] + np.uint32(offset)) >> np.uint32(2) & np.uint32(31)).astype(np.int64) + half
        valid = np.ones(w.lanes, np.bool_) if fetches else w.mask[chosen]
        _issued(w, i, np.where(valid, w.v[data.number][chosen], np.uint32(0)))

    return run


@instruction("ds_permute_b32", counter="ds")
def _sent(i: Instruction, context: Context) -> Run:
    """Each lane names the lane, times four, of its half that gets its value; the highest lane wins."""
    _, address, data = i.operands
    offset, half = i.number("offset"), np.arange(context.lanes) & 32

    def run(w: Wave) -> None:
        chosen = ((w.v[address.number] + np.uint32(offset)) >> np.uint32(2) & np.uint32(31)).astype(np.int64) + half
        got = np.zeros(w.lanes, np.uint32)
        for lane in np.flatnonzero(w.mask):
            got[chosen[lane]] = w.v[data.number][lane]
        _issued(w, i, got)

    return run


@instruction("ds_swizzle_b32", counter="ds")
def _swizzled(i: Instruction, context: Context) -> Run:
    """Lanes of quads by two bits each; of groups of 32 rotated, or by three masks: and, or, exclusive or."""
    if not i.words or i.words[0] & 0xE000 == 0xE000:
        raise Unsupported("a swizzle in this order" if i.words else "a swizzle whose encoding is not known")
    pattern, lane = i.words[0] & 0xFFFF, np.arange(context.lanes)
    if pattern >> 14 == 3:
        kept, by = pattern & 31, pattern >> 5 & 31
        place = lane + (-by if pattern >> 10 & 1 else by)
        chosen = lane & (32 | kept) | place & 31 & ~kept
    elif pattern >> 15:
        chosen = lane - lane % QUAD + (pattern >> 2 * (lane % QUAD) & 3)
    else:
        place = (lane & 31 & pattern | pattern >> 5 & 31) ^ pattern >> 10 & 31
        chosen = (lane & 32) + place
    data = i.operands[1]

    def run(w: Wave) -> None:
        _issued(w, i, np.where(w.mask[chosen], w.v[data.number][chosen], np.uint32(0)))

    return run
