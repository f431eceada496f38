"""Entries that are added to the files of baselines, whose comments and order stay."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cts.base.errors import BadInput
from cts.base.input_files import utf8_text
from cts.base.plain_yaml import flow, parse
from cts.case.model.identity import HASHES
from cts.judging.known.quarantine import FILE, PAGE, loads_rules

_HEAD = f"schema: 1\nhashes: {HASHES}\nentries:\n"


def check(path: Path) -> str:
    """The text of a file that entries can be added to, with `entries` as its last key; of a new file the head.

    Raises BadInput for a file that is no baseline, or in which something stands after its entries.
    """
    if not path.exists():
        if not path.parent.is_dir():
            raise BadInput(
                "baseline-unwritable", f"no folder {path.parent}", str(path), "a file in a folder that exists"
            )
        return _HEAD
    text = utf8_text(path, FILE)
    loads_rules(text, str(path))
    data = parse(text, str(path), PAGE)
    empty = text.rstrip().endswith("entries: []")
    if list(data)[-1] != "entries" or (not empty and text.rstrip().endswith(("]", "}")) and "entries: [" in text):
        raise BadInput(
            "baseline-order", "`entries` is not the last key, as a list with a line for each entry", str(path),
            "`entries:` at the end of the file, and its entries below it as `  - {...}`",
        )  # fmt: skip
    return text.rstrip().removesuffix(" []") + "\n"


def append(path: Path, entry: Mapping[str, Any]) -> None:
    """Add an entry at the end of a file, which is made if it does not exist. Raises BadInput."""
    text = f"{check(path)}  - {flow(dict(entry))}\n"
    loads_rules(text, str(path))
    path.write_text(text, encoding="utf-8")
