"""What the instructions of a run left, and which of it another run left as well."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import cached_property
from typing import NamedTuple

import numpy as np

from cts.drivers.amd.leads.tracing import SCC, Result, Value, Words
from cts.drivers.amd.listing import Instruction
from cts.drivers.amd.machine import Program
from cts.drivers.amd.wave import POISON, VECTOR, unpacked

#: Halves of a register.
LOW, HIGH = 0, 1

#: Executions of an instruction that are compared, at most.
COMPARED = 64


def half_written(i: Instruction) -> int | None:
    """The half of its first register that an instruction writes alone; None if it writes all of it."""
    if "d16" in i.mnemonic:
        return HIGH if "d16_hi" in i.mnemonic else LOW
    return i.operands[0].half if i.operands else None


def part(row: Words, half: int | None) -> Words:
    """A half of each word, or all of it."""
    return row if half is None else row >> np.uint32(16 * half) & np.uint32(0xFFFF)


def with_part(row: Words, half: int | None, value: Words) -> Words:
    """Words with a half, or all, of each replaced."""
    if half is None:
        return value
    kept = np.uint32(0xFFFF if half else 0xFFFF0000)
    return row & kept | value << np.uint32(16 * half)


class Trace:
    """The results of a run of a program."""

    def __init__(self, program: Program, results: Sequence[Result]) -> None:
        self.program, self.results = program, results

    @cached_property
    def of(self) -> dict[int, dict[tuple[int, int], Result]]:
        """The results of each instruction by wave and turn."""
        found: dict[int, dict[tuple[int, int], Result]] = defaultdict(dict)
        for r in self.results:
            found[r.pc][r.wave, r.turn] = r
        return found

    @cached_property
    def known(self) -> frozenset[Hashable]:
        """All that instructions left, in any register or at any place of memory; halves of registers as well."""
        return frozenset(key for r in self.results for key in (*self._said(r), *self._halves(r)))

    @cached_property
    def _written(self) -> dict[tuple[int, int], list[int]]:
        """The numbers of the results in each register of each wave."""
        found: dict[tuple[int, int], list[int]] = defaultdict(list)
        for number, r in enumerate(self.results):
            for register in r.values:
                found[r.wave, register].append(number)
        return found

    def writer(self, wave: int, register: int, before: int) -> Result | None:
        """The last of the first results that is in a register; None if nothing wrote it."""
        numbers = self._written[wave, register]
        place = bisect_left(numbers, before)
        return self.results[numbers[place - 1]] if place else None

    def writers(self, wave: int, register: int, before: int) -> list[Result]:
        """The results that a register is made of: the last one, and those before it if it wrote a half of it alone."""
        numbers = self._written[wave, register]
        found: list[Result] = []
        for number in reversed(numbers[: bisect_left(numbers, before)][-4:]):
            found.append(self.results[number])
            if self.half(found[-1].pc) is None:
                break
        return found

    def held(self, wave: int, value: Value, mask: int, before: int) -> list[tuple[Result, int]]:
        """The first results that a value is among, with their registers, the last one first."""
        return [
            (r, register)
            for r in reversed(self.results[:before])
            if r.wave == wave
            for register, x in r.values.items()
            if not isinstance(x, int) and same(x, value, mask)
        ]

    def content(self, wave: int, register: int, before: int) -> Value | None:
        """What a register held after the first results; None if nothing wrote it."""
        r = self.writer(wave, register, before)
        return None if r is None else r.values[register]

    def read(self, r: Result) -> list[Operand]:
        """The registers that an instruction read, without those that are set where a wave begins."""
        found = []
        reads = self.program.steps[r.pc].reads
        for n in sorted(reads | {SCC} if _OF_SCC.match(self.instruction(r.pc).mnemonic) else reads):
            value = self.content(r.wave, n, r.issued)
            if value is None and n > VECTOR:
                value = np.full(self.program.shader.lanes, POISON, np.uint32)
            if value is not None:
                found.append(Operand(n, value, taken(self.instruction(r.pc), n)))
        return found

    @cached_property
    def blocks(self) -> list[str]:
        """The label of the block of each instruction. ACO numbers blocks before it optimises."""
        starts = self.program.listing.starts
        found, label = [], ""
        for n in range(len(self.program.listing.instructions)):
            label = starts.get(n, label)
            found.append(label)
        return found

    def instruction(self, pc: int) -> Instruction:
        """An instruction by its number."""
        return self.program.listing.instructions[pc]

    def half(self, pc: int) -> int | None:
        """The half of its first register that an instruction writes alone."""
        return half_written(self.instruction(pc))

    def is_known(self, r: Result, other: Trace) -> bool:
        """Whether the other run has all that a result says, in whole registers or in their halves."""
        return all(key in other.known for key in self._said(r)) or (
            not r.stored and all(key in other.known for key in self._scalars(r)) and self._halves_known(r, other)
        )

    def unknown_to(self, other: Trace) -> dict[int, int]:
        """Instructions with a result that the other run does not have: the number of the first such result."""
        found: dict[int, int] = {}
        for number, r in enumerate(self.results):
            if r.pc not in found and not all(key in other.known for key in self._said(r)):
                found[r.pc] = number
        return found

    def _said(self, r: Result) -> Iterator[Hashable]:
        half = self.half(r.pc)
        yield from self._scalars(r)
        for value in r.values.values():
            if not isinstance(value, int) and half is None:
                yield r.wave, r.mask, value[unpacked(r.mask, len(value))].tobytes()
        if half is not None:
            yield from self._halves(r, (half,))
        for store in r.stored:
            yield r.wave, store.memory, store.addresses.tobytes(), store.data.tobytes()

    def _scalars(self, r: Result) -> Iterator[Hashable]:
        for register, value in r.values.items():
            if isinstance(value, int):
                yield r.wave, register if register < 0 else "scalar", value

    def _halves(self, r: Result, which: tuple[int, ...] = (LOW, HIGH)) -> Iterator[Hashable]:
        for value in r.values.values():
            if not isinstance(value, int):
                active = value[unpacked(r.mask, len(value))]
                yield from ((r.wave, r.mask, part(active, h).astype(np.uint16).tobytes()) for h in which)

    def _halves_known(self, r: Result, other: Trace) -> bool:
        keys = list(self._halves(r))
        return bool(keys) and all(key in other.known for key in keys)


def likeness(a: Trace, b: Trace, pc: int, other: int) -> float | None:
    """How much an instruction is like one of the other run, by block, results and name; None if it leaves others."""
    equal = total = 0.0
    mine, theirs = a.of[pc], b.of[other]
    for place in list(mine)[:COMPARED]:
        if place not in theirs:
            continue
        x, y = mine[place], theirs[place]
        pairs = paired(x, y)
        if pairs is None:
            return None
        total += 1
        mask, halves = x.mask & y.mask, (a.half(pc), b.half(other))
        rows = [_alike(x.values[m], y.values[n], mask, halves) for m, n in pairs]
        rows += [float(s.data.tobytes() == t.data.tobytes()) for s, t in zip(x.stored, y.stored, strict=False)]
        equal += sum(rows) / max(1, len(rows))
    if not total:
        return None
    return equal / total + nameness(a.instruction(pc), b.instruction(other)) + (a.blocks[pc] == b.blocks[other])


def nameness(a: Instruction, b: Instruction) -> float:
    """How alike the names of two instructions are, up to 1."""
    return SequenceMatcher(None, a.mnemonic, b.mnemonic).ratio()


def paired(a: Result, b: Result) -> list[tuple[int, int]] | None:
    """The registers of two results, in their order; None if they are not of the same kinds."""
    if bool(a.stored) != bool(b.stored):
        return None
    pairs: list[tuple[int, int]] = []
    for least, end in ((VECTOR, 1 << 30), (0, VECTOR)):
        mine, theirs = (sorted(r for r in x.values if least <= r < end) for x in (a, b))
        if len(mine) != len(theirs):
            return None
        pairs += zip(mine, theirs, strict=True)
    if SCC in a.values and SCC in b.values:
        pairs.append((SCC, SCC))
    return pairs if pairs or a.stored else None


#: Instructions that take 16 bits or fewer of a register.
_NARROW = re.compile(r"_(d16|[bfiu]16|bf16|[bui]8)(?=_|$)")


#: Instructions that depend on SCC.
_OF_SCC = re.compile(r"s_(cselect|cmov|cbranch_scc|addc|subb|add_co_ci|sub_co_ci)")


def taken(i: Instruction, register: int) -> int | None:
    """The half of a register that an instruction takes; None if it takes all of it, as packed instructions do."""
    for operand in i.operands[1:] if len(i.operands) > 1 else ():
        if operand.kind == "vgpr" and operand.number == register - VECTOR and operand.half is not None:
            return operand.half
    if i.mnemonic.startswith("v_pk") or not _NARROW.search(i.mnemonic):
        return None
    return HIGH if "d16_hi" in i.mnemonic else LOW


class Operand(NamedTuple):
    """A register that an instruction read: what it held, and the half of it that counts."""

    register: int
    value: Value
    half: int | None


def same(x: Value, y: Value, mask: int, halves: tuple[int | None, int | None] = (None, None)) -> bool:
    """Whether two registers, or halves of them, hold the same in these lanes."""
    if isinstance(x, int) or isinstance(y, int):
        return isinstance(x, int) and isinstance(y, int) and x == y
    lanes = unpacked(mask, len(x))
    if None in halves:
        return bool((x[lanes] == y[lanes]).all())
    return bool((part(x[lanes], halves[0]) == part(y[lanes], halves[1])).all())


def differing(mine: list[Operand], theirs: list[Operand], mask: int) -> tuple[list[Operand], list[Operand]]:
    """Operands of either instruction that the other one has not; each is like one of the other at most."""
    left = list(theirs)
    wrong = []
    for x in mine:
        alike = next((n for n, y in enumerate(left) if like(x, y, mask)), None)
        if alike is None:
            wrong.append(x)
        else:
            del left[alike]
    return wrong, left


def like(x: Operand, y: Operand, mask: int) -> bool:
    """Whether two operands hold the same in these lanes; SCC is like SCC alone."""
    return (x.register == SCC) == (y.register == SCC) and same(x.value, y.value, mask, (x.half, y.half))


def _alike(x: Value, y: Value, mask: int, halves: tuple[int | None, int | None]) -> float:
    """The share of lanes in which two registers, or halves of them, hold the same."""
    if isinstance(x, int) or isinstance(y, int):
        return float(isinstance(x, int) and isinstance(y, int) and x == y)
    lanes = unpacked(mask, len(x))
    return float((part(x, halves[0])[lanes] == part(y, halves[1])[lanes]).mean()) if lanes.any() else 0.0
