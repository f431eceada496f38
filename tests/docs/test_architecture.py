"""ARCHITECTURE.md names every room, in the order of the layers, and files that exist."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")


def layers() -> list[set[str]]:
    """The wings of each layer, the highest first, by the contract of import-linter."""
    return _layers("pyproject.toml")


def _layers(file: str) -> list[set[str]]:
    settings = tomllib.loads((ROOT / file).read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (contract,) = (c for c in contracts if c.get("containers") == ["cts"])
    return [{wing.strip() for wing in layer.split("|")} for layer in contract["layers"]]


def test_every_wing_is_named_in_the_order_of_the_layers() -> None:
    named = re.findall(r"^\| `(?:cts/)?(\w+)(?:\.py|/)` \|", TEXT, re.MULTILINE)
    expected = layers()
    assert sorted(named) == sorted(wing for layer in expected for wing in layer)
    places = [next(n for n, layer in enumerate(expected) if wing in layer) for wing in named]
    assert places == sorted(places)


def test_the_order_with_imports_for_type_checkers_is_the_same() -> None:
    assert _layers(".ci/wings.toml") == layers()


def test_the_first_level_can_be_seen_at_a_glance() -> None:
    first = {path.stem for path in (ROOT / "cts").iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    assert len(first - {"__init__"}) <= 17


def test_every_file_that_is_named_exists() -> None:
    named = set(re.findall(r"`((?:cts|reference|generators|drivers|cases)/[\w/.]*)`", TEXT))
    assert len(named) > 40
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []
