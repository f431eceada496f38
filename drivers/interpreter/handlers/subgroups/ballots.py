"""Ballots: one bit per invocation of a subgroup, in four 32-bit words."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cts.drivers.interpreter.compile import Compiler
from cts.drivers.interpreter.handlers.subgroups.grid import grid_of, require_subgroup
from cts.drivers.interpreter.machine import Machine
from cts.drivers.interpreter.parse import Instruction
from cts.drivers.interpreter.problems import Malformed
from cts.drivers.interpreter.registry import Step, step
from cts.drivers.interpreter.values import Array

#: Bits of a ballot.
BITS = 128


def packed(bits: Array) -> Array:
    """Bools (n, columns) as ballots: uint32 (n, 4)."""
    wide = np.zeros((len(bits), BITS), np.bool_)
    wide[:, : bits.shape[1]] = bits
    return np.packbits(wide, axis=1, bitorder="little").view(np.uint32)


def unpacked(ballots: Array) -> Array:
    """Ballots, uint32 (n, 4), as bools (n, 128)."""
    octets = np.ascontiguousarray(ballots).view(np.uint8)
    return np.unpackbits(octets, axis=1, bitorder="little").view(np.bool_)


@step("OpGroupNonUniformBallot", "OpSubgroupBallotKHR")
def ballot(c: Compiler, i: Instruction) -> Step:
    *scope, predicate = i.ids
    if scope:
        require_subgroup(c, scope[0])
    result = i.result

    def cast(m: Machine) -> None:
        grid = grid_of(m)
        votes = grid.spread(m.registers[predicate]) & grid.active(m.mask)
        m.registers[result] = packed(votes)[grid.row]

    return cast


@step("OpGroupNonUniformPartitionNV")
def partition(c: Compiler, i: Instruction) -> Step:
    """Each invocation's ballot has the bits of those with an equal value."""
    result, operand = i.result, i.id(0)

    def part(m: Machine) -> None:
        grid = grid_of(m)
        active = grid.active(m.mask)
        value = grid.spread(m.registers[operand]).reshape(*active.shape, -1)
        same = (value[:, :, None] == value[:, None]).all(axis=3) & active[:, None]
        ballots = packed(same.reshape(-1, grid.size)).reshape(*active.shape, 4)
        m.registers[result] = grid.gather(ballots)

    return part


def _of_ballot(c: Compiler, i: Instruction, value: int, answer: Callable[[Array, Machine], Array]) -> Step:
    """A step whose result is `answer` (bits (lanes, 128), machine)."""
    require_subgroup(c, i.id(0))
    result = i.result

    def answered(m: Machine) -> None:
        bits = unpacked(m.registers[value])
        m.registers[result] = answer(np.broadcast_to(bits, (m.topology.lanes, BITS)), m)

    return answered


@step("OpGroupNonUniformInverseBallot")
def inverse_ballot(c: Compiler, i: Instruction) -> Step:
    """The invocation's own bit."""

    def own(bits: Array, m: Machine) -> Array:
        return np.asarray(bits[np.arange(len(bits)), grid_of(m).column])

    return _of_ballot(c, i, i.id(1), own)


@step("OpGroupNonUniformBallotBitExtract")
def bit_extract(c: Compiler, i: Instruction) -> Step:
    """Undefined beyond the subgroup (here: the last bit of the ballot)."""
    index = i.id(2)

    def extracted(bits: Array, m: Machine) -> Array:
        return np.asarray(bits[np.arange(len(bits)), np.minimum(m.registers[index], BITS - 1)])

    return _of_ballot(c, i, i.id(1), extracted)


@step("OpGroupNonUniformBallotBitCount")
def bit_count(c: Compiler, i: Instruction) -> Step:
    """Of the subgroup's bits those of all, of invocations up to one's own, or of those before."""
    operation = str(i.operands[1])
    last = {"Reduce": None, "InclusiveScan": 1, "ExclusiveScan": 0}
    if operation not in last:
        raise Malformed(f"group operation {operation}; it must be one of {', '.join(last)}")
    beyond = last[operation]

    def counted(bits: Array, m: Machine) -> Array:
        grid = grid_of(m)
        end = grid.size if beyond is None else grid.column[:, None] + beyond
        return np.asarray((bits & (np.arange(BITS) < end)).sum(axis=1, dtype=np.uint32))

    return _of_ballot(c, i, i.id(2), counted)


@step("OpGroupNonUniformBallotFindLSB")
def find_lsb(c: Compiler, i: Instruction) -> Step:
    """Undefined for an empty ballot (here: 0)."""
    return _of_ballot(c, i, i.id(1), lambda bits, m: bits[:, : grid_of(m).size].argmax(axis=1).astype(np.uint32))


@step("OpGroupNonUniformBallotFindMSB")
def find_msb(c: Compiler, i: Instruction) -> Step:
    """Undefined for an empty ballot (here: the last invocation's number)."""

    def highest(bits: Array, m: Machine) -> Array:
        size = grid_of(m).size
        return np.asarray(size - 1 - bits[:, :size][:, ::-1].argmax(axis=1)).astype(np.uint32)

    return _of_ballot(c, i, i.id(1), highest)
