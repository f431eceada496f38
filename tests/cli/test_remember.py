"""Baselines, flakes and two runs side by side, as their user sees them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import ModuleType

import pytest

from cts.judging.events import Unused, read
from cts.judging.verdict import Verdict
from cts.running.store import load
from tests.cli.command_line import Cts

EDGE = "tensor_addressing.clamp.edge_low_load"
CLIP = "tensor_addressing.clip.outside"


@pytest.fixture
def cts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Cts:
    """`cts` in an empty folder."""
    return Cts(monkeypatch, capsys, tmp_path)


def baseline(cts: Cts, *entries: str) -> None:
    (cts.folder / "known.yaml").write_text("schema: 1\nhashes: 2\nentries:\n" + "".join(f"  - {e}\n" for e in entries))


def entry(match: str, verdict: str = "fail", more: str = "") -> str:
    return f"{{match: {{{match}}}, verdict: {verdict}, reason: it is known{more}}}"


def run(cts: Cts, kind: str, *arguments: str) -> int:
    return cts("run", *arguments, "--driver", f"fake:{kind}", "--seed", "7", "--baseline", "known.yaml").status


def unused(cts: Cts, kind: str, *arguments: str) -> list[str]:
    run(cts, kind, *arguments, "--json", "events.jsonl")
    return [e.entry for e in read((cts.folder / "events.jsonl").read_bytes().splitlines()) if isinstance(e, Unused)]


@pytest.mark.parametrize(
    ("entry_", "kind", "status"),
    [
        (entry(f"cases: {EDGE}"), "wrong", 0),
        (entry(f"cases: {EDGE}"), "right", 1),
        (entry(f"cases: {EDGE}"), "crash", 1),
        (entry(f"cases: {EDGE}", "[fail, crash]"), "crash", 0),
        (entry("cases: ['8b7d248dbaf6ed04']"), "wrong", 0),
        (entry("cases: ['0000000000000000']"), "wrong", 1),
        (entry(f"cases: {CLIP}"), "wrong", 1),
        (entry("cases: '*', driver: 'Fake GPU*', version: '>=3, <4'"), "wrong", 0),
        (entry("cases: '*', driver: 'Fake GPU*', version: '<3.1'"), "wrong", 1),
        (entry(f"cases: {EDGE}, driver: 'emulator*'"), "wrong", 1),
        (entry(f"cases: {EDGE}, driver: 'emulator*'"), "right", 0),
        (entry(f"cases: {EDGE}", "flaky"), "flaky", 0),
        (entry(f"cases: {EDGE}", "flaky"), "right", 0),
        (entry(f"cases: {EDGE}", "flaky"), "wrong", 1),
        (entry(f"cases: {EDGE}"), "flaky", 1),
        (entry(f"cases: {EDGE}"), "raises", 3),
        (entry("condition: 'some(Value, rows >= 256)'"), "right", 0),
        ("{match: {cases: '*'}, when: last, verdict: fail, reason: it is slow}", "wrong", 0),
    ],
)
def test_a_baseline_is_strict_both_ways(cts: Cts, fakes: ModuleType, entry_: str, kind: str, status: int) -> None:
    baseline(cts, entry_)
    assert run(cts, kind, EDGE) == status


@pytest.mark.parametrize(("kind", "status"), [("flaky", 0), ("wrong", 1), ("right", 0)])
@pytest.mark.parametrize("entries", [[], [entry(f"cases: {CLIP}")]])
def test_flaky_findings_are_tolerated(cts: Cts, fakes: ModuleType, entries: list[str], kind: str, status: int) -> None:
    baseline(cts, *entries)
    ran = cts(
        "run",
        EDGE,
        "--driver",
        f"fake:{kind}",
        "--flaky",
        "tolerate",
        *(["--baseline", "known.yaml"] if entries else []),
    )
    assert ran.status == status
    assert ("      1  flaky, tolerated" in ran.out) == (kind == "flaky")
    assert f"next: cts explain {EDGE} --driver fake:wrong" in ran.out or kind != "wrong"
    assert "not seen on" not in ran.out
    (result,) = load(cts.folder / "cts-run").results
    assert result.verdict is not Verdict.FLAKY or (result.finding is not None and result.known == "flaky, tolerated")


def test_a_policy_for_flakes_that_there_is_not(cts: Cts, fakes: ModuleType) -> None:
    ran = cts("run", EDGE, "--driver", "fake:right", "--flaky", "tolerte")
    assert ran.status == 2 and "where: --flaky tolerte\n  fix:   did you mean 'tolerate'?" in ran.err


def test_what_a_user_sees_of_it(cts: Cts, fakes: ModuleType) -> None:
    baseline(cts, entry(f"cases: {EDGE}", more=", link: https://example.org/1"), entry(f"cases: {CLIP}"))
    ran = cts("run", EDGE, CLIP, "--driver", "fake:wrong", "--baseline", "known.yaml")
    assert "2 fail (2 known, 0 unexpected passes); 2 cases judged" in ran.out
    assert (
        "known failures on fake:wrong: 2 cases\n      1  it is known\n      1  it is known (https://example.org/1)\n"
        in ran.out
    )
    assert "\nFAIL" not in ran.out, "what is known needs no showing"
    ran = cts("run", EDGE, CLIP, "--driver", "fake:right", "--baseline", "known.yaml")
    assert f"{EDGE} passes on fake:right, and should fail: it is known (https://example.org/1)" in ran.out
    assert "2 pass (0 known, 2 unexpected passes)" in ran.out


def test_entries_without_need_are_named(cts: Cts, fakes: ModuleType) -> None:
    baseline(
        cts,
        entry("condition: 'some(Value, rows >= 256)'"),
        entry("condition: 'some(TensorLayoutSetDimension, of.clamp == RepeatMirrored, dims == 1)'"),
        entry("cases: generated.fake_area.0123456789abcdef"),
        entry("cases: generated.tensor_addressing.0123456789abcdef"),
        entry("cases: no.such.case"),
    )
    mirrored = "tensor_addressing.clamp.mirrored_one"
    assert unused(cts, "right", EDGE) == []
    generated = ("--no-corpus", "--area", "fake_area", "--max-examples", "5")
    assert unused(cts, "right", *generated) == ["generated.fake_area.0123456789abcdef: it is known"]
    named = unused(cts, "right", "-k", mirrored)
    assert named == ["condition some(TensorLayoutSetDimension, of.clamp == RepeatMirrored, dims == 1): it is known"]


def test_known_failures_do_not_end_an_area(cts: Cts, fakes: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """A condition lets exploration go on behind what is known, and shrinking another finding keeps away from it."""
    from cts.case.model import Case

    def _value(case: Case) -> int:
        value = case.program[0].value  # type: ignore[union-attr]
        assert isinstance(value, int)
        return value

    baseline(cts, entry("condition: 'some(Constant, value % 2 == 0)'"))
    assert run(cts, "wrong", "--no-corpus", "--area", "fake_area", "--max-examples", "20") == 1
    (result,) = load(cts.folder / "cts-run").results
    assert result.verdict is Verdict.FAIL and not result.known
    assert result.finding is not None and _value(result.finding.case) == 3
    baseline(cts, entry("condition: some(Instruction)"))
    assert run(cts, "wrong", "--no-corpus", "--area", "fake_area", "--max-examples", "20") == 0
    (result,) = load(cts.folder / "cts-run").results
    assert (result.verdict, result.known_examples) == (Verdict.PASS, {"it is known": 20})


def test_a_baseline_of_an_older_run_has_the_names_of_today(cts: Cts, fakes: ModuleType) -> None:
    arguments = ("--no-corpus", "--area", "fake_area", "--max-examples", "10", "--seed", "7", "--driver", "fake:wrong")
    assert cts("run", *arguments).status == 1
    right = cts("baseline", "cts-run").out
    (name,) = re.findall(r"generated\.fake_area\.[0-9a-f]{16}", right)
    for file, changes in {"manifest.json": [("2", "1", "format"), ("2", "1", "hashes")], "results.jsonl": []}.items():
        path = cts.folder / "cts-run" / "001" / file
        text = path.read_text().replace(name, "generated.fake_area.0123456789abcdef")
        for old, new, field in changes:
            text = text.replace(f'"{field}": {old}', f'"{field}": {new}')
        path.write_text(text)
    older = cts("baseline", "cts-run")
    assert older.out == right
    assert "note: cts-run/001 has content hashes of kind 1, this suite of kind 2" in older.err
    assert "kind 1" in cts("compare", "cts-run", "cts-run").err
    (cts.folder / "known.yaml").write_text(older.out.replace("hashes: 2\n", ""))
    ran = cts("run", *arguments, "--baseline", "known.yaml")
    assert ran.status == 2 and "it would match nothing" in ran.err and "known.yaml:3: entries[0].match.cases" in ran.err


def test_a_baseline_of_a_run(cts: Cts, fakes: ModuleType) -> None:
    arguments = (EDGE, CLIP, "--area", "fake_area", "--max-examples", "10")
    assert cts("run", *arguments, "--driver", "fake:wrong", "--seed", "7").status == 1
    printed = cts("baseline", "cts-run", "--reason", "the first byte", "--link", "https://example.org/2")
    assert printed.status == 0
    (cts.folder / "known.yaml").write_text(printed.out)
    assert printed.out.count("driver: 'Fake GPU, fake 3.1'") == 3
    assert run(cts, "wrong", *arguments) == 0
    assert run(cts, "right", *arguments) == 1
    assert cts("baseline", "cts-run").out == "schema: 1\nhashes: 2\nentries: []\n"


def test_a_baseline_of_a_stage_is_of_that_stage(cts: Cts) -> None:
    fragments = ("interpreter:stage=fragment,mutant=inputs-packed", "--area", "vector_multiply", "--no-corpus")
    assert cts("run", "--driver", *fragments, "--seed", "1", "--max-examples", "500").status == 1
    printed = cts("baseline", "cts-run").out
    assert ", stages: [fragment], cases: generated.vector_multiply." in printed
    (cts.folder / "known.yaml").write_text(printed.replace("'interpreter:stage=fragment,mutant=inputs-packed'", "'*'"))
    again = cts("run", "--driver", *fragments, "--seed", "1", "--max-examples", "500", "--baseline", "known.yaml")
    assert again.status == 0, again.out
    compute = cts("run", "vector_multiply.flow", "--driver", "interpreter", "--baseline", "known.yaml")
    assert compute.status == 0 and "not seen" not in compute.out


@pytest.mark.parametrize(
    ("entry_", "words"),
    [
        ("{match: {cases: a}, reason: r}", "missing required field `when`, or `verdict` of a known failure"),
        (
            "{match: {cases: a}, reason: r, when: never, verdict: fail}",
            "an entry with `when: never` cannot have a `verdict`",
        ),
        ("{match: {cases: a}, reason: r, verdict: pass}", "known.yaml:4: entries[0].verdict"),
        ("{match: {cases: a, version: '580'}, reason: r, verdict: fail}", "no range of versions"),
        ("{match: {condition: evn}, reason: r, verdict: fail}", "the file has no condition 'evn'"),
    ],
)
def test_wrong_baselines(cts: Cts, entry_: str, words: str) -> None:
    baseline(cts, entry_)
    ran = cts("run", EDGE, "--driver", "emulator", "--baseline", "known.yaml")
    assert (ran.status, words in ran.err) == (2, True), ran.err


def test_a_known_failure_is_no_quarantine(cts: Cts) -> None:
    baseline(cts, entry("cases: a"))
    ran = cts("run", EDGE, "--driver", "emulator", "--quarantine", "known.yaml")
    assert (ran.status, "give the file as a baseline: --baseline" in ran.err) == (2, True)


@pytest.mark.parametrize(
    ("reruns", "runs"), [("0", None), ("1", {"fail": 1, "pass": 1}), ("3", {"fail": 1, "pass": 3})]
)
def test_flakes_are_never_passes(cts: Cts, fakes: ModuleType, reruns: str, runs: dict[str, int] | None) -> None:
    ran = cts("run", EDGE, "--driver", "fake:flaky", "--reruns", reruns)
    (result,) = load(cts.folder / "cts-run").results
    assert ran.status == 1
    assert result.verdict is (Verdict.FLAKY if runs else Verdict.FAIL)
    assert result.runs == (runs or {})
    if reruns == "3":
        assert "fail at first, pass when it was run again (1 fail, 3 pass)" in ran.out


def test_diff(cts: Cts, fakes: ModuleType) -> None:
    for kind, cases in {
        "right": (EDGE, CLIP),
        "wrong": (EDGE, CLIP),
        "crash": (EDGE,),
        "nothing": (EDGE, CLIP),
    }.items():
        cts("run", *cases, "--driver", f"fake:{kind}")
    right, wrong, crash, nothing = (f"cts-run/00{n}" for n in (1, 2, 3, 4))
    ran = cts("compare", right, wrong)
    assert (ran.status, ran.out.splitlines()) == (
        1,
        [
            f"new      {EDGE}  pass -> fail  fake:right -> fake:wrong",
            f"new      {CLIP}  pass -> fail  fake:right -> fake:wrong",
            "2 new, 0 changed, 0 same, 0 fixed, 0 gone",
        ],
    )
    assert (ran := cts("compare", wrong, right)).status == 0 and ran.out.splitlines()[0].startswith("fixed ")
    assert cts("compare", wrong, wrong).out.splitlines()[-1] == "0 new, 0 changed, 2 same, 0 fixed, 0 gone"
    assert cts("compare", wrong, crash).out.splitlines()[-1] == "0 new, 1 changed, 0 same, 0 fixed, 1 gone"
    assert cts("compare", wrong, nothing).out.splitlines()[-1] == "0 new, 2 changed, 0 same, 0 fixed, 0 gone"
    lines = json.loads(cts("compare", wrong, crash, "--json", "-").out)["changes"]
    assert [(d["change"], d["before"]) for d in lines] == [("changed", "fail"), ("gone", "fail")]
    assert (ran := cts("compare", "nowhere", right)).status == 2 and "error[no-run]" in ran.err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--resume", "nowhere"], "no-run"),
        (["--resume", "cts-run", "--driver", "emulator", "--seed", "4"], "resume-options"),
    ],
)
def test_what_cannot_be_resumed(cts: Cts, arguments: list[str], code: str) -> None:
    ran = cts("run", *arguments)
    assert (ran.status, f"error[{code}]" in ran.err) == (2, True)
