"""What each verb prints, as reviewed files, and what it means."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import ModuleType

import msgspec
import pytest

from cts.case.model import AnyInstruction, load_case
from cts.features.coverage.facts import marked_testable
from cts.judging.events import RunFinished, RunStarted, read
from tests.cli.command_line import Cts

CASE = "tensor_addressing.clamp.edge_low_load"


@pytest.fixture
def cts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Cts:
    """`cts` in an empty folder."""
    return Cts(monkeypatch, capsys, tmp_path)


def test_list(cts: Cts) -> None:
    assert cts.snapshot("list", "list", "tensor_addressing.clamp", "-k", "mirrored", "-k", "deep").status == 0


def test_list_by_fact(cts: Cts) -> None:
    ran = cts("list", "-k", "TA-085b")
    assert ran.status == 0
    cases = [line for line in ran.out.splitlines() if line.startswith("tensor")]
    assert cases and all("TA-085b" in line for line in cases)


def test_list_of_nothing(cts: Cts) -> None:
    assert cts.snapshot("list_nothing", "list", "-k", "no such case").status == 2


def test_show(cts: Cts) -> None:
    assert cts.snapshot("show", "show", CASE, "--no-spirv").status == 0


def test_show_integers_and_vectors(cts: Cts) -> None:
    (cts.folder / "vectors.yaml").write_text(VECTORS)
    assert cts.snapshot("show_vectors", "show", "vectors.yaml", "--no-spirv").status == 0


def test_show_cooperative_vectors_and_opaque_matrices(cts: Cts) -> None:
    assert cts.snapshot("show_opaque", "show", "vector_training.outer.in_a_loop", "--no-spirv").status == 0


def test_show_elements_that_may_be_several_things(cts: Cts) -> None:
    out = cts("show", "vector_networks.backpropagation", "--no-spirv").out
    assert "# 26 of its 40 elements have more than one allowed value\n" in out
    assert (
        "# of it 5 elements have more than one allowed value: either zero (NU-013)\n#   byte 8: 0x80000000 (-0.0)"
        in out
    )


VECTORS = """\
schema: 1
name: vectors
buffers:
  src: {type: int8, shape: [2], data: {values: [-1, 2, 100, -100]}, components: 2}
  dst: {type: int8, shape: [2, 2], data: {fill: 0}, components: 2}
program:
  - {op: MatrixConstant, id: c, type: {component: int8, scope: Workgroup, rows: 2, cols: 4, use: B}, value: -7}
  - {op: MatrixStore, matrix: c, buffer: dst, stride: 2}
