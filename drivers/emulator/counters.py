"""Indices in a dispatch and in loops, as bugs that count them in too few bits have them."""

from __future__ import annotations

from collections.abc import Mapping

from cts.case.model import Dispatch
from cts.drivers.emulator.instances import Active, instances_of, members_of
from cts.drivers.emulator.matrices.state import Ints
from cts.drivers.emulator.mutants import sizes

#: Columns of ids that a bug counts in so many bits: workgroups along x, y and z, subgroups, invocations.
_NARROW: Mapping[int, tuple[tuple[int, ...], int]] = {
    sizes.WORKGROUP_X_IN_3_BITS: ((0,), 3),
    sizes.WORKGROUP_X_IN_5_BITS: ((0,), 5),
    sizes.WORKGROUP_Y_IN_3_BITS: ((1,), 3),
    sizes.WORKGROUP_Z_IN_4_BITS: ((2,), 4),
    sizes.SUBGROUP_IN_3_BITS: ((3,), 3),
    sizes.INVOCATION_IN_7_BITS: ((4,), 7),
    sizes.VECTOR_WORKGROUP_IN_4_BITS: ((0, 1, 2), 4),
}

#: The last workgroup that a bug runs, and the last iteration.
_LAST_WORKGROUP, _LAST_ITERATION = 32, 8


def narrowed(ids: Ints, bug: int) -> Ints:
    """The ids of all instances, (instances, columns), as operands count them."""
    columns, bits = _NARROW.get(bug, ((), 0))
    for column in columns:
        ids[:, column] &= (1 << bits) - 1
    return ids


def iteration(index: int, bug: int) -> int:
    """The index of an iteration as operands count it."""
    return index & 7 if bug == sizes.LOOP_IN_3_BITS else index


def turns(counts: Ints, bug: int) -> Ints:
    """How often a loop iterates in each instance."""
    return counts.clip(max=_LAST_ITERATION) if bug == sizes.LOOP_ENDS_AT_8 else counts


def dispatched(active: Active, dispatch: Dispatch, bug: int) -> Active:
    """Which instances run at all, (instances,), of one or several parameter sets."""
    if bug == sizes.LATE_WORKGROUPS_LOST:
        own = active.reshape(-1, instances_of(dispatch))
        own[:, _LAST_WORKGROUP * members_of(dispatch) :] = False
    return active
