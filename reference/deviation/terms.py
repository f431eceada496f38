"""Which elements of a matrix a reduction combines to each of its results, if it is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cts.case.model import ReduceMode
from cts.case.oracle.deviation import TRANSFORMS, Domain, Step
from cts.reference.deviation.elements import part_of
from cts.reference.deviation.moves import NotComputable

Array = npt.NDArray[Any]


def extents(rows: int, cols: int, mode: Sequence[ReduceMode]) -> tuple[int, int]:
    """The rows and columns of distinct results."""
    if ReduceMode.Square in mode:
        return rows // 2, cols // 2
    return 1 if ReduceMode.Column in mode else rows, 1 if ReduceMode.Row in mode else cols


def terms(array: Array, mode: Sequence[ReduceMode], steps: Sequence[Step]) -> Array:
    """Elements (..., rows, columns) as (..., results, terms)."""
    *lead, rows, cols = array.shape
    results = extents(rows, cols, mode)
    of = rows // results[0], cols // results[1]
    # A result of all rows has those of its column; each other one the rows that follow each other.
    groups = np.swapaxes(array.reshape(*lead, results[0], of[0], results[1], of[1]), -3, -2)
    for step in steps:
        groups = _wrong(groups, step)
    return groups.reshape(*lead, results[0] * results[1], -1)


def _wrong(groups: Array, step: Step) -> Array:
    if Domain.TERMS not in TRANSFORMS[step.name].domain:
        raise NotComputable(step.name)
    rows, cols = groups.shape[-2:]
    if step.name == "padded":
        more = [int(step.arguments[0]) or (1 << n.bit_length()) - n if n & (n - 1) else 0 for n in (rows, cols)]
        return np.pad(groups, [(0, 0)] * (groups.ndim - 2) + [(0, n) for n in more])
    kept = (
        np.eye(rows, cols, dtype=bool) if step.name == "diagonal" else ~part_of(step.name, step.arguments, rows, cols)
    )
    kept = np.broadcast_to(kept, (rows, cols)).reshape(-1)
    if not kept.any():
        return groups
    left: Array = groups.reshape(*groups.shape[:-2], 1, -1)[..., kept]
    return left