"""


def test_show_disassembles_for_the_subgroup_size(cts: Cts) -> None:
    ran = cts("show", CASE, "--subgroup-size", "8", "--no-expected")
    assert "LocalSize 8 1 1" in ran.out
    assert "OpCooperativeMatrixLoadTensorNV" in ran.out
    assert "# expected" not in ran.out


def test_drivers(cts: Cts, fakes: ModuleType) -> None:
    assert cts.snapshot("drivers", "drivers", "-d", "fake:right", "-d", "fake:no-features").status == 0


def test_drivers_that_fail(cts: Cts, fakes: ModuleType) -> None:
    assert cts.snapshot("drivers_fail", "drivers", "-d", "fake:does-not-start", "-d", "nope").status == 3


def test_drivers_as_json(cts: Cts, fakes: ModuleType) -> None:
    ran = cts("drivers", "--json", "-")
    listed = {d["name"]: d for d in json.loads(ran.out)}
    assert {"emulator", "interpreter", "fake"} <= set(listed)
    emulator = listed["emulator"]
    assert emulator["capabilities"]["subgroup_size"] == 32
    assert len(emulator["mutants"]) >= 45
    assert any(v["name"].startswith("subgroup_size=") for v in emulator["variants"])
    for entry in emulator["mutants"] + emulator["variants"]:
        assert set(entry) == {"name", "area", "description"}
        assert all(isinstance(v, str) and v and "\n" not in v for v in entry.values())
    assert "mutants" not in listed["fake"]


def test_coverage_as_json(cts: Cts, fakes: ModuleType) -> None:
    ran = cts("coverage", "--json", "-", "--max-examples", "3", "-d", "fake:right", "-d", "fake:no-features")
    assert ran.status == 0
    found = json.loads(ran.out)
    rows = {row["fact"]: row for row in found["facts"]}
    assert CASE in rows["TA-035"]["cases"]
    assert rows["TA-035"]["drivers"]["fake:right"] == len(rows["TA-035"]["cases"])
    assert rows["TA-035"]["drivers"]["fake:no-features"] == 0
    assert rows["CM-020"]["areas"]["reductions"] == 3
    assert set(found["areas"].values()) == {3}
    assert found["drivers"]["fake:right"] == {"supported": found["cases"], "missing": {}}
    assert rows["TA-035"]["answers"] >= 5
    assert found["unanswered"] == sorted(marked_testable() - {fact for fact, row in rows.items() if row["answers"]})
    assert found["untested"]["corpus"] == found["untested"]["fake:right"] == []
    assert "TA-035" in found["untested"]["fake:no-features"]


def test_coverage_as_table(cts: Cts, fakes: ModuleType) -> None:
    ran = cts("coverage", "--max-examples", "0", "-d", "fake:no-features")
    lines = ran.out.splitlines()
    assert lines[0].split() == ["fact", "cases", "rules", "answers", "fake:no-features"]
    assert any(line.split()[0] == "TA-035" and line.split()[4] == "0" for line in lines[1:] if line)
    assert any("lack feature cooperativeMatrixTensorAddressing" in line for line in lines)
    assert lines[-3].startswith("facts without answers: ")
    assert lines[-2] == "untested by corpus: nothing"
    assert lines[-1].startswith("untested by fake:no-features: ")


def test_coverage_of_a_driver_that_is_none(cts: Cts) -> None:
    assert cts("coverage", "--max-examples", "0", "-d", "emulatr").status == 2


def test_schema(cts: Cts) -> None:
    document = json.loads(cts("schema").out)
    names = {t.__name__ for t in AnyInstruction.__args__}
    assert names <= set(document["$defs"])
    assert document["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_check(cts: Cts) -> None:
    assert cts.snapshot("check", "check", "tensor_addressing.clip").status == 0


def test_check_generated_cases(cts: Cts, fakes: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a run says of a generator's faults, and the commands that it names for them, agree."""
    drawn = ("--area", "fake_area", "--max-examples", "20", "--seed", "21")
    good = cts("check", *drawn, "--driver", "fake:right")
    assert (good.status, good.out) == (0, "fake_area for fake:right, seed 21: 20 examples, 20 distinct: no faults\n")
    monkeypatch.setattr(fakes, "fake_area", fakes.faulty_area)
    ran = cts("run", "--no-corpus", *drawn, "--driver", "fake:right", "--driver", "fake:remarks")
    assert ran.status == 3
    assert ran.out.count("GENERATOR generated.fake_area.") == 2
    assert "17 examples" not in ran.out and "34 pass, 2 other errors; 34 cases judged" in ran.out
    (reproduce,) = {line for line in ran.out.splitlines() if line.startswith("reproduce: ")}
    again = cts(*reproduce.split()[2:])
    assert again.status == 3
    assert again.out == "fake_area for fake:right, seed 21: 20 examples, 19 distinct: 3 faults\n"
    (show,) = [line for line in ran.out.splitlines() if line.startswith("the case: ")]
    alone = cts(*show.split()[3:])
    assert alone.status == 2 and "error[undefined-behaviour]" in alone.err
    for line in again.err.splitlines():
        assert line.replace(", then", " of seed 21, then") in ran.out or "examples are like it" in line


