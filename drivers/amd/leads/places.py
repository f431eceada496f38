"""Values that are in another register than the one from which they are read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from cts.drivers.amd.leads.search import Cut, Search
from cts.drivers.amd.leads.tracing import Forced, Result, Value, Words
from cts.drivers.amd.leads.values import Operand, Trace, part, same, with_part
from cts.drivers.amd.operands import registers
from cts.drivers.amd.wave import VECTOR, Wave, unpacked

#: Readers that are looked at, counterparts of each, and registers that an unsure cut may have meant.
READERS, COUNTERPARTS, REGISTERS = 40, 3, 60


@dataclass(frozen=True)
class Misplaced:
    """An instruction reads a register, and the value that belongs there is in another one, which a writer wrote.

    `by_reader`: memory is right if the reader reads that other register; `by_writer`: if the writer writes this one and
    leaves the other; `by_copy`: if both have the value from the writer on; `swapped`: if they are exchanged before. A
    register is its own `other` if its halves are exchanged.
    """

    reader: int
    register: int
    writer: int
    other: int
    by_reader: bool = False
    by_writer: bool = False
    by_copy: bool = False
    swapped: bool = False

    @property
    def explains(self) -> bool:
        """Whether memory is right in any of these ways."""
        return self.by_reader or self.by_writer or self.by_copy or self.swapped


def misplaced(search: Search, unsure: list[Cut]) -> Misplaced | None:
    """The first value in another register with which memory is right once it is where it is read."""
    seen = set()
    for one in chain(_of_cuts(search, unsure), _of_values(search)):
        if one not in seen and (found := _tried(search, one)).explains:
            return found
        seen.add(one)
    return None


def _tried(search: Search, one: Misplaced) -> Misplaced:
    by_reader = search.is_right(_reading_other(search, one))
    if one.register == one.other:
        return replace(one, by_reader=by_reader, by_writer=by_reader and search.is_right(_writing_other_half(one)))
    return replace(
        one,
        by_reader=by_reader,
        by_writer=search.is_right(_writing_here(one, restores=True)),
        by_copy=search.is_right(_writing_here(one, restores=False)),
        swapped=search.is_right(_exchanged(one)),
    )


def _of_cuts(search: Search, unsure: list[Cut]) -> Iterator[Misplaced]:
    """Other registers that cuts may have meant, or other halves of the same."""
    bad = search.bad
    for cut in unsure:
        pair = search.first_pair(cut)
        if pair is None:
            continue
        mine, theirs = pair
        for operand, meant in _operands(search, mine, theirs):
            own = bad.writer(mine.wave, operand.register, mine.issued)
            if operand.register in {o.register for o in _data(bad, mine)}:
                yield Misplaced(cut.pc, operand.register, cut.pc if own is None else own.pc, operand.register)
            for register in range(VECTOR, VECTOR + min(REGISTERS, bad.program.vectors)):
                writer = bad.writer(mine.wave, register, mine.issued)
                one = Misplaced(cut.pc, operand.register, cut.pc if writer is None else writer.pc, register)
                held = bad.content(mine.wave, register, mine.issued)
                is_meant = (held is None and register == VECTOR and not mine.stored) or any(
                    same(held, x, mine.mask & theirs.mask) for x in meant if held is not None
                )
                if register != operand.register and is_meant and search.is_right(_reading_other(search, one)):
                    yield one


def _operands(search: Search, mine: Result, theirs: Result) -> Iterator[tuple[Operand, list[Value]]]:
    """The vector operands of an instruction, each with what its counterpart read for the same purpose."""
    data, right = ({o.register for o in _data(t, r)} for t, r in ((search.bad, mine), (search.good, theirs)))
    for operand in (o for o in search.bad.read(mine) if o.register >= VECTOR):
        is_data = operand.register in data
        yield operand, [o.value for o in search.good.read(theirs) if (o.register in right) == is_data]


def _data(trace: Trace, r: Result) -> list[Operand]:
    """The vector registers that an instruction read, without addresses: an access that goes nowhere may be right."""
    i, read = trace.instruction(r.pc), [o for o in trace.read(r) if o.register >= VECTOR]
    if r.stored:
        data = registers(i.operands[0 if i.mnemonic.startswith("buffer_") or "_addtid_" in i.mnemonic else 1])
        return [o for o in read if o.register in data]
    return [] if trace.program.steps[r.pc].counter is not None else read


def _of_values(search: Search) -> Iterator[Misplaced]:
    """Registers with the values that the counterparts of instructions read."""
    bad = search.bad
    for pc in sorted(search.unknown, key=search.unknown.__getitem__)[:READERS]:
        for other in search.counterparts(pc)[:COUNTERPARTS]:
            pair = search.first_pair(Cut(pc, other))
            if pair is None:
                continue
            mine, theirs = pair
            wrong, right = search.differing(mine, theirs)
            places = [
                {o.register for o in operands}
                for operands in ((_data(bad, mine), _data(search.good, theirs)) if mine.stored else (wrong, right))
            ]
            for operand in (o for o in wrong if o.register >= VECTOR and mine.mask and o.register in places[0]):
                for source in (o for o in right if not isinstance(o.value, int) and o.register in places[1]):
                    for made, register in bad.held(mine.wave, source.value, mine.mask, mine.issued)[:2]:
                        if register != operand.register:
                            yield Misplaced(pc, operand.register, made.pc, register)


def _reading_other(search: Search, one: Misplaced) -> Forced:
    here, there = one.register - VECTOR, one.other - VECTOR
    step, half = search.bad.program.steps[one.reader], search.bad.half(one.reader)
    writes = step.counter is None and one.register in step.writes
    kept: dict[int, Words] = {}

    def before(w: Wave, turn: int, mask: int) -> None:
        kept[w.number] = w.v[here].copy()
        w.v[here] = _halves_exchanged(w.v[here]) if here == there else w.v[there]

    def behind(w: Wave, turn: int, mask: int) -> None:
        lanes, row = unpacked(mask if writes else 0, w.lanes), w.v[here]
        w.v[here] = np.where(lanes, with_part(kept[w.number], half, part(row, half)), kept[w.number])

    return Forced(before={one.reader: before}, behind={one.reader: behind})


def _writing_other_half(one: Misplaced) -> Forced:
    here = one.register - VECTOR

    def after(w: Wave, turn: int, mask: int) -> None:
        w.v[here] = _halves_exchanged(w.v[here])

    return Forced(after={one.writer: after})


def _halves_exchanged(row: Words) -> Words:
    return row << np.uint32(16) | row >> np.uint32(16)


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
