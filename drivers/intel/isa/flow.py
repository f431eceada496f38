"""Control flow: lanes that do not take part wait at the instruction where they go on (PRM, "Flow Control")."""

from __future__ import annotations

import numpy as np

from cts.drivers.intel.listing import Instruction
from cts.drivers.intel.registry import Context, Effect, instruction, lanes_of
from cts.drivers.intel.thread import Bools, Thread
from cts.drivers.machine.problems import Unsupported


def _targets(i: Instruction, context: Context, count: int) -> list[int]:
    if len(i.targets) != count or i.first:
        raise Unsupported(f"{i.name} with such targets")
    return [context.labels[name] for name in i.targets]


def _leave(t: Thread, lanes: Bools, target: int, jump: int) -> None:
    """Let lanes wait at `target`; go to `jump` if none is left and none comes back at the next instruction."""
    t.park(target, lanes)
    t.set_mask(t.mask & ~lanes)
    if t.none and t.pc not in t.waiting:
        t.pc = jump


def _chosen(i: Instruction) -> tuple[bool, slice]:
    predicate = i.predicate
    if predicate is None:
        return False, slice(0, 0)
    if predicate.any:
        raise Unsupported(f"{i.name} with the predicate {predicate.any}")
    return predicate.name == "not", slice(predicate.bit, predicate.bit + 32)


@instruction("if")
def _if(i: Instruction, context: Context) -> Effect:
    otherwise, _ = _targets(i, context, 2)
    inverted, bits = _chosen(i)
    if i.predicate is None:
        raise Unsupported("if without a predicate")

    def run(t: Thread) -> None:
        flags = ~t.flags[bits] if inverted else t.flags[bits]
        _leave(t, t.mask & ~flags, otherwise, otherwise)

    return Effect(run, 0, 0)


@instruction("else")
def _else(i: Instruction, context: Context) -> Effect:
    end, _ = _targets(i, context, 2)
    return Effect(lambda t: _leave(t, t.mask.copy(), end, end), 0, 0)


@instruction("endif")
def _endif(i: Instruction, context: Context) -> Effect:
    (after,) = _targets(i, context, 1)

    def run(t: Thread) -> None:
        if t.none and t.pc not in t.waiting:
            t.pc = after

    return Effect(run, 0, 0)


@instruction("break")
def _break(i: Instruction, context: Context) -> Effect:
    """Lanes leave a loop: its `while`, which the second target is, does not take them back."""
    jump, end = _targets(i, context, 2)
    inverted, bits = _chosen(i)
    always = i.predicate is None

    def run(t: Thread) -> None:
        flags = np.ones(32, np.bool_) if always else ~t.flags[bits] if inverted else t.flags[bits]
        _leave(t, t.mask & flags, end + 1, jump)

    return Effect(run, 0, 0)


@instruction("while")
def _while(i: Instruction, context: Context) -> Effect:
    (start,) = _targets(i, context, 1)
    on = lanes_of(i)

    def run(t: Thread) -> None:
        again = on(t)
        stays = t.mask if again is None else _padded(again)
        if stays.any():
            t.park(t.pc, t.mask & ~stays)
            t.set_mask(stays.copy())
            t.pc = start

    return Effect(run, 0, 0)


def _padded(lanes: Bools) -> Bools:
    wide = np.zeros(32, np.bool_)
    wide[: len(lanes)] = lanes
    return wide


@instruction("nop", "sync.nop", "sync.allwr", "sync.allrd")
def _sync(i: Instruction, context: Context) -> Effect:
    every, sources = i.name.startswith("sync.all"), i.name == "sync.allrd"

    def run(t: Thread) -> None:
        for token in list(t.board.tokens) if every else ():
            t.board.wait_token(token, sources=sources)

    return Effect(run, 0, 0)


@instruction("sync.bar")
def _barrier(i: Instruction, context: Context) -> Effect:
    def run(t: Thread) -> None:
        t.waits = True

    return Effect(run, 0, 0)
