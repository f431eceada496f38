"""Defaults of options from a project's `pyproject.toml`, table `tool.cts`. See docs/configuration.md."""

from __future__ import annotations

import difflib
import os
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from cts.errors import BadInput
from cts.input_files import Kind, is_file, utf8_text

FILE = "pyproject.toml"
TABLE = "tool.cts"

_KIND = Kind("config", "a TOML file in UTF-8")

_Count = Annotated[int, Meta(ge=0)]
_Seconds = Annotated[float, Meta(ge=0)]
_Path = Annotated[
    str, Meta(description="A path, relative to the folder of this file.", min_length=1, pattern=r"^[^\x00]*$")
]


class Settings(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Defaults for the options of `cts run` of the same names; `drivers`, `areas` and `transforms` are repeated ones.

    Sessions of pytest have those that are options `--cts-...`.
    """

    drivers: tuple[str, ...] | UnsetType = UNSET
    areas: tuple[str, ...] | UnsetType = UNSET
    corpus: bool | UnsetType = UNSET
    generate: bool | UnsetType = UNSET
    profile: str | UnsetType = UNSET
    max_examples: Annotated[int, Meta(ge=1)] | UnsetType = UNSET
    seed: _Count | UnsetType = UNSET
    shard: Annotated[str, Meta(examples=["2/3"])] | UnsetType = UNSET
    jobs: Annotated[int, Meta(ge=1)] | Literal["auto"] | UnsetType = UNSET
    max_time: _Seconds | UnsetType = UNSET
    quarantine: _Path | UnsetType = UNSET
    baseline: _Path | UnsetType = UNSET
    validation: bool | UnsetType = UNSET
    transforms: tuple[str, ...] | UnsetType = UNSET
    forms: _Count | UnsetType = UNSET
    stages: str | UnsetType = UNSET
    optimised: _Count | UnsetType = UNSET
    reruns: _Count | UnsetType = UNSET
    save_dir: _Path | UnsetType = UNSET
    bundle_dir: _Path | UnsetType = UNSET
    bundle_seconds: _Seconds | UnsetType = UNSET
    json: _Path | UnsetType = UNSET
    junit: _Path | UnsetType = UNSET
    html: _Path | UnsetType = UNSET


#: The type of each setting, by its key.
_TYPES = {field.encode_name: field.type for field in msgspec.structs.fields(Settings)}

#: Settings that are paths, by key.
_PATHS = frozenset(key for key, kind in _TYPES.items() if _Path in getattr(kind, "__args__", ()))


@dataclass(frozen=True)
class Config:
    """The settings of a file, by key: `baseline`, `max-examples`. `errors` are what is wrong with the others.

    Paths are as they are seen from the current folder.
    """

    path: Path
    settings: dict[str, Any]
    errors: tuple[BadInput, ...] = ()

    def place(self, key: str) -> str:
        """Where a setting stands, for messages."""
        return f"{self.path}: {TABLE}.{key}"


def find(start: Path) -> Config | None:
    """The settings of the nearest file with a table `tool.cts`, in this folder or above. None where there is none.

    Raises BadInput for a file that cannot be read or is no TOML.
    """
    for folder in (start, *start.parents):
        path = folder / FILE
        if is_file(path):
            table = _table(path)
            if table is not None:
                return _config(path, table)
    return None


def _table(path: Path) -> Any:
    where = _seen(path)
    words = utf8_text(path, _KIND, where)
    try:
        document = tomllib.loads(words)
    except (ValueError, RecursionError) as e:  # also numbers of thousands of digits
        raise BadInput("config-toml", str(e), where, _KIND.remedy) from e
    tools = document.get("tool", {})
    return tools.get("cts") if isinstance(tools, dict) else None


def _config(path: Path, table: Any) -> Config:
    where = _seen(path)
    if not isinstance(table, dict):
        raise BadInput("config-value", f"{TABLE} is not a table", where, f"[{TABLE}] and settings below it")
    settings: dict[str, Any] = {}
    errors = []
    for key, value in table.items():
        place = f"{where}: {TABLE}.{key}"
        if key not in _TYPES:
            close = difflib.get_close_matches(key, _TYPES, n=1)
            remedy = f"did you mean {close[0]!r}?" if close else f"one of: {', '.join(_TYPES)}"
            errors.append(BadInput("config-key", f"there is no setting {key!r}", place, remedy))
            continue
        try:
            converted = msgspec.convert(value, _TYPES[key])
        except msgspec.ValidationError as e:
            remedy = "what the message asks for: `cts schema config` prints the schema"
            errors.append(BadInput("config-value", str(e).partition(" - at ")[0], place, remedy))
            continue
        if key in _PATHS and converted != "-":
            converted = _seen(path.parent / converted)
        settings[key] = converted
    return Config(Path(where), settings, tuple(errors))


def _seen(path: Path) -> str:
    """A path as it is seen from the current folder."""
    return os.path.relpath(path)
