"""The `cts` command as a fixture."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Cts


@pytest.fixture
def cts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Cts:
    """`cts` in an empty folder."""
    return Cts(monkeypatch, capsys, tmp_path)
