"""Every way in which a case of the same structure can have less in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from cts.model import Case
from cts.reduce import bodies, data, numbers, ranks
from cts.reduce.measure import SIMPLEST


def _types(case: Case) -> Iterator[Case]:
    return numbers.types(case, SIMPLEST)


#: In the order in which they are tried; each yields well-formed cases with less in them, large steps first.
REDUCTIONS: tuple[Callable[[Case], Iterator[Case]], ...] = (
    numbers.surroundings,
    ranks.merged,
    ranks.ranks,
    ranks.extents,
    bodies.bodies,
    numbers.operands,
    numbers.buffers,
    _types,
    data.contents,
)
