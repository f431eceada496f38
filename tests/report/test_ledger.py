"""One ledger: whatever counts the cases of a run, counts the same ones."""

from __future__ import annotations

import json
import re
from collections import Counter
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest
from rich.console import Console

from cts.judging.events import Emit, Result, RunFinished, decode
from cts.judging.verdict import Verdict
from cts.running.store import Manifest, create, load
from cts.running.store.comparison import Status, columns_of
from cts.running.tally import tally_of
from cts.showing.report.github import GitHub
from cts.showing.report.html import page
from cts.showing.report.jsonl import JsonLines
from cts.showing.report.junit import junit
from cts.showing.report.terminal import Terminal
from tests.cli.command_line import Cts
from tests.report.drawn_runs import events, plan_of

CASES = ("matrix_memory.constants.null", "tensor_addressing.clamp.edge_low_load")
AREA = ("--area", "fake_area", "--reruns", "0", "--reduce-time", "0", "--seed", "1")
FIRST = ("run", *AREA, "--max-examples", "8")
GOING_ON = ("campaign", *AREA, "--cases", "12", "--chunk", "5")
BASELINE = "schema: 1\nhashes: 2\nentries:\n- {match: {cases: '*'}, verdict: fail, reason: all of it}\n"
UNIVERSE = str(Path(__file__).parents[2] / "universes" / "tensor_loads_2d.yaml")

#: Verdicts of cases that were given to no driver.
LEFT_OUT = (Verdict.UNSUPPORTED.value, Verdict.NOT_RUN.value)

RUNS = {
    "corpus": (
        "run",
        "-d",
        "fake:right,process=shared",
        "-d",
        "fake:wrong,process=shared",
        "--no-generate",
        "--reruns",
        "0",
        *CASES,
    ),
    "generated": (*FIRST, "-d", "fake:right,process=shared"),
    "first finding": (*FIRST, "-d", "fake:wrong,process=shared"),
    "some wrong": (*FIRST, "-d", "fake:wrong-after"),
    "flaky": (*FIRST, "-d", "fake:flaky,process=shared", "--reruns", "1"),
    "both": (
        "run",
        *AREA,
        "--max-examples",
        "5",
        "-d",
        "fake:right,process=shared",
        "-d",
        "fake:inverted,process=shared",
        *CASES,
    ),
    "many": (*GOING_ON, "-d", "fake:wrong,process=shared", "-d", "fake:right,process=shared"),
    "crash": (*GOING_ON, "-d", "fake:crash,process=shared"),
    "known": (*GOING_ON, "-d", "fake:wrong,process=shared", "--baseline", "known.yaml"),
    "no time": (*GOING_ON, "-d", "fake:right,process=shared", "--max-time", "0"),
    "no time for an area": (*FIRST, "-d", "fake:right,process=shared", "--max-time", "0"),
    "stopped": ("run", *AREA, "--max-examples", "5", "-x", "-d", "fake:wrong,process=shared", *CASES),
    "errors": ("run", "-d", "fake:raises,process=shared", "--no-generate", "--reruns", "0", *CASES),
    "no case": ("run", "--area", "fake_area", "--max-examples", "3", "-d", "fake:no-features,process=shared"),
    "sets": ("sweep", UNIVERSE, "-d", "fake:right,process=shared", "--max-sets", "20"),
}


def counts_in(text: str) -> tuple[Counter[str], int]:
    """Cases by verdict of the line that ends a run, and how many it says were judged."""
    (line,) = re.findall(r"^.*; [\d,]+ cases? judged in .*$", text, re.MULTILINE)
    verdicts = "|".join(verdict.value for verdict in Verdict)
    counts = Counter({name: int(n.replace(",", "")) for n, name in re.findall(rf"([\d,]+) ({verdicts})\b", line)})
    (judged,) = re.findall(r"([\d,]+) cases? judged", line)
    return counts, int(judged.replace(",", ""))


#: The other runs rotate: runs that fail take long to explain.
QUICK = ("corpus", "no time", "no case")


@pytest.mark.parametrize("name", QUICK)
def test_every_surface_counts_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], fakes_path: Path, name: str
) -> None:
    check(tmp_path, monkeypatch, capsys, fakes_path, name)


@pytest.mark.parametrize("name", sorted(set(RUNS) - set(QUICK)))
def test_every_surface_counts_the_same_of_other_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], fakes_path: Path, name: str
) -> None:
    check(tmp_path, monkeypatch, capsys, fakes_path, name)


def check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], fakes_path: Path, name: str
) -> None:
    monkeypatch.syspath_prepend(str(fakes_path))
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    (tmp_path / "known.yaml").write_text(BASELINE)
    cts = Cts(monkeypatch, capsys, tmp_path)
    done = cts(*RUNS[name], "--json", "events.jsonl")
    counts, judged = counts_in(done.out)
    assert sum(n for verdict, n in counts.items() if verdict not in LEFT_OUT) == judged, done.out

    agree(tmp_path, done.out, counts, judged)
    assert cts("compare", "cts-run", "--json", "columns.json").status in (0, 1)
    published = json.loads((tmp_path / "columns.json").read_text())["columns"]
    assert sum(sum(cases.values()) for c in published for cases in c["cases"].values()) == sum(
        sum(r.cases.values()) for r in load(tmp_path / "cts-run").results if r.generated
    )


def agree(folder: Path, out: str, counts: Counter[str], judged: int) -> None:
    """Whatever tells of the run in a folder counts the same cases as the line at its end."""
    footer = decode((folder / "events.jsonl").read_bytes().splitlines()[-1])
    assert isinstance(footer, RunFinished)
    assert (Counter(footer.verdicts), footer.examples) == (counts, judged)
    run = load(folder / "cts-run")
    assert tally_of(run.results).verdicts == Counter({Verdict(verdict): n for verdict, n in counts.items()})

    reasons = {
        kind: sum(int(n.replace(",", "")) for n in re.findall(rf"^{words} .*: ([\d,]+) cases?\b", out, re.MULTILINE))
        for kind, words in (("unsupported", "unsupported on"), ("not-run", "not run on"))
    }
    assert reasons == {kind: counts[kind] for kind in reasons}, out

    assert counts_in((folder / "summary.md").read_text())[0] == counts
    properties = Xml.fromstring(junit(run)).iter("property")
    in_junit: Counter[str] = Counter()
    for found in properties:
        if found.attrib["name"].startswith("cases."):
            in_junit[found.attrib["name"].removeprefix("cases.")] += int(found.attrib["value"])
    assert in_junit == counts
    html = page(run, None, {}, {}, coverage=False)
    assert re.search(rf"<strong>{judged}</strong> cases judged", html)
    for verdict, n in counts.items():
        assert re.search(rf"<strong>{n}</strong> <[^>]*>{verdict}", html), verdict
    columns = columns_of(run)
    statuses = sum((column.counts for column in columns), Counter[Status]())
    assert sum(statuses.values()) == sum(counts.values())


@pytest.mark.parametrize("seed", range(4))
def test_every_surface_counts_the_same_of_drawn_runs(tmp_path: Path, seed: int) -> None:
    """Fifty runs of any mixture of results, told as `cts run` tells them; most of them rotate."""
    check_drawn(tmp_path, seed)


@pytest.mark.parametrize("seed", range(4, 50))
def test_every_surface_counts_the_same_of_more_drawn_runs(tmp_path: Path, seed: int) -> None:
    check_drawn(tmp_path, seed)


def check_drawn(tmp_path: Path, seed: int) -> None:
    folder = create(tmp_path / "cts-run", Manifest.from_plan(plan_of(seed), "cts run", ("cts", "run")))
    out, errors = (Console(file=StringIO(), width=160) for _ in range(2))
    summary = tmp_path / "summary.md"
    github = GitHub(folder.path, lambda line: None, summary, tmp_path)
    with Terminal(out, errors, folder.path) as terminal, (tmp_path / "events.jsonl").open("wb") as lines:
        consumers: list[Emit] = [folder, terminal, github, JsonLines(lines)]
        for event in events(seed):
            for consumer in consumers:
                consumer(event)
    folder.close()
    assert isinstance(out.file, StringIO)
    told = out.file.getvalue()
    counts, judged = counts_in(told)
    assert sum(n for verdict, n in counts.items() if verdict not in LEFT_OUT) == judged, told
    agree(tmp_path, told, counts, judged)


def test_merged_runs_count_the_cases_of_their_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], fakes_path: Path
) -> None:
    monkeypatch.syspath_prepend(str(fakes_path))
    cts = Cts(monkeypatch, capsys, tmp_path)
    parts = [
        cts(*FIRST, "-d", "fake:right,process=shared", "--shard", f"{part}/2", "--save-dir", f"part{part}").out
        for part in (1, 2)
    ]
    whole = counts_in(cts(*FIRST, "-d", "fake:right,process=shared").out)
    merged = counts_in(cts("merge", "part1/001", "part2/001", "--save-dir", "merged").out)
    assert merged == whole
    assert merged[0] == sum((counts_in(text)[0] for text in parts), Counter[str]())


def test_results_of_older_runs_are_counted_from_what_they_say() -> None:
    """In a run of 1.0 an area has no verdicts of its cases."""

    def area(verdict: Verdict, **more: object) -> Result:
        fields = {"driver": "d", "area": "a", "name": "generated.a", "generated": True, "verdict": verdict}
        return Result(**{"examples": 0, "unsupported": 0, "seconds": 0.0, **fields, **more})  # type: ignore[arg-type]

    first = area(Verdict.FAIL, examples=20, alike=5, unsupported=2, known_examples={"a bug": 3}, cause="fail: a")
    second = area(Verdict.CRASH, alike=4, cause="crash: b")
    tally = tally_of([first, second])
    assert tally.verdicts == {Verdict.PASS: 8, Verdict.FAIL: 8, Verdict.CRASH: 4, Verdict.UNSUPPORTED: 2}
    assert tally.examples == 20
    assert area(Verdict.PASS, examples=7).cases == {Verdict.PASS: 7}
    assert area(Verdict.FLAKY, examples=7).cases == {Verdict.PASS: 6, Verdict.FLAKY: 1}
    empty = tally_of([area(Verdict.UNSUPPORTED, lacks={"feature x": 1})])
    assert not empty.verdicts and empty.footer(1.0).without_cases == {"unsupported": 1}
