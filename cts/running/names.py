"""The files of the packaged corpus and their names, without a look into them: no import of the case model."""

from __future__ import annotations

import importlib.resources
from collections.abc import Iterator
from pathlib import Path


def root() -> Path:
    """The folder of the packaged corpus."""
    return Path(str(importlib.resources.files("cts.cases")))


def named_files(base: Path) -> Iterator[tuple[str, Path]]:
    """Every case file of a corpus and its dotted name, which is its place; in no order."""
    for pattern in ("*.yaml", "*.yml"):
        for path in base.rglob(pattern):
            yield ".".join(path.relative_to(base).with_suffix("").parts), path
