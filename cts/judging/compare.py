"""Actual memory against allowed memory, as whole arrays.

Everything is compared as bit patterns: a NaN equals only itself bit for bit, and passes an interval
only if `Freedom` says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cts.base.errors import HarnessTrouble
from cts.case.model import GUARD_BYTES, Buffer, Case, ComponentType, decode, guard_pattern
from cts.case.model.sweep import Sweep
from cts.case.oracle.expectation import Allowed, Expectation, Freedom, Identical, Intervals

Bits = npt.NDArray[np.unsignedinteger[Any]]
Bytes = npt.NDArray[np.uint8]

#: What elements break that lie within their interval, but between the numbers that roundings can give.
UNROUNDED = "nothing between: the program makes a rounding binding (NU-019)"
#: What elements break that are not the same as others of their group.
EQUAL = "as another element: equal by definition, so of one bit pattern (CM-021, CM-023)"


#: The guards of a buffer.
_ENDS = (slice(0, GUARD_BYTES), slice(-GUARD_BYTES, None))


@dataclass(frozen=True, eq=False)
class Differing:
    """The elements of one buffer that hold a value that is not allowed, in ascending order.

    `offsets` are byte offsets from the start of the buffer's contents, shape (n,), negative or past
    the end in guard bytes. `actual`, `lo` and `hi` are bit patterns of `component`, shape (n,);
    `flags` are `Freedom` bits. `total` counts the elements compared. `rule` names the rule that the
    elements break, if it is not their own interval: then `lo` and `hi` are the bits of another element.
    `policy` names the policy of this suite that their interval follows from, if any.
    """

    buffer: str
    guard: bool
    component: ComponentType
    offsets: npt.NDArray[np.int64]
    actual: Bits
    lo: Bits
    hi: Bits
    flags: npt.NDArray[np.uint8]
    total: int
    rule: str = ""
    policy: str = ""

    def __len__(self) -> int:
        return len(self.offsets)


@dataclass(frozen=True)
class Divergence:
    """Why memory is wrong: at least one group, contents before guard bytes, buffers in the case's order."""

    groups: tuple[Differing, ...]

    @property
    def count(self) -> int:
        """Elements that differ, over all buffers; each guard byte counts as one."""
        return sum(len(g) for g in self.groups)


def compare(case: Case, expectation: Expectation, memory: Mapping[str, Bytes]) -> Divergence | None:
    """Differences from the allowed contents of all buffers and guards; None if there are none.

    `memory` maps every buffer to guard, contents, guard (dtype uint8). Raises HarnessTrouble if `memory`
    has another form: that is the driver's bug, not the device's.
    """
    _check_form(case, memory)
    contents: list[Differing] = []
    guards: list[Differing] = []
    for name, buffer in case.buffers.items():
        actual = memory[name]
        inside = actual[GUARD_BYTES : GUARD_BYTES + buffer.size]
        contents += contents_differing(name, buffer, expectation.buffers[name], inside)
        guards += _guards(name, buffer, actual, expectation.buffers[name].guards)
    return Divergence((*contents, *guards)) if contents or guards else None


def ordinals(component: ComponentType, bits: Bits) -> npt.NDArray[np.int64]:
    """Integers in the type's numeric order, -0 just below +0; the distance of neighbours is 1.

    NaNs get ordinals too (beyond the infinities): mask them with `is_nan`.

    >>> ordinals(ComponentType.float16, np.array([0x8001, 0x8000, 0x0000, 0x3C00], np.uint16)).tolist()
    [-2, -1, 0, 15360]
    """
    width = 8 * component.size
    wide = bits.astype(np.int64)
    sign = wide >> (width - 1)
    if component.is_float:
        magnitude = wide & ((1 << (width - 1)) - 1)
        return np.where(sign == 1, -magnitude - 1, magnitude)
    return wide - (sign << width) if component.is_signed else wide


