"""What a command is given is checked before anything runs: all that is wrong is said at once, nothing is written."""

from __future__ import annotations

import os
from pathlib import Path
from types import ModuleType

import pytest

from cts.base.errors import BadInput
from cts.plugins import registry
from cts.running.corpus import find_one
from cts.running.outputs import check_file, check_folder
from tests.cli.command_line import Cts

CASE = "tensor_addressing.clamp.edge_low_load"
OTHER = "tensor_addressing.clip.outside"


@pytest.fixture
def cts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Cts:
    """`cts` in an empty folder."""
    return Cts(monkeypatch, capsys, tmp_path)


def test_a_refused_run_names_all_that_is_wrong_and_leaves_nothing_behind(cts: Cts) -> None:
    wrong = [
        *("run", "no.such.case", "-d", "emulater", "-d", "emulator:mutant=perm-invers", "-d", "vulkan:timeout=soon"),
        *("--area", "reduction", "--profile", "smok", "--shard", "4/3", "--transform", "spirv-opt"),
        *("--quarantine", "no.yaml", "--baseline", "nowhere.yaml"),
        *("--json", "no/such.jsonl", "--junit", ".", "--html", "no/such.html"),
    ]
    (cts.folder / "file").write_text("")
    ran = cts.snapshot("refused", *wrong, "--bundle-dir", "file/bundles", "--save-dir", "file")
    assert (ran.status, ran.out) == (2, "")
    assert [p.name for p in cts.folder.iterdir()] == ["file"]


def test_a_case_that_is_not_there_refuses_the_others(cts: Cts, fakes: ModuleType) -> None:
    ran = cts("run", CASE, "tensor_addressing.clip.outsid", "-d", "fake:right")
    assert ran.status == 2 and f"did you mean '{OTHER}'?" in ran.err
    assert not list(cts.folder.iterdir())


def test_drivers_and_areas_that_are_named_twice_run_once(cts: Cts, fakes: ModuleType) -> None:
    area = ("--area", "fake_area", "--area", "fake_area", "--max-examples", "3", "--seed", "1", "--no-corpus")
    ran = cts("run", *area, "-d", "fake:right", "-d", "fake:right")
    assert ran.status == 0 and "3 examples of fake_area on fake:right\n" in ran.out
    assert "3 pass; 3 cases judged" in ran.out


def test_a_transform_needs_a_driver_that_runs_modules(cts: Cts) -> None:
    ran = cts("run", CASE, "-d", "emulator", "--transform", "spirv-opt:-O")
    assert ran.status == 2 and "driver 'emulator' runs no modules" in ran.err
    assert not list(cts.folder.iterdir())


def test_one_file_for_two_reports_is_refused(cts: Cts, fakes: ModuleType) -> None:
    ran = cts("run", CASE, "-d", "fake:right", "--junit", "out", "--html", "./out")
    assert ran.status == 2 and "where: --junit and --html" in ran.err


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["edge_low_load"], [CASE]),
        (["EDGE_low", "LOAD"], [CASE]),
        (["generated.fake"], ["generated.fake_area"]),
        (["fake_area"], ["generated.fake_area"]),
    ],
)
def test_k_matches_names(cts: Cts, fakes: ModuleType, words: list[str], names: list[str]) -> None:
    options = [word for w in words for word in ("-k", w)]
    ran = cts(
        "run", CASE, OTHER, "--area", "fake_area", "--max-examples", "2", "-d", "fake:wrong", "--seed", "1", *options
    )
    heads = [line for line in ran.out.splitlines() if line.startswith("FAIL ")]
    assert len(heads) == len(names)
    assert all(name in head for name, head in zip(names, heads, strict=True))