def test_one_example_and_its_draws(cts: Cts, fakes: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("check", "--area", "fake_area", "--seed", "21", "--driver", "fake:right", "--example")
    ran = cts(*words, "3")
    head, draw, *case = ran.out.splitlines()
    assert (ran.status, head) == (0, "# example 3 of fake_area for fake:right, seed 21: 1 draws")
    assert "of 0 to 998" in draw and "fake_drivers.<lambda>" in draw and case[0] == "schema: 1"
    monkeypatch.setattr(fakes, "fake_area", fakes.faulty_area)
    statuses = {cts(*words, str(n)).status for n in range(1, 21)}
    assert statuses == {0, 3}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "no case and no area is selected"),
        (("--seed", "1"), "no case and no area is selected"),
        (("--area", "fake_area", "--driver", "fake", "--example", "3"), "one example is that of a seed"),
        ((CASE, "--driver", "emulator"), "--driver is for generated cases"),
        (("--area", "fake_area"), "no driver to draw cases for"),
        (("--area", "fake_are", "--driver", "fake"), "did you mean 'fake_area'?"),
        (("--area", "fake_area", "--driver", "fake", "--max-examples", "0"), "0 examples"),
    ],
)
def test_check_says_what_is_missing(cts: Cts, fakes: ModuleType, arguments: tuple[str, ...], words: str) -> None:
    ran = cts("check", *arguments)
    assert ran.status == 2
    assert words in ran.err


def test_check_of_an_area_that_a_driver_lacks(cts: Cts, fakes: ModuleType) -> None:
    ran = cts("check", "--area", "vector_training", "--driver", "fake:no-features")
    assert ran.status == 0
    assert "nothing to generate" in ran.out


def test_check_fixes_form(cts: Cts) -> None:
    path = cts.folder / "case.yaml"
    path.write_text(VECTORS.replace("schema: 1\n", "").replace("name: vectors", "name: vectors\nschema: 1"))
    assert cts.snapshot("check_form", "check", "case.yaml").status == 2
    assert cts("check", "--fix", "case.yaml").out == "case.yaml: rewritten\n"
    assert cts("check", "case.yaml").out == "case.yaml: ok\n"
    assert path.read_text() == VECTORS


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("right", 0),
        ("wrong", 1),
        ("guard-before", 1),
        ("nothing", 1),
        ("crash", 1),
        ("flaky", 1),
        ("raises", 3),
        ("missing-buffer", 3),
        ("no-features", 3),
    ],
)
def test_run(cts: Cts, fakes: ModuleType, kind: str, status: int) -> None:
    assert cts.snapshot(f"run_{kind}", "run", CASE, "--driver", f"fake:{kind}", "--seed", "1").status == status
    saved = list((cts.folder / "cts-run" / "001").glob("*.txt"))
    assert bool(saved) == (kind != "right")


def test_run_generated(cts: Cts, fakes: ModuleType) -> None:
    arguments = ("--no-corpus", "--area", "fake_area", "--seed", "7", "--max-examples", "20")
    drivers = ("--driver", "fake:right", "--driver", "fake:wrong", "--driver", "fake:timeout")
    assert cts.snapshot("run_generated", "run", *arguments, *drivers).status == 1


def test_the_last_line_of_a_failure_reproduces_it(cts: Cts, fakes: ModuleType) -> None:
    first = cts("run", "--no-corpus", "--area", "fake_area", "--driver", "fake:wrong")
    (command,) = [line for line in first.out.splitlines() if line.startswith("reproduce: cts ")]
    words = command.removeprefix("reproduce: cts ").split()
    again = cts(*words)
    assert (first.status, again.status) == (1, 1)
    saved = load_case(cts.folder / words[1])
    assert f"generated.fake_area.{saved.content_hash}" in first.out


def test_saved_reports_list_more(cts: Cts, fakes: ModuleType) -> None:
    ran = cts("run", CASE, "--driver", "fake:nothing")
    assert "and 248 more" in ran.out
    (report,) = (cts.folder / "cts-run" / "001").glob("*.txt")
    assert report.name == f"{CASE}.fake_nothing.txt"
    text = report.read_text()
    assert text.count("  dst[") == 255 and "more" not in text
    assert text.splitlines()[-1] == f"reproduce: cts run {CASE} --driver fake:nothing"


def test_json_lines_on_stdout_are_the_whole_run(cts: Cts, fakes: ModuleType) -> None:
    ran = cts("run", CASE, "--driver", "fake:wrong", "--json", "-")
    events = read(ran.out.splitlines())
    assert isinstance(events[0], RunStarted) and isinstance(events[-1], RunFinished)
    assert events[-1].exit_status == ran.status == 1
    assert "reproduce: cts run" in ran.err


