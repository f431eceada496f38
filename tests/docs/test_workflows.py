"""Workflows of GitHub and GitLab run what there is: files of the tree, verbs and options, shipped baselines."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from cts.base import plain_yaml
from cts.base.shipped import shipped
from cts.plugins import registry
from tests.docs.test_commands import wrong

TREE = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((TREE / ".github" / "workflows").glob("*.yml"))

#: Programs of the machine, not of the tree.
PROGRAMS = {"apt-get", "bash", "gh", "git", "mv", "pip", "test"}


def parsed(text: str, where: str) -> dict[str, Any]:
    found = plain_yaml.parse(text, where)
    assert isinstance(found, dict)
    return found


def of_gitlab() -> dict[str, Any]:
    """The sample of the page."""
    (block,) = re.findall(r"^```yaml\n(.*?)^```$", (TREE / "docs/nightly.md").read_text(), re.MULTILINE | re.DOTALL)
    return parsed(block, "docs/nightly.md")


def shell(workflow: dict[str, Any]) -> Iterator[str]:
    """The commands of a workflow of GitHub."""
    for job in workflow["jobs"].values():
        assert job["runs-on"] and job["steps"]
        for step in job["steps"]:
            assert ("run" in step) != ("uses" in step), step
            yield from re.split(r" && |\n", step.get("run", ""))


def is_there(command: str) -> bool:
    """Whether a command of a shell is one of the machine, or a file of the tree that can be run."""
    words = shlex.split(re.sub(r"\$\{\{.*?\}\}|\$\(.*\)", "X", command))
    program = words[1] if words[0] == "bash" else words[0]
    return program in PROGRAMS or (program.startswith(".ci/") and os.access(TREE / program, os.X_OK))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_every_command_of_a_workflow_is_there(path: Path) -> None:
    commands = [line for line in shell(parsed(path.read_text(), path.name)) if line.strip()]
    assert [command for command in commands if not is_there(command)] == []


def test_every_command_of_the_sample_for_gitlab_is_there() -> None:
    job = of_gitlab()["nightly"]
    commands = [part for line in (*job["script"], *job["after_script"]) for part in line.split(" && ")]
    assert [command for command in commands if not is_there(command)] == []
    assert any(command == ".ci/nightly build/nightly" for command in commands)
    (published,) = [shlex.split(command) for command in job["after_script"]]
    assert published[1:] == ["build/nightly/site", "public"] and "public" in job["artifacts"]["paths"]


def test_what_is_not_there_is_seen() -> None:
    assert is_there('git config --global --add safe.directory "$PWD"') and is_there("bash .ci/run")
    assert not is_there(".ci/nothing") and not is_there("bash .ci/wings.toml") and not is_there("cts run")


def test_the_night_publishes_what_it_uploads() -> None:
    jobs = parsed((TREE / ".github/workflows/nightly.yml").read_text(), "nightly.yml")["jobs"]
    paths = [step["with"]["path"] for step in jobs["run"]["steps"] if "upload" in step.get("uses", "")]
    assert paths == ["build/nightly/runs", "build/nightly/site"]
    assert jobs["publish"]["needs"] == "run" and jobs["publish"]["permissions"]["pages"] == "write"


@pytest.mark.skipif(os.name != "posix", reason="a shell")
@pytest.mark.parametrize("status", [0, 1])
def test_each_command_of_the_night_is_one_of_this_suite(tmp_path: Path, status: int) -> None:
    """Run with programs that only note how they were called; the runs' exit status is the night's."""
    programs = tmp_path / "venv" / "bin"
    programs.mkdir(parents=True)
    fake = f"""#!/bin/bash
    {{ printf '%q ' "$(basename "$0")" "$@"; echo; }} >>{tmp_path}/called
    first=$1
    while [ $# -gt 0 ]; do [ "$1" = --save-dir ] && mkdir -p "$2/$(ls "$2" 2>/dev/null | wc -l)"; shift; done
    [ "$first" != run ] || exit {status}
    """
    for name in ("cts", "mkdocs", "python"):
        (programs / name).write_text(fake)
        (programs / name).chmod(0o755)
    night = subprocess.run(
        [TREE / ".ci/nightly", tmp_path / "out"],
        env=os.environ | {"CTS_NIGHT_VENV": str(tmp_path / "venv"), "CTS_TEST_VULKAN_WORKER": "chroot /root python3"},
        capture_output=True,
        text=True,
    )
    assert night.returncode == status, night.stdout + night.stderr
    called = [line.strip() for line in (tmp_path / "called").read_text().splitlines()]
    assert called[0].startswith("mkdocs build") and (tmp_path / "out/site/versions.txt").is_file()
    of_cts = [shlex.split(line) for line in called[1:]]
    assert [command for words in of_cts if (command := shlex.join(words)) and wrong(command)] == []
    runs = [words for words in of_cts if words[1] == "run"]
    verbs = [words[1] for words in of_cts[len(runs) :]]
    assert verbs == ["compare", *["report"] * len(runs), "--version", "doctor", "doctor", "findings", "findings"]
    for words in of_cts:
        options = list(pairwise(words))
        assert {value for option, value in options if option == "--baseline"} <= shipped("baseline", ".yaml").keys()
        specs = [value for option, value in options if option in ("--driver", "-d") and value != "spirv-val"]
        for spec in specs:
            registry.check_driver(spec)
    assert {spec.partition(":")[0] for words in runs for spec in words[words.index("--driver") + 1 :: 2]} >= {
        "emulator", "interpreter", "vulkan", "amd",
    }  # fmt: skip
