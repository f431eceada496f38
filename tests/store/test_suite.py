"""The suite's identity: its own modules and nothing that lies beside them, in a checkout as in a wheel."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]


def identity(where: Path) -> str:
    """The digest of the suite that lies in a folder."""
    code = "import cts.running.suite as s; print(s.__file__); print(s.files())"
    command = [sys.executable, "-P", "-B", "-c", code]
    environment = {**os.environ, "PYTHONPATH": str(where)}
    ran = subprocess.run(command, env=environment, cwd=where, capture_output=True, text=True, check=True)
    path, digest = ran.stdout.split()
    assert Path(path).is_relative_to(where)
    return digest


def copied(source: Path, target: Path) -> None:
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "*.yaml", "*.md", "*.json"))


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkout")
    for path in set(CONFIG["package-dir"].values()) - {"docs"}:
        copied(ROOT / path, folder / path)
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def test_a_wheel_has_the_identity_of_its_checkout(checkout: Path, tmp_path: Path) -> None:
    """A wheel has the packages that pyproject.toml lists, where it says."""
    for name, path in CONFIG["package-dir"].items():
        if (checkout / path).is_dir():
            copied(checkout / path, tmp_path / Path(*name.split(".")))
    assert identity(tmp_path) == identity(checkout)


def written(name: str, text: str = "x = 1\n") -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)

    return write


NEIGHBOURS = {
    "a virtual environment": written(".venv/lib/python3.11/site-packages/numpy/__init__.py"),
    "another one": written("venv/lib/python3.11/site-packages/cts/__init__.py"),
    "what pip builds": written("build/lib/cts/base/errors.py"),
    "what build builds": written("dist/coopmat_cts/__init__.py"),
    "metadata": written("coopmat_cts.egg-info/SOURCES.txt"),
    "tox": written(".tox/wheel/lib/cts/__init__.py"),
    "a scratch file": written("scratch.py"),
    "a scratch package": written("scratch/__init__.py"),
    "tests": written("tests/test_new.py"),
    "benches": written("bench/new.py"),
    "documentation": written("docs/example.py"),
    "a configuration": written("conftest.py"),
    "another worktree": written("worktrees/other/cts/__init__.py"),
    "a run": written("cts-run/001/repro.py"),
    "what Python compiled": written("cts/__pycache__/errors.cpython-311.py"),
    "a notebook's copy": written("cts/base/.ipynb_checkpoints/errors-checkpoint.py"),
    "an editor's lock": written("cts/base/.#errors.py"),
    "an editor's backup": written("cts/base/errors.py~"),
    "a copy by hand": written("cts/base/errors (copy).py"),
    "what a merge left": written("cts/base/errors.py.orig"),
    "a folder that is no package": written("cts/base/notes/try_it.py"),
    "the commit": written("cts/commit.txt", "0123456789ab-dirty\n"),
}


def test_neighbours_change_nothing(checkout: Path, tmp_path: Path) -> None:
    assert len(NEIGHBOURS) >= 20
    shutil.copytree(checkout, tmp_path, dirs_exist_ok=True)
    before = identity(tmp_path)
    for write in NEIGHBOURS.values():
        write(tmp_path)
    assert identity(tmp_path) == before


@pytest.mark.parametrize(
    "name",
    ["cts/base/errors.py", "drivers/emulator/vm.py", "generators/areas/kernels.py", "reference/__init__.py"],
)
def test_a_changed_module_changes_it(checkout: Path, tmp_path: Path, name: str) -> None:
    shutil.copytree(checkout, tmp_path, dirs_exist_ok=True)
    with (tmp_path / name).open("a") as file:
        file.write("\n# changed\n")
    assert identity(tmp_path) != identity(checkout)


def test_line_ends_change_nothing(checkout: Path, tmp_path: Path) -> None:
    shutil.copytree(checkout, tmp_path, dirs_exist_ok=True)
    path = tmp_path / "cts" / "base" / "errors.py"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert identity(tmp_path) == identity(checkout)


def test_a_module_of_the_same_content_elsewhere_changes_it(checkout: Path, tmp_path: Path) -> None:
    shutil.copytree(checkout, tmp_path, dirs_exist_ok=True)
    (tmp_path / "cts" / "base" / "memory.py").rename(tmp_path / "cts" / "base" / "memories.py")
    (tmp_path / "cts" / "base" / "memory.py").write_text("from cts.base.memories import *\n")
    assert identity(tmp_path) != identity(checkout)
