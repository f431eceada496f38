"""Files that come with the suite, found by name: baselines, quarantines, results, and the pages of its documents."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from cts.base.errors import BadInput, did_you_mean
from cts.base.input_files import is_file

#: The package of the documents.
_PACKAGE = "cts.docs"


def shipped(folder: str, suffix: str) -> dict[str, Path]:
    """The files of a folder of the documents ("" for all) with a suffix, by name: the path without the suffix."""
    root = Path(str(resources.files(_PACKAGE) / "facts.md")).parent / folder
    return {str(path.relative_to(root))[: -len(suffix)]: path for path in sorted(root.rglob(f"*{suffix}"))}


def by_name(name: str, folder: str, suffix: str, code: str) -> Path:
    """The shipped file of a name. Raises BadInput with `code` for an unknown name."""
    files = shipped(folder, suffix)
    if name not in files:
        what = f"neither a file nor a shipped {folder}" if folder else "there is no such page"
        raise BadInput(code, what, name, did_you_mean(name, sorted(files)))
    return files[name]


def file_or_shipped(path: Path, folder: str, suffix: str, code: str) -> Path:
    """A file, or the shipped one of this name. Raises BadInput with `code` if there is neither."""
    return path if path.suffix or is_file(path) else by_name(path.name, folder, suffix, code)
