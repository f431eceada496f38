"""Values that are in another register than the one from which they are read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from cts.drivers.amd.leads.search import Cut, Search
from cts.drivers.amd.leads.tracing import Forced, Words
from cts.drivers.amd.wave import VECTOR, Wave, unpacked

#: Readers that are looked at, and counterparts of each.
READERS, COUNTERPARTS = 40, 3


class Misplaced(NamedTuple):
    """An instruction reads a register, and the value that belongs there is in another one, which a writer wrote.

    `by_reader`: memory is right if the reader reads that other register; `by_writer`: if the writer writes this one and
    leaves the other; `by_copy`: if both have the value from the writer on; `swapped`: if they are exchanged before.
    """

    reader: int
    register: int
    writer: int
    other: int
    by_reader: bool = False
    by_writer: bool = False
    by_copy: bool = False
    swapped: bool = False


def misplaced(search: Search) -> Misplaced | None:
    """The first value in another register with which memory is right once it is where it is read."""
    seen = set()
    for one in _candidates(search):
        if one in seen:
            continue
        seen.add(one)
        found = one._replace(
            by_reader=search.is_right(_reading_other(one)),
            by_writer=search.is_right(_writing_here(one, restores=True)),
            by_copy=search.is_right(_writing_here(one, restores=False)),
            swapped=search.is_right(_exchanged(one)),
        )
        if found.by_reader or found.by_writer or found.by_copy or found.swapped:
            return found
    return None


def _candidates(search: Search) -> Iterator[Misplaced]:
    bad = search.bad
    for pc in sorted(search.unknown, key=search.unknown.__getitem__)[:READERS]:
        for other in search.counterparts(pc)[:COUNTERPARTS]:
            pair = search.first_pair(Cut(pc, other))
            if pair is None:
                continue
            mine, theirs = pair
            wrong, right = search.differing(mine, theirs)
            for operand in wrong:
                for source in right:
                    if isinstance(source.value, int) or operand.register < VECTOR or not mine.mask:
                        continue
                    for made, register in bad.held(mine.wave, source.value, mine.mask, mine.issued)[:2]:
                        if register != operand.register:
                            yield Misplaced(pc, operand.register, made.pc, register)


def _reading_other(one: Misplaced) -> Forced:
    here, there = one.register - VECTOR, one.other - VECTOR
    kept: dict[int, Words] = {}

    def before(w: Wave, turn: int, mask: int) -> None:
        kept[w.number] = w.v[here].copy()
        w.v[here] = w.v[there]

    def after(w: Wave, turn: int, mask: int) -> None:
        w.v[here] = kept[w.number]

    return Forced(before={one.reader: before}, after={one.reader: after})


def _writing_here(one: Misplaced, *, restores: bool) -> Forced:
    here, there = one.register - VECTOR, one.other - VECTOR
    kept: dict[int, Words] = {}

    def before(w: Wave, turn: int, mask: int) -> None:
        kept[w.number] = w.v[there].copy()
        w.written.add(one.register)

    def after(w: Wave, turn: int, mask: int) -> None:
        lanes = unpacked(mask, w.lanes)
        w.v[here][lanes] = w.v[there][lanes]
        if restores:
            w.v[there] = kept[w.number]

    return Forced(before={one.writer: before}, after={one.writer: after})


def _exchanged(one: Misplaced) -> Forced:
    here, there = one.register - VECTOR, one.other - VECTOR

    def before(w: Wave, turn: int, mask: int) -> None:
        w.v[[here, there]] = w.v[[there, here]]

    return Forced(before={one.reader: before})
