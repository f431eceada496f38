"""Output that nobody reads to its end, as with `| head`: the command ends silently, without a finding."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import cts.cases
from cts.faces.cli.app import VERBS
from cts.running import store

CASE = "tensor_addressing.clamp.edge_low_load"
MUTANT = "emulator:mutant=clip-width-remaining"
WIDTH = "tensor_addressing.clip.width_beyond_the_columns"

#: What a shell shows for a program that SIGPIPE has ended.
CLOSED = 141

#: Arguments of every verb with which it prints something, soon.
ARGUMENTS = {
    "demo": (),
    "run": (CASE, "-d", "fake:wrong"),
    "merge": ("cts-run/001", "cts-run/002"),
    "campaign": ("-d", "emulator", "--cases", "2", "--area", "reductions", "--reduce-time", "0"),
    "sweep": ("matrix_negations_8", "-d", "interpreter"),
    "unclear": ("--list",),
    "validation": ("tensor_addressing.clamp", "--list"),
    "findings": ("list",),
    "compare": ("cts-run",),
    "baseline": ("cts-run/001",),
    "triage": (),
    "report": ("--junit", "out.xml"),
    "docs": ("runs",),
    "list": (CASE,),
    "show": (CASE, "--no-spirv"),
    "check": (CASE,),
    "coverage": ("--max-examples", "0", "--driver", "interpreter"),
    "dispatch": ("exported/dispatch.yaml",),
    "explain": (WIDTH, "-d", "interpreter"),
    "minimize": (CASE, "-d", "fake:wrong", "--max-runs", "1"),
    "export": (CASE, "--format", "yaml"),
    "draw": ("-n", "1", "--area", "reductions", "--out", "drawn"),
    "deqp": ("-d", "interpreter", "--deqp-case", CASE),
    "certify": ("-d", "emulator", "-k", "float16 float16 float16 float16", "--max-time", "5"),
    "learn": ("reductions.add.row_of_12", "-d", "emulator:mutant=reduce-last-column-missed", "--max-runs", "20"),
    "features": ("MatrixReduce",),
    "drivers": ("-d", "interpreter"),
    "doctor": ("-d", "interpreter"),
    "schema": (),
    "worker": ("--help",),
}


def ended(folder: Path, fakes: Path, *arguments: str, stderr_too: bool = False) -> tuple[int, str]:
    """Status and stderr of `cts` with arguments, whose stdout is closed at the other end."""
    read, write = os.pipe()
    os.close(read)
    root = str(Path(cts.__file__).parents[1])
    ran = subprocess.run(
        [sys.executable, "-m", "cts", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(fakes), root])},
        stdout=write,
        stderr=write if stderr_too else subprocess.PIPE,
        text=True,
        check=False,
        timeout=120,
    )
    os.close(write)
    return ran.returncode, ran.stderr or ""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run and an exported case, for the verbs that read them."""
    folder = tmp_path_factory.mktemp("closed")
    fakes = str(Path(__file__).parents[1] / "fakes")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([fakes, str(Path(cts.__file__).parents[1])])}
    for arguments in (("run", CASE, "-d", "fake:wrong"), ("export", CASE, "--format", "dispatch", "--out", "exported")):
        subprocess.run([sys.executable, "-m", "cts", *arguments], cwd=folder, env=environment, capture_output=True)
    return folder


def test_every_verb_is_here() -> None:
    assert set(VERBS) == set(ARGUMENTS)


@pytest.mark.parametrize("verb", ARGUMENTS)
def test_verb(folder: Path, fakes_path: Path, verb: str) -> None:
    status, said = ended(folder, fakes_path, verb, *ARGUMENTS[verb])
    assert status == CLOSED or verb == "report", said  # which prints to stderr alone
    assert "Traceback" not in said and "Exception ignored" not in said and "BrokenPipe" not in said


@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("run", "--help")])
def test_help(folder: Path, fakes_path: Path, arguments: tuple[str, ...]) -> None:
    assert ended(folder, fakes_path, *arguments) == (CLOSED, "")


@pytest.mark.parametrize("stderr_too", [False, True])
@pytest.mark.parametrize("more", [(), ("--json", "-"), ("--json", "/dev/stdout")])
def test_a_run_stays_valid(tmp_path: Path, fakes_path: Path, more: tuple[str, ...], stderr_too: bool) -> None:
    area = ("--area", "fake_area", "--max-examples", "20", "--seed", "3", "--no-corpus")
    status, said = ended(tmp_path, fakes_path, "run", *area, "-d", "fake:wrong", *more, stderr_too=stderr_too)
    assert (status, said.startswith("Traceback")) == (CLOSED, False)
    run = store.load(tmp_path / "cts-run" / "001")
    assert run.footer is None and not run.problems


def test_a_run_whose_output_closes_midway_is_resumed(tmp_path: Path, fakes_path: Path) -> None:
    """The first lines are read, then no more: what was judged is kept, nothing of it is an error."""
    root = str(Path(cts.__file__).parents[1])
    command = [sys.executable, "-m", "cts", "run", "tensor_addressing.clip", "-d", MUTANT, "-d", "fake:wrong"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(fakes_path), root])}
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        for _ in range(6):
            process.stdout.readline()
        process.stdout.close()
        said = process.stderr.read()
    assert process.returncode == CLOSED and "Traceback" not in said
    run = store.load(tmp_path / "cts-run" / "001")
    assert run.footer is None and not run.problems and run.judged
    resumed = subprocess.run(
        [*command[:4], "--resume", "cts-run/001"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert resumed.returncode == 1, resumed.stdout
    run = store.load(tmp_path / "cts-run" / "001")
    written = len(list((Path(cts.cases.__file__).parent / "tensor_addressing" / "clip").glob("*.yaml")))
    assert run.footer is not None and len(run.results) == 2 * written


def test_no_stdout_at_all(tmp_path: Path, fakes_path: Path) -> None:
    root = str(Path(cts.__file__).parents[1])
    ran = subprocess.run(
        f"exec {sys.executable} -m cts run {CASE} -d fake:right >&-",
        shell=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(fakes_path), root])},
        capture_output=True,
        text=True,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
