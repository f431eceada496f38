"""Entries that are added to the files of baselines, whose comments and order stay."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cts.base.errors import BadInput
from cts.base.input_files import utf8_text
from cts.base.plain_yaml import flow
from cts.case.model.identity import HASHES
from cts.judging.known.quarantine import FILE, loads_rules

_HEAD = f"schema: 1\nhashes: {HASHES}\nentries:\n"

#: An entry with which a file is tried before there is one to add.
_ANY = {"match": {"cases": "*"}, "verdict": "fail", "reason": "any"}


def check(path: Path) -> None:
    """Raises BadInput for a file that no entry can be added to."""
    _with_entry(path, _ANY)


def append(path: Path, entry: Mapping[str, Any]) -> None:
    """Add an entry at the end of a file, which is made if it does not exist. Raises BadInput."""
    path.write_text(_with_entry(path, entry), encoding="utf-8")


def _with_entry(path: Path, entry: Mapping[str, Any]) -> str:
    """The text of a file, or of a new one, with an entry at its end. Raises BadInput."""
    line = f"  - {flow(dict(entry))}\n"
    if not path.exists():
        if not path.parent.is_dir():
            what = f"no folder {path.parent}"
            raise BadInput("baseline-unwritable", what, str(path), "a file in a folder that exists")
        return _HEAD + line
    text = utf8_text(path, FILE)
    before = loads_rules(text, str(path))
    longer = f"{text.rstrip().removesuffix(' []')}\n{line}"
    try:
        after = loads_rules(longer, str(path))
    except BadInput:
        after = ()
    if len(after) != len(before) + 1:
        raise BadInput(
            "baseline-order", "`entries` is not the last key, as a list with a line for each entry", str(path),
            "`entries:` at the end of the file, and its entries below it as `  - {...}`",
        )  # fmt: skip
    return longer
