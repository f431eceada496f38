"""Atomic additions of whole vectors and matrices, lane after lane (CV-020, CV-021)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cts.drivers.interpreter.memory import AddressSpace
from cts.drivers.interpreter.types import DType
from cts.drivers.interpreter.values import Array

#: Elements that are held together.
_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class Terms:
    """What lanes add to the bytes at `offsets` (any shape, none twice) from their bases.

    `of_lanes` gives the terms of some lanes, (chosen, *shape) of `dtype`.
    """

    offsets: Array
    dtype: DType
    of_lanes: Callable[[Array], Array]


def accumulate(memory: AddressSpace, bases: Array, terms: Terms) -> None:
    """Add every lane's terms at its base (lanes,), rounding after each: one lane after the other, in their order."""
    places, of_lane, counts = np.unique(bases, return_inverse=True, return_counts=True)
    if (np.diff(places) < int(terms.offsets.max()) + terms.dtype.itemsize).any():
        for lane in range(len(bases)):  # places overlap
            _add_in_iterations(memory, bases[lane : lane + 1], terms, [np.array([lane])])
        return
    order = np.argsort(of_lane, kind="stable")
    starts = np.cumsum(counts) - counts
    step = max(1, _AT_ONCE // terms.offsets.size)
    for first in range(0, len(places), step):
        chosen = slice(first, first + step)
        some, start, count = places[chosen], starts[chosen], counts[chosen]
        for iterations in np.unique(count):
            alike = np.flatnonzero(count == iterations)
            _add_in_iterations(
                memory, some[alike], terms, [order[start[alike] + iteration] for iteration in range(iterations)]
            )


def _add_in_iterations(memory: AddressSpace, places: Array, terms: Terms, iterations: list[Array]) -> None:
    """In each iteration one lane adds its terms at every place."""
    addresses = places.reshape(-1, *(1,) * terms.offsets.ndim) + terms.offsets
    total = memory.gather(addresses, terms.dtype)
    for lanes in iterations:
        total = total + terms.of_lanes(lanes)
    memory.scatter(addresses, total)
