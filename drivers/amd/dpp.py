"""Operands of other lanes: DPP (RDNA 4 ISA, "Data Parallel Processing")."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from cts.drivers.amd.listing import Instruction
from cts.drivers.amd.wave import MOVED, Bools, Wave, packed
from cts.drivers.machine.problems import Unsupported

#: Lanes of a row, which no value leaves here, and of its parts.
ROW, QUAD, EIGHT = 16, 4, 8

#: Orders of lanes, each a modifier.
_ORDERS = (
    "quad_perm", "dpp8", "row_shl", "row_shr", "row_ror", "row_mirror", "row_half_mirror", "row_share", "row_xmask",
)  # fmt: skip

_Lanes = npt.NDArray[Any]


def has_other_lanes(i: Instruction) -> bool:
    """Whether the first source comes from other lanes: LLVM prints comparisons that write vcc without the suffix."""
    return i.encoding.endswith("dpp") or any(i.flag(name) for name in _ORDERS)


def _source_lanes(i: Instruction, lanes: int) -> tuple[_Lanes, Bools]:
    """From which lane each one takes its value, and whether that is one of its row."""
    lane, every = np.arange(lanes), np.ones(lanes, np.bool_)
    place = lane % ROW
    for name, size in (("quad_perm", QUAD), ("dpp8", EIGHT)):
        if i.flag(name):
            return lane - lane % size + np.array(i.bits(name, ()))[lane % size], every
    moves: dict[str, Callable[[int], _Lanes]] = {
        "row_shl": lambda n: place + n,
        "row_shr": lambda n: place - n,
        "row_ror": lambda n: (place - n) % ROW,
        "row_mirror": lambda n: ROW - 1 - place,
        "row_half_mirror": lambda n: place ^ EIGHT - 1,
        "row_share": lambda n: np.full(lanes, n),
        "row_xmask": lambda n: place ^ n,
    }
    order = next((name for name in moves if i.flag(name)), None)
    if order is None:
        raise Unsupported("operands of other lanes in this order")
    source = moves[order](i.number(order))
    return lane - place + np.clip(source, 0, ROW - 1), (source >= 0) & (source < ROW)


def _allowed(i: Instruction, lanes: int) -> Bools:
    """The lanes whose row and bank are in the masks."""
    lane = np.arange(lanes)
    rows, banks = i.number("row_mask", 0xF), i.number("bank_mask", 0xF)
    return ((rows >> lane // ROW & 1) & (banks >> lane % ROW // QUAD & 1)).astype(np.bool_)


def shuffled(i: Instruction, source: int, plain: Callable[[Wave], None], lanes: int) -> Callable[[Wave], None]:
    """An instruction `plain` whose first source, the register `MOVED`, has `source` of other lanes.

    A source beyond its row, or in an inactive lane without `fi`, counts as 0 with `bound_ctrl`; without it that lane
    does nothing. With eight selectors it counts as 0 always.
    """
    lane, within = _source_lanes(i, lanes)
    keeps = i.mnemonic.startswith("v_cmpx_")  # what it makes of the active lanes
    allowed, fetches, zero = _allowed(i, lanes), i.flag("fi"), i.flag("bound_ctrl") or i.flag("dpp8")

    def run(w: Wave) -> None:
        valid = within if fetches else within & w.mask[lane]
        w.v[MOVED] = np.where(valid, w.v[source][lane], np.uint32(0))
        active = w.mask & allowed & (valid | zero)
        before = w.exec, w.mask, w.full
        w.exec, w.mask, w.full = packed(active), active, bool(active.all())
        plain(w)
        if not keeps:
            w.exec, w.mask, w.full = before

    return run
