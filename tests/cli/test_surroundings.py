"""Folders that are gone, names that no file can have, and errors of the operating system: one error, no traceback."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cts.faces.cli.app import VERBS
from tests.cli.command_line import Cts

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="names and folders of POSIX")

CASE = "matrix_memory.constants.null"
LONG = "x" * 300


@pytest.fixture
def cts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Cts:
    return Cts(monkeypatch, capsys, tmp_path)


@pytest.mark.parametrize("verb", VERBS)
def test_a_folder_that_is_gone(cts: Cts, verb: str) -> None:
    gone = cts.folder / "gone"
    gone.mkdir()
    os.chdir(gone)
    shutil.rmtree(gone)
    ran = cts(verb)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith("error[no-folder]: the current folder is gone\n")


@pytest.mark.parametrize("argument", ["a\0b", "\udcff", "--json=\udc80"])
def test_arguments_that_are_no_text(cts: Cts, argument: str) -> None:
    ran = cts("show", argument)
    assert ran.status == 2
    assert ran.err.startswith("error[argument]: an argument is not UTF-8\n")


WRITING = {
    "--save-dir": ["run", CASE, "-d", "interpreter", "--no-generate"],
    "--json": ["run", CASE, "-d", "interpreter", "--no-generate"],
    "--junit": ["run", CASE, "-d", "interpreter", "--no-generate"],
    "--html": ["run", CASE, "-d", "interpreter", "--no-generate"],
    "--bundle-dir": ["run", CASE, "-d", "interpreter", "--no-generate"],
    "--quarantine": ["run", CASE, "-d", "interpreter", "--no-generate"],
    "--baseline": ["run", CASE, "-d", "interpreter", "--no-generate"],
    "--resume": ["run"],
    "--out": ["export", CASE, "--format", "yaml"],
    "--spirv": ["show", CASE],
    "--answers": ["doctor", "--conformance"],
    "--output": ["worker"],
}


@pytest.mark.parametrize("folder", ["", "sub/", f"{LONG}/"])
@pytest.mark.parametrize("option", WRITING)
def test_names_that_are_too_long(cts: Cts, option: str, folder: str) -> None:
    ran = cts(*WRITING[option], option, f"{folder}{LONG}.x")
    if (option, folder) == ("--bundle-dir", "sub/"):
        return  # nothing fails, so that nothing is written
    assert ran.status in (2, 3), ran.err
    assert "error" in ran.err.lower() and "Traceback" not in ran.err
    assert len(ran.err.splitlines()) < 24


@pytest.mark.parametrize(
    "verb", ["run", "check", "show", "explain", "minimize", "export", "dispatch", "sweep", "validation", "report",
             "triage", "compare", "baseline"]
)  # fmt: skip
def test_files_with_names_that_are_too_long(cts: Cts, verb: str) -> None:
    for name in (LONG, f"{LONG}.yaml", f"{LONG}.zip", f"{LONG}.jsonl", f"a/{LONG}/b.yaml"):
        ran = cts(verb, name)
        assert ran.status == 2, ran.err
        assert "error" in ran.err.lower() and "Traceback" not in ran.err


def test_files_in_a_folder_whose_names_are_no_text(cts: Cts) -> None:
    folder = os.fsencode(cts.folder / "cases")
    Path(os.fsdecode(folder)).mkdir()
    with open(folder + b"/\xff.yaml", "w") as file:  # noqa: PTH123 - a name of bytes
        file.write("program: []\n")
    for verb in ("run", "check"):
        ran = cts(verb, "cases", *(["-d", "interpreter", "--no-generate"] if verb == "run" else []))
        assert ran.status == 2
        assert "error[file-name]: the name of the file is not UTF-8\n" in ran.err


def test_an_error_of_the_operating_system_is_no_traceback(cts: Cts, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise OSError(28, "No space left on device", "the.file", None, "other.file")

    monkeypatch.setattr("cts.faces.cli.dispatching.plain", fails)
    ran = cts("list")
    assert ran.status == 3
    assert ran.err.startswith("error[system]: No space left on device\n  where: the.file, other.file\n  fix: ")


def test_a_bug_keeps_its_traceback(cts: Cts, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise ZeroDivisionError("planted")

    monkeypatch.setattr("cts.faces.cli.dispatching.plain", fails)
    ran = cts("list")
    assert ran.status == 3 and "Traceback" in ran.err and "planted" in ran.err


def ran_here(folder: Path, command: str, **more: str) -> tuple[int, str]:
    """The status of a command of a shell, and all that it prints; `python` is this one."""
    environment = {**os.environ, "PYTHONWARNINGS": "", **more}
    command = command.replace("python ", f"{shlex.quote(sys.executable)} ", 1)
    ran = subprocess.run(
        ["sh", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return ran.returncode, ran.stdout + ran.stderr


@pytest.mark.parametrize(
    "arguments", ["run reductions.add -d emulator", "run reductions.add -d interpreter -j 2", "list"]
)
def test_warnings_are_errors(tmp_path: Path, arguments: str) -> None:
    status, said = ran_here(tmp_path, f"python -W error -m cts {arguments}")
    assert status == 0 and "Warning" not in said and "Traceback" not in said, said


def test_without_a_compiler_the_emulator_does_not_start(tmp_path: Path) -> None:
    status, said = ran_here(tmp_path, "python -m cts run reductions.add -d emulator", NUMBA_DISABLE_JIT="1")
    assert status == 2 and "error[emulator-jit]" in said and "Traceback" not in said


@pytest.mark.skipif(sys.platform != "linux", reason="another limit of memory")
@pytest.mark.parametrize("kilobytes", [150_000, 200_000, 300_000, 450_000])
def test_too_little_memory(tmp_path: Path, kilobytes: int) -> None:
    status, said = ran_here(tmp_path, f"ulimit -v {kilobytes}; python -m cts run reductions.add.both_f32 -d emulator")
    assert "Traceback" not in said and (status == 0 or "error" in said.lower()), said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("triage", "--json"), "--json FILE, or --json - for standard output"),
        (("triage", "--json", "--against", "x"), "--json without a file"),
        (("run", "--json", "--no-generate"), "--json without a file"),
        (("explain", CASE, "-d", "emulator", "--json"), "--json without a file"),
        (("minimize", CASE, "-d", "emulator", "--seconds", "3"), "--reduce-time"),
        (("minimize", CASE, "-d", "emulator", "--steps=3"), "--max-runs"),
        (("coverage", "--examples", "3"), "--max-examples"),
        (("report", "--examples", "3"), "--max-examples"),
    ],
)
def test_what_an_option_was_called_is_refused_by_name(cts: Cts, arguments: tuple[str, ...], said: str) -> None:
    ran = cts(*arguments)
    assert (ran.status, ran.out) == (2, "") and said in ran.err
