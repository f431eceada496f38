"""The search for the first instruction whose results, taken from right code, make memory right."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

from cts.drivers.amd.leads.tracing import MASK, SCC, Forced, Result, Traced
from cts.drivers.amd.leads.values import (
    Operand,
    Trace,
    differing,
    like,
    likeness,
    nameness,
    paired,
    part,
    same,
    with_part,
)
from cts.drivers.amd.wave import VECTOR, Wave, unpacked
from cts.drivers.machine.problems import Problem


class Ran(NamedTuple):
    """A run with its recorded results, whether all memory is right, and the problem that ended it."""

    dispatch: Traced
    right: bool
    problem: Problem | None = None


#: Runs the code that is wrong, with something forced; whether to keep its results.
Try: TypeAlias = Callable[[Forced, bool], Ran]

#: Counterparts that are tried for an instruction, and steps back from one that was found.
TRIED, STEPS = 16, 60

#: Cuts that are not sure until a search ends, and instructions behind a counterpart whose operands count as its own.
UNSURE, DEPTH = 6, 2

#: Instructions that a mistake is made in again, at most.
REPEATED = 32

#: How alike the names of an instruction and its counterpart are at least.
ALIKE = 0.6

#: Instructions that put a constant in a register.
_MOVES = re.compile(r"[sv]_movk?_[bi]")

#: Instructions that pass their operands on.
_PASSING = re.compile(r"\w+_store|v_mov|s_mov|v_cndmask|s_cselect|v_swap|v_readfirstlane")


class Cut(NamedTuple):
    """An instruction, and one of right code: with the results of that one memory is right.

    `also` are further such pairs if memory is right with all of them only, as of a mistake that is made again.
    """

    pc: int
    other: int
    also: tuple[tuple[int, int], ...] = ()


@dataclass
class Search:
    """A search that ends at a time (time.monotonic). `bad` is the run that is wrong, `good` one of right code."""

    run: Try
    bad: Trace
    good: Trace
    deadline: float
    runs: int = 0

    def is_right(self, forced: Forced) -> bool:
        """Whether memory is right if something is forced; no if the time is over."""
        if time.monotonic() > self.deadline:
            return False
        self.runs += 1
        return self.run(forced, False).right

    @cached_property
    def unknown(self) -> dict[int, int]:
        """Instructions with results that the right code does not have, and the number of the first such result."""
        return self.bad.unknown_to(self.good)

    @cached_property
    def lost(self) -> dict[int, int]:
        """The same of the right code."""
        return self.good.unknown_to(self.bad)

    def counterparts(self, pc: int) -> list[int]:
        """Instructions of the right code with results that are lost, those most like an instruction first."""
        alike = [(how, o) for o in self.lost if (how := likeness(self.bad, self.good, pc, o)) is not None]
        return [other for _, other in sorted(alike, key=lambda one: (-one[0], self.lost[one[1]]))]

    def cuts(self, before: int | None = None) -> Iterator[Cut]:
        """Cuts in the order of their first unknown results, as far as these come `before` a number of results."""
        for pc in sorted(self.unknown, key=self.unknown.__getitem__):
            if before is not None and self.unknown[pc] >= before:
                break
            for other in self.counterparts(pc)[:TRIED]:
                if self.is_right(self.as_in(pc, other)):
                    yield Cut(pc, other)
        yield from self._repeated(before)

    def _repeated(self, before: int | None) -> Iterator[Cut]:
        """Instructions of one name, each with one of as many in the right code."""
        mine, theirs = self._by_name(self.bad, self.unknown, before), self._by_name(self.good, self.lost, None)
        for group in mine:
            for others in theirs:
                if 1 < len(group) == len(others) <= REPEATED and self._are_paired(group, others):
                    (first, *also) = zip(group, others, strict=True)
                    if self.is_right(self.all_as_in([first, *also])):
                        yield Cut(*first, tuple(also))

    def _by_name(self, trace: Trace, firsts: dict[int, int], before: int | None) -> list[list[int]]:
        found: dict[str, list[int]] = {}
        for pc in sorted(firsts, key=firsts.__getitem__):
            if before is None or firsts[pc] < before:
                found.setdefault(trace.instruction(pc).mnemonic, []).append(pc)
        return list(found.values())

    def _are_paired(self, group: list[int], others: list[int]) -> bool:
        one = (next(iter(self.bad.of[group[0]].values())), next(iter(self.good.of[others[0]].values())))
        return paired(*one) is not None

    def all_as_in(self, pairs: list[tuple[int, int]]) -> Forced:
        """Instructions that leave what others of the right code leave."""
        every = [self.as_in(*pair) for pair in pairs]
        return Forced(
            after={pc: force for one in every for pc, force in one.after.items()},
            stores={pc: force for one in every for pc, force in one.stores.items()},
        )

    def sure(self, before: int | None = None) -> tuple[Cut | None, list[Cut]]:
        """The first cut that is sure, and cuts whose operands differ before there is one."""
        unsure: list[Cut] = []
        for cut in self.cuts(before):
            first = cut if cut.also else self.origin(cut)
            if first is not None and self.is_sure(first):
                return first, unsure
            unsure.append(cut if first is None else first)
            if len(unsure) == UNSURE:
                break
        return None, unsure

    def as_in(self, pc: int, other: int, *, own_half: bool = True) -> Forced:
        """An instruction that leaves what one of the right code leaves; in that one's half of a register if asked."""
        right, its = self.good.of[other], self.good.half(other)
        half = self.bad.half(pc) if own_half else its
        mine = next(iter(self.bad.of[pc].values()))
        if mine.stored:
            return Forced(stores={pc: lambda wave, turn: r.stored if (r := right.get((wave, turn))) else None})
        pairs = paired(mine, next(iter(right.values()))) or []

        def after(w: Wave, turn: int, mask: int) -> None:
            r = right.get((w.number, turn))
            if r is None:
                return
            lanes = unpacked(mask, w.lanes)
            for register, source in pairs:
                value = r.values.get(source)
                if value is None:
                    continue
                if register == SCC:
                    w.scc = int(value)
                elif isinstance(value, int):
                    w.s[register] = value
                else:
                    row = w.v[register - VECTOR]
                    row[lanes] = with_part(row, half, part(value, its))[lanes]
            w.refresh()
            if MASK in r.values:
                w.set_exec(int(r.values[MASK]))

        return Forced(after={pc: after})

    def origin(self, cut: Cut, *, is_cut: bool = True) -> Cut | None:
        """The first cut on the way from an instruction back through operands that differ; None if none is one."""
        queue, seen, left = deque([cut]), {cut}, STEPS
        found = cut if is_cut else None
        while queue and left:
            for deeper in self._behind(queue.popleft()):
                if deeper in seen or not left:
                    continue
                seen.add(deeper)
                left -= 1
                if self.is_cut(deeper):
                    found, left = deeper, STEPS
                    queue = deque([deeper])
                    break
                queue.append(deeper)
        return found

    def is_sure(self, cut: Cut) -> bool:
        """Whether an instruction read only what its counterpart read, or, if that is another one, what led to it."""
        pair = self.first_pair(cut)
        mine, theirs = self.bad.instruction(cut.pc), self.good.instruction(cut.other)
        if pair is None or pair[0].mask != pair[1].mask or nameness(mine, theirs) < ALIKE:
            return False
        depth = DEPTH
        if mine.mnemonic == theirs.mnemonic:
            if self.bad.program.steps[cut.pc].counter is not None and pair[0].loaded == pair[1].loaded:
                return False  # a load that is right by itself: what is wrong is in memory
            # Code without optimisations has a sign as an instruction of its own: it is missing here if it is lost.
            depth = int(not _PASSING.match(mine.mnemonic) and not re.search(r"-[|vs]|\|", mine.text))
        nearest = [pair[1]]
        right = self.good.read(pair[1])
        for _ in range(depth):
            nearest = [
                d for t in nearest for o in self.good.read(t) for d in self.good.writers(t.wave, o.register, t.issued)
            ]
            right += [o for d in nearest for o in self.good.read(d)]
        mask = pair[0].mask & pair[1].mask
        return all(any(like(x, y, mask) for y in right) for x in self.bad.read(pair[0]))

    def is_cut(self, cut: Cut) -> bool:
        """Whether memory is right with the results of the right code's instruction."""
        if paired(next(iter(self.bad.of[cut.pc].values())), next(iter(self.good.of[cut.other].values()))) is None:
            return False
        if self.is_right(self.as_in(cut.pc, cut.other)):
            return True
        return self._is_in_other_half(cut) and self.is_right(self.as_in(cut.pc, cut.other, own_half=False))

    def _is_in_other_half(self, cut: Cut) -> bool:
        """Whether an instruction leaves in a half of a register what its counterpart leaves in the other half."""
        halves = self.bad.half(cut.pc), self.good.half(cut.other)
        theirs = self.good.of[cut.other]
        both = [(r, theirs[place]) for place, r in self.bad.of[cut.pc].items() if place in theirs]
        return halves[0] != halves[1] and all(
            same(r.values[m], t.values[n], r.mask & t.mask, halves) for r, t in both for m, n in paired(r, t) or []
        )

    def _behind(self, cut: Cut) -> Iterator[Cut]:
        """The instructions that wrote the operands of a cut that differ, with those that wrote the right ones."""
        pair = self.first_pair(cut)
        if pair is None:
            return
        mine, theirs = pair
        wrong, right = self.differing(mine, theirs)
        mine_of = [d for o in wrong for d in self.bad.writers(mine.wave, o.register, mine.issued)]
        theirs_of = [d for o in right for d in self.good.writers(theirs.wave, o.register, theirs.issued)]
        pairs = [Cut(d.pc, e.pc) for d in mine_of for e in theirs_of if paired(d, e) is not None]
        yield from sorted(dict.fromkeys(pairs), key=lambda c: -(likeness(self.bad, self.good, c.pc, c.other) or 0))

    def first_pair(self, cut: Cut) -> tuple[Result, Result] | None:
        """The first result of an instruction that differs from that of its counterpart, and that one."""
        theirs = self.good.of[cut.other]
        halves = self.bad.half(cut.pc), self.good.half(cut.other)
        for place, r in self.bad.of[cut.pc].items():
            t = theirs.get(place)
            if t is None:
                continue
            mask = r.mask & t.mask
            if (
                r.mask != t.mask
                or written(r) != written(t)
                or not all(same(r.values[m], t.values[n], mask, halves) for m, n in paired(r, t) or [])
                or r.values.get(MASK) != t.values.get(MASK)
            ):
                return r, t
        return None

    def differing(self, mine: Result, theirs: Result) -> tuple[list[Operand], list[Operand]]:
        """Registers that one of two instructions read whose values the other did not read; of each.

        Code without optimisations has constants in registers. Those count as not read.
        """
        right = [o for o in self.good.read(theirs) if not self._is_constant(theirs, o)]
        return differing(self.bad.read(mine), right, mine.mask & theirs.mask)

    def _is_constant(self, r: Result, operand: Operand) -> bool:
        writer = self.good.writer(r.wave, operand.register, r.issued)
        i = None if writer is None else self.good.instruction(writer.pc)
        return i is not None and _MOVES.match(i.mnemonic) is not None and i.operands[1].kind in ("integer", "float")


def written(r: Result) -> list[tuple[bytes, bytes]]:
    """The addresses and bytes that an instruction stored."""
    return [(s.addresses.tobytes(), s.data.tobytes()) for s in r.stored]
