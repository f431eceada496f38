"""A case judges what it writes: nearly no component may be anything, few may be nearly anything."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest

from cts.case.model import Buffer, Case, decode, initial_bits
from cts.case.oracle.expectation import Allowed, Freedom, Intervals
from cts.plugins import registry
from tests.case_builder import corpus_cases

CASES = corpus_cases()

#: The share of the components that a case writes which may be anything.
ANYTHING = 0.05
#: The share of them whose interval is wider than this part of its greatest magnitude.
VAGUE, WIDE = 0.5, 0.25

#: Cases beyond these shares, and why.
MOSTLY_OPEN = {
    "matrix_memory.robust.load_anything_beyond": "six rows of 16 lie beyond the buffer, where anything may be read",
    "vector_arithmetic.fast_math.infinite_operand": "one invocation of five has an infinity",
    "matrix_arithmetic.mul_add.infinity_stays_in_its_row": "one row of 16 has an infinity, of two results that differ",
    "vector_arithmetic.floats.tanh": "one of seven numbers is where exp overflows, and tanh with it",
    "vector_arithmetic.floats.tanh_of_half": "two of seven numbers are where exp overflows, and tanh with it",
    "matrix_arithmetic.environment.add_and_subtract": "undecorated: both the folded and the rounded result are right",
    "matrix_arithmetic.fast_math.consumer_allows": "both the folded and the rounded result are right",
    "per_element.body.add_and_subtract": "undecorated: both the folded and the rounded result are right",
    "matrix_arithmetic.mul_add.denormals": "denormal inputs count as 0 or not, each by itself",
    "reductions.functions.maximum_of_denormals": "each may be a zero, or the other one that it is compared with",
    "reductions.add.inexact_column": "it judges that equal elements are equal bit for bit",
    "vector_multiply.float.rounded_sum": "sums that cancel: what is left is as large as a rounding",
}

#: Bytes that no instruction writes, and a conversion may.
BETWEEN_LINES = "VK-055"


@dataclass(frozen=True)
class Shares:
    """Components that a case writes, and how many of them may be anything, or nearly."""

    written: int
    anything: int
    vague: int


def shares(case: Case) -> Shares:
    expectation = registry.oracle().expect(case)
    parts = [of_buffer(buffer, expectation.buffers[name]) for name, buffer in case.buffers.items()]
    return Shares(sum(p.written for p in parts), sum(p.anything for p in parts), sum(p.vague for p in parts))


def of_buffer(buffer: Buffer, allowed: Allowed) -> Shares:
    changed = allowed.exact != initial_bits(buffer).view(np.uint8)
    written, anything, vague = 0, 0, 0
    for intervals in allowed.intervals:
        changed[intervals.offsets[:, None] + np.arange(intervals.component.size)] = False
        if any(BETWEEN_LINES in reason for reason in intervals.reasons):
            continue
        open_ = (intervals.flags & Freedom.ANY) != 0
        written += len(open_)
        anything += int(open_.sum())
        vague += int((wide(intervals) & ~open_).sum())
    return Shares(written + int(changed.reshape(-1, buffer.type.size).any(axis=1).sum()), anything, vague)


def wide(intervals: Intervals) -> npt.NDArray[np.bool_]:
    """Which intervals say little: neither few numbers nor nearly the same ones."""
    low, high = (decode(intervals.component, bits).astype(np.float64) for bits in (intervals.lo, intervals.hi))
    with np.errstate(invalid="ignore"):
        width = high - low
    found = width > WIDE * np.maximum(np.abs(low), np.abs(high))
    if intervals.step is None:
        return found
    return found & ~((intervals.step > 0) & (width <= intervals.step))


@pytest.mark.family("name", CASES)
def test_a_case_judges_what_it_writes(name: str) -> None:
    found = shares(CASES[name])
    little = found.anything > ANYTHING * found.written or found.vague > VAGUE * found.written
    assert little == (name in MOSTLY_OPEN), (found, MOSTLY_OPEN.get(name, "data that are judged, or a reason"))


def test_open_cases_exist() -> None:
    assert set(MOSTLY_OPEN) <= set(CASES)
