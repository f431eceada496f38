"""What is wrong with a generated case is no driver's: it is told once for a run, and the next example follows."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from cts.base.choices import Choices, Source
from cts.case.model import Case, loads_case
from cts.device.capabilities import Capabilities, everything
from cts.judging.events import Event, ExamplesJudged, GeneratorFault, Result, RunFinished, Shrinking, decode, encode
from cts.judging.known.quarantine import Quarantine, loads_rules
from cts.judging.verdict import Verdict
from cts.plugins import registry
from cts.running.drawing import MOST_FAULTS, Draws, Undrawn, checked_expectation, drawn, examine, examples
from cts.running.plan import Plan
from cts.running.policy import MOST
from cts.running.profiles import Profile
from cts.running.runner import run
from cts.showing.report.failure import fault_text
from cts.showing.report.save import Saver

PROFILE = Profile("default", 20, 21)


@pytest.fixture
def faulty(fakes: ModuleType, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The fakes, with an area whose generator has two bugs."""
    monkeypatch.setattr(fakes, "fake_area", fakes.faulty_area)
    return fakes


def ran(*drivers: str, profile: Profile = PROFILE, **more: object) -> tuple[int, list[Event]]:
    seen: list[Event] = []
    return run(Plan(drivers, profile, areas=("fake_area",), **more), seen.append), seen  # type: ignore[arg-type]


def faults_of(events: list[Event]) -> list[GeneratorFault]:
    return [e for e in events if isinstance(e, GeneratorFault)]


def results_of(events: list[Event]) -> list[Result]:
    return [e for e in events if isinstance(e, Result)]


def values(fakes: ModuleType, profile: Profile) -> list[int]:
    """The numbers behind the examples of the area."""
    return [_value(case) for case in drawn(lambda choices: fakes.fixed_case(choices.between(2, 1000)), profile)]


def _value(case: object) -> int:
    assert isinstance(case, Case)
    value = case.program[0].value  # type: ignore[union-attr]
    assert isinstance(value, int)
    return value


@pytest.mark.parametrize("batch", ["", ",batch=well"])
def test_told_once_and_the_others_are_judged(faulty: ModuleType, batch: str) -> None:
    drawn = values(faulty, PROFILE)
    broken = [v for v in drawn if v >= 900]
    raising = [v for v in drawn if 800 <= v < 900]
    good = [v for v in drawn if v < 800]
    assert broken and raising and len(good) > len(broken) + len(raising), "the seed has all three"
    assert len(broken) + len(raising) < MOST_FAULTS
    status, events = ran(f"fake:right{batch}", f"fake:remarks{batch}")
    assert status == 3
    for result in results_of(events):
        assert (result.verdict, result.examples, result.not_run) == (Verdict.PASS, len(good), {})
    found = {f.code: f for f in faults_of(events)}
    assert {f.code: f.count for f in faults_of(events)} == {
        "generated-invalid": len(broken),
        "generator-failed": len(raising),
    }
    assert len(faults_of(events)) == 2, "one for each bug, not for each driver"
    assert found["generated-invalid"].example == drawn.index(broken[0]) + 1
    assert found["generator-failed"].example == drawn.index(raising[0]) + 1
    assert [e.driver for e in events if isinstance(e, Shrinking)] == [""]
    footer = events[-1]
    assert isinstance(footer, RunFinished)
    assert (footer.troubles, footer.verdicts) == (2, {"pass": 2 * len(good)})


def test_what_is_told(faulty: ModuleType, tmp_path: Path) -> None:
    _, events = ran("fake:right", "fake:remarks")
    found = {f.code: f for f in faults_of(events)}
    invalid, raised = found["generated-invalid"], found["generator-failed"]
    case = loads_case(invalid.case)
    assert _value(case) == 900, "shrunk"
    assert case.name == invalid.name == f"generated.fake_area.{faulty.undefined_case(900).content_hash}"
    assert registry.oracle().violations(case)[0].rule in invalid.what
    assert raised.case == "" and "ArithmeticError: no case for 800" in raised.what, "shrunk, too"
    assert "in unlucky" in raised.where and "in unlucky" in raised.detail.splitlines()[1]
    for fault in (invalid, raised):
        assert decode(encode(fault)) == fault
        text = fault_text(fault, tmp_path)
        assert str(fault.what) in text
        assert text.endswith("reproduce: cts check --area fake_area --seed 21 --max-examples 20 --driver fake:right")
    saver = Saver(tmp_path)
    saver(invalid)
    saver(raised)
    assert loads_case((tmp_path / f"{invalid.name}.yaml").read_text()) == case
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(
        [f"{invalid.name}.txt", f"{invalid.name}.yaml", f"generated.fake_area.example-{raised.example}.txt"]
    )


