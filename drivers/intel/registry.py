"""Which function makes the step of which instruction, and what each step waits for."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np

from cts.drivers.intel.listing import SIZES, Flag, Instruction
from cts.drivers.intel.numbers import FLOATS, SIGNED, registers
from cts.drivers.intel.thread import Bools, Thread
from cts.drivers.machine.problems import Unsupported

Run: TypeAlias = Callable[[Thread], None]


@dataclass(frozen=True)
class Context:
    """What an instruction depends on besides itself: bytes of a register, where labels are.

    `wraps`: the smallest number of a signed type has itself as its opposite; else the opposite has one bit more.
    `nearest`: inverses, roots, powers and logarithms are rounded to the nearest number; else by the rounding mode.
    """

    grf: int
    labels: Mapping[str, int]
    wraps: bool = True
    nearest: bool = True

    @property
    def xe2(self) -> bool:
        """Whether it is Xe2 or later."""
        return self.grf == 64


class Effect(NamedTuple):
    """What an instruction does, and the registers that it reads and writes, as masks."""

    run: Run
    reads: int
    writes: int


class Wait(NamedTuple):
    """What is waited for: an instruction `distance` back in a `pipe`, or a `token`, of which only `sources`."""

    pipe: str
    number: int
    sources: bool = False


class Step(NamedTuple):
    """A prepared instruction. `pipe` is "" if it ends in no order; its `token`, if it has one, then says when.

    `own`: it needs no active lane. `in_order`: it reads its registers after all earlier ones of its kind.
    """

    run: Run
    reads: int
    writes: int
    pipe: str
    token: int | None
    waits: tuple[Wait, ...]
    own: bool
    in_order: bool
    instruction: Instruction


Builder: TypeAlias = Callable[[Instruction, Context], Effect]

INSTRUCTIONS: dict[str, Builder] = {}

_TOKEN = re.compile(r"\$(\d+)(\.src|\.dst)?")
_DISTANCE = re.compile(r"([AFILMS]?)@(\d+)")


def instruction(*names: str) -> Callable[[Builder], Builder]:
    """Register what builds the steps of these instructions."""

    def register(build: Builder) -> Builder:
        for name in names:
            assert name not in INSTRUCTIONS, name
            INSTRUCTIONS[name] = build
        return build

    return register


def step(i: Instruction, context: Context) -> Step:
    """The step of an instruction. Raises Unsupported, which names it."""
    build = INSTRUCTIONS.get(i.name)
    if build is None:
        raise Unsupported(f"the instruction {i.name}", i.where)
    if context.wraps:
        i = replace(i, operands=tuple(o._replace(wraps=o.type in SIGNED) for o in i.operands))
    try:
        effect = build(i, context)
    except Unsupported as problem:
        raise problem if problem.where else Unsupported(problem.what, i.where) from problem
    except (IndexError, ValueError, KeyError) as problem:
        raise Unsupported("operands that the instruction does not have elsewhere", i.where) from problem
    token, waits = _notes(i, context)
    pipe = "" if token is not None or i.name.startswith(("sync", "nop")) else _pipe(i, context)
    own = i.free or not i.operands
    return Step(effect.run, effect.reads, effect.writes, pipe, token, waits, own, i.name.startswith("dpas"), i)


def _any(i: Instruction, predicate: Flag) -> Callable[[Thread], Bools]:
    """All lanes of an instruction if a flag of their group is set."""
    count = int(predicate.any[3:-1])
    if predicate.name or i.lanes > count or not i.free:
        raise Unsupported(f"the predicate {predicate.any} of such lanes")
    first = predicate.bit + i.first // count * count
    return lambda t: np.full(i.lanes, t.flags[first : first + count].any())


def _notes(i: Instruction, context: Context) -> tuple[int | None, tuple[Wait, ...]]:
    token, waits = None, []
    for note in i.notes:
        found, distance = _TOKEN.fullmatch(note), _DISTANCE.fullmatch(note)
        if found and found[2]:
            waits.append(Wait("$", int(found[1]), found[2] == ".src"))
        elif found:
            token = int(found[1])
            waits.append(Wait("$", token))
        elif distance:
            waits.append(Wait(distance[1] or _implied(i, context), int(distance[2])))
        elif note not in ("Compacted", "ExBSO", "EOT") and not (note == "AccWrEn" and i.name == "mach"):
            raise Unsupported(f"the note {note}", i.where)
    return token, tuple(waits)


def _implied(i: Instruction, context: Context) -> str:
    """The pipe that a distance without one means (Bspec 47112 as Mesa's brw_lower_scoreboard has it)."""
    kinds = [o.type for o in i.operands[1:] if o.file != "null"]
    if any(SIZES[kind] == 8 for kind in kinds):
        return "L"
    return "I" if any(kind not in FLOATS for kind in kinds) else "F"


def _pipe(i: Instruction, context: Context) -> str:
    """The pipe that an instruction is issued to."""
    if i.name.startswith("math"):
        return "M"
    if not i.operands:
        return "I"
    kinds = [o.type for o in i.operands]
    wide = [SIZES[kind] for kind in kinds]
    if not context.xe2 and (8 in wide or (i.name in ("mul", "mad") and _dwords(i))):
        return "L"
    return "F" if kinds[0] in FLOATS else "I"


def _dwords(i: Instruction) -> bool:
    factors = i.operands[-2:]
    return all(SIZES[o.type] >= 4 and o.type not in FLOATS for o in factors)


def touched(i: Instruction, context: Context) -> tuple[int, int]:
    """The registers that regions of an instruction read and write: the first operand is written."""
    reads = 0
    for operand in i.operands[1:]:
        reads |= registers(operand, i.lanes, context.grf)
    return reads, registers(i.operands[0], i.lanes, context.grf)


def lanes_of(i: Instruction) -> Callable[[Thread], Bools | None]:
    """Which lanes of an instruction are on, None for all of them."""
    at = slice(i.first, i.first + i.lanes)
    predicate = i.predicate
    if predicate is None:
        return (lambda t: None) if i.free else (lambda t: None if t.full else t.mask[at])
    bits = slice(predicate.bit + i.first, predicate.bit + i.first + i.lanes)
    if predicate.any:
        return _any(i, predicate)
    inverted = predicate.name == "not"

    def of(t: Thread) -> Bools:
        chosen = ~t.flags[bits] if inverted else t.flags[bits]
        return chosen if i.free or t.full else chosen & t.mask[at]

    return of
