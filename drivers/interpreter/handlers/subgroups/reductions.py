"""Reductions and scans over subgroups, clusters and partitions, one invocation after the other.

The order of floating-point operations is the implementation's: here that of the invocations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.compile import Compiler
from cts.drivers.interpreter.handlers.arithmetic import add, multiply
from cts.drivers.interpreter.handlers.bits import bitwise_and, bitwise_or, bitwise_xor
from cts.drivers.interpreter.handlers.glsl.numbers import n_max, n_min, s_max, s_min, u_max, u_min
from cts.drivers.interpreter.handlers.subgroups.ballots import unpacked
from cts.drivers.interpreter.handlers.subgroups.grid import Grid, grid_of, require_subgroup
from cts.drivers.interpreter.machine import Machine
from cts.drivers.interpreter.parse import Instruction
from cts.drivers.interpreter.problems import Malformed
from cts.drivers.interpreter.registry import Step, step
from cts.drivers.interpreter.values import Array


@dataclass(frozen=True)
class Combination:
    """An associative operation, and the value that changes nothing, by the dtype of the operands."""

    function: Callable[[Array, Array], Array]
    identity: Callable[[ty.DType], Array]

    def scan(self, value: Array, active: Array) -> tuple[Array, Array]:
        """Along axis 1 of values (rows, n, ...): for every position the active ones before it, and those up to it."""
        before, after = np.empty_like(value), np.empty_like(value)
        total = np.broadcast_to(self.identity(value.dtype), (len(value), *value.shape[2:]))
        for k in range(value.shape[1]):
            before[:, k] = total
            total = np.where(_beside(active[:, k], total), self.function(total, value[:, k]), total)
            after[:, k] = total
        return before, after


def _beside(flags: Array, value: Array) -> Array:
    """A flag for each row, shaped to combine with the row's values."""
    return flags.reshape(-1, *(1,) * (value.ndim - 1))


def _constant(number: float) -> Callable[[ty.DType], Array]:
    return lambda dtype: np.array(number, dtype)


def _integer(limit: str, *, signed: bool) -> Callable[[ty.DType], Array]:
    def identity(dtype: ty.DType) -> Array:
        info = np.iinfo(f"{'i' if signed else 'u'}{dtype.itemsize}")
        return np.array(getattr(info, limit), info.dtype).view(dtype)

    return identity


_COMBINATIONS = {
    "IAdd": Combination(add, _constant(0)),
    "FAdd": Combination(add, _constant(0.0)),
    "IMul": Combination(multiply, _constant(1)),
    "FMul": Combination(multiply, _constant(1.0)),
    "SMin": Combination(s_min, _integer("max", signed=True)),
    "UMin": Combination(u_min, _integer("max", signed=False)),
    "FMin": Combination(n_min, _constant(np.inf)),
    "SMax": Combination(s_max, _integer("min", signed=True)),
    "UMax": Combination(u_max, _integer("min", signed=False)),
    "FMax": Combination(n_max, _constant(-np.inf)),
    "BitwiseAnd": Combination(bitwise_and, _integer("max", signed=False)),
    "BitwiseOr": Combination(bitwise_or, _constant(0)),
    "BitwiseXor": Combination(bitwise_xor, _constant(0)),
    "LogicalAnd": Combination(np.logical_and, _constant(True)),
    "LogicalOr": Combination(np.logical_or, _constant(False)),
    "LogicalXor": Combination(np.logical_xor, _constant(False)),
}


def _register(name: str, combination: Combination) -> None:
    @step(f"OpGroupNonUniform{name}")
    def make(c: Compiler, i: Instruction) -> Step:
        return _reduction(c, i, combination)


for _name, _combination in _COMBINATIONS.items():
    _register(_name, _combination)


def _reduction(c: Compiler, i: Instruction, combination: Combination) -> Step:
    require_subgroup(c, i.id(0))
    result, operation, value = i.result, str(i.operands[1]), i.id(2)
    if operation.startswith("Partitioned"):
        return _partitioned(i, combination)
    cluster = _cluster_size(c, i) if operation == "ClusteredReduce" else None

    def reduce(m: Machine) -> None:
        grid = grid_of(m)
        size = grid.size if cluster is None else min(cluster, grid.size)
        spread, active = grid.spread(m.registers[value]), grid.active(m.mask)
        rows = spread.reshape(-1, size, *spread.shape[2:])
        before, after = combination.scan(rows, active.reshape(-1, size))
        if operation == "ExclusiveScan":
            results = before
        elif operation == "InclusiveScan":
            results = after
        else:
            results = np.broadcast_to(after[:, -1:], after.shape)
        m.registers[result] = grid.gather(results.reshape(spread.shape))

    return reduce


def _cluster_size(c: Compiler, i: Instruction) -> int:
    """A power of two. Raises Malformed."""
    if len(i.operands) < 4:
        raise Malformed("ClusteredReduce needs a ClusterSize")
    size, whole = c.declared.number(i.id(3)), c.target.subgroup_size
    if size < 1 or size & (size - 1) or (size < whole and whole % size):
        raise Malformed(f"clusters of {size} in a subgroup of {whole}: the size must be a power of two that divides it")
    return size


def _partitioned(i: Instruction, combination: Combination) -> Step:
    """Each invocation's ballot says with whom it reduces or scans; ballots of one partition are equal."""
    result, operation, value, ballot = i.result, str(i.operands[1]), i.id(2), i.id(3)

    def reduce(m: Machine) -> None:
        grid = grid_of(m)
        spread, active = grid.spread(m.registers[value]), grid.active(m.mask)
        ballots = grid.spread(m.registers[ballot])
        results = np.empty_like(spread)
        for key in np.unique(ballots.reshape(-1, 4), axis=0):
            members = _members(grid, ballots, key) & active
            before, after = combination.scan(spread, members)
            if operation == "PartitionedExclusiveScanNV":
                chosen = before
            elif operation == "PartitionedInclusiveScanNV":
                chosen = after
            else:
                chosen = np.broadcast_to(after[:, -1:], after.shape)
            results[members] = chosen[members]
        m.registers[result] = grid.gather(results)

    return reduce


def _members(grid: Grid, ballots: Array, key: Array) -> Array:
    """The invocations of the partition that the ballot `key` describes: bool (subgroups, size)."""
    return np.asarray((ballots == key).all(axis=2) & unpacked(key[None])[0, : grid.size])
