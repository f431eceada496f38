"""A workgroup of three extents: which of its instances run, and the index that each of them has in it."""

from __future__ import annotations

import numpy as np

from cts.case.model import Dispatch
from cts.drivers.emulator.instances import Active, members_of
from cts.drivers.emulator.matrices.state import Ints
from cts.drivers.emulator.mutants import matrices as m
from cts.drivers.emulator.mutants import vectors as v

#: The most instances of a workgroup of which a bug takes a line along y or z for a point.
_LINE = 32


def local_indices(dispatch: Dispatch, bug: int) -> Ints:
    """(members,): the index in the workgroup of its instances, in the order of their ids: x first, then y, then z.

    Of subgroups, which are rows of the x dimension, whole ones, that is the index of the subgroup (VK-027).
    """
    x, y, z = _extents(dispatch)
    k, j, i = np.indices((z, y, x)).reshape(3, -1)
    if bug == v.LOCAL_INDEX_WITHOUT_Y:
        j[:] = 0
    elif bug == v.LOCAL_INDEX_EXTENTS_SWAPPED:
        y = z
    elif bug == v.LOCAL_INDEX_STEPS_OF_X:
        y = x
    return (k * y + j) * x + i


def local_ids(dispatch: Dispatch, bug: int) -> Ints:
    """(members, 3): the x, y and z of the instances, in the same order."""
    x, y, z = _extents(dispatch)
    if bug == v.LOCAL_ID_IN_X_ALONE:
        x, y, z = x * y * z, 1, 1
    k, j, i = np.indices((z, y, x)).reshape(3, -1)
    if bug == v.LOCAL_ID_OF_A_LINE and x == min(y, z) == 1 and y * z <= _LINE:
        k[:] = j[:] = 0
    return np.stack([i, k, j] if bug == v.LOCAL_ID_Y_AND_Z_SWAPPED else [i, j, k], axis=1)


def launched(dispatch: Dispatch, bug: int) -> Active:
    """(members,): those that run at all, in the same order."""
    x, y, z = _extents(dispatch)
    running = np.ones((z, y, x), bool)
    if bug == m.SIZE_IN_Z_IGNORED:
        running[1:] = False
    elif bug == m.SIZE_ID_IN_X_ALONE and dispatch.size_by.by_mode_of_ids:
        running[1:] = running[0, 1:] = False
    elif bug == m.SIZE_CONSTANTS_NOT_APPLIED and dispatch.size_by.specialized:
        running.reshape(-1)[1:] = False
    return running.reshape(-1)


def _extents(dispatch: Dispatch) -> tuple[int, int, int]:
    """Instances in x, y and z."""
    y, z = dispatch.shape.y, dispatch.shape.z
    return members_of(dispatch) // (y * z), y, z
