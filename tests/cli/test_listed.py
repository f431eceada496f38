"""`cts run --listed`: what drivers list, as files that can be run again."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import pytest

from cts.plugins import registry
from tests.cli.command_line import Cts

ROW = "mul_add.int8_int8_int32_int32.1x1x1"
FILES = [f"{ROW}.subgroup.{n}.yaml" for n in ("16_subgroups", "1_subgroup")]
FILES += [f"{ROW}.workgroup.{n}.yaml" for n in ("1_subgroup", "2_subgroups", "4_subgroups", "8_subgroups")]


@pytest.fixture
def cts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Cts:
    """`cts` in an empty folder."""
    return Cts(monkeypatch, capsys, tmp_path)


def test_a_row_is_run_and_kept(cts: Cts, fakes: ModuleType) -> None:
    ran = cts("run", "--listed", "-k", ROW, "-d", "fake:right")
    assert ran.status == 0 and "\n6 pass; 6 cases judged in " in ran.out
    assert sorted(p.name for p in (cts.folder / "cts-run" / "listed").iterdir()) == sorted(FILES)
    again = cts("run", f"cts-run/listed/{FILES[0]}", "-d", "fake:right")
    assert again.status == 0 and "1 pass" in again.out


def test_a_failure_names_the_row(cts: Cts, fakes: ModuleType) -> None:
    ran = cts("run", "--listed", "-k", f"{ROW}.workgroup.4", "-d", "fake:wrong", "--reruns", "0")
    path = f"cts-run/listed/{ROW}.workgroup.4_subgroups.yaml"
    assert ran.status == 1
    assert f"FAIL fake:wrong {path}" in ran.out
    assert f"reproduce: cts run {path} --driver fake:wrong" in ran.out


def test_drivers_share_cases_and_lack_what_they_do_not_list(cts: Cts, fakes: ModuleType) -> None:
    ran = cts("run", "--listed", "-k", f"{ROW}.workgroup.2", "-d", "fake:right", "-d", "fake:no-features")
    assert ran.status == 3, "nothing was tested on the second"
    assert "1 pass, 1 unsupported" in ran.out


def test_a_shard_and_a_resumed_run(cts: Cts, fakes: ModuleType) -> None:
    for shard in ("1/2", "2/2"):
        assert cts("run", "--listed", "-k", ROW, "--shard", shard, "-d", "fake:right").status == 0
    entries = [
        json.loads((cts.folder / "cts-run" / name / "manifest.json").read_text())["entries"] for name in ("001", "002")
    ]
    assert sorted(Path(e["path"]).name for part in entries for e in part) == sorted(FILES)
    assert cts("run", "--resume", "cts-run/001").status == 0
    (cts.folder / entries[0][0]["path"]).write_text("changed")
    assert "error[case-changed]" in cts("run", "--resume", "cts-run/001").err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["tensor_addressing"], "listed-alone"),
        (["--area", "reductions"], "listed-alone"),
        (["--corpus"], "listed-alone"),
        (["--generate"], "listed-alone"),
        (["-k", "no such row"], "nothing-selected"),
    ],
)
def test_what_cannot_be_asked(cts: Cts, fakes: ModuleType, arguments: list[str], code: str) -> None:
    ran = cts("run", "--listed", "-d", "fake:right", *arguments)
    assert ran.status == 2 and f"error[{code}]" in ran.err and "  fix: " in ran.err


def test_a_driver_is_needed(cts: Cts) -> None:
    ran = cts("run", "--listed")
    assert ran.status == 2 and "error[no-driver]" in ran.err


def test_a_driver_that_lists_nothing(cts: Cts, fakes: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "listed", lambda: lambda _: registry.ListedCases((), ()))
    ran = cts("run", "--listed", "-d", "fake:right")
    assert ran.status == 2 and "the drivers list nothing" in ran.err
