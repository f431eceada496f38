"""Values of the built-in input variables for a batch of workgroups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from msgspec import Struct

from cts.drivers.interpreter.values import Array, Topology


class Batch(Struct, frozen=True):
    """The workgroups `first` .. of a dispatch that the machine runs together, in the topology's order."""

    topology: Topology
    first: int
    workgroups: tuple[int, int, int]
    local_size: tuple[int, int, int]
    subgroup_size: int

    def name(self, lane: int) -> str:
        """An invocation in messages."""
        number, local = divmod(lane, self.topology.invocations)
        return self.invocation(self.first + number, local)

    def invocation(self, workgroup: int, local: int) -> str:
        """An invocation of any workgroup of the dispatch in messages, by its global id."""
        of_workgroup, within = _coordinates(workgroup, self.workgroups), _coordinates(local, self.local_size)
        x, y, z = (w * size + i for w, size, i in zip(of_workgroup, self.local_size, within, strict=True))
        return f"invocation ({x}, {y}, {z})"

    def workgroup(self, number: int) -> str:
        """Any workgroup of the dispatch in messages."""
        x, y, z = _coordinates(number, self.workgroups)
        return f"workgroup ({x}, {y}, {z})"


def _coordinates(index: int, extents: Sequence[int]) -> tuple[int, int, int]:
    """A linear index as (x, y, z), x fastest."""
    return index % extents[0], index // extents[0] % extents[1], index // (extents[0] * extents[1])


def _uniform(value: int) -> Array:
    return np.array([value], np.uint32)


def _split(index: Array, extents: Sequence[int]) -> Array:
    """A linear index as (x, y, z), x fastest: (n, 3), of which each component is contiguous."""
    x, y = extents[0], extents[1]
    return np.stack([index % x, index // x % y, index // (x * y)]).astype(np.uint32).T


def _workgroups(b: Batch) -> Array:
    """The ids of the batch's workgroups: (workgroups, 3)."""
    t = b.topology
    return _split(np.arange(b.first, b.first + t.lanes // t.invocations), b.workgroups)


def _workgroup_id(b: Batch) -> Array:
    return np.repeat(_workgroups(b).T, b.topology.invocations, axis=1).T


def _local_id(b: Batch) -> Array:
    return _local_ids(b.topology, b.local_size)


@lru_cache(maxsize=16)
def _local_ids(topology: Topology, local_size: tuple[int, int, int]) -> Array:
    """The same in every batch of a dispatch."""
    return _split(topology.local_index, local_size)


def _global_id(b: Batch) -> Array:
    local = _local_id(b)[: b.topology.invocations]
    start = _workgroups(b) * np.array(b.local_size, np.uint32)
    return (start.T[:, :, None] + local.T[:, None, :]).reshape(3, -1).T


def _lane_mask(compare: Callable[[Array, Array], Array]) -> Callable[[Batch], Array]:
    """One bit per invocation of the subgroup, set where its number so compares with that of the lane: (lanes, 4)."""

    def mask(b: Batch) -> Array:
        numbers = np.arange(128, dtype=np.uint32)
        own = np.arange(b.subgroup_size, dtype=np.uint32)[:, None]
        bits = compare(numbers, own) & (numbers < b.subgroup_size)
        words = np.packbits(bits, axis=1, bitorder="little").view(np.uint32)
        return np.asarray(words[b.topology.local_index % np.uint32(b.subgroup_size)])

    return mask


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
    "SubgroupEqMask": _lane_mask(np.equal),
    "SubgroupGeMask": _lane_mask(np.greater_equal),
    "SubgroupGtMask": _lane_mask(np.greater),
    "SubgroupLeMask": _lane_mask(np.less_equal),
    "SubgroupLtMask": _lane_mask(np.less),
    "DeviceIndex": lambda b: _uniform(0),
    "SubgroupLocalInvocationId": lambda b: b.topology.local_index % np.uint32(b.subgroup_size),
}
