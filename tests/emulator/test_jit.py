from __future__ import annotations

from typing import Any

import numba
import pytest

from cts.drivers.emulator import jit


def test_kernels_compile_where_no_cache_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    original = numba.njit

    def without_cache(*args: Any, cache: bool = False, **options: Any) -> Any:
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return original(*args, **options)

    monkeypatch.setattr(numba, "njit", without_cache)

    @jit.kernel("int64(int64)")
    def doubled(number: int) -> int:
        return 2 * number

    assert doubled(21) == 42


def test_cache_files_follow_the_sources() -> None:
    from cts.drivers.emulator.matrices.address import matrix_addresses

    assert matrix_addresses.__qualname__.endswith(jit._SOURCES)


def test_division_by_zero_does_not_trap() -> None:
    @jit.kernel("int64(int64, int64)")
    def quotient(a: int, b: int) -> int:
        return a // b + a % b

    assert quotient(7, 0) == 0
