"""The runner against drivers whose behaviour is known: every ending has its verdict, and nothing is lost."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np
import numpy.typing as npt
import pytest

from cts.base.errors import BadInput
from cts.case.model import Case
from cts.case.oracle.trace import ElementPlace, WrittenByInstruction
from cts.device.driver import Job
from cts.findings.reduction.cost import size
from cts.findings.reduction.passes import PASSES
from cts.judging.events import Event, ExamplesJudged, Rejected, Result, RunFinished, RunStarted, Trouble, decode, encode
from cts.judging.reduction_record import Stopped
from cts.judging.verdict import Verdict, exit_status
from cts.plugins import registry
from cts.running import corpus
from cts.running.plan import Plan
from cts.running.profiles import Profile
from cts.running.runner import run
from tests.case_builder import corpus_case

Memory = dict[str, npt.NDArray[np.uint8]]

CORPUS_CASE = "tensor_addressing.clamp.edge_low_load"
PROFILE = Profile("default", 20, 2)

VERDICTS = {
    "right": Verdict.PASS,
    "scribbles": Verdict.PASS,
    "module": Verdict.PASS,
    "wrong": Verdict.FAIL,
    "nothing": Verdict.FAIL,
    "guard-before": Verdict.FAIL,
    "guard-after": Verdict.FAIL,
    "input": Verdict.FAIL,
    "crash": Verdict.CRASH,
    "timeout": Verdict.TIMEOUT,
    "device-lost": Verdict.DEVICE_LOST,
    "flaky": Verdict.FLAKY,
    "no-features": Verdict.UNSUPPORTED,
    "says-unsupported": Verdict.UNSUPPORTED,
    "unsupported-silently": Verdict.ERROR,
    "raises": Verdict.ERROR,
    "exits": Verdict.ERROR,
    "error": Verdict.ERROR,
    "shape": Verdict.ERROR,
    "no-array": Verdict.ERROR,
    "missing-buffer": Verdict.ERROR,
}


def events_of(plan: Plan) -> tuple[int, list[Event]]:
    seen: list[Event] = []
    return run(plan, seen.append), seen


def results_of(plan: Plan) -> list[Result]:
    return [e for e in events_of(plan)[1] if isinstance(e, Result)]


def one_case(*drivers: str) -> Plan:
    return Plan(drivers, PROFILE, (corpus.find_one(CORPUS_CASE),))


@pytest.mark.parametrize("kind", VERDICTS)
def test_verdict_of_a_corpus_case(fakes: ModuleType, kind: str) -> None:
    (result,) = results_of(one_case(f"fake:{kind}"))
    assert result.verdict is VERDICTS[kind]
    assert (result.name, result.area, result.generated) == (CORPUS_CASE, "tensor_addressing", False)
    passed = VERDICTS[kind] in (Verdict.PASS, Verdict.UNSUPPORTED)
    assert (result.finding is None) == passed
    assert (result.examples, result.unsupported) == ((0, 1) if VERDICTS[kind] is Verdict.UNSUPPORTED else (1, 0))


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("no-features", "feature cooperativeMatrixTensorAddressing"),
        ("says-unsupported", "opcode OpFoo"),
        ("unsupported-silently", "without naming what it lacks"),
        ("crash", "signal 11 in the shader compiler"),
        ("raises", "fake_drivers.py:"),
        ("shape", "outcome-form"),
        ("missing-buffer", "outcome-buffers"),
        ("flaky", "fail at first, pass when it was run again"),
    ],
)
def test_detail_says_why(fakes: ModuleType, kind: str, words: str) -> None:
    (result,) = results_of(one_case(f"fake:{kind}"))
    assert words in result.detail


def test_what_a_driver_remarks_is_part_of_the_verdict(fakes: ModuleType) -> None:
    (result,) = results_of(one_case("fake:remarks"))
    assert (result.verdict, result.detail) == (Verdict.PASS, "warning: VUID-1")


@pytest.mark.parametrize("kind", [*VERDICTS, "wrong-after"])
def test_verdict_of_generated_cases(fakes: ModuleType, kind: str) -> None:
    (result,) = results_of(Plan((f"fake:{kind}",), PROFILE, areas=("fake_area",)))
    # The area needs no feature, and the driver without features is wrong.
    expected = {**VERDICTS, "no-features": Verdict.FAIL, "wrong-after": Verdict.FAIL, "input": Verdict.FAIL}[kind]
    assert (result.verdict, result.name, result.generated) == (expected, "generated.fake_area", True)
    if expected is Verdict.PASS:
        assert (result.examples, result.unsupported, result.finding) == (20, 0, None)
    elif expected is Verdict.UNSUPPORTED:
        assert (result.examples, result.unsupported, result.lacks) == (0, 20, {"opcode OpFoo": 20})
        assert "none of 20 generated cases" in result.detail
    else:
        assert result.finding is not None
        assert result.finding.case.name == f"generated.fake_area.{result.finding.case.content_hash}"


def value_of(case: Case) -> object:
    constant = case.program[0]
    return constant.value  # type: ignore[union-attr]


def test_findings_are_shrunk_each_for_itself(fakes: ModuleType) -> None:
    drivers = ("fake:right", "fake:wrong", "fake:crash", "fake:wrong-after", "fake:raises")
    results = {r.driver: r for r in results_of(Plan(drivers, PROFILE, areas=("fake_area",)))}
    assert list(results) == list(drivers)
    assert results["fake:right"].examples == 20
    # Generated values begin at 2; what crashes is reduced to less, what fails only as long as it tells as much.
    for driver, value in (("fake:wrong", 2), ("fake:crash", 0), ("fake:raises", 2)):
        found = results[driver].finding
        assert found is not None
        assert (results[driver].examples, value_of(found.case)) == (1, value)
    after = results["fake:wrong-after"]
    assert after.examples == 6
    assert after.finding is not None
    assert value_of(after.finding.case) in range(2, 9), "the smallest value that is not among the first five"


def test_a_finding_says_how_it_was_reduced(fakes: ModuleType) -> None:
    (crash,) = results_of(Plan(("fake:crash",), PROFILE, areas=("fake_area",)))
    assert crash.finding is not None
    reduction = crash.finding.reduction
    assert reduction is not None
    assert reduction.stopped is Stopped.COMPLETE
    assert reduction.steps[-1].size == reduction.after == size(crash.finding.case)
    assert {step.by for step in reduction.steps} <= reduction.passes.keys() <= {p.name for p in PASSES}
    assert decode(encode(crash)) == crash
    (given,) = results_of(one_case("fake:wrong"))
    assert given.finding is not None
    assert given.finding.reduction is None, "what is no generated case is reported as it is"


def test_together_and_alone_drivers_get_the_same_examples(fakes: ModuleType) -> None:
    alone = results_of(Plan(("fake:wrong-after",), PROFILE, areas=("fake_area",)))
    together = results_of(Plan(("fake:wrong", "fake:wrong-after"), PROFILE, areas=("fake_area",)))
    assert alone[0].finding == together[1].finding


def test_the_seed_decides(fakes: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    right, seen = vars(fakes)["right"], list[object]()

    def spy(job: Job) -> Memory:
        seen.append(value_of(job.case))
        memory: Memory = right(job)
        return memory

    monkeypatch.setattr(fakes, "right", spy)

    def values(seed: int) -> list[object]:
        seen.clear()
        results_of(Plan(("fake:right",), Profile("default", 20, seed), areas=("fake_area",)))
        return list(seen)

    first, again, other = values(5), values(5), values(6)
    assert first == again != other
    assert len(first) == 20


def test_finding_has_the_difference_and_the_steps(fakes: ModuleType) -> None:
    (result,) = results_of(one_case("fake:wrong"))
    found = result.finding
    assert found is not None
    assert found.case == corpus_case(CORPUS_CASE)
    assert [(c.buffer, c.guard, c.differing, c.total) for c in found.counts] == [("dst", False, 1, 256)]
    (first,) = found.listed
    assert (first.offset, first.element, first.coordinates) == (0, 0, (0, 0))
    assert (first.expected, first.actual, first.ulp) == ("0x0000 (0.0)", "0x0001 (5.960464477539063e-08)", 1)
    assert found.writer == WrittenByInstruction(5, "MatrixStore", ElementPlace("m", 0, 0, 0))
    assert {"TA-031", "TA-034", "TA-035", "TA-036"} <= {s.fact for s in found.steps}


def test_header_and_footer(fakes: ModuleType) -> None:
    plan = Plan(("fake:right", "fake:wrong"), PROFILE, (corpus.find_one(CORPUS_CASE),), ("fake_area",))
    status, events = events_of(plan)
    header, footer = events[0], events[-1]
    assert isinstance(header, RunStarted) and isinstance(footer, RunFinished)
    assert (header.seed, header.max_examples, header.profile, header.cases) == (2, 20, "default", 1)
    assert (footer.verdicts, footer.exit_status, status) == ({"pass": 21, "fail": 2}, 1, 1)
    assert footer.examples == sum(e.examples for e in events if isinstance(e, Result)) == 1 + 1 + 20 + 1
    judged = [e for e in events if isinstance(e, ExamplesJudged) and e.driver == "fake:right"]
    assert sum(e.count for e in judged) == 20


def test_stop_at_first_finding(fakes: ModuleType) -> None:
    entries = tuple(corpus.entries()[:3])
    plan = Plan(("fake:wrong",), PROFILE, entries, ("fake_area",), stop_at_first=True)
    status, events = events_of(plan)
    verdicts = [e.verdict for e in events if isinstance(e, Result)]
    assert verdicts == [Verdict.FAIL, Verdict.NOT_RUN, Verdict.NOT_RUN, Verdict.NOT_RUN]
    assert status == 1


@pytest.mark.parametrize(
    ("spec", "status", "code"),
    [
        ("nope", 2, "unknown-driver"),
        ("fake:nope", 2, "driver-option"),
        ("fake:does-not-start", 3, "driver-failed"),
        ("fake:capabilities-raise", 3, "driver-failed"),
        ("fake:close-raises", 3, "driver-close"),
        ("fake:close-exits", 3, "driver-close"),
    ],
)
def test_other_drivers_run_where_one_is_wrong(fakes: ModuleType, spec: str, status: int, code: str) -> None:
    actual, events = events_of(one_case(spec, "fake:right"))
    assert actual == status
    assert [e.code for e in events if isinstance(e, (Rejected, Trouble))] == [code]
    assert any(isinstance(e, Result) and e.driver == "fake:right" for e in events)


def test_nothing_tested_is_trouble(fakes: ModuleType) -> None:
    status, events = events_of(one_case("fake:no-features", "fake:right"))
    assert status == 3
    assert [(e.code, e.what) for e in events if isinstance(e, Trouble)] == [
        ("nothing-tested", "nothing was tested on fake:no-features: lack of feature cooperativeMatrixTensorAddressing")
    ]


def test_other_cases_run_where_one_is_bad(fakes: ModuleType, tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text("schema: 1\n")
    plan = Plan(("fake:right",), PROFILE, (corpus.of_path(bad), corpus.find_one(CORPUS_CASE)))
    status, events = events_of(plan)
    assert status == 2
    assert [e.code for e in events if isinstance(e, Rejected)] == ["not-a-case"]
    assert [e.verdict for e in events if isinstance(e, Result)] == [Verdict.PASS]


def test_undefined_behaviour_is_refused_with_its_rule(fakes: ModuleType, tmp_path: Path) -> None:
    text = corpus.find_one(CORPUS_CASE).path.read_text().replace("ClampToEdge}", "Undefined}")
    path = tmp_path / "ub.yaml"
    path.write_text(text)
    status, events = events_of(Plan(("fake:right",), PROFILE, (corpus.of_path(path),)))
    (rejected,) = [e for e in events if isinstance(e, Rejected)]
    assert (rejected.code, status) == ("undefined-behaviour", 2)
    assert "TA-060" in rejected.what and "program[" in rejected.where


def test_a_failing_oracle_is_our_error(fakes: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def violations(self, case: Case) -> list[object]:
            return []

        def expect(self, case: Case) -> object:
            raise ZeroDivisionError("the oracle has a bug")

    monkeypatch.setattr(registry, "oracle", Broken)
    status, events = events_of(one_case("fake:right"))
    (result,) = [e for e in events if isinstance(e, Result)]
    assert result.verdict is Verdict.ERROR
    assert "the oracle has a bug" in result.detail
    assert status == 3


def test_duplicate_names_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = corpus.find_one(CORPUS_CASE).path.read_text()
    monkeypatch.setattr(corpus, "root", lambda: tmp_path)
    for name in ("a.yaml", "a.yml", "b.yaml"):
        (tmp_path / name).write_text(text)
    entries, errors = corpus.select([])
    assert [e.path.name for e in entries] == ["a.yaml", "b.yaml"]
    assert [(e.code, e.where) for e in errors] == [("duplicate-case", str(tmp_path / "a.yml"))]


def test_a_target_given_twice_runs_once() -> None:
    name = "tensor_addressing.clamp"
    once, _ = corpus.select([name])
    twice, errors = corpus.select([name, CORPUS_CASE, str(corpus.find_one(CORPUS_CASE).path)])
    assert once == twice
    assert errors == []


def test_exit_status_is_the_highest_that_applies() -> None:
    assert exit_status([]) == 0
    assert exit_status([Verdict.PASS, Verdict.UNSUPPORTED, Verdict.NOT_RUN]) == 0
    for finding in (Verdict.FAIL, Verdict.CRASH, Verdict.TIMEOUT, Verdict.DEVICE_LOST, Verdict.FLAKY):
        assert exit_status([Verdict.PASS, finding]) == 1
    assert exit_status([Verdict.FAIL], rejected=True) == 2
    assert exit_status([Verdict.FAIL, Verdict.ERROR], rejected=True) == 3
    assert exit_status([Verdict.FAIL], rejected=True, troubled=True) == 3


def test_profiles() -> None:
    from cts.running.profiles import profile

    assert profile("smoke").seed == profile("smoke").seed == 0
    assert profile("default").seed is not None
    assert profile("nightly", 7, 8) == Profile("nightly", 7, 8)
    with pytest.raises(BadInput, match="no profile named 'smok'"):
        profile("smok")
    with pytest.raises(BadInput, match="0 examples"):
        profile("smoke", 0)
    with pytest.raises(BadInput, match="-1 is not a seed"):
        profile("smoke", None, -1)
