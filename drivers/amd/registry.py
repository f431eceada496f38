"""Which function makes the step of which instruction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, TypeAlias

from cts.drivers.amd.dpp import has_other_lanes, shuffled
from cts.drivers.amd.listing import Instruction, Operand
from cts.drivers.amd.modes import USUAL, Freedoms, Modes
from cts.drivers.amd.operands import registers
from cts.drivers.amd.wave import MOVED, VECTOR, Counter, Wave, register_name
from cts.drivers.machine.problems import Unsupported, Wrong

Run: TypeAlias = Callable[[Wave], None]


@dataclass(frozen=True)
class Context:
    """What an instruction depends on besides itself: lanes of a wave, modes, where labels are, which RDNA it is."""

    lanes: int
    modes: Modes
    labels: Mapping[str, int]
    generation: int = 4
    freedoms: Freedoms = USUAL


Builder: TypeAlias = Callable[[Instruction, Context], Run]


class Entry(NamedTuple):
    """An instruction that there is: `outs` operands are written, `also` are registers that it reads besides.

    `counter` counts its loads. `updates`: the first operand is read as well.
    """

    build: Builder
    outs: int
    counter: Counter | None
    updates: bool
    also: frozenset[int]


class Step(NamedTuple):
    """A prepared instruction: its function, the registers that it reads and writes, and the counter of its loads."""

    run: Run
    reads: frozenset[int]
    writes: frozenset[int]
    counter: Counter | None
    instruction: Instruction


INSTRUCTIONS: dict[str, Entry] = {}

#: What LLVM's disassembler puts behind an operand whose encoding the instruction does not have.
_INVALID = "/*Invalid"


def instruction(
    *names: str,
    outs: int = 1,
    counter: Counter | None = None,
    updates: bool = False,
    also: frozenset[int] = frozenset(),
) -> Callable[[Builder], Builder]:
    """Register what builds the steps of these instructions."""

    def register(build: Builder) -> Builder:
        for name in names:
            assert name not in INSTRUCTIONS, name
            INSTRUCTIONS[name] = Entry(build, outs, counter, updates, also)
        return build

    return register


def step(i: Instruction, context: Context) -> Step:
    """The step of an instruction. Raises Unsupported, which names it."""
    if i.pair:
        first, second = (step(replace(half, line=i.line), context) for half in i.pair)
        return _both(i, first, second, context.generation)
    if _INVALID in i.text:
        return Step(partial(_refused, i), frozenset(), frozenset(), None, i)
    if i.unread:
        raise Unsupported(i.unread, i.where)
    entry = INSTRUCTIONS.get(i.mnemonic)
    if entry is None:
        raise Unsupported(f"the instruction {i.mnemonic}", i.where)
    with _placed(i):
        run = _of_other_lanes(i, entry, context) if has_other_lanes(i) else entry.build(i, context)
    outs, ins = i.operands[: entry.outs], i.operands[entry.outs :]
    reads = _every(ins) | entry.also | (_every(outs) if entry.updates else frozenset())
    return Step(run, reads, _every(outs), entry.counter, i)


def _refused(i: Instruction, w: Wave) -> None:
    raise Wrong("the encoding of an operand is one that the instruction does not have", i.where)


def _of_other_lanes(i: Instruction, entry: Entry, context: Context) -> Run:
    """An instruction whose first source comes from other lanes."""
    source = i.operands[entry.outs]
    if source.kind != "vgpr":
        raise Unsupported(f"the operand {source.text} of other lanes")
    moved = replace(source, number=MOVED)
    operands = (*i.operands[: entry.outs], moved, *i.operands[entry.outs + 1 :])
    return shuffled(i, source.number, entry.build(replace(i, operands=operands), context), context.lanes)


def _both(i: Instruction, first: Step, second: Step, generation: int) -> Step:
    """Two instructions at once: both read before one of them writes (RDNA 3 ISA, "Dual Issue VALU").

    On RDNA 4 the first must not write what the second one reads (RDNA 4 ISA, the same chapter).
    """
    (written,) = first.writes
    overwrites = generation == 4 and written in second.reads

    def run(w: Wave) -> None:
        if overwrites:
            what = f"the first half of a dual instruction writes {register_name(written)}, which the second one reads"
            raise Wrong(what, i.where)
        row = w.v[written - VECTOR]
        before = row.copy()
        first.run(w)
        after = row.copy()
        row[:] = before
        second.run(w)
        row[:] = after

    return Step(run, first.reads | second.reads, first.writes | second.writes, None, i)


@contextmanager
def _placed(i: Instruction) -> Iterator[None]:
    """Say where an instruction stands of which something is not known."""
    try:
        yield
    except Unsupported as problem:
        raise problem if problem.where else Unsupported(problem.what, i.where) from problem
    except (IndexError, ValueError) as problem:
        raise Unsupported("operands that the instruction does not have elsewhere", i.where) from problem


def _every(operands: tuple[Operand, ...]) -> frozenset[int]:
    numbers: frozenset[int] = frozenset()
    for operand in operands:
        numbers |= registers(operand)
    return numbers