def test_k_matches_no_folder_and_no_content(cts: Cts, fakes: ModuleType) -> None:
    """The name of a file is its own, not that of the folder or of the case in it."""
    folder = cts.folder / "tensors"
    folder.mkdir()
    text = find_one(CASE).path.read_text(encoding="utf-8")
    for name in ("first", "second"):
        (folder / f"{name}.yaml").write_text(text)
    assert cts("run", "tensors", "-d", "fake:right", "-k", "first").out.count("1 corpus case") == 1
    for word in ("tensors", "edge_low", "yaml", "MatrixLoad"):
        ran = cts("run", "tensors", "-d", "fake:right", "-k", word)
        assert ran.status == 2 and f"no selected case has '{word}' in its name" in ran.err


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        (["edge_low_lod"], "did you mean 'edge_low_load'?"),
        (["tensor_adressing"], "did you mean 'tensor_addressing'?"),
        (["edge_low_load", "outside"], "fewer of them"),
        ([""], "text that is part of a name"),
        (["edge_low_load or outside"], "no expression"),
    ],
)
def test_k_that_matches_nothing_names_the_nearest(cts: Cts, fakes: ModuleType, words: list[str], remedy: str) -> None:
    ran = cts("run", CASE, OTHER, "-d", "fake:right", *[word for w in words for word in ("-k", w)])
    assert ran.status == 2 and "error[no-such-name]" in ran.err and remedy in ran.err
    assert not list(cts.folder.iterdir())


def test_a_shard_without_any_of_the_cases_says_so(cts: Cts, fakes: ModuleType) -> None:
    statuses = [cts("run", CASE, "-d", "fake:right", "--shard", f"{i}/2") for i in (1, 2)]
    assert [ran.status for ran in statuses] == [0, 0]
    (empty,) = [ran for ran in statuses if "1 pass" not in ran.out]
    assert (
        ": no case of this shard on fake:right" in empty.out
        and "no results; 0 cases judged" in empty.out
        and "next:" not in empty.out
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ("minimize", CASE, "-d", "fake:does-not-start", "--out", "no/such.yaml"),
        ("report", "--html", "no/such.html"),
        ("report", "--bundle-dir", "nowhere"),
        ("show", CASE, "--html", "no/such.html"),
        ("explain", CASE, "-d", "fake:does-not-start", "--html", "."),
        ("export", CASE, "-d", "fake:does-not-start", "--format", "c", "--out", "file/repro.c"),
        ("export", CASE, "-d", "fake:does-not-start", "--out", "file/bundle"),
        ("export", CASE, "-d", "fake:does-not-start", "--format", "cpp"),
        ("dispatch", "nowhere.yaml", "--out", "file/outputs"),
        ("minimize", CASE, "-d", "fake:does-not-start", "--out", "-"),
        ("coverage", "-d", "fake:does-not-start", "-d", "fake:nope"),
    ],
)
def test_other_verbs_look_at_what_they_are_given_first(cts: Cts, fakes: ModuleType, arguments: tuple[str, ...]) -> None:
    (cts.folder / "file").write_text("")
    ran = cts(*arguments)
    assert ran.status == 2 and ran.out == ""
    assert any(f"error[{code}]" in ran.err for code in ("output-path", "unknown-format", "driver-option", "no-bundles"))
    assert "fake:does-not-start" not in ran.err


def test_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    check_file(None, "--out")
    check_file(tmp_path / "file", "--out")
    check_file(tmp_path / "new", "--out")
    check_folder(tmp_path / "new" / "newer", "--out")
    for path in (Path("-"), tmp_path, tmp_path / "none" / "new", tmp_path / "file" / "new"):
        with pytest.raises(BadInput, match="output-path"):
            check_file(path, "--out")
    for path in (tmp_path / "file", tmp_path / "file" / "new"):
        with pytest.raises(BadInput, match="is no folder"):
            check_folder(path, "--out")
    # The tests may run as root, who may write anywhere.
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(BadInput, match="cannot be written"):
        check_file(tmp_path / "new", "--out")
    with pytest.raises(BadInput, match="cannot be written"):
        check_folder(tmp_path / "new", "--out")


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("emulator:tile=9x9", "tile cannot be '9x9'"),
        ("interpreter:subgroup_size=0", "subgroup_size"),
        ("vulkan:wokers=2", "did you mean 'workers'?"),
        ("vulkan:memory=fast", "memory cannot be 'fast'"),
        ("interpreter:robust=yes,robust=no", "given twice"),
        ("interpreter|spirv-opt", "is not a transform"),
        ("fake:nope", "no fake 'nope'"),
    ],
)
def test_options_of_drivers_are_checked_without_a_driver(fakes: ModuleType, spec: str, words: str) -> None:
    with pytest.raises(BadInput) as caught:
        registry.check_driver(spec)
    assert words in str(caught.value)


def test_checking_starts_nothing(fakes: ModuleType) -> None:
    for spec in ("fake:does-not-start", "vulkan:worker=false", "vulkan:no such device"):
        registry.check_driver(spec)
