"""Compiled functions, whatever is in the cache."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cts.drivers.emulator import jit


@pytest.mark.parametrize("error", [PermissionError(13, "Permission denied"), EOFError("Ran out of input")])
def test_a_cache_that_cannot_be_read(error: Exception, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Files of another user, or a damaged one: the function is compiled without it."""

    def cannot_be_read(signature: str) -> None:
        raise error

    def njit(*signature: str, cache: bool = False, **more: object) -> Callable[[Any], Any]:
        cached = SimpleNamespace(stats=SimpleNamespace(cache_path=str(tmp_path)), compile=cannot_be_read)
        return lambda function: cached if cache else function

    monkeypatch.setattr(jit, "_njit", njit)
    monkeypatch.setattr(jit.Kernel, "all", [])
    assert jit.Kernel("int64(int64)", lambda number: number + 1)(2) == 3
