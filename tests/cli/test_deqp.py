"""`cts deqp` under the runner of `deqp_runner.py`, and the lists that such runners read and write."""

from __future__ import annotations

import os
import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from types import ModuleType

import pytest

from cts.case.model import Case
from cts.judging.verdict import Verdict
from cts.running import caselists, corpus
from cts.running.cases import run_entry
from cts.running.harness_lists import imported
from cts.showing.report.deqp import WORDS
from tests.cli.command_line import Cts
from tests.cli.deqp_runner import STATUS, Runner, parsed, read_baseline

ROOT = Path(__file__).resolve().parents[2]
FAKES = ROOT / "tests" / "fakes"

#: Cases of which the mutant is wrong in some.
CLIP = [name for name in caselists.corpus_names() if name.startswith("tensor_addressing.clip.")][-14:]
CASE = "matrix_memory.strided.padded_store"


@pytest.fixture
def cts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Cts:
    """`cts` in an empty folder."""
    return Cts(monkeypatch, capsys, tmp_path)


def runner(folder: Path, spec: str, **settings: object) -> Runner:
    program = [sys.executable, "-m", "cts", "deqp", "--driver", spec]
    return Runner(program, folder, **settings)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def found_by_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [str(ROOT), str(FAKES), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))


def test_the_failures_of_a_run_are_the_baseline_of_the_next(tmp_path: Path) -> None:
    mutant = "emulator:mutant=clip-width-remaining"
    first = runner(tmp_path / "first", mutant, per_group=6).run(CLIP)
    assert set(first.values()) == {"Pass", "Fail"}
    known = read_baseline(tmp_path / "first/fails.txt")
    assert known and known == {name: "Fail" for name, status in first.items() if status == "Fail"}
    second = runner(tmp_path / "second", mutant, baseline=known, per_group=6).run(CLIP)
    assert (tmp_path / "second/failures.csv").read_text() == ""
    assert {name for name, status in second.items() if status == "ExpectedFail"} == set(known)


def test_a_planted_bug_and_a_fixed_one_fail_the_job(tmp_path: Path) -> None:
    names = CLIP[:3]
    planted = runner(tmp_path / "planted", "fake:inverted").run(names)
    assert planted == dict.fromkeys(names, "Fail")
    fixed = runner(tmp_path / "fixed", "fake:right", baseline=dict.fromkeys(names, "Fail")).run(names)
    assert fixed == dict.fromkeys(names, "UnexpectedImprovement(Pass)")
    assert len((tmp_path / "fixed/failures.csv").read_text().splitlines()) == 3


@pytest.mark.parametrize("where", ["shared", "own"])
def test_a_crash_loses_one_case(tmp_path: Path, where: str) -> None:
    """In the program's process the runner starts it again, behind the case; in the driver's own it goes on."""
    by_hash = {name: corpus.load(corpus.find_one(name).path).case.content_hash for name in CLIP}
    dies = {name for name, digest in by_hash.items() if int(digest, 16) % 5 == 0}
    assert 0 < len(dies) < len(CLIP)
    once = runner(tmp_path, f"fake:deadly,process={where}", per_group=len(CLIP), jobs=1)
    results = once.run(CLIP)
    assert {name for name, status in results.items() if status == "Crash"} == dies
    assert set(results.values()) == {"Pass", "Crash"}
    assert once.started == (2 if where == "own" else 1 + len(dies) * 2), "once more for those that may be flakes"


@pytest.mark.parametrize("verdict", Verdict)
def test_each_verdict_has_a_word_that_runners_know(verdict: Verdict) -> None:
    assert WORDS[verdict] in STATUS


@pytest.mark.parametrize(
    ("spec", "word", "status"),
    [
        ("fake:right", "Pass (all memory is as expected)", 0),
        ("fake:inverted", "Fail (", 1),
        ("fake:crash", "Crash (crash: signal 11 in the shader compiler)", 1),
        ("fake:timeout", "Timeout (timeout: no answer within 10 s)", 1),
        ("fake:device-lost", "Crash (device lost: ", 1),
        ("fake:says-unsupported", "NotSupported (opcode OpFoo)", 0),
        ("fake:error", "InternalError (error: the driver cannot find its tools)", 3),
    ],
)
def test_a_case_is_announced_and_ends_in_a_line(cts: Cts, fakes: ModuleType, spec: str, word: str, status: int) -> None:
    ran = cts("deqp", f"--deqp-case={CASE}", "-d", spec, "--deqp-log-filename=log.qpa")
    assert ran.status == status
    assert f"\nTest case '{CASE}'..\n  {word}" in ran.out
    assert [name for name, _ in parsed(ran.out.splitlines())] == [CASE]
    assert "\nDONE!\n" in ran.out and ran.out.startswith("dEQP Core coopmat-cts-")
    log = (cts.folder / "log.qpa").read_text()
    xml = re.findall(r"#beginTestCaseResult (\S+)\n(.*?)\n#endTestCaseResult", log, re.DOTALL)
    assert [name for name, _ in xml] == [CASE]
    result = ET.fromstring(xml[0][1].partition("\n")[2])
    assert result.attrib["CasePath"] == CASE
    code = result.find("Result")
    assert code is not None and code.attrib["StatusCode"] == word.split()[0]
    text = result.find("Text")
    if status:
        assert text is not None and f"cts deqp --deqp-case={CASE} --driver {spec}" in (text.text or "")


