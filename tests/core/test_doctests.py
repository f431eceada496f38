"""Every example in a docstring of the package is true."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def modules() -> list[str]:
    found = [".".join(m.relative_to(ROOT).with_suffix("").parts) for m in (ROOT / "cts").rglob("*.py")]
    for folder in ("generators", "reference", "drivers"):
        found += ["cts." + ".".join(m.relative_to(ROOT).with_suffix("").parts) for m in (ROOT / folder).rglob("*.py")]
    # Importing `cts.__main__` runs the command line; the worker needs a Vulkan loader.
    skipped = ("cts.__main__", "cts.drivers.vulkan.worker.")
    return sorted(m.removesuffix(".__init__") for m in found if not m.startswith(skipped))


@pytest.mark.parametrize("name", modules())
def test_examples_in_docstrings(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0
