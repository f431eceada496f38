"""Which commit of the suite this is."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

import cts

#: The package `cts`, beside which a checkout has its `.git`.
_PACKAGE = Path(__file__).resolve().parents[1]


def suite() -> str:
    """The version of the suite and its commit, if that is known."""
    return " ".join(filter(None, (cts.__version__, commit())))


@cache
def commit() -> str:
    """The commit of a checkout, with `-dirty` after changes; of an installed suite that of its build; "" if unknown."""
    kept = _PACKAGE / "commit.txt"
    if kept.is_file():
        return kept.read_text(encoding="utf-8").strip()
    if not (_PACKAGE.parent / ".git").exists():
        return ""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        ran = subprocess.run(command, cwd=_PACKAGE, check=True, capture_output=True, encoding="utf-8", timeout=10)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return ""
    return ran.stdout.strip()