def test_a_known_failure_is_waived(cts: Cts, fakes: ModuleType) -> None:
    line = f"{CASE},Fail\nmatrix_memory.constants.literal,Fail\ndEQP-VK.info.device,Fail\n"
    (cts.folder / "fails.txt").write_text(line)
    made = cts("baseline", "fails.txt", "--from", "fails", "--driver", "fake:*", "--reason", "as Mesa lists it")
    assert "2 entries; 1 lines name no failure" in made.err
    (cts.folder / "known.yaml").write_text(made.out)
    known = ("--deqp-case=" + CASE, "--baseline", "known.yaml")
    ran = cts("deqp", *known, "-d", "fake:inverted")
    assert ran.status == 0 and "  Waiver (known: as Mesa lists it)" in ran.out
    ran = cts("deqp", *known, "-d", "fake:right")
    assert ran.status == 1 and "  Fail (it passes, and should fail: as Mesa lists it)" in ran.out


def test_drawn_cases_have_names_that_draw_them_again(
    cts: Cts, fakes: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = ("--draw", "4", "--seed", "7", "--area", "matrix_memory", "-d", "fake:right")
    listed = cts("deqp", *drawn, "--write-caselist", "cases.txt")
    assert listed.status == 0
    names = (cts.folder / "cases.txt").read_text().splitlines()
    assert names[-4:] == [f"generated.matrix_memory.7.{n}" for n in (1, 2, 3, 4)]
    assert cts("deqp", *drawn, "--deqp-runmode=stdout-caselist").out.splitlines()[-1] == f"TEST: {names[-1]}"
    seen: list[Case] = []

    def noting(entry: corpus.Entry, case: Case, *rest: object, **named: object) -> object:
        seen.append(case)
        return run_entry(entry, case, *rest, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(caselists, "run_entry", noting)
    (cts.folder / "two.txt").write_text(f"# of the seed\n{names[-1]}\nTEST: {names[-3]}\n\n")
    for _ in range(2):
        assert cts("deqp", "--deqp-caselist-file", "two.txt", "-d", "fake:right").status == 0
    assert [case.name for case in seen] == [names[-1], names[-3]] * 2
    hashes = [case.content_hash for case in seen]
    assert hashes[:2] == hashes[2:] and hashes[0] != hashes[1]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["deqp"], "no-driver"),
        (["deqp", "-d", "emulator", "--deqp-case=no.such"], "unknown-case"),
        (["deqp", "-d", "emulator", "--deqp-runmode=xml-caselist"], "runmode"),
        (["deqp", "-d", "emulator", "--deqp-caselist={a{b}}"], "deqp-option"),
        (["deqp", "-d", "emulator", "--driverr=x"], "deqp-option"),
        (["deqp", "-d", "emulator", "tensor_addressing"], "deqp-option"),
        (["deqp", "-d", "emulator", "--area", "matrix_memory"], "area-option"),
        (["deqp", "-d", "emulator", "--deqp-caselist-file=none.txt"], "caselist-unreadable"),
        (["baseline", "x", "--from", "skip"], "list-format"),
        (["baseline", "x", "--format", "fails", "--audit"], "list-alone"),
        (["baseline", "x", "--driver", "y"], "list-alone"),
    ],
)
def test_wrong_usage_names_what_is_wrong(cts: Cts, arguments: list[str], code: str) -> None:
    ran = cts(*arguments)
    assert ran.status == 2 and f"error[{code}]" in ran.err


def test_options_of_dEQP_that_choose_no_case_are_ignored(cts: Cts, fakes: ModuleType) -> None:  # noqa: N802
    others = ("--deqp-surface-width=256", "--deqp-surface-type", "pbuffer", "--deqp-visibility=hidden")
    assert cts("deqp", *others, f"--deqp-case={CASE}", "-d", "fake:right").status == 0


def test_unknown_names_of_a_list_are_told_and_the_others_run(cts: Cts, fakes: ModuleType) -> None:
    (cts.folder / "cases.txt").write_text(f"no.such.case\n{CASE}\n")
    ran = cts("deqp", "--deqp-caselist-file=cases.txt", "-d", "fake:right")
    assert ran.status == 2 and "  Pass (" in ran.out
    assert "no case is called no.such.case" in ran.err


def test_lists_of_a_run(cts: Cts, fakes: ModuleType) -> None:
    for spec, wanted in (
        ("fake:inverted", {"fails": f"{CASE},Fail\n"}),
        ("fake:timeout", {"fails": f"{CASE},Timeout\n", "skips": rf"^{re.escape(CASE)}$" + "\n"}),
        ("fake:flaky", {"flakes": rf"^{re.escape(CASE)}$" + "\n"}),
    ):
        cts("run", CASE, "-d", spec, "--save-dir", spec[5:])
        for name in ("fails", "flakes", "skips"):
            assert cts("baseline", spec[5:], "--format", name).out == wanted.get(name, ""), (spec, name)


def test_a_list_of_patterns_becomes_exactly_its_cases(tmp_path: Path) -> None:
    names = ["a.clip.one", "a.clip.two", "b.clip", "ab.clip.x"]
    (tmp_path / "skips.txt").write_text("# slow\n^a\\.clip\\..*\nb\\.clip$\n(one|x)$\ndEQP-VK\n")
    made = imported(tmp_path / "skips.txt", "skips", "llvmpipe*", "slow", names)
    assert made.entries == 4 and made.foreign == 1
    assert [line.split("cases: ")[1].split("}")[0] for line in made.text.splitlines()[3:]] == [
        "a.clip.*", "b.clip", "a.clip.one", "ab.clip.x",
    ]  # fmt: skip
