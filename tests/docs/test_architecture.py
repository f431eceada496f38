"""ARCHITECTURE.md names every room, in the order of the layers, and files that exist."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")


def layers() -> list[set[str]]:
    """The rooms of each layer, the highest first, by the contract of import-linter."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (contract,) = (c for c in contracts if c.get("containers") == ["cts"])
    return [{room.strip() for room in layer.split("|")} for layer in contract["layers"]]


def test_every_room_is_named_in_the_order_of_the_layers() -> None:
    named = re.findall(r"^\| `[\w/.]+` \| `cts\.(\w+)` \|", TEXT, re.MULTILINE)
    expected = layers()
    assert sorted(named) == sorted(room for layer in expected for room in layer)
    places = [next(n for n, layer in enumerate(expected) if room in layer) for room in named]
    assert places == sorted(places)


def test_every_file_that_is_named_exists() -> None:
    named = set(re.findall(r"`((?:cts|reference|generators|drivers|cases)/[\w/.]*)`", TEXT))
    assert len(named) > 40
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []
