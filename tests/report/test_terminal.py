"""How far a run is, on a terminal and elsewhere."""

from __future__ import annotations

import io

from msgspec.structs import replace
from rich.console import Console

from cts.base.heartbeat import heartbeat
from cts.judging.events import CasesStarted, Event, ExamplesJudged, Result, RunFinished, RunStarted
from cts.judging.verdict import Verdict
from cts.running.slowest import slowest
from cts.running.tally import tally_of
from cts.showing.report.reasons import grouped, reason_lines
from cts.showing.report.terminal import HEARTBEAT, Terminal

STARTED = RunStarted("1", "default", 100, 5, ("gpu",), ("area",), 20)


def result(name: str, verdict: Verdict = Verdict.PASS, *, generated: bool = False, examples: int = 1) -> Result:
    return Result("gpu", "area", name, generated, verdict, examples, 0, 0.0)


def shown(events: list[tuple[float, Event]], *, terminal: bool = False) -> str:
    """What is printed of events that happen at these times."""
    now = 0.0
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=160)
    with Terminal(console, console, None, lambda: now) as report:
        for time, event in events:
            now = time
            report(event)
    return out.getvalue()


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("after ")]


def test_a_line_now_and_then_where_there_is_no_terminal() -> None:
    events: list[tuple[float, Event]] = [
        (0.0, STARTED),
        *((float(n), result(f"c{n}")) for n in range(1, 21)),
        (31.0, ExamplesJudged("gpu", "area", 1, 10)),
    ]
    events += [(40.0, ExamplesJudged("gpu", "area", 1, 10)), (31.0 + HEARTBEAT, ExamplesJudged("gpu", "area", 1, 20))]
    assert lines(shown(events)) == [
        "after 31 s: 30 of 120 cases, 1 per second, about 93 s left, 0 findings",
        "after 56 s: 60 of 120 cases, 1 per second, about 56 s left, 0 findings",
    ]


def test_what_is_left_is_computed_when_it_is_said() -> None:
    """If nothing ends any more, the estimate grows, and is a bound."""
    now = 0.0
    console = Console(file=io.StringIO(), width=160)
    with Terminal(console, console, None, lambda: now) as report:
        report(STARTED)
        now = 60.0
        report(ExamplesJudged("gpu", "area", 1, 60))
        report(CasesStarted("gpu", ("0" * 16,)))
        said = heartbeat.doing
        assert callable(said)
        assert said() == "60 of 120 cases, 1 per second, about 60 s left, 0 findings"
        now = 240.0
        assert said() == "60 of 120 cases, 0 per second, at least 240 s left, 0 findings"
    heartbeat.doing = ""


def test_the_slowest_cases_are_named_at_the_end() -> None:
    slow = replace(result("c1"), seconds=31.04)
    chunk = ExamplesJudged("gpu", "area", 1, 10, slowest=((122.4, "0" * 16), (6.0, "1" * 16)))
    quick = replace(result("c2"), seconds=4.9)
    events: list[Event] = [STARTED, slow, chunk, slow, quick, RunFinished({}, 0, 0, 0, 200.0, 0)]
    text = shown([(0.0, event) for event in events])
    assert text[text.index("the slowest") :].splitlines()[:4] == [
        "the slowest cases:",
        f"  122.4 s  generated.area.{'0' * 16} on gpu",
        "   31.0 s  c1 on gpu",
        f"    6.0 s  generated.area.{'1' * 16} on gpu",
    ]
    assert "c2" not in text
    many = [replace(result(f"c{n}"), seconds=10.0 + n) for n in range(12)]
    assert [case.name for case in slowest(many)] == [f"c{n}" for n in range(11, 1, -1)]


def test_findings_are_counted_and_what_they_make_needless_is_done() -> None:
    failed = result("generated.area", Verdict.FAIL, generated=True, examples=10)
    events: list[tuple[float, Event]] = [(0.0, STARTED), (10.0, ExamplesJudged("gpu", "area", 1, 10)), (40.0, failed)]
    assert lines(shown(events)) == ["after 40 s: 100 of 120 cases, 2 per second, about 8 s left, 1 finding"]


