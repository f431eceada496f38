"""Checks of paths to write to, before anything begins whose results they would hold."""

from __future__ import annotations

import os
from pathlib import Path

from cts.base.errors import BadInput
from cts.base.input_files import is_folder, text_of


def check_file(path: Path | None, option: str) -> None:
    """Raise BadInput if a file cannot be written: its folder is missing or protected. None is no file."""
    if path is None:
        return
    where = f"{option} {path}"
    if str(path) == "-":
        raise BadInput("output-path", "this cannot be written to stdout", where, "the name of a file")
    _require_possible(path, where)
    if is_folder(path):
        raise BadInput("output-path", "it is a folder", where, "the name of a file in it")
    if not is_folder(path.parent):
        raise BadInput("output-path", f"there is no folder {path.parent}", where, f"mkdir -p {path.parent}, or another")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise BadInput("output-path", "it cannot be written", where, "a file that can be written")


def check_folder(path: Path | None, option: str) -> None:
    """Raise BadInput if a folder cannot be made or written to. Folders above it need not exist. None is no folder."""
    if path is None:
        return
    _require_possible(path, f"{option} {path}")
    above = next((p for p in (path, *path.parents) if p.exists() or p.is_symlink()), Path())
    if not is_folder(above):
        raise BadInput("output-path", f"{above} is no folder", f"{option} {path}", "a folder, there or not")
    if not os.access(above, os.W_OK | os.X_OK):
        raise BadInput("output-path", f"{above} cannot be written", f"{option} {path}", "a folder that can be written")


def _require_possible(path: Path, where: str) -> None:
    """Raise BadInput for a path that the operating system cannot have, as one with too long a name."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, ValueError) as e:
        raise BadInput("output-path", text_of(e), where, "another path") from e
