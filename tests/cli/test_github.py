"""Runs in GitHub Actions: annotations, and the summary of the step."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

from cts.judging.events import Rejected, Result, RunFinished, RunStarted, Trouble
from cts.judging.verdict import Verdict
from cts.running.corpus import find_one
from cts.showing.report import github
from cts.showing.report.github import GitHub, command
from tests.cli.command_line import Cts

WIDTH = "tensor_addressing.clip.width_beyond_the_columns"
MUTANT = "emulator:mutant=clip-width-remaining"


@pytest.fixture
def cts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Cts:
    """`cts` in an empty folder, in a step of a workflow whose checkout it is."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    return Cts(monkeypatch, capsys, tmp_path)


def test_annotations_and_summary(cts: Cts, fakes: ModuleType) -> None:
    folder = cts.folder / "my, cases"
    folder.mkdir()
    (folder / "100%.yaml").write_text(find_one(WIDTH).path.read_text(encoding="utf-8"))
    (cts.folder / "known.yaml").write_text(
        "schema: 1\nentries:\n"
        "  - {match: {cases: '*', driver: 'fake:timeout'}, verdict: timeout, reason: it | is slow}\n"
    )
    drivers = [MUTANT, "fake:no-features", "fake:timeout", "fake:right,validation=yes"]
    cts.snapshot(
        "github_run",
        *("run", WIDTH, "my, cases/100%.yaml", "--area", "fake_area", "--max-examples", "5", "--seed", "1"),
        *("--baseline", "known.yaml", *(word for d in drivers for word in ("-d", d))),
    )
    cts.golden("github_summary.md", (cts.folder / "summary.md").read_text(encoding="utf-8"))


def test_a_clean_run_has_a_summary_and_no_annotation(cts: Cts, fakes: ModuleType) -> None:
    (cts.folder / "summary.md").write_text("of an earlier command\n")
    ran = cts("run", WIDTH, "-d", "fake:right")
    assert ran.status == 0 and "::" not in ran.out
    before, _, summary = (cts.folder / "summary.md").read_text().partition("\n")
    assert before == "of an earlier command" and summary.startswith("## cts: 1 pass; 1 case judged in ")
    assert "### Findings" not in summary


def test_elsewhere_there_is_neither(cts: Cts, fakes: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_ACTIONS")
    assert "::error" not in cts("run", WIDTH, "-d", "fake:wrong").out
    assert not (cts.folder / "summary.md").exists()


def test_json_on_stdout_stays_json(cts: Cts, fakes: ModuleType) -> None:
    ran = cts("run", WIDTH, "-d", "fake:wrong", "--json", "-")
    assert all(json.loads(line) for line in ran.out.splitlines())
    assert "\n::error title=FAIL fake%3Awrong" in ran.err


def test_a_planted_bug_that_is_to_be_found_is_no_annotation(cts: Cts) -> None:
    assert "::error" not in cts("demo").out
    assert not (cts.folder / "summary.md").exists()


def test_a_summary_that_cannot_be_written_is_a_warning(
    cts: Cts, fakes: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "no/such/folder/summary.md")
    ran = cts("run", WIDTH, "-d", "fake:right")
    assert ran.status == 0
    assert "::warning title=cts::the summary cannot be written: No such file or directory\n" in ran.out


@dataclass
class Step:
    """A step of a workflow, and what it was told."""

    lines: list[str]
    consumer: GitHub


@pytest.fixture
def step(tmp_path: Path) -> Step:
    lines: list[str] = []
    consumer = GitHub(Path("cts-run/001"), lines.append, tmp_path / "summary.md", tmp_path)
    consumer(RunStarted("1", "default", 5, 1, ("gpu",), (), 50))
    return Step(lines, consumer)


def crash(number: int) -> Result:
    return Result("gpu", "a", f"a.{number}", False, Verdict.CRASH, 1, 0, 0.0, detail=f"signal {number}")


END = RunFinished({"crash": 13}, 13, 0, 0, 1.0, 1)


def test_ten_annotations_and_the_rest_in_the_summary(step: Step, tmp_path: Path) -> None:
    for number in range(13):
        step.consumer(crash(number))
    step.consumer(END)
    assert [line.partition(" ")[0] for line in step.lines] == 10 * ["::error"] + ["::notice"]
    assert step.lines[-1] == "::notice title=cts::3 more findings are in the summary of this step"
    summary = (tmp_path / "summary.md").read_text()
    assert all(f"crash: signal {number}\n" in summary for number in range(13))


def test_what_is_said_of_many_cases_is_one_annotation(step: Step) -> None:
    for _ in range(20):
        step.consumer(Trouble("driver-failed", "it does not start", "here", "another"))
    step.consumer(Rejected("no-case", "no such case", "", ""))
    assert step.lines == [
        "::error title=error[driver-failed]::it does not start%0Ahere%0Aanother",
        "::error title=error[no-case]::no such case",
    ]


def test_a_summary_that_would_be_too_long_says_where_the_rest_is(
    step: Step, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(github, "MAX_SUMMARY", 700)
    for number in range(13):
        step.consumer(crash(number))
    step.consumer(END)
    summary = (tmp_path / "summary.md").read_text()
    listed = summary.count("#### CRASH")
    assert 0 < listed < 13 and len(summary.encode()) < 800
    assert summary.endswith(f"\n{13 - listed} more findings are in `cts-run/001`.\n")


def test_escapes() -> None:
    properties = {"file": "a:b,c", "title": "100%\r\n"}
    assert (
        command("error", "a: b, 50%\nc\r", properties)
        == "::error file=a%3Ab%2Cc,title=100%25%0D%0A::a: b, 50%25%0Ac%0D"
    )


def test_no_text_leaves_its_block(step: Step, tmp_path: Path) -> None:
    step.consumer(Result("gpu", "a", "a.b", False, Verdict.CRASH, 1, 0, 0.0, detail="it said ```` and `this`"))
    step.consumer(END)
    summary = (tmp_path / "summary.md").read_text()
    assert summary.endswith("\n`````text\ncrash: it said ```` and `this`\nreproduce: cts run a.b --driver gpu\n`````\n")
