"""Checks of options that are paths."""

from __future__ import annotations

from pathlib import Path

import typer


def written(path: Path | None) -> Path | None:
    """A path to write to. What begins with -- is the next option: the value before it was forgotten."""
    if path is not None and str(path).startswith("--"):
        raise typer.BadParameter(f"a path is missing before {path}; a file of that name is ./{path}")
    return path
