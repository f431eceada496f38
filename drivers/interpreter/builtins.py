"""Values of the built-in input variables for a batch of workgroups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from cts.drivers.interpreter.values import Array, Topology


@dataclass(frozen=True)
class Batch:
    """The workgroups `first` .. of a dispatch that the machine runs together, in the topology's order."""

    topology: Topology
    first: int
    workgroups: tuple[int, int, int]
    local_size: tuple[int, int, int]
    subgroup_size: int


def _uniform(value: int) -> Array:
    return np.array([value], np.uint32)


def _split(index: Array, extents: Sequence[int]) -> Array:
    """A linear index as (x, y, z), x fastest: (lanes, 3)."""
    x, y = extents[0], extents[1]
    return np.stack([index % x, index // x % y, index // (x * y)], axis=1).astype(np.uint32)


def _workgroup_id(b: Batch) -> Array:
    t = b.topology
    per_workgroup = _split(np.arange(b.first, b.first + t.lanes // t.invocations), b.workgroups)
    return np.repeat(per_workgroup, t.invocations, axis=0)


def _local_id(b: Batch) -> Array:
    return _local_ids(b.topology, b.local_size)


@lru_cache(maxsize=16)
def _local_ids(topology: Topology, local_size: tuple[int, int, int]) -> Array:
    """The same in every batch of a dispatch."""
    return _split(topology.local_index, local_size)


def _global_id(b: Batch) -> Array:
    return _workgroup_id(b) * np.array(b.local_size, np.uint32) + _local_id(b)


BUILTINS: dict[object, Callable[[Batch], Array]] = {
    "NumWorkgroups": lambda b: np.array([b.workgroups], np.uint32),
    "WorkgroupSize": lambda b: np.array([b.local_size], np.uint32),
    "WorkgroupId": _workgroup_id,
    "LocalInvocationId": _local_id,
    "GlobalInvocationId": _global_id,
    "LocalInvocationIndex": lambda b: b.topology.local_index,
    "SubgroupSize": lambda b: _uniform(b.subgroup_size),
    "NumSubgroups": lambda b: _uniform(b.topology.subgroups),
    "SubgroupId": lambda b: b.topology.local_index // np.uint32(b.subgroup_size),
    "SubgroupLocalInvocationId": lambda b: b.topology.local_index % np.uint32(b.subgroup_size),
}
