"""Every bench can be imported: what it takes from the suite is there."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"
SCRIPTS = sorted(path.stem for path in BENCH.glob("*.py"))


@pytest.mark.family("name", SCRIPTS)
def test_a_bench_is_imported(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCH))
    importlib.import_module(name)
