"""Fragments in quads of 2x2 pixels, of which a triangle may cover a part; the others are helper invocations (ST-005).

Planted bugs (`mutants`) live here: a driver packs, masks and numbers the lanes of quads, and each of these goes wrong.
A helper invocation whose write takes effect is not among them. It stores the same as the invocation of its number; if
it adds, that looks as if the invocation ran twice, which is allowed (ST-004).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cts.drivers.interpreter import mutants
from cts.drivers.interpreter.values import Array

#: Invocations of a quad, which a subgroup never divides: (0, 0), (1, 0), (0, 1), (1, 1).
QUAD = 4


def pixels_of_triangles(width: int, height: int) -> Iterator[tuple[Array, Array]]:
    """Of each of the two triangles of a rectangle: x and y (lanes, 2) of all lanes of its quads, and which are covered.

    The diagonal goes from the corner at (0, 0); a pixel whose centre lies on it belongs to the first triangle.
    """
    corner = np.stack(np.meshgrid(np.arange(0, width, 2), np.arange(0, height, 2)), axis=-1).reshape(-1, 1, 2)
    quads = corner + np.array([(0, 0), (1, 0), (0, 1), (1, 1)])
    inside = (quads < (width, height)).all(axis=2)
    x, y = quads[..., 0], quads[..., 1]
    first = (2 * x + 1) * height <= (2 * y + 1) * width
    for half in (first, ~first):
        covered = half & inside
        drawn = covered.any(axis=1)
        yield quads[drawn].reshape(-1, 2), covered[drawn].reshape(-1)


class Fragments:
    """The fragments of a batch: which lanes' stores and atomics take effect. `bug` is the name of a mutant."""

    def __init__(self, helpers: Array, bug: str = "") -> None:
        self.helpers = helpers
        self.bug = bug
        lanes = np.arange(len(helpers))
        first = lanes // QUAD * QUAD
        covered = ~helpers.reshape(-1, QUAD)
        #: Of each lane, where its quad is covered in part, the lane that a bug takes for it; itself elsewhere.
        whole = np.asarray(covered.all(axis=1))
        self._first = np.where(whole[first // QUAD], lanes, first)
        rank = np.where(covered, covered.cumsum(axis=1) - 1, np.arange(QUAD)).reshape(-1)
        self._packed = first + rank
        self._dropped = helpers[first]

    def effective(self, mask: Array | None) -> Array:
        """Of the active lanes (None: all) those whose write takes effect."""
        every = np.ones(len(self.helpers), np.bool_) if mask is None else mask
        if self.bug == mutants.QUAD_OF_HELPER_DROPPED:
            return every & ~self.helpers & ~self._dropped
        return every & ~self.helpers

    def loaded_from(self, addresses: Array) -> Array:
        """The addresses (lanes, ...) of a load of a cooperative vector."""
        if self.bug == mutants.LOAD_AT_QUADS_FIRST and len(addresses) > 1:
            return addresses[self._first]
        return addresses

    def multiplied(self, vectors: Array) -> Array:
        """The inputs (lanes or 1, components) of a multiplication by a matrix."""
        if self.bug == mutants.INPUTS_PACKED and len(vectors) > 1:
            return vectors[self._packed]
        return vectors
