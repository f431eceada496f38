"""Reductions of whole matrices (instances or 1, rows, cols) by a function of two arrays of elements (CM-021, CM-022).

Pairs are combined by halving: the first half with the second, and again, until one element is left.
An element without a partner stays the same (AM-18).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from cts.drivers.interpreter.values import Array

#: Combines two arrays (instances, ...) of equal shape element by element.
Combine: TypeAlias = Callable[[Array, Array], Array]


def reduce_all(values: Array, combine: Combine) -> Array:
    """All elements of each instance: (instances, 1, 1)."""
    return reduce_columns(reduce_rows(values, combine), combine)


def reduce_rows(values: Array, combine: Combine) -> Array:
    """The elements of each row: (instances, rows, 1)."""
    return _halved(values, combine)


def reduce_columns(values: Array, combine: Combine) -> Array:
    """The elements of each column: (instances, 1, cols)."""
    return _halved(values.swapaxes(1, 2), combine).swapaxes(1, 2)


def reduce_squares(values: Array, combine: Combine) -> Array:
    """The elements of each 2x2 square: (instances, rows / 2, cols / 2)."""
    instances, rows, cols = values.shape
    squares = values.reshape(instances, rows // 2, 2, cols // 2, 2).swapaxes(2, 3)
    return _halved(squares.reshape(instances, rows // 2, cols // 2, 4), combine)[..., 0]


def _halved(values: Array, combine: Combine) -> Array:
    """The elements along the last axis, which stays with extent 1."""
    while (count := values.shape[-1]) > 1:
        half = count // 2
        combined = combine(values[..., :half], values[..., half : 2 * half])
        values = combined if count % 2 == 0 else np.concatenate([combined, values[..., -1:]], axis=-1)
    return values
