"""Which failures rest on this suite's policy, and that every report says so."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pytest

from cts.case.model import GUARD_BYTES, Case, initial_memory
from cts.case.oracle.expectation import Expectation
from cts.device.driver import Outcome, Status
from cts.judging.compare import compare, ordinals
from cts.judging.finding import finding
from cts.judging.judge import Attempt
from cts.judging.policy import EXACT, policy_of
from cts.judging.verdict import Verdict
from cts.plugins import registry
from cts.showing.report.failure import difference
from tests.case_builder import corpus_case

Memory = dict[str, npt.NDArray[np.uint8]]


@lru_cache
def expected(name: str) -> tuple[Case, Expectation]:
    case = corpus_case(name)
    return case, registry.oracle().expect(case)


def right(name: str) -> Memory:
    """What a right run leaves."""
    case, expectation = expected(name)
    memory = initial_memory(case)
    for buffer, allowed in expectation.buffers.items():
        memory[buffer][GUARD_BYTES:-GUARD_BYTES] = allowed.exact
    return memory


def beyond(name: str, buffer: str, ulps: int) -> Memory:
    """The same, but for one element that is so far above what is allowed."""
    case, expectation = expected(name)
    memory, component = right(name), case.buffers[buffer].type
    contents = memory[buffer][GUARD_BYTES:-GUARD_BYTES].view(component.bits_dtype)
    intervals = [i for i in expectation.buffers[buffer].intervals if i.policy]
    # Positive, so that the next bit pattern is the next number.
    order = ordinals(component, intervals[0].hi if intervals else contents)
    n = int(np.argmax(order))
    at = int(intervals[0].offsets[n]) // component.size if intervals else n
    contents[at] = (intervals[0].hi[n] if intervals else contents[n]) + ulps
    return memory


def says(name: str, memory: Memory) -> str:
    case, expectation = expected(name)
    divergence = compare(case, expectation, memory)
    assert divergence is not None
    return policy_of(case, divergence)


@pytest.mark.parametrize(
    ("name", "buffer", "reason"),
    [
        ("matrix_arithmetic.mul_add.realistic_f32", "d", "order and precision are free (NU-010), gamma_17"),
        ("vector_multiply.float.rounded_sum", "y", "order and precision are free (NU-010), gamma_34"),
        ("reductions.add.inexact_square_strict", "d", "the order of combining is free (CM-023), gamma_3"),
        ("vector_training.outer.beyond_half", "back", "the order of accumulation is free (CV-037), gamma_5"),
    ],
)
def test_what_is_beyond_a_bound_of_this_suite_rests_on_policy(name: str, buffer: str, reason: str) -> None:
    assert says(name, beyond(name, buffer, 1)).startswith(reason)


@pytest.mark.parametrize("name", ["matrix_arithmetic.mul_add.f16_f32", "vector_multiply.float.tails"])
def test_exact_products_rest_on_policy_where_few_bits_explain_them(name: str) -> None:
    case, _ = expected(name)
    buffer = list(case.buffers)[-1]
    assert says(name, beyond(name, buffer, 1)) == EXACT
    # A quarter more is no rounding.
    mantissa = 10 if case.buffers[buffer].type.size == 2 else 23
    assert says(name, beyond(name, buffer, 1 << (mantissa - 1))) == ""


@pytest.mark.parametrize(
    ("name", "buffer"),
    [
        ("matrix_arithmetic.elements.fadd_f16", "d"),
        ("matrix_arithmetic.elements.fmul_f16_inexact", "d"),
        ("matrix_arithmetic.mul_add.s8", "d"),
        ("reductions.add.row_f32", "d"),
    ],
)
def test_what_a_text_fixes_is_no_policy(name: str, buffer: str) -> None:
    # Farther than the other neighbour of a rounding.
    assert says(name, beyond(name, buffer, 3)) == ""


@pytest.mark.parametrize(
    ("name", "buffer"), [("matrix_arithmetic.mul_add.realistic_f32", "d"), ("vector_multiply.float.rounded_sum", "y")]
)
@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan, -1e4, 3e4])
def test_what_few_bits_do_not_explain_is_no_policy(name: str, buffer: str, number: float) -> None:
    memory, component = right(name), expected(name)[0].buffers[buffer].type
    contents = memory[buffer][GUARD_BYTES:-GUARD_BYTES].view(component.dtype)
    contents[0] = number
    assert says(name, memory) == ""


def test_one_element_that_a_text_fixes_is_enough() -> None:
    name = "matrix_arithmetic.mul_add.realistic_f32"
    memory = beyond(name, "d", 1)
    memory["d"][0] ^= 1
    assert says(name, memory) == ""


def test_elements_that_are_equal_by_definition_are_no_policy() -> None:
    name = "reductions.add.identical_row_sum_f16"
    memory = right(name)
    memory["dst"][GUARD_BYTES] ^= 1
    assert says(name, memory) == ""


def test_a_failure_says_so() -> None:
    name = "matrix_arithmetic.mul_add.realistic_f32"
    case, expectation = expected(name)
    memory = beyond(name, "d", 1)
    outcome = Outcome(Status.DONE, memory)
    attempt = Attempt(Verdict.FAIL, "", outcome, compare(case, expectation, memory), 0.0)
    lines = list(difference(finding(case, attempt, expectation, registry.oracle()), None))
    assert any(line.startswith("by this suite's policy, not by the specifications' text: order and") for line in lines)
