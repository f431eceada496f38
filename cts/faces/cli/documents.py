"""`--json` of verbs that print one document.

It goes to a file, and with - to standard output, where nothing else goes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any


def is_stdout(path: Path | None) -> bool:
    """Whether the document goes to standard output, so that nothing else may."""
    return path is not None and str(path) == "-"


def check_json(path: Path | None) -> None:
    """Raise BadInput if the file cannot be written."""
    from cts.running.outputs import check_file

    check_file(None if is_stdout(path) else path, "--json")


def write_json(path: Path | None, document: Any) -> None:
    """Write a document where it is wanted. Raises BadInput if the file cannot be written."""
    from cts.base.errors import BadInput
    from cts.base.plain_json import pretty

    if path is None:
        return
    text = pretty(document).decode()
    if is_stdout(path):
        print(text, end="", flush=True)
        return
    try:
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as e:
        raise BadInput("output-path", e.strerror or str(e), f"--json {path}", "a file that can be written") from e
