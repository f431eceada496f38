"""How kernels see layouts and views: int64 arrays of 32-bit values, one set per subgroup.

A layout is an array (subgroups, 6, 5), a view an array (subgroups, 5, 5): first index the fields
below, second index the dimension, outermost first. Every value is kept in 0 to 2^32-1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cts.case.model import ClampMode

Ints = npt.NDArray[np.int64]
#: (n, 4): invocation, slot, row, column of each work item.
Work = npt.NDArray[np.int32]
#: (instances, n): what to do for each work item.
Actions = npt.NDArray[np.uint8]

MAX_RANK = 5
U32 = 0xFFFFFFFF

# Fields of a layout
DIM, SPAN, OFFSET, STRIDE, BLOCK, INFO = range(6)
# Fields of a view; DIM and the last, INFO, as above
VIEW_STRIDE, VIEW_PERM, VIEW_CLIP, VIEW_INFO = 1, 2, 3, 4
# Places in INFO and VIEW_INFO
RANK, CLAMP, CLAMP_VALUE = 0, 1, 2
HAS_DIMENSIONS = 1
# Places in VIEW_CLIP
ROW_OFFSET, ROW_SPAN, COL_OFFSET, COL_SPAN = range(4)

# Clamp modes by number (TA-002)
CLAMP_UNDEFINED, CLAMP_CONSTANT, CLAMP_EDGE, CLAMP_REPEAT, CLAMP_MIRROR = range(5)
_CLAMP_NUMBERS = {
    ClampMode.Undefined: CLAMP_UNDEFINED,
    ClampMode.Constant: CLAMP_CONSTANT,
    ClampMode.ClampToEdge: CLAMP_EDGE,
    ClampMode.Repeat: CLAMP_REPEAT,
    ClampMode.RepeatMirrored: CLAMP_MIRROR,
}

# What an invocation does for one element
ACCESS, KEEP_OBJECT, TAKE_CLAMP_VALUE, DISCARD = range(4)


@dataclass(frozen=True, eq=False)
class Addresses:
    """What to do for each work item, and where: (instances, n).

    Where a load decodes, `coordinates` (instances, n, 2, 5) are blockCoord and coordInBlock, else (instances, 0, 2, 5).
    """

    action: Actions
    byte: Ints
    coordinates: Ints


def create_layout(dim: object, clamp: object, subgroups: int) -> Ints:
    """OpCreateTensorLayoutNV: all zero, block size 1 (TA-012)."""
    state = np.zeros((subgroups, 6, MAX_RANK), np.int64)
    state[:, BLOCK] = 1
    assert isinstance(dim, int) and isinstance(clamp, ClampMode)
    state[:, INFO, RANK] = dim
    state[:, INFO, CLAMP] = _CLAMP_NUMBERS[clamp]
    return state


def create_view(permutation: Sequence[Any], has_dimensions: object, subgroups: int) -> Ints:
    """OpCreateTensorViewNV: dimensions and strides 0, nothing clipped (TA-018)."""
    state = np.zeros((subgroups, 5, MAX_RANK), np.int64)
    state[:, VIEW_PERM, : len(permutation)] = permutation
    state[:, VIEW_CLIP, [ROW_SPAN, COL_SPAN]] = U32
    state[:, VIEW_INFO, RANK] = len(permutation)
    state[:, VIEW_INFO, HAS_DIMENSIONS] = bool(has_dimensions)
    return state


def no_view(subgroups: int) -> Ints:
    """What kernels get for an instruction without a view: one of rank 0."""
    return np.zeros((subgroups, 5, MAX_RANK), np.int64)