def is_nan(component: ComponentType, bits: Bits) -> npt.NDArray[np.bool_]:
    """Which bit patterns are NaNs; none in an integer type."""
    if not component.is_float:
        return np.zeros(bits.shape, bool)
    magnitude = bits & component.bits_dtype.type((1 << (8 * component.size - 1)) - 1)
    nans: npt.NDArray[np.bool_] = magnitude > component.format.last
    return nans


def ulps(component: ComponentType, actual: Bits, lo: Bits, hi: Bits) -> npt.NDArray[np.int64]:
    """Units in the last place from each actual value to its interval, 0 within; -1 if a NaN is involved.

    Both zeros count as one value.
    """
    a, low, high = (_merged_zeros(component, b) for b in (actual, lo, hi))
    distance = np.maximum(np.maximum(low - a, a - high), 0)
    nan = is_nan(component, actual) | is_nan(component, lo) | is_nan(component, hi)
    return np.where(nan, -1, distance)


def _merged_zeros(component: ComponentType, bits: Bits) -> npt.NDArray[np.int64]:
    order = ordinals(component, bits)
    return order + (order < 0) if component.is_float else order


def permitted(exact: Bits, intervals: Intervals | None, actual: Bits) -> npt.NDArray[np.bool_]:
    """Which elements, flat like the intervals, hold allowed bits: those of `exact`, or a value of their interval.

    A NaN whose bits are those of `exact` is allowed although NaNs are in no interval.
    """
    ok: npt.NDArray[np.bool_] = actual == exact
    rest = np.flatnonzero(~ok)
    if intervals is not None and rest.size:
        some, bits = _chosen_intervals(intervals, rest), actual[rest]
        below, above = _multiples(some, bits)
        ok[rest] = within(some, bits) & (below == above)
    return ok


def within(intervals: Intervals, actual: Bits) -> npt.NDArray[np.bool_]:
    """Which elements, flat like the intervals, hold a value of their interval or one that is free beside it."""
    # Most hold an end of their interval, which needs no order.
    ok: npt.NDArray[np.bool_] = ((actual == intervals.lo) | (actual == intervals.hi)) & ~is_nan(
        intervals.component, actual
    )
    rest = np.flatnonzero(~ok)
    if rest.size:
        ok[rest] = _between(_chosen_intervals(intervals, rest), actual[rest])
    return ok


def _chosen_intervals(intervals: Intervals, which: npt.NDArray[np.intp]) -> Intervals:
    """Those of some elements, by their places."""
    return replace(
        intervals,
        offsets=intervals.offsets[which],
        lo=intervals.lo[which],
        hi=intervals.hi[which],
        flags=intervals.flags[which],
        step=None if intervals.step is None else intervals.step[which],
    )


def _between(intervals: Intervals, actual: Bits) -> npt.NDArray[np.bool_]:
    component, flags = intervals.component, intervals.flags
    order = ordinals(component, actual)
    lo, hi = ordinals(component, intervals.lo), ordinals(component, intervals.hi)
    nan = is_nan(component, actual)
    ok = ~nan & (lo <= order) & (order <= hi)
    ok |= (flags & Freedom.ANY) != 0
    ok |= nan & ((flags & Freedom.NAN) != 0)
    if component.is_float:
        zero = (order == 0) | (order == -1)
        ok |= zero & ((flags & Freedom.EITHER_ZERO) != 0)
    return ok


