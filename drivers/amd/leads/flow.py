"""Where a wave goes another way through the blocks of code, or enters one with other lanes, than in right code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from cts.drivers.amd.leads.tracing import Entry, Result
from cts.drivers.amd.leads.values import Trace


class Parting(NamedTuple):
    """The first block that is another one, or has other lanes: how it is entered here, and how it should be.

    `block` is the label of the block before, and `of` when that was entered, in either code.
    """

    block: str
    entered: Entry
    right: Entry | None
    before: tuple[Entry, Entry]


def parting(bad: Sequence[Entry], good: Sequence[Entry]) -> Parting | None:
    """The first parting of the waves of two runs; None if all go the same way."""
    labels = {e.label for e in bad} & {e.label for e in good}
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


def within(trace: Trace, start: Entry, block: str) -> list[Result]:
    """The results of a block that a wave entered."""
    found = []
    for r in trace.results[start.at :]:
        if r.wave == start.wave:
            if trace.blocks[r.pc] != block:
                break
            found.append(r)
    return found


def setting(results: Sequence[Result], what: int) -> Result | None:
    """The last one that sets the mask of lanes (MASK) or SCC."""
    return next((r for r in reversed(results) if what in r.values), None)


def branch(trace: Trace, block: str) -> int | None:
    """The instruction that a block leaves by, on a condition."""
    of = [n for n, label in enumerate(trace.blocks) if label == block]
    return next((n for n in reversed(of) if trace.instruction(n).mnemonic.startswith("s_cbranch")), None)


def bare(trace: Trace, results: Sequence[Result], good: Trace, block: str, setter: Result | None) -> tuple[int, int]:
    """Between which instructions of a block something is missing that sets the mask of lanes, as `setter` does elsewhere.

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
