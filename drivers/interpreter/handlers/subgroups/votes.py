"""Votes: questions to all active invocations of a subgroup or quad."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cts.drivers.interpreter.compile import Compiler
from cts.drivers.interpreter.handlers.subgroups.grid import grid_of, require_subgroup
from cts.drivers.interpreter.machine import Machine
from cts.drivers.interpreter.parse import Instruction
from cts.drivers.interpreter.registry import Step, step
from cts.drivers.interpreter.values import Array

#: What an instruction makes of the spread values and the active invocations: bool (subgroups, size or 1).
Vote = Callable[[Array, Array], Array]


def _vote(c: Compiler, i: Instruction, vote: Vote) -> Step:
    *scope, value = i.ids
    if scope:
        require_subgroup(c, scope[0])
    result = i.result

    def ask(m: Machine) -> None:
        grid = grid_of(m)
        answers = vote(grid.spread(m.registers[value]), grid.active(m.mask))
        m.registers[result] = grid.gather(np.broadcast_to(answers, grid.lane.shape))

    return ask


@step("OpGroupNonUniformElect")
def elect(c: Compiler, i: Instruction) -> Step:
    """The first active invocation is elected."""
    require_subgroup(c, i.id(0))
    result = i.result

    def ask(m: Machine) -> None:
        grid = grid_of(m)
        m.registers[result] = grid.column == grid.first(m.mask)[grid.row]

    return ask


@step("OpGroupNonUniformAll", "OpSubgroupAllKHR")
def all_(c: Compiler, i: Instruction) -> Step:
    return _vote(c, i, lambda value, active: np.asarray((value | ~active).all(axis=1, keepdims=True)))


@step("OpGroupNonUniformAny", "OpSubgroupAnyKHR")
def any_(c: Compiler, i: Instruction) -> Step:
    return _vote(c, i, lambda value, active: np.asarray((value & active).any(axis=1, keepdims=True)))


@step("OpGroupNonUniformAllEqual", "OpSubgroupAllEqualKHR")
def all_equal(c: Compiler, i: Instruction) -> Step:
    """A NaN equals nothing, not even itself."""

    def vote(value: Array, active: Array) -> Array:
        value = value.reshape(*active.shape, -1)
        first = value[np.arange(len(value)), active.argmax(axis=1)]
        same = (value == first[:, None]).all(axis=2)
        return np.asarray((same | ~active).all(axis=1, keepdims=True))

    return _vote(c, i, vote)


@step("OpGroupNonUniformQuadAllKHR")
def quad_all(c: Compiler, i: Instruction) -> Step:
    return _vote(c, i, lambda value, active: _by_quads(value | ~active, np.logical_and))


@step("OpGroupNonUniformQuadAnyKHR")
def quad_any(c: Compiler, i: Instruction) -> Step:
    return _vote(c, i, lambda value, active: _by_quads(value & active, np.logical_or))


def _by_quads(value: Array, combine: np.ufunc) -> Array:
    """Each invocation's answer is that of its quad: four neighbours, fewer at the end of a small subgroup."""
    size = value.shape[1]
    starts = np.arange(0, size, 4)
    return np.asarray(combine.reduceat(value, starts, axis=1)[:, np.arange(size) // 4])
