"""Broadcasts, shuffles, rotations and quads: an invocation reads what another one has.

What an invocation reads from one that is inactive or absent is undefined (here: whatever its lane holds).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cts.drivers.interpreter.compile import Compiler
from cts.drivers.interpreter.handlers.subgroups.grid import Grid, grid_of, require_subgroup
from cts.drivers.interpreter.machine import Machine
from cts.drivers.interpreter.parse import Instruction
from cts.drivers.interpreter.registry import Step, step
from cts.drivers.interpreter.values import Array

#: The column that each lane reads, of (grid, the operand's values as int64).
Source = Callable[[Grid, Array], Array]


def _exchange(c: Compiler, i: Instruction, source: Source, operands: tuple[int, ...] | None = None) -> Step:
    """A step for (scope, value, operand), or for (value, operand) given as `operands`."""
    if operands is None:
        require_subgroup(c, i.id(0))
        operands = i.ids[1:3]
    result, (value, operand) = i.result, operands

    def read(m: Machine) -> None:
        grid = grid_of(m)
        m.registers[result] = grid.read(m.registers[value], source(grid, m.registers[operand].astype(np.int64)))

    return read


@step("OpGroupNonUniformBroadcast", "OpGroupNonUniformShuffle")
def shuffle(c: Compiler, i: Instruction) -> Step:
    return _exchange(c, i, lambda grid, id_: id_)


@step("OpSubgroupReadInvocationKHR")
def read_invocation(c: Compiler, i: Instruction) -> Step:
    return _exchange(c, i, lambda grid, id_: id_, i.ids)


@step("OpGroupNonUniformBroadcastFirst", "OpSubgroupFirstInvocationKHR")
def broadcast_first(c: Compiler, i: Instruction) -> Step:
    """The first active invocation's."""
    *scope, value = i.ids
    if scope:
        require_subgroup(c, scope[0])
    result = i.result

    def read(m: Machine) -> None:
        grid = grid_of(m)
        m.registers[result] = grid.read(m.registers[value], grid.first(m.mask)[grid.row])

    return read


@step("OpGroupNonUniformShuffleXor")
def shuffle_xor(c: Compiler, i: Instruction) -> Step:
    return _exchange(c, i, lambda grid, mask: grid.column ^ mask)


@step("OpGroupNonUniformShuffleUp")
def shuffle_up(c: Compiler, i: Instruction) -> Step:
    return _exchange(c, i, lambda grid, delta: grid.column - delta)


@step("OpGroupNonUniformShuffleDown")
def shuffle_down(c: Compiler, i: Instruction) -> Step:
    return _exchange(c, i, lambda grid, delta: grid.column + delta)


@step("OpGroupNonUniformRotateKHR")
def rotate(c: Compiler, i: Instruction) -> Step:
    """Around the subgroup, or around each cluster of so many neighbours."""
    cluster = c.declared.number(i.id(3)) if len(i.operands) > 3 else None

    def source(grid: Grid, delta: Array) -> Array:
        size = grid.size if cluster is None else cluster
        within = grid.column % size
        return np.asarray(grid.column - within + (within + delta) % size)

    return _exchange(c, i, source)


@step("OpGroupNonUniformQuadBroadcast")
def quad_broadcast(c: Compiler, i: Instruction) -> Step:
    return _exchange(c, i, lambda grid, index: (grid.column & ~3) + index)


@step("OpGroupNonUniformQuadSwap")
def quad_swap(c: Compiler, i: Instruction) -> Step:
    """Direction 0 swaps in rows of the quad, 1 in columns, 2 along diagonals."""
    return _exchange(c, i, lambda grid, direction: grid.column ^ (direction + 1))
