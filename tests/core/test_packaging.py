"""Every importable folder of the checkout is shipped under `cts`, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SIBLINGS = ("generators", "answers", "cases", "rules", "universes", "reference", "drivers")

#: Shipped for the data in it, and no package of code.
DATA = {"cts.docs"}


def test_every_package_is_listed() -> None:
    """A nested package left out of the list would be missing from the wheel without an error."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    listed = set(config["tool"]["setuptools"]["packages"])
    found = {
        "cts." + ".".join(init.parent.relative_to(ROOT).parts)
        for sibling in SIBLINGS
        for init in (ROOT / sibling).rglob("__init__.py")
    }
    found |= {".".join(init.parent.relative_to(ROOT).parts) for init in (ROOT / "cts").rglob("__init__.py")}
    assert listed == found | DATA


def test_every_module_is_in_a_package() -> None:
    for folder in ("cts", *SIBLINGS):
        for module in (ROOT / folder).rglob("*.py"):
            assert (module.parent / "__init__.py").is_file(), module


@pytest.mark.parametrize("where", ["checkout", "installed"])
def test_documented_imports(where: str) -> None:
    """What third parties import works in a plain checkout as where these tests run; `.ci/run` asks the wheel."""
    environment = dict(os.environ)
    if where == "checkout":
        environment["PYTHONPATH"] = str(ROOT)
    command = [sys.executable, "-P", str(ROOT / ".ci" / "documented-imports"), str(ROOT)]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_the_quick_tests_are_there() -> None:
    """pytest would run nothing at all if one of them were gone."""
    lines = (ROOT / ".ci" / "quick-tests").read_text(encoding="utf-8").splitlines()
    named = [line.partition("::")[0] for line in lines if line.startswith("tests/")]
    assert named and all((ROOT / path).exists() for path in named)
