from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numba
import pytest

from cts.base.errors import BadInput
from cts.drivers.emulator import create, jit

#: A process that runs one case on the emulator, and says what it compiles.
ONE_CASE = """
import logging
logging.basicConfig(format="%(message)s", level=logging.INFO)
from cts.judging.judge import judge
from cts.plugins import registry
from cts.running import corpus
from cts.running.opening import open_driver
oracle = registry.oracle()
case = corpus.read(corpus.find_one("matrix_memory.constants.literal"), oracle)
print(judge(open_driver("emulator"), case, oracle.expect(case)).verdict.value)
"""


def test_kernels_compile_where_no_cache_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    original = numba.njit

    def without_cache(*args: Any, cache: bool = False, **options: Any) -> Any:
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return original(*args, **options)

    monkeypatch.setattr(jit, "_njit", without_cache)

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


def test_a_kernel_is_compiled_by_its_first_call(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jit.Kernel, "all", [])

    @jit.kernel("int64(int64)")
    def tripled(number: int) -> int:
        return 3 * number

    with caplog.at_level(logging.INFO):
        assert caplog.messages == []
        assert [tripled(1), tripled(2)] == [3, 6]
    assert len(caplog.messages) <= 1  # none where it is in the cache
    assert all("compiling" in message and "1 of 1" in message for message in caplog.messages)


def test_processes_that_start_together_compile_each_function_once(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", ONE_CASE], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    outputs = [p.communicate() for p in processes]
    assert [out.strip() for out, _ in outputs] == ["pass", "pass"], outputs
    compiled = [line.split()[2] for _, err in outputs for line in err.splitlines() if "compiling" in line]
    assert compiled
    assert len(compiled) == len(set(compiled))


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


def test_an_emulator_without_numba_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.setattr("cts.drivers.emulator.driver.find_spec", lambda name: None if name == "numba" else object())
    assert create.mutants()
    with pytest.raises(BadInput) as refused:
        create({})
    assert "numba" in refused.value.what
    assert "coopmat-cts[emulator]" in refused.value.remedy