def _multiples(intervals: Intervals, actual: Bits) -> tuple[Bits, Bits]:
    """The multiples of its step below and above each element: its own bits twice if it is a multiple or has no step."""
    if intervals.step is None:
        return actual, actual
    component, step = intervals.component, intervals.step
    judged = (step != 0) & ((intervals.flags & Freedom.ANY) == 0) & ~is_nan(component, actual)
    # Some processors warn of a signalling NaN that is widened.
    number = decode(component, np.where(judged, actual, component.bits_dtype.type(0))).astype(np.float64)
    # Dividing by a power of two is exact.
    with np.errstate(invalid="ignore"):
        quotient = number / np.where(judged, step, 1.0)
        between = judged & (quotient != np.rint(quotient))
    if not between.any():
        return actual, actual
    count = np.where(between, number, 0.0) / np.where(between, step, 1.0)
    # Above the greatest number there is infinity.
    with np.errstate(over="ignore"):
        below, above = (
            np.where(between, (whole * np.where(between, step, 1.0)).astype(component.dtype).view(actual.dtype), actual)
            for whole in (np.floor(count), np.ceil(count))
        )
    return below, above


def _check_form(case: Case, memory: Mapping[str, Bytes]) -> None:
    _check_sizes(memory, {name: buffer.size + 2 * GUARD_BYTES for name, buffer in case.buffers.items()})


def _check_sizes(memory: Mapping[str, Bytes], sizes: Mapping[str, int]) -> None:
    if set(memory) != set(sizes):
        wrong = sorted(set(memory) ^ set(sizes))
        raise HarnessTrouble(
            "outcome-buffers",
            f"the driver returned the buffers {sorted(memory)}",
            f"buffers {', '.join(wrong)}",
            f"exactly the buffers of the job: {sorted(sizes)}",
        )
    for name, size in sizes.items():
        actual = memory[name]
        if not isinstance(actual, np.ndarray) or actual.dtype != np.uint8 or actual.shape != (size,):
            form = f"{actual.dtype}{actual.shape}" if isinstance(actual, np.ndarray) else type(actual).__name__
            raise HarnessTrouble(
                "outcome-form",
                f"the driver returned {form}",
                f"buffer {name}",
                f"uint8({size},): guard bytes, contents and guard bytes",
            )


def contents_differing(name: str, buffer: Buffer, allowed: Allowed, actual: Bytes) -> Iterator[Differing]:
    """The components of one buffer's contents, without guards, that hold values that are not allowed."""
    wrong = actual != allowed.exact
    yield from _wrong(name, buffer, allowed, allowed.intervals if wrong.any() else (), actual, wrong)


