"""The files of rules that come with the suite."""

from __future__ import annotations

import importlib.resources
import re
from pathlib import Path

#: The name of a rule in its file.
_NAME = re.compile(r"^  ([a-z0-9_]+):$", re.MULTILINE)


def rule_files() -> list[Path]:
    """The files, in alphabetical order; a rule is called after its file and its name in there."""
    return sorted(_folder().glob("*.yaml"))


def shader_files() -> list[Path]:
    """The files of rules of GLSL, in alphabetical order."""
    return sorted((_folder() / "shaders").glob("*.yaml"))


def base_files() -> dict[str, Path]:
    """The cases whose modules rules edit, by name."""
    return {path.stem: path for path in sorted((_folder() / "bases").glob("*.yaml"))}


def rule_names() -> list[str]:
    """The names of all rules, without reading more of them."""
    return [f"{path.stem}.{name}" for path in rule_files() for name in _NAME.findall(path.read_text(encoding="utf-8"))]


def _folder() -> Path:
    return Path(str(importlib.resources.files("cts.rules")))
