"""What is counted of a run, from events alone: in one process, in several, and when it is resumed."""

from __future__ import annotations

from cts.judging.events import (
    CaseJudged,
    DriverOpened,
    Event,
    ExamplesJudged,
    GeneratorFault,
    Rejected,
    Result,
    Trouble,
    Unused,
    decode,
    encode,
)
from cts.judging.known.baseline import Baseline
from cts.judging.known.quarantine import loads_rules
from cts.judging.verdict import Verdict
from cts.running.tally import Tally, tally_of

RULES = loads_rules(
    """
schema: 1
entries:
  - {match: {driver: other, cases: "*"}, verdict: fail, reason: another driver}
  - {match: {driver: "The GPU*", cases: "a.*"}, verdict: [fail, crash], reason: known}
  - {match: {cases: "generated.area.0123456789abcdef"}, verdict: fail, reason: shrunk to this}
""".replace("schema: 1", "schema: 1\nhashes: 2")
)

OPENED = DriverOpened("gpu", "The GPU, 1.0", {})


def result(verdict: Verdict, name: str = "a.case", **more: object) -> Result:
    fields = {"driver": "gpu", "area": "a", "name": name, "generated": False, "verdict": verdict, "examples": 1}
    return Result(**{**fields, "unsupported": 0, "seconds": 0.0, **more})  # type: ignore[arg-type]


def judged(verdict: Verdict, *entries: int) -> CaseJudged:
    return CaseJudged("gpu", "a", "0" * 16, verdict, entries=entries)


def fault(count: int = 1) -> GeneratorFault:
    return GeneratorFault("code", "what", "where", "remedy", "area", "kind", "name", "", 1, count, "", "cts check")


def test_each_kind_of_event_is_counted() -> None:
    tally = tally_of(
        [
            OPENED,
            ExamplesJudged("gpu", "a", 1, 1, drawn=1, verdicts={"pass": 1}, cases=bytes(8), structures=bytes(8)),
            result(Verdict.PASS),
            result(Verdict.FAIL),
            result(Verdict.FAIL, known="a bug"),
            result(Verdict.PASS, unexpected="a bug"),
            result(Verdict.UNSUPPORTED, examples=0, unsupported=1, lacks={"feature x": 1}),
            result(Verdict.NOT_RUN, examples=0, not_run={"it hangs": 1}),
            result(Verdict.PASS, "generated.a", generated=True, examples=20, known_examples={"a bug": 3}),
            Rejected("code", "what", "where", "remedy"),
        ]
    )
    assert tally.verdicts == {Verdict.PASS: 19, Verdict.FAIL: 5, Verdict.UNSUPPORTED: 1, Verdict.NOT_RUN: 1}
    assert [(key, row.judged, row.unsupported, row.not_run) for key, row in tally.rows.items()] == [
        (("gpu", "a", False), 4, 1, 1),
        (("gpu", "a", True), 20, 0, 0),
    ]
    assert (tally.unsupported, tally.not_run) == ({("gpu", "feature x"): 1}, {("gpu", "it hangs"): 1})
    assert tally.known == {("gpu", "a bug"): 4}
    assert (tally.covered.judged, len(tally.covered.cases), tally.covered.new) == (1, 1, 0)
    footer = tally.footer(1.23456)
    assert footer.verdicts == {"pass": 19, "fail": 5, "unsupported": 1, "not-run": 1}
    assert (footer.examples, footer.known, footer.unexpected) == (24, 4, 1)
    assert (footer.lacks, footer.not_run) == ({"gpu": {"feature x": 1}}, {"gpu": {"it hangs": 1}})
    assert (footer.rejected, footer.troubles, footer.seconds, footer.exit_status) == (1, 0, 1.235, 2)


def test_the_exit_status_follows_from_the_events() -> None:
    known = result(Verdict.FAIL, known="a bug")
    unexpected = result(Verdict.PASS, unexpected="a bug")
    trouble = Trouble("code", "what", "", "")
    for events, status in (
        ([], 0),
        ([known], 0),
        ([known, result(Verdict.FAIL)], 1),
        ([unexpected], 1),
        ([Rejected("code", "what", "", ""), unexpected], 2),
        ([trouble], 3),
        ([fault()], 3),
        ([result(Verdict.ERROR)], 3),
    ):
        happened: list[Event] = list(events)  # type: ignore[arg-type]
        assert tally_of(happened).exit_status == status, events
        assert any(e.fails_run for e in happened if isinstance(e, Result)) <= (status > 0)


def test_a_fault_that_two_processes_meet_is_known() -> None:
    tally = tally_of([fault()])
    assert tally.has_fault(fault(count=7)) and not tally_of([]).has_fault(fault())
    assert list(tally.faults) == [("area", "kind")]


def test_nothing_tested() -> None:
    tally = tally_of([result(Verdict.UNSUPPORTED, examples=0), result(Verdict.PASS, driver="other")])
    assert tally.untested() == ["gpu"]
    (event,) = tally.closing()
    assert isinstance(event, Trouble) and event.what == "nothing was tested on gpu"
    tally(result(Verdict.UNSUPPORTED, examples=0, lacks={"feature x": 1, "512 invocations": 1}))
    tally(result(Verdict.UNSUPPORTED, examples=0, lacks={"feature x": 1}))
    tally(result(Verdict.NOT_RUN, examples=0, not_run={"it hangs": 1}))
    (event,) = tally.closing()
    assert isinstance(event, Trouble)
    assert event.what == "nothing was tested on gpu: lack of feature x, and 2 more reasons"


def unused(*events: Event) -> list[tuple[str, str]]:
    """What is not needed of the baseline, where the events came as text, as those of another process do."""
    tally = Tally(Baseline(RULES))
    for event in events:
        tally(decode(encode(event)))
    return [(e.entry.rpartition(": ")[2], e.why) for e in tally.closing() if isinstance(e, Unused)]


def test_entries_are_used_by_cases_that_fail_as_they_say() -> None:
    """Entry 0 of those that concern the driver is the second of the file."""
    ran = "2 cases that it matches ran, and the verdict of none was fail or crash"
    assert unused(OPENED, judged(Verdict.PASS, 0), judged(Verdict.TIMEOUT, 0)) == [("known", ran)]
    assert unused(OPENED, judged(Verdict.PASS, 0), judged(Verdict.CRASH, 0)) == []
    assert unused(OPENED, judged(Verdict.PASS), result(Verdict.PASS)) == []


def test_entries_are_used_by_results() -> None:
    """By a failure that is known, an unexpected pass, or examples that an area counts."""
    for used in ({"unexpected": "known"}, {"known_examples": {"known": 2}}):
        assert unused(OPENED, judged(Verdict.PASS, 0), result(Verdict.PASS, **used)) == []
    area = result(Verdict.PASS, "generated.area", area="area", generated=True)
    assert unused(OPENED, area) == [("shrunk to this", "the generated cases of area ran without it")]


def test_what_no_driver_opened_is_asked_of_is_not_named() -> None:
    assert unused(judged(Verdict.PASS)) == []
