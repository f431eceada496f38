"""Whether memory is what deviations leave: known bugs that are computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from cts.base.memory import GUARD_BYTES
from cts.case.model import Case, FloatControls, decode
from cts.case.oracle.deviation import BETWEEN, OF_CASE, Deviation, Step
from cts.case.oracle.expectation import Allowed, Expectation, Freedom
from cts.judging.compare import Bytes, Divergence, compare
from cts.plugins import registry

#: What makes a program keep NaNs, infinities and all roundings, and bytes between the lines of converted matrices.
_STRICT = (
    Deviation(OF_CASE, "float_controls", word=FloatControls.FastMathNone.name),
    Deviation(OF_CASE, BETWEEN, (Step("before"),)),
)

#: A byte of a buffer, from the start of its contents.
Place = tuple[str, int]


def leaves(case: Case, deviations: Sequence[Deviation], memory: Mapping[str, Bytes]) -> bool:
    """Whether memory is what the case leaves with these deviations.

    An element that may be anything by them, and not without them, has to be what IEEE 754 says without fast math,
    and conversions leave bytes between lines as they were.
    """
    expectation = registry.oracle().leaves(case, deviations) if deviations else None
    if expectation is None or _differing(case, expectation, memory):
        return False
    return not _unexplained(case, deviations, expectation, memory)


def owned(
    case: Case, several: Iterable[Sequence[Deviation]], memory: Mapping[str, Bytes], divergence: Divergence
) -> bool:
    """Whether each element that differs is as one of several bugs leaves it, or as all of them together do.

    An element is explained if it is what a wrong program leaves. It is not if that may be anything, by IEEE 754 too,
    or if nobody can say what it is: else a deviation that frees elements would explain every failure.
    """
    bugs = [deviations for deviations in several if deviations]
    together = tuple(deviation for deviations in bugs for deviation in deviations)
    wrong = places(divergence)
    for deviations in (*bugs, together) if len(bugs) > 1 else bugs:
        expectation = registry.oracle().leaves(case, deviations) if wrong else None
        if expectation is not None:
            differing = _differing(case, expectation, memory)
            wrong &= differing | _unexplained(case, deviations, expectation, memory)
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


def _differing(case: Case, expectation: Expectation, memory: Mapping[str, Bytes]) -> set[Place]:
    """The bytes of elements that differ, and have none of several values that a wrong program stores there at once."""
    differing = places(compare(case, expectation, memory))
    for name, allowed in expectation.buffers.items() if differing else ():
        for start, values in allowed.raced.items():
            count = len(next(iter(values)))
            if memory[name][GUARD_BYTES + start :][:count].tobytes() in values:
                differing -= {(name, start + byte) for byte in range(count)}
    return differing


def _unexplained(
    case: Case, deviations: Sequence[Deviation], expectation: Expectation, memory: Mapping[str, Bytes]
) -> set[Place]:
    """The bytes that may be anything by deviations, not without them, and are not what IEEE 754 says.

    If float controls deviate, an element that may overflow in another order of operations may be infinite or NaN, too.
    """
    right = registry.oracle().expect(case)
    if not (free := _freer(expectation, right)):
        return free
    if any(deviation.part == "float_controls" for deviation in deviations):
        free -= _infinite(expectation, memory)
    strict = registry.oracle().leaves(case, (*deviations, *_STRICT))
    return free if strict is None else free & (places(compare(case, strict, memory)) | _freer(strict, right))


def _infinite(wrong: Expectation, memory: Mapping[str, Bytes]) -> set[Place]:
    """The bytes of infinities and NaNs among elements that may be anything."""
    found: set[Place] = set()
    for name, allowed in wrong.buffers.items():
        for intervals in allowed.intervals:
            size = intervals.component.size
            offsets = intervals.offsets[intervals.flags & Freedom.ANY != 0]
            bits = memory[name][GUARD_BYTES + offsets[:, None] + np.arange(size)].view(intervals.component.bits_dtype)
            numbers = decode(intervals.component, bits[:, 0]).astype(np.float64)
            found |= {(name, int(o) + n) for o in offsets[~np.isfinite(numbers)] for n in range(size)}
    return found


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
