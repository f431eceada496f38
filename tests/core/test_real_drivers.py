"""The whole way, with nothing faked: generated tensor cases through oracle, both drivers, comparison and report."""

from __future__ import annotations

from cts.judging.verdict import Verdict
from cts.plugins import registry
from cts.running.exploring import run_area
from cts.running.opening import open_driver
from cts.running.profiles import Profile
from cts.showing.report.failure import failure

AREA = "tensor_addressing"


def test_generated_cases_pass_on_both_drivers() -> None:
    drivers = [open_driver("emulator"), open_driver("interpreter")]
    results = run_area(AREA, drivers, registry.oracle(), Profile("default", 40, 11)).results
    assert [(r.driver, r.verdict, r.examples, r.unsupported) for r in results] == [
        ("emulator", Verdict.PASS, 40, 0),
        ("interpreter", Verdict.PASS, 40, 0),
    ]


def test_a_planted_bug_is_found_shrunk_and_explained() -> None:
    driver = open_driver("emulator:mutant=slice-replaces-offset")
    # Other seeds meet an access beyond the guard first, which is a crash.
    (result,) = run_area(AREA, [driver], registry.oracle(), Profile("default", 300, 4)).results
    assert result.verdict is Verdict.FAIL
    assert result.finding is not None
    assert len(result.finding.case.program) <= 8
    text = failure(result, None)
    assert text.count("TensorLayoutSlice") >= 2
    for words in (
        "elements of",
        "first: ",
        "row ",
        "column ",
        "expected 0x",
        "actual   0x",
        "TA-035",
        "reproduce: cts run",
    ):
        assert words in text


def test_the_same_seed_finds_the_same_case() -> None:
    def case() -> object:
        driver = open_driver("emulator:mutant=store-high-written")
        (result,) = run_area(AREA, [driver], registry.oracle(), Profile("default", 200, 5)).results
        assert result.finding is not None
        return result.finding.case

    assert case() == case()
