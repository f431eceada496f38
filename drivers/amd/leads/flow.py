"""Where a wave goes another way through the blocks of code, or enters one with other lanes, than in right code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from cts.drivers.amd.leads.tracing import MASK, Entry, Force, Forced, Result
from cts.drivers.amd.leads.values import Trace
from cts.drivers.amd.wave import Wave


class Parting(NamedTuple):
    """The first block that is another one, or has other lanes: how it is entered here, and how it should be.

    `block` is the label of the block before, and `of` when that was entered, in either code.
    """

    block: str
    entered: Entry
    right: Entry | None
    before: tuple[Entry, Entry]


def parting(bad: Sequence[Entry], good: Sequence[Entry], labels: Set[str]) -> Parting | None:
    """The first parting of the waves of two runs at blocks that both codes have; None if all go the same way."""
    found = []
    for wave in sorted({e.wave for e in bad}):
        mine = [e for e in bad if e.wave == wave and e.label in labels]
        theirs = [e for e in good if e.wave == wave and e.label in labels]
        for n in range(1, len(mine)):
            right = theirs[n] if n < len(theirs) else None
            if right is None or (mine[n].label, mine[n].mask) != (right.label, right.mask):
                if n - 1 < len(theirs):
                    found.append(Parting(mine[n - 1].label, mine[n], right, (mine[n - 1], theirs[n - 1])))
                break
    return min(found, key=lambda p: p.entered.at, default=None)


def within(trace: Trace, start: Entry, end: Entry | None) -> list[Result]:
    """The results of a wave from the beginning of a block to the next one's, or to those that a wave ends with."""
    stop = len(trace.results) if end is None else end.at
    return [r for r in trace.results[start.at : stop] if r.wave == start.wave]


def with_masks(trace: Trace, good: Trace, entries: Sequence[Entry], place: int | None) -> Forced:
    """Every block with the lanes of the right code, which entered blocks so: where lanes are set, and at its end.

    Also at a place where something may be missing that sets lanes.
    """
    visits: Counter[tuple[int, str]] = Counter()
    masks: dict[tuple[int, str, int], list[int]] = {}
    for wave in {e.wave for e in entries}:
        for e, following in pairwise(e for e in entries if e.wave == wave):
            changes = [int(r.values[MASK]) for r in within(good, e, following) if MASK in r.values]
            masks[wave, e.label, visits[wave, e.label]] = [*changes, following.mask]
            visits[wave, e.label] += 1
    entered: Counter[tuple[int, str]] = Counter()
    done: Counter[tuple[int, str, int]] = Counter()

    def force(w: Wave, label: str, *, last: bool) -> None:
        visit = w.number, label, entered[w.number, label] - 1
        if visit in masks:
            w.set_exec(masks[visit][-1] if last else masks[visit][: done[visit] + 1][-1])
            done[visit] += not last

    starts = trace.program.listing.starts
    ends = {n - 1 for n in starts if n} | {at for label in starts.values() if (at := leaving(trace, label))}
    ends |= set() if place is None else {place}
    before: dict[int, Force] = {}
    for pc in {*starts, *ends}:
        label = trace.blocks[pc]

        def at_place(w: Wave, turn: int, mask: int, pc: int = pc, label: str = label) -> None:
            entered[w.number, label] += pc in starts
            if pc in ends:
                force(w, label, last=True)

        before[pc] = at_place

    def behind(w: Wave, turn: int, mask: int, label: str) -> None:
        force(w, label, last=False)

    setters = {r.pc for r in trace.results if MASK in r.values}
    return Forced(before=before, behind={pc: partial(behind, label=trace.blocks[pc]) for pc in setters})


def setting(results: Sequence[Result], what: int) -> Result | None:
    """The last one that sets the mask of lanes (MASK) or SCC."""
    return next((r for r in reversed(results) if what in r.values), None)


def leaving(trace: Trace, block: str) -> int | None:
    """The instruction that a block leaves by, on a condition."""
    of = [n for n, label in enumerate(trace.blocks) if label == block]
    return next((n for n in reversed(of) if trace.instruction(n).mnemonic.startswith("s_cbranch")), None)


def bare(trace: Trace, results: Sequence[Result], good: Trace, block: str, setter: Result | None) -> tuple[int, int]:
    """Between which instructions of a block something is missing that sets lanes, as `setter` does in the right code.

    It is behind the last results that are right in vector registers, and behind the scalars that it is made of.
    """
    of = [n for n, label in enumerate(trace.blocks) if label == block]
    first, last = of[0], of[-1]
    for r in results:
        if any(not isinstance(v, int) for v in r.values.values()) or r.stored:
            if not trace.is_known(r, good):
                last = r.pc
                break
            first = r.pc + 1
    made_of = [] if setter is None else [o.value for o in good.read(setter) if isinstance(o.value, int) and o.value]
    sources = [r.pc for r in results if first <= r.pc < last and any(v in made_of for v in r.values.values())]
    return (sources[0] if sources else first), last
