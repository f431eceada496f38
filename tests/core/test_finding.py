"""What a finding says of failures of cooperative vectors: who wrote the first wrong element, and which that is."""

from __future__ import annotations

from pathlib import Path

import pytest

import cts.cases
from cts.case.model import load_case
from cts.judging.finding import finding
from cts.judging.judge import judge
from cts.judging.sentences import writer_text
from cts.judging.verdict import Verdict
from cts.plugins import registry
from cts.running.opening import open_driver

CASES = Path(cts.cases.__file__).parent


@pytest.mark.parametrize(
    ("name", "mutant", "text"),
    [
        (
            "vector_arithmetic/parts/construct",
            "vector-construct-scalars-first",
            "stored by program[5] (VectorStore), instance 0, component 0",
        ),
        (
            "vector_training/sum/same_address",
            "reduce-sum-atomic-lost",
            "stored by program[1] (VectorReduceSumAccumulate), instance 69, component 0",
        ),
        ("vector_training/outer/one", "training-zero-fill-ignored", "written by conversions[0], row 0, column 2"),
        ("vector_conversions/layout/columns_to_rows", "conversion-last-line-padded", "no instruction may write there"),
    ],
)
def test_who_wrote_the_first_wrong_element(name: str, mutant: str, text: str) -> None:
    case, oracle = load_case(CASES / f"{name}.yaml"), registry.oracle()
    expectation = oracle.expect(case)
    attempt = judge(open_driver(f"emulator:mutant={mutant}"), case, expectation)
    assert attempt.verdict is Verdict.FAIL
    found = finding(case, attempt, expectation, oracle).writer
    assert found is not None and writer_text(found) == text