def test_what_a_baseline_lists_is_no_finding() -> None:
    known = replace(result("c1", Verdict.FAIL), known="a bug of the driver")
    events: list[tuple[float, Event]] = [(0.0, STARTED), (10.0, known), (40.0, result("c2"))]
    assert lines(shown(events)) == ["after 40 s: 2 of 120 cases, 0 per second, about 2360 s left, 0 findings"]


def test_nothing_is_said_of_a_quick_run() -> None:
    events: list[tuple[float, Event]] = [(0.0, STARTED), *((float(n), result(f"c{n}")) for n in range(1, 21))]
    assert lines(shown(events)) == []


def test_a_terminal_has_a_bar_and_no_lines() -> None:
    events: list[tuple[float, Event]] = [
        (0.0, STARTED),
        (31.0, ExamplesJudged("gpu", "area", 1, 10)),
        (62.0, ExamplesJudged("gpu", "area", 1, 10)),
    ]
    text = shown(events, terminal=True)
    assert lines(text) == []
    assert "in all" in text


def test_every_reason_is_listed_with_its_count() -> None:
    reasons = {f"feature {name}": 1 for name in "abcde"}
    reasons |= {"512 invocations per workgroup (at most 128)": 3, "256 invocations per workgroup (at most 128)": 4}
    reasons |= {
        "matrix 16x32 float16 A (VK-020)": 1,
        "matrix 16x64 float16 A (VK-020)": 1,
        "matrix 8x8 int8 A (VK-020)": 1,
    }
    lacking = replace(result("a", Verdict.UNSUPPORTED, examples=0), lacks=reasons, unsupported=9)
    events: list[Event] = [STARTED, lacking, RunFinished({}, 0, 0, 0, 2.0, 3)]
    assert "\n".join(reason_lines(tally_of(events))).splitlines() == [
        "unsupported by gpu, for lack of:",
        "      7  256 (4), 512 (3) invocations per workgroup (at most 128)",
        "      2  matrix 16x32 (1), 16x64 (1) float16 A (VK-020)",
        *(f"      1  feature {name}" for name in "abcde"),
        "      1  matrix 8x8 int8 A (VK-020)",
    ]
    text = shown([(float(n), event) for n, event in enumerate(events)])
    assert text[text.index("unsupported on") :].splitlines()[:5] == [
        "unsupported on gpu: 9 cases",
        "      7  256 invocations per workgroup (at most 128), and 1 more like it",
        "      3  matrix 16x32 float16 A (VK-020), and 2 more like it",
        "      1  feature a",
        "      4  for 4 more reasons",
    ]


def test_texts_that_differ_in_two_numbers_have_a_line_each() -> None:
    assert grouped({"1 of 2": 1, "3 of 4": 1, "float16": 1, "float32": 1}) == [
        (1, "1 of 2"),
        (1, "3 of 4"),
        (1, "float16"),
        (1, "float32"),
    ]


def test_a_slow_run_says_so_once_and_shows_the_areas_that_are_done() -> None:
    header = replace(STARTED, areas=("area", "later"), cases=2)
    done = replace(result("generated.area", generated=True, examples=100), verdicts={"pass": 97, "fail": 3})
    later = replace(result("generated.later", generated=True, examples=100), area="later", verdicts={"pass": 100})
    events: list[tuple[float, Event]] = [
        (0.0, header),
        (50.0, result("c1")),
        (61.0, result("c2")),
        (70.0, ExamplesJudged("gpu", "area", 1, 4)),
        (900.0, done),
        (1800.0, later),
    ]
    text = shown(events)
    (slow,) = [line for line in text.splitlines() if line.startswith("slow: ")]
    assert slow.startswith("slow: 2 of 202 cases in 61 s, so about 102 minutes are left. --max-time S ends earlier")
    told = text[text.index(slow) :]
    assert [line for line in told.splitlines() if line.startswith("  ")][:3] == [
        "  area: 2 pass",
        "  area: 97 pass, 3 fail",
        "  later: 100 pass",
    ]
    assert "slow: " not in shown([(0.0, header), (50.0, result("c1")), (61.0, ExamplesJudged("gpu", "area", 1, 60))])
