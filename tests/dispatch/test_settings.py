"""What a dispatch asks of drivers: full subgroups, robust accesses, a timeout."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cts.modules.dispatch import load, run
from tests.dispatch.files import refused, said, write

WORKER = os.environ.get("CTS_TEST_VULKAN_WORKER")
DEVICE = pytest.mark.skipif(WORKER is None, reason="no Vulkan device: set CTS_TEST_VULKAN_WORKER to a worker command")

#: 24 invocations in 3 workgroups of 8, and buffers of 16 elements.
BEYOND = {"dispatch": "dispatch: [3, 1, 1]"}


def test_jobs(tmp_path: Path) -> None:
    job = load(write(tmp_path)).job
    assert (job.full_subgroups, job.robust, job.timeout) == (False, False, None)
    job = load(write(tmp_path, more="full_subgroups: true\nrobust: true\ntimeout: 2.5")).job
    assert (job.full_subgroups, job.robust, job.timeout) == (True, True, 2.5)
    assert not job.robust2
    job = load(write(tmp_path, more="robust2: true")).job
    assert job.robust and job.robust2


def test_robust_accesses(tmp_path: Path) -> None:
    assert "fail: interpreter" in said(run(write(tmp_path, **BEYOND)))
    result = run(write(tmp_path, **BEYOND, robust="robust: true"))
    assert result.status == 0, said(result)


def test_full_subgroups(tmp_path: Path) -> None:
    """A workgroup of 8 fills subgroups of 8, not of 32."""
    path = write(tmp_path, full="full_subgroups: true", size="subgroup_size: 8")
    assert run(path).status == 0
    result = run(write(tmp_path, full="full_subgroups: true"))
    assert result.status == 1
    assert "8 is no multiple of the subgroup size 32, as full subgroups need (VK-042)" in said(result)


@pytest.mark.parametrize("timeout", ["0", "-1", "1e9", "soon"])
def test_timeouts_are_seconds(tmp_path: Path, timeout: str) -> None:
    assert refused(write(tmp_path, timeout=f"timeout: {timeout}")).where.endswith(":9: timeout")


@DEVICE
def test_on_a_device(tmp_path: Path) -> None:
    """Robust accesses and full subgroups are features that the device has."""
    path = write(tmp_path, **BEYOND, robust="robust: true\nfull_subgroups: true\ntimeout: 100", size="subgroup_size: 8")
    result = run(path, ["interpreter", f"vulkan:worker={WORKER}"])
    assert result.status == 0, said(result)


@DEVICE
def test_partial_subgroups_on_a_device(tmp_path: Path) -> None:
    from tests.dispatch.files import ADD

    odd = ADD.replace("LocalSize 8 1 1", "LocalSize 3 1 1")
    result = run(write(tmp_path, assembly=odd, full="full_subgroups: true"), [f"vulkan:worker={WORKER}"])
    assert result.status == 3
    assert "workgroup size 3 in x, no multiple of the subgroup size" in said(result)
