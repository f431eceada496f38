"""What shells offer, quickly: without NumPy, Hypothesis and the case model."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import cts
from cts.drivers.emulator.mutants.catalogue import mutants
from cts.plugins import registry
from cts.running import corpus
from cts.running.profiles import PROFILES

ROOT = Path(cts.__file__).parents[1]

#: Runs `cts` and says which slow imports there were.
RUN = """
import sys
sys.argv = ["cts"]
from cts.faces.cli import main
try:
    main()
finally:
    slow = {"numpy", "hypothesis", "cts.case.model", "numba", "jinja2"} & set(sys.modules)
    print("slow:", *sorted(slow), file=sys.stderr)
"""


def offered(line: str, folder: Path, shell: str = "fish", *, may_be_slow: bool = False) -> list[str]:
    """What a shell offers for the last word of a line."""
    words = line.split(" ")
    of_shell = {
        "bash": {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)},
        "fish": {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
        "zsh": {"_TYPER_COMPLETE_ARGS": line},
    }[shell]
    ran = subprocess.run(
        [sys.executable, "-c", RUN],
        env={**os.environ, "PYTHONPATH": str(ROOT), "_CTS_COMPLETE": f"complete_{shell}", **of_shell},
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert may_be_slow or ran.stderr == "slow:\n", ran.stderr
    if shell == "zsh":  # _arguments '*: :(("one" "two"))'
        listed = ran.stdout.partition("((")[2].rpartition("))")[0]
        return [word.partition('":"')[0].strip('"') for word in listed.split("\n") if word]
    return [word.partition("\t")[0] for word in ran.stdout.splitlines() if word]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("cts trai", []),
        ("cts tria", ["triage"]),
        ("cts run --exit", ["--exitfirst"]),
        ("cts run --area vector_", [n for n in registry.names("cts.areas") if n.startswith("vector_")]),
        ("cts run --profile ", list(PROFILES)),
        ("cts run -d inter", ["interpreter"]),
        ("cts doctor --driver em", ["emulator"]),
        ("cts export --format sp", ["spvasm"]),
        ("cts show tensor_addressing.clip.width_b", ["tensor_addressing.clip.width_beyond_the_columns"]),
    ],
)
def test_values(tmp_path: Path, shell: str, line: str, words: list[str]) -> None:
    assert offered(line, tmp_path, shell) == words


def test_cases_and_files(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "one.yaml").write_text("")
    (tmp_path / ".hidden").write_text("")
    every = offered("cts run ", tmp_path)
    assert every == [*sorted({e.area for e in corpus.entries()}), "tests/"]
    assert offered("cts run te", tmp_path) == [
        *(e.name for e in corpus.entries() if e.name.startswith("te")),
        "tests/",
    ]
    assert offered("cts run tests/", tmp_path) == ["tests/one.yaml"]
    assert offered("cts run -d interpreter --baseline tests/o", tmp_path) == ["tests/one.yaml"]
    assert offered("cts run --resume .", tmp_path) == [".hidden"]
    assert offered("cts triage no/such/", tmp_path) == []


def test_options_of_drivers(tmp_path: Path) -> None:
    assert offered("cts run -d emulator:sub", tmp_path) == [
        f"emulator:subgroup_size={n}" for n in (1, 4, 8, 16, 32, 64, 128)
    ]
    assert len(offered("cts run -d emulator:tile=row,mut", tmp_path)) == len(mutants())
    names = [f"emulator:tile=row,mutant={m.name}" for m in mutants() if m.name.startswith("clip-")]
    assert names and offered("cts run -d emulator:tile=row,mutant=clip-", tmp_path) == names
    given = offered("cts run -d interpreter:", tmp_path, may_be_slow=True)
    assert given[0] == "interpreter:subgroup_size=" and "interpreter:mutant=" in given
    assert offered("cts run -d nope:", tmp_path) == []


def test_a_broken_file_of_settings_is_no_matter(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.cts\n")
    assert offered("cts run --profile sm", tmp_path) == ["smoke"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_shown(shell: str) -> None:
    command = [sys.executable, "-m", "cts", "--show-completion", shell]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    script = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert f"_CTS_COMPLETE=complete_{shell}" in script


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
def test_in_bash(tmp_path: Path) -> None:
    """The installed script, in the shell itself."""
    command = tmp_path / "cts"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m cts "$@"\n')
    command.chmod(0o755)
    script = """
    eval "$(_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION=1 cts --show-completion bash)"
    COMP_WORDS=(cts run --area red) COMP_CWORD=3
    $(complete -p cts | sed 's/.*-F \\([^ ]*\\) .*/\\1/') cts red --area
    echo "${COMPREPLY[@]}"
    """
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    ran = subprocess.run(
        ["bash", "--norc", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert (ran.stdout, ran.stderr) == ("reductions\n", "")
