"""The end of a run: findings by group, and the command that fits next."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from cts.base.deadline import TIME_IS_UP
from cts.judging.events import GeneratorFault, Rejected, Result, RunFinished, RunStarted, Trouble
from cts.judging.verdict import Verdict
from cts.running.tally import tally_of
from cts.showing.report.ending import GROUPS, NAMES, counts_text, finding_lines, next_step

RUN = Path("cts-run/007")


def result(name: str, verdict: Verdict = Verdict.PASS, **more: object) -> Result:
    return replace(Result("gpu:worker=ssh a", "area", name, False, verdict, 1, 0, 0.0), **more)


def test_findings_are_named_by_group_the_largest_first() -> None:
    found = [result(f"slow.{n}", Verdict.TIMEOUT, detail="no answer\nat all") for n in range(6)]
    lines = list(finding_lines([result("dead", Verdict.CRASH, detail="signal 11"), *found]))
    assert lines == [
        "7 findings, by what the first wrong element leads to:",
        "    6  timeout, no answer, on gpu",
        f"       {', '.join(f'slow.{n}' for n in range(NAMES))}, and 2 more",
        "    1  crash, signal 11, on gpu",
        "       dead",
    ]
    assert list(finding_lines([])) == []
    place = f"src/{'a' * 90}.c:7: Assertion `x' failed"
    detail = f"killed by SIGABRT in vkCreateComputePipelines, stopped at {place}\nlast lines"
    assert list(finding_lines([result("a", Verdict.CRASH, detail=detail)]))[1] == f"    1  crash, {place}, on gpu"
    many = [result(f"c{n}", Verdict.CRASH, detail=f"signal {'x' * n}") for n in range(GROUPS + 3)]
    assert list(finding_lines(many))[-1] == "       and 3 more groups: cts triage has all"


@pytest.mark.parametrize(
    ("events", "step"),
    [
        ([result("a")], "cts report cts-run/007"),
        ([], ""),
        ([result("a", Verdict.FAIL)], "cts explain a --driver 'gpu:worker=ssh a'"),
        ([result("a", Verdict.FAIL), result("b", Verdict.FAIL)], "cts triage cts-run/007 --explain"),
        ([result("a", Verdict.TIMEOUT)], "a longer limit, such as the option timeout=120 of vulkan: "),
        ([result("a", unexpected="it is known")], "remove the entries of the baseline whose cases pass"),
        ([result("a"), Rejected("c", "w", "x", "r")], "correct the rejected inputs, "),
        ([result("a", Verdict.UNSUPPORTED, examples=0), Trouble("c", "w", "x", "r")], "cts doctor --driver 'gpu:"),
        ([result("a", Verdict.NOT_RUN, not_run={f"{TIME_IS_UP} (--max-time 1)": 1})], "cts run --resume cts-run/007"),
        ([GeneratorFault("c", "w", "x", "r", "a", "k", "n", "", 1, 1, "", "cts check --area a")], "report this bug "),
    ],
)
def test_the_command_that_fits_next(events: list[Result], step: str) -> None:
    findings = [e for e in events if isinstance(e, Result) and e.verdict.is_finding]
    said = next_step(tally_of(events), findings, None, RUN)
    assert said.startswith(step) if step else said == ""


def test_counts_agree() -> None:
    assert counts_text(RunFinished({"pass": 1}, 1, 1, 1, 0.5, 3, 0, 1)) == (
        "1 pass (0 known, 1 unexpected pass), 1 input rejected, 1 other error; 1 case judged in 0.5 s; exit status 3"
    )
    assert counts_text(RunFinished({"pass": 2000}, 2000, 2, 2, 0.5, 3)) == (
        "2,000 pass, 2 inputs rejected, 2 other errors; 2,000 cases judged in 0.5 s; exit status 3"
    )
    assert counts_text(RunFinished({}, 0, 0, 0, 0.0, 0)).startswith("no results; 0 cases judged")


def test_elsewhere_generated_cases_and_sets_are_made_again() -> None:
    """A summary is read where the run's folder is not."""
    drawn = result("generated.area", Verdict.FAIL, generated=True)
    header = RunStarted("1", "default", 100, 5, ("gpu",), ("area",), 0, sweeps={"loads": 64, "loads_2d": 20})
    again = "cts run --no-corpus --area area --max-examples 100 --seed 5 --driver 'gpu:worker=ssh a'"
    assert next_step(tally_of([drawn]), [drawn], header, None) == again
    swept = replace(drawn, area="sweep", name="sweep.loads_2d.2")
    assert next_step(tally_of([swept]), [swept], header, None) == (
        "cts sweep loads_2d --max-sets 20 --seed 5 --driver 'gpu:worker=ssh a'"
    )
