"""Smaller versions of a failing case: by structure, and then by every number, type and byte of data.

Hypothesis shrinks the draws behind a generated case; what one draw ties together (a store and the
tile it made room for, say) it cannot take apart. Reducing the case itself can, and needs no draws.
Whether a smaller case is valid and fails is for the caller to say; here it is well-formed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from cts.model import Case
from cts.reduce import data, details, structure
from cts.reduce.measure import size

__all__ = ["First", "reduce", "reduce_all", "reductions", "size"]

#: Finds the first of some cases that still fails, if any does.
First: TypeAlias = Callable[[Iterator[Case]], Case | None]


def reduce(case: Case, still_fails: Callable[[Case], bool]) -> Case:
    """The smallest case that greedy reduction by structure reaches; `case` itself where nothing can go.

    `still_fails` must answer True only for valid cases that fail in the same way.
    """
    return _by_structure(case, lambda cases: next((c for c in cases if still_fails(c)), None))


def reduce_all(case: Case, first: First) -> Case:
    """The same by structure and details, until neither can go further.

    What is read counts before anything goes, where that is enough: then what is left can tell what was read.
    """
    while (found := first(data.counts(case))) is not None:
        case = found
    while True:
        case = _by_structure(case, first)
        smaller = _by_details(case, first)
        if smaller is case:
            return case
        case = smaller


def reductions(case: Case) -> Iterator[Case]:
    """Well-formed cases with less in them than `case`: by structure, the largest steps first, then by details."""
    yield from structure.of_whole(case)
    for i in reversed(range(len(case.program))):
        yield from structure.at(case, i)
    for reduction in details.REDUCTIONS:
        yield from reduction(case)


def _by_structure(case: Case, first: First) -> Case:
    progress = True
    while progress:
        progress = False
        found = first(structure.of_whole(case))
        if found is not None:
            case, progress = found, True
        # From the end, so that what made the operands of a dropped instruction is gone before its turn.
        position = len(case.program) - 1
        while position >= 0:
            found = first(structure.at(case, position))
            if found is None:
                position -= 1
            else:
                case, progress = found, True
                position = min(position, len(case.program) - 1)
    return case


def _by_details(case: Case, first: First) -> Case:
    for reduction in details.REDUCTIONS:
        while (found := first(reduction(case))) is not None:
            case = found
    return case
