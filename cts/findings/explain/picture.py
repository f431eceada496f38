"""A result as characters: one for each element, or for each part of a large one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cts.case.oracle.expectation import AccessMap, Reach
from cts.findings.explain.results import Mask, Result

#: Meanings of characters. A character of several elements is the first one of theirs.
LEGEND = {
    "U": "not written: holds its old value",
    "X": "wrong",
    "C": "wrong, and clipped",
    "K": "wrong, and out of bounds",
    "O": "wrong, and outside the buffer",
    "c": "clipped, and right",
    "k": "out of bounds, and right",
    "o": "outside the buffer, and right",
    ".": "right",
}

#: The most characters of a picture, in rows and columns.
ROWS, COLS = 32, 64


def picture(
    result: Result, reached: AccessMap | None, untouched: Mask | None, instance: int
) -> tuple[tuple[str, ...], tuple[int, int]]:
    """Lines of one instance, and how many rows and columns of elements a character stands for."""
    kinds = characters(result, reached, untouched)[instance]
    order = list(LEGEND)
    rows, cols = kinds.shape
    high, wide = -(-rows // ROWS), -(-cols // COLS)
    rank = np.vectorize(order.index, otypes=[np.int64])(kinds) if kinds.size else np.zeros(kinds.shape, np.int64)
    lines = []
    for row in range(0, rows, high):
        parts = (rank[row : row + high, col : col + wide].min() for col in range(0, cols, wide))
        lines.append("".join(order[int(n)] for n in parts))
    return tuple(lines), (high, wide)


def characters(result: Result, reached: AccessMap | None, untouched: Mask | None) -> npt.NDArray[np.str_]:
    """The character of every element, (instances, rows, cols)."""
    wrong = result.wrong
    symbols = np.where(wrong, "X", ".")
    if reached is not None and reached.status.shape == wrong.shape:
        for kind, right, bad in ((Reach.CLIPPED, "c", "C"), (Reach.CLAMPED, "k", "K"), (Reach.OUTSIDE, "o", "O")):
            here = reached.status == kind
            symbols = np.where(here, np.where(wrong, bad, right), symbols)
    if untouched is not None:
        symbols = np.where(wrong & untouched, "U", symbols)
    return symbols