def test_json_lines_in_a_file(cts: Cts, fakes: ModuleType) -> None:
    cts("run", CASE, "--driver", "fake:wrong", "--json", "run.jsonl")
    lines = (cts.folder / "run.jsonl").read_bytes().splitlines()
    assert [msgspec.json.decode(line)["event"] for line in lines] == [
        "run-started",
        "driver-opened",
        "result",
        "run-finished",
    ]


def test_interrupted_runs_are_no_findings(cts: Cts, fakes: ModuleType) -> None:
    ran = cts("run", CASE, "--driver", "fake:interrupts")
    assert ran.status == 130
    assert re.fullmatch(r"interrupted: the run is not complete; to go on: cts run --resume \S+\n", ran.err)
    assert "cases not run" not in ran.out and "fake:interrupts" in ran.out


def test_version_and_help(cts: Cts) -> None:
    assert cts("--version").out.startswith("cts ")
    text = cts("run", "--help").out
    for option in ("--driver", "--area", "--max-examples", "--seed", "--profile", "-k", "-x", "--json", "--save-dir"):
        assert option in text
    assert "0 no findings, 1 findings, 2 wrong usage or input, 3 an error of a driver or the suite" in " ".join(
        text.split()
    )


def test_keyword_selects_cases_and_areas(cts: Cts, fakes: ModuleType) -> None:
    ran = cts("run", "-k", "generated.fake", "--driver", "fake:right", "--max-examples", "5")
    assert "5 examples of fake_area on fake:right" in ran.out
    ran = cts("run", "-k", CASE, "--driver", "fake:right")
    assert "1 corpus case on fake:right" in ran.out


def test_validation_is_asked_of_drivers_that_have_it(cts: Cts, fakes: ModuleType) -> None:
    ran = cts("run", CASE, "--driver", "emulator", "--driver", "fake:wrong", "--validation")
    assert ran.status == 1
    assert f"reproduce: cts run {CASE} --driver fake:wrong,validation=yes" in ran.out
    assert "on emulator, fake:wrong,validation=yes" in ran.out
    ran = cts("run", CASE, "--driver", "emulator", "--validation")
    assert (ran.status, "error[no-validation]" in ran.err) == (2, True)


def test_remarks_are_shown_though_the_case_passes(cts: Cts, fakes: ModuleType) -> None:
    ran = cts("run", CASE, "--driver", "fake:remarks")
    assert ran.status == 0
    assert f"fake:remarks says of {CASE}, which passes: warning: VUID-1" in ran.out


def test_a_wrong_quarantine_file(cts: Cts) -> None:
    (cts.folder / "q.yaml").write_text("schema: 1\nentries: [{match: {cases: a}, when: never}]\n")
    ran = cts("run", CASE, "--driver", "emulator", "--quarantine", "q.yaml")
    assert ran.status == 2
    assert "q.yaml:2: entries[0]" in ran.err
    assert "missing required field `reason`" in ran.err


@pytest.mark.parametrize("option", ["--html", "--junit", "--bundle-dir", "--save-dir"])
def test_a_forgotten_path_is_not_the_next_option(cts: Cts, option: str) -> None:
    ran = cts("run", option, "--no-generate", "--driver", "fake:right")
    assert ran.status == 2
    assert "a path is missing before --no-generate" in " ".join(ran.err.split())


def test_the_policy_of_a_seed(cts: Cts) -> None:
    usual, drawn = (
        cts("check", "--area", "reductions", "--policy"),
        cts("check", "--area", "reductions", "--seed", "7", "--policy"),
    )
    assert (usual.status, drawn.status) == (0, 0)
    rows = {line.split()[0]: line for line in drawn.out.splitlines()[1:]}
    assert rows.keys() == {line.split()[0] for line in usual.out.splitlines()[1:]}
    assert rows["CaseDraws.FLOATS"].endswith("fixed")
    assert sum(row not in usual.out for row in rows.values()) > len(rows) // 2
    assert drawn.out == cts("check", "--area", "reductions", "--seed", "7", "--policy").out
