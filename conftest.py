"""Plugins and fixtures of all tests. In a checkout that is not installed, the entry point's plugin comes from here."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest

pytest_plugins = ["cts.pytest_plugin", "pytester"]

FAKES = Path(__file__).parent / "tests" / "fakes"


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """`--driver fake:KIND` and area `fake_area` work in this process; returns the module."""
    monkeypatch.syspath_prepend(str(FAKES))
    return importlib.import_module("fake_drivers")


@pytest.fixture
def fakes_path() -> Path:
    """The folder that makes the same work in another process, on its PYTHONPATH."""
    return FAKES
