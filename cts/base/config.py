"""Defaults of options from a project's `pyproject.toml`, table `tool.cts`. See docs/configuration.md."""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType, defstruct

from cts.base.errors import BadInput, did_you_mean
from cts.base.input_files import Kind, is_file, utf8_text
from cts.base.located import explained
from cts.base.settings import Declared, declared

FILE = "pyproject.toml"
TABLE = "tool.cts"

_KIND = Kind("config", "a TOML file in UTF-8")

_Path = Annotated[
    str, Meta(description="A path, relative to the folder of this file.", min_length=1, pattern=r"^[^\x00]*$")
]


def _type(setting: Declared) -> Any:
    """What a value of a setting may be in TOML."""
    at_least = setting.option.at_least
    bounds = Meta(ge=int(at_least)) if at_least is not None else None
    kinds: dict[type, Any] = {Path: _Path, tuple: tuple[str, ...]}
    if setting.name == "jobs":
        return Annotated[int, Meta(ge=1)] | Literal["auto"]
    kind = kinds.get(setting.kind, setting.kind)
    return Annotated[kind, bounds] if bounds is not None else kind


#: The type of each setting, by its key.
_TYPES: dict[str, Any] = {one.key: _type(one) for one in declared().values() if one.key}

#: The table as a whole. Sessions of pytest have those of its settings that are options `--cts-...`.
Table = defstruct(
    "Settings",
    [(key.replace("-", "_"), kind | UnsetType, UNSET) for key, kind in _TYPES.items()],
    rename="kebab",
    frozen=True,
    forbid_unknown_fields=True,
)

#: Keys of releases before 1.0, and what to write instead.
_RENAMED = {key: f'vary = ["{key}=..."]' for key in ("forms", "optimised", "stages", "subgroup-sizes")}
_RENAMED |= dict.fromkeys(("reduce-seconds", "bundle-seconds"), "reduce-time = 20.0")

#: Settings that are paths, by key.
_PATHS = frozenset(one.key for one in declared().values() if one.key and one.kind is Path)


@dataclass(frozen=True)
class Config:
    """The settings of a file, by key: `baseline`, `max-examples`. `errors` are what is wrong with the others.

    Paths are as they are seen from the current folder.
    """

    path: Path
    settings: dict[str, Any]
    errors: tuple[BadInput, ...] = ()
    text: str = ""

    def place(self, key: str) -> str:
        """Where a setting stands, for messages."""
        return _place(str(self.path), self.text, key)


def find(start: Path) -> Config | None:
    """The settings of the nearest file with a table `tool.cts`, in this folder or above. None without such a file.

    Raises BadInput for a file that cannot be read or is no TOML.
    """
    for folder in (start, *start.parents):
        path = folder / FILE
        if is_file(path):
            words = utf8_text(path, _KIND, _relative_path(path))
            table = _table(path, words)
            if table is not None:
                return _config(path, table, words)
    return None


def _table(path: Path, words: str) -> Any:
    try:
        document = tomllib.loads(words)
    except (ValueError, RecursionError) as e:  # also numbers of thousands of digits
        what, _, at = str(e).partition(" (at line ")
        line = at.partition(",")[0]
        raise BadInput(
            "config-toml", what, f"{_relative_path(path)}:{line}" if line else _relative_path(path), _KIND.remedy
        ) from e
    tools = document.get("tool", {})
    return tools.get("cts") if isinstance(tools, dict) else None


def _place(where: str, words: str, key: str) -> str:
    """`file:line: tool.cts.key`; without a line if the key is not written in the plain way."""
    lines = words.splitlines()
    start = next((n for n, line in enumerate(lines) if re.match(rf"\s*\[\s*{re.escape(TABLE)}\s*\]", line)), 0)
    named = re.compile(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=")
    line = next((n + 1 for n, line in enumerate(lines) if n > start and named.match(line)), None)
    return f"{where}:{line}: {TABLE}.{key}" if line else f"{where}: {TABLE}.{key}"


def _config(path: Path, table: Any, words: str) -> Config:
    where = _relative_path(path)
    if not isinstance(table, dict):
        raise BadInput("config-value", f"{TABLE} is not a table", where, f"[{TABLE}] and settings below it")
    settings: dict[str, Any] = {}
    errors = []
    for key, value in table.items():
        place = _place(where, words, key)
        if key not in _TYPES:
            remedy = _RENAMED.get(key) or did_you_mean(key, _TYPES)
            errors.append(BadInput("config-key", f"there is no setting {key!r}", place, remedy))
            continue
        try:
            converted = msgspec.convert(value, _TYPES[key])
        except msgspec.ValidationError as e:
            what, steps, remedy = explained(str(e), value, _TYPES[key], "`cts schema config`")
            errors.append(BadInput("config-value", what, place + "".join(f"[{step}]" for step in steps), remedy))
            continue
        if key in _PATHS and converted != "-":
            converted = _relative_path(path.parent / converted)
        settings[key] = converted
    return Config(Path(where), settings, tuple(errors), words)


def _relative_path(path: Path) -> str:
    """A path relative to the current folder."""
    return os.path.relpath(path)
