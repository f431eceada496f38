"""The memory that a finding keeps is the one that the driver left, or none."""

from __future__ import annotations

import numpy as np

from cts.base.memory import guarded
from cts.case.oracle.expectation import Allowed, Expectation
from cts.judging.judge import judge
from cts.judging.left import packed, unpacked
from cts.running.opening import open_driver
from tests.case_builder import corpus_case
from tests.explain.drivers import ORACLE


def test_what_a_driver_left_comes_back() -> None:
    case = corpus_case("conversions.transpose.bytes")
    expectation = ORACLE.expect(case)
    outcome = judge(open_driver("emulator:mutant=transpose-not-applied"), case, expectation).outcome
    assert outcome is not None
    memory = unpacked(expectation, packed(expectation, outcome.memory))
    assert memory is not None and list(memory) == list(expectation.buffers)
    assert all(np.array_equal(memory[name], outcome.memory[name]) for name in memory)


def test_what_another_case_left_is_none() -> None:
    """Also of buffers of the same size, of which another expectation would make other memory."""
    one, other, longer = (
        Expectation({"x": Allowed(np.full(size, value, np.uint8))}) for size, value in ((64, 1), (64, 2), (65, 1))
    )
    left = packed(one, {"x": guarded(np.zeros(64, np.uint8))})
    assert unpacked(one, left) is not None
    assert unpacked(other, left) is None and unpacked(longer, left) is None
    assert unpacked(one, b"") is None and unpacked(one, b"no zlib") is None
