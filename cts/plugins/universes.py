"""The universes that come with the suite, by their files."""

from __future__ import annotations

import importlib.resources
from pathlib import Path


def packaged() -> dict[str, Path]:
    """Their files by name, in alphabetical order."""
    root = Path(str(importlib.resources.files("cts.universes")))
    return {path.stem: path for path in sorted(root.glob("*.yaml"))}
