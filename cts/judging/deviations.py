"""Whether memory is what deviations leave: known bugs that are computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from cts.case.model import Case
from cts.case.oracle.deviation import Deviation
from cts.case.oracle.expectation import Allowed, Expectation, Freedom
from cts.judging.compare import Bytes, Divergence, compare
from cts.plugins import registry

#: A byte of a buffer, from the start of its contents.
Place = tuple[str, int]


def leaves(case: Case, deviations: Sequence[Deviation], memory: Mapping[str, Bytes]) -> bool:
    """Whether memory is what the case leaves with these deviations; of elements that are free there, nothing is."""
    expectation = registry.oracle().leaves(case, deviations) if deviations else None
    if expectation is None or compare(case, expectation, memory) is not None:
        return False
    return not _freer(expectation, registry.oracle().expect(case))


def owned(
    case: Case, several: Iterable[Sequence[Deviation]], memory: Mapping[str, Bytes], divergence: Divergence
) -> bool:
    """Whether each element that differs is as one of several bugs leaves it, or as all of them together do.

    An element is explained if it is what a wrong program leaves. It is not if that may be anything, or if nobody can
    say what it is: else a deviation that frees elements would explain every failure.
    """
    bugs = [deviations for deviations in several if deviations]
    together = tuple(deviation for deviations in bugs for deviation in deviations)
    wrong, right = places(divergence), registry.oracle().expect(case)
    for deviations in (*bugs, together) if len(bugs) > 1 else bugs:
        expectation = registry.oracle().leaves(case, deviations) if wrong else None
        if expectation is not None:
            wrong &= places(compare(case, expectation, memory)) | _freer(expectation, right)
    return not wrong


def places(divergence: Divergence | None) -> set[Place]:
    """The bytes of all elements that differ."""
    groups = () if divergence is None else divergence.groups
    return {
        (group.buffer, offset + byte)
        for group in groups
        for offset in group.offsets.tolist()
        for byte in range(group.component.size)
    }


def _freer(wrong: Expectation, right: Expectation) -> set[Place]:
    """The bytes that a wrong program leaves free, and the right one does not."""
    masks = ((name, _unknown(allowed) & ~_unknown(right.buffers[name])) for name, allowed in wrong.buffers.items())
    return {(name, int(byte)) for name, mask in masks for byte in np.flatnonzero(mask)}


def _unknown(allowed: Allowed) -> npt.NDArray[np.bool_]:
    """The bytes of elements that may be anything, (size,)."""
    unknown = np.zeros(allowed.exact.size, bool)
    for intervals in allowed.intervals:
        offsets = intervals.offsets[intervals.flags & Freedom.ANY != 0]
        unknown[(offsets[:, None] + np.arange(intervals.component.size)).reshape(-1)] = True
    return unknown
