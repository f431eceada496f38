"""What CI, the container and the site install: one version and its hashes for each package, and actions by commit."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCKS = ROOT / ".ci" / "locks"

#: Each lock with the extras and groups that it is for.
ASKED = {
    "ci": (("test", "vulkan"), ("ci",)),
    "container": (("emulator", "spirv-tools", "vulkan"), ("build",)),
    "site": ((), ("site",)),
}


def locked(name: str) -> dict[str, list[tuple[str, int]]]:
    """The versions of each package of a lock, and how many hashes each has."""
    found: dict[str, list[tuple[str, int]]] = {}
    text = (LOCKS / f"{name}.txt").read_text(encoding="utf-8").replace("\\\n", " ")
    for line in text.splitlines():
        match = re.match(r"([a-z0-9-]+)==([^ ;]+)", line)
        assert match is not None, f"{name}: {line[:60]}"
        found.setdefault(match[1], []).append((match[2], line.count("--hash=sha256:")))
    return found


def wanted(extras: tuple[str, ...], groups: tuple[str, ...]) -> list[str]:
    """The requirements of extras and groups, and of what these include."""
    project = CONFIG["project"]
    found = list(project["dependencies"])
    for extra in extras:
        for requirement in project["optional-dependencies"][extra]:
            own = re.match(rf"{project['name']}\[(.*)\]", requirement)
            found += wanted(tuple(own[1].split(",")), ()) if own else [requirement]
    for group in groups:
        for requirement in CONFIG["dependency-groups"][group]:
            included = isinstance(requirement, dict)
            found += wanted((), (requirement["include-group"],)) if included else [requirement]
    return found


def numbers(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)]


@pytest.mark.parametrize("name", ASKED)
def test_everything_has_a_version_and_hashes(name: str) -> None:
    versions = locked(name)
    assert all(hashes for found in versions.values() for _, hashes in found)
    for requirement in wanted(*ASKED[name]):
        match = re.match(r"([A-Za-z0-9_.-]+)(?:\[[a-z]+\])?(?:>=([0-9.]+))?", requirement)
        assert match is not None
        package = re.sub("[_.]", "-", match[1]).lower()
        assert package in versions, f"{requirement}: write .ci/locks anew with .ci/lock"
        for version, _ in versions[package]:
            assert numbers(version) >= numbers(match[2] or "0"), requirement


@pytest.mark.parametrize("name", ASKED)
def test_a_lock_names_no_host(name: str) -> None:
    assert "://" not in (LOCKS / f"{name}.txt").read_text(encoding="utf-8")


def test_every_lock_is_used() -> None:
    names = (".ci/run", ".ci/Containerfile", ".github/workflows/release.yml", "CONTRIBUTING.md")
    lines = [
        line
        for name in names
        for line in re.findall(r"pip\"? install .*", (ROOT / name).read_text(encoding="utf-8"))
        if "pip install -q -e" not in line
    ]
    for lock in LOCKS.iterdir():
        assert any(f".ci/locks/{lock.name}" in line for line in lines)
    for line in lines:
        assert "--require-hashes" in line or "--no-deps" in line, line


def test_actions_are_commits() -> None:
    used = [
        line
        for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))
        for line in re.findall(r"uses: *(.*)", path.read_text(encoding="utf-8"))
    ]
    assert used
    for line in used:
        assert re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line