def _wrong(
    name: str, buffer: Buffer, allowed: Allowed, free: Iterable[Intervals], actual: Bytes, wrong: npt.NDArray[np.bool_]
) -> Iterator[Differing]:
    """The bytes that are not allowed, among bytes that differ from the exact ones; `wrong` is used up."""
    for intervals in free:
        size, total = intervals.component.size, len(intervals.offsets)
        # Components of one type lie at multiples of their size.
        whole = len(actual) // size * size
        # The bytes of an element as one number.
        index, elements = intervals.offsets // size, wrong[:whole].view(intervals.component.bits_dtype)
        other = np.flatnonzero(elements[index])
        intervals, index = _chosen_intervals(intervals, other), index[other]
        elements[index] = 0
        bits = np.ascontiguousarray(actual[:whole]).view(intervals.component.bits_dtype)[index]
        wrong_here = ~within(intervals, bits)
        yield from _differing(name, intervals, bits, wrong_here, intervals.lo, intervals.hi, total)
        below, above = _multiples(intervals, bits)
        between = ~wrong_here & (below != above)
        yield from _differing(name, intervals, bits, between, below, above, total, UNROUNDED)
    for identical in allowed.identical:
        yield from _unlike(name, identical, actual)
    if wrong.any():
        component = buffer.type
        index = np.unique(np.flatnonzero(wrong) // component.size)
        have = actual.view(component.bits_dtype)[index]
        want = allowed.exact.view(component.bits_dtype)[index]
        yield _exact(name, False, component, index * component.size, have, want, buffer.size // component.size)


def _differing(
    name: str,
    intervals: Intervals,
    bits: Bits,
    wrong: npt.NDArray[np.bool_],
    lo: Bits,
    hi: Bits,
    total: int,
    rule: str = "",
) -> Iterator[Differing]:
    """The elements of a mask, if there are any; `total` have intervals."""
    bad = np.flatnonzero(wrong)
    if bad.size:
        bad = bad[np.argsort(intervals.offsets[bad], kind="stable")]
        offsets = intervals.offsets[bad]
        yield Differing(
            name,
            False,
            intervals.component,
            offsets,
            bits[bad],
            lo[bad],
            hi[bad],
            intervals.flags[bad],
            total,
            rule,
            "" if rule else intervals.policy,
        )


def _unlike(name: str, identical: Identical, actual: Bytes) -> Iterator[Differing]:
    """The elements that hold other bits than the first of their group; NaNs are alike, regardless of bits (NU-020)."""
    component = identical.component
    at = identical.offsets[:, None] + np.arange(component.size)
    bits = np.ascontiguousarray(actual[at]).view(component.bits_dtype).reshape(-1)
    _, first, group = np.unique(identical.group, return_index=True, return_inverse=True)
    wanted = bits[first][group.reshape(-1)]
    bad = np.flatnonzero((bits != wanted) & ~(is_nan(component, bits) & is_nan(component, wanted)))
    if bad.size:
        bad = bad[np.argsort(identical.offsets[bad], kind="stable")]
        flags = np.zeros(bad.size, np.uint8)
        offsets, want = identical.offsets[bad], wanted[bad]
        rule = EQUAL
        yield Differing(name, False, component, offsets, bits[bad], want, want, flags, len(bits), rule)


def _guards(name: str, buffer: Buffer, actual: Bytes, allowed: Bytes | None) -> Iterator[Differing]:
    patterns = [guard_pattern()] * 2 if allowed is None else np.split(allowed, 2)
    before, after = actual[:GUARD_BYTES], actual[GUARD_BYTES + buffer.size :]
    for part, start, pattern in zip((before, after), (-GUARD_BYTES, buffer.size), patterns, strict=True):
        wrong = np.flatnonzero(part != pattern)
        if wrong.size:
            yield _exact(name, True, ComponentType.uint8, wrong + start, part[wrong], pattern[wrong], GUARD_BYTES)


def _exact(
    name: str, guard: bool, component: ComponentType, offsets: Any, have: Bits, want: Bits, total: int
) -> Differing:
    flags = np.zeros(len(offsets), np.uint8)
    return Differing(name, guard, component, offsets.astype(np.int64), have, want, want, flags, total)


def differing_sets(
    sweep: Sweep, allowed: Mapping[str, Allowed], before: Mapping[str, Bytes], memory: Mapping[str, Bytes]
) -> npt.NDArray[np.bool_] | None:
    """Which sets of a sweep, all valid, left values that are not allowed in their windows or behind them, (n,).

    `before` is the sweep's memory before the run. None if memory differs that belongs to no set: guards at the ends, or
    buffers that all sets share. Raises HarnessTrouble if `memory` does not have the form of the sweep's memory.
    """
    _check_sizes(memory, {name: len(data) for name, data in before.items()})
    wrong = np.zeros(len(sweep), bool)
    for name, buffer in sweep.template.buffers.items():
        windows = sweep.windows.get(name)
        if windows is None:
            if not np.array_equal(memory[name], before[name]):
                return None
            continue
        if not all(np.array_equal(memory[name][end], before[name][end]) for end in _ENDS):
            return None
        contents = windows.contents(memory[name])
        expected = allowed[name] if name in allowed else Allowed(windows.contents(before[name]).reshape(-1))
        other = contents.reshape(-1) != expected.exact
        if other.any() or expected.identical:
            free = expected.intervals_at(other) if other.any() else ()
            for differing in _wrong(name, buffer, expected, free, contents.reshape(-1), other):
                wrong[differing.offsets // buffer.size] = True
        wrong |= (windows.gaps(memory[name]) != guard_pattern()[: windows.stride - windows.size]).any(axis=1)
    return wrong