def test_drivers_of_other_capabilities_tell_nothing_new(faulty: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Examples are drawn for each of them; what the generator gets wrong for both is shrunk and told once."""
    _, alone = ran("fake:right")

    def capabilities(self: Any) -> Capabilities:
        return replace(everything(), max_dimension=64 if self.kind == "remarks" else 1024)

    monkeypatch.setattr(faulty.Fake, "capabilities", capabilities)
    status, events = ran("fake:right", "fake:remarks")
    assert status == 3
    assert [f.kind for f in faults_of(events)] == [f.kind for f in faults_of(alone)]
    assert [f.count for f in faults_of(events)] == [2 * f.count for f in faults_of(alone)]
    assert [e.driver for e in events if isinstance(e, Shrinking)] == [""]


def test_findings_beside_faults_are_shrunk_for_themselves(faulty: ModuleType) -> None:
    status, events = ran("fake:wrong", "fake:right", "fake:raises")
    assert status == 3
    verdicts = {r.driver: r for r in results_of(events)}
    assert verdicts["fake:wrong"].verdict is Verdict.FAIL
    assert verdicts["fake:right"].verdict is Verdict.PASS
    assert verdicts["fake:raises"].verdict is Verdict.ERROR
    for name in ("fake:wrong", "fake:raises"):
        finding = verdicts[name].finding
        assert finding is not None
        assert _value(finding.case) == 2, "a driver's error never becomes one of ours"
    assert Counter(e.driver for e in events if isinstance(e, Shrinking)) == {"": 1, "fake:wrong": 1, "fake:raises": 1}


def test_too_many_end_the_area(fakes: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    def area(capabilities: object) -> Source[Case]:
        def some(choices: Choices) -> Case:
            number = choices.between(2, 1000)
            case: Case = fakes.undefined_case(number) if number % 2 else fakes.fixed_case(number)
            return case

        return some

    monkeypatch.setattr(fakes, "fake_area", area)
    profile = Profile("default", 500, 3)
    _, events = ran("fake:right", profile=profile)
    (fault,) = faults_of(events)
    (result,) = results_of(events)
    assert MOST_FAULTS <= fault.count < MOST_FAULTS + MOST
    assert result.verdict is Verdict.PASS
    (why,) = result.not_run
    drawn = result.examples + fault.count
    assert why == f"{fault.count} of the first {drawn} examples are faults of the generator"
    assert result.not_run[why] == 500 - drawn
    judged = [e for e in events if isinstance(e, ExamplesJudged)]
    assert sum(e.count for e in judged) == drawn


def test_nothing_but_faults_is_no_drivers_error(fakes: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fakes, "fake_area", lambda _: lambda choices: fakes.undefined_case(choices.between(2, 900)))
    status, events = ran("fake:right", "fake:wrong")
    assert status == 3
    assert {(r.verdict, r.examples) for r in results_of(events)} == {(Verdict.NOT_RUN, 0)}
    assert len(faults_of(events)) == 1


def test_an_area_that_cannot_be_generated_is_told_once(fakes: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(capabilities: object) -> object:
        raise LookupError("no such matrix")

    monkeypatch.setattr(fakes, "fake_area", broken)
    status, events = ran("fake:right", "fake:wrong", "fake:no-features")
    (fault,) = faults_of(events)
    assert "no such matrix" in fault.what and fault.code == "generator-failed"
    assert {r.verdict for r in results_of(events)} == {Verdict.NOT_RUN}
    assert status == 3


def test_a_failing_oracle_is_told_like_a_failing_generator(fakes: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def violations(self, case: Case) -> list[object]:
            return []

        def expect(self, case: Case) -> object:
            raise ZeroDivisionError("the oracle has a bug")

    monkeypatch.setattr(registry, "oracle", Broken)
    status, events = ran("fake:right", "fake:wrong")
    (fault,) = faults_of(events)
    assert fault.code == "oracle-failed" and "the oracle has a bug" in fault.what
    assert _value(loads_case(fault.case)) == 2
    assert status == 3


def test_the_first_fault_stops_a_run_that_stops_at_the_first_finding(faulty: ModuleType) -> None:
    seen: list[Event] = []
    plan = Plan(("fake:right",), PROFILE, areas=("fake_area", "reductions"), stop_at_first=True)
    assert run(plan, seen.append) == 3
    assert [r.verdict for r in results_of(seen)] == [Verdict.PASS, Verdict.NOT_RUN]


def test_what_a_driver_does_not_run_is_no_fault(faulty: ModuleType) -> None:
    """Cases that a quarantine leaves out are not looked at."""
    hashes = ", ".join(f"'{faulty.undefined_case(v).content_hash}'" for v in range(900, 1001))
    rules = loads_rules(
        f"schema: 1\nhashes: 2\nentries:\n  - {{match: {{cases: [{hashes}]}}, when: never, reason: it hangs}}\n"
    )
    _, events = ran("fake:right", quarantine=Quarantine(rules))
    assert [f.code for f in faults_of(events)] == ["generator-failed"]


def test_the_same_examples_with_and_without_faults(faulty: ModuleType) -> None:
    """What is wrong with an example has no influence on the next ones."""
    profile = Profile("default", 200, 9)
    seen = [
        int(one.fault.what.rpartition(" ")[2]) if isinstance(one, Undrawn) else _value(one)
        for _, one in examples(Draws(faulty.faulty_area(None), profile.seed), profile)
    ]
    assert seen == values(faulty, profile)


def test_examined_are_the_examples_of_a_run(faulty: ModuleType) -> None:
    oracle = registry.oracle()
    found = examine(
        Draws(faulty.faulty_area(None), PROFILE.seed), PROFILE, lambda case: checked_expectation(case, oracle)
    )
    _, events = ran("fake:right")
    assert found.drawn == PROFILE.max_examples
    assert [(k, f.number, f.count) for k, f in found.faults.by_kind.items()] == [
        (f.kind, f.example, f.count) for f in faults_of(events)
    ]
