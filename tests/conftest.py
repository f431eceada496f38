"""The fake drivers as an installed package, for every test that wants them."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest

FAKES = Path(__file__).parent / "fakes"


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """`--driver fake:KIND` and area `fake_area` work in this process; returns the module."""
    monkeypatch.syspath_prepend(str(FAKES))
    return importlib.import_module("fake_drivers")


@pytest.fixture
def fakes_path(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same for processes that the test starts."""
    monkeypatch.setenv("PYTHONPATH", str(FAKES))
    return FAKES
