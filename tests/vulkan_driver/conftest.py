"""Devices for the tests of the vulkan driver."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cts.drivers.vulkan import create
from cts.drivers.vulkan.driver import VulkanDriver

#: Names the worker command of a machine with a Vulkan device; .ci/run sets it to a lavapipe of its own.
WORKER = "CTS_TEST_VULKAN_WORKER"

OpenDevice = Callable[..., VulkanDriver]


@pytest.fixture
def worker() -> str:
    """The worker command of a machine with a device."""
    command = os.environ.get(WORKER)
    if command is None:
        pytest.skip(f"no Vulkan device: set {WORKER} to a worker command (README.md, 'Vulkan devices')")
    return command


@pytest.fixture
def open_device(worker: str, tmp_path: Path) -> Iterator[OpenDevice]:
    """Opens the driver on a real device, with options; closes it after the test."""
    opened: list[VulkanDriver] = []

    def open_(**options: str) -> VulkanDriver:
        driver = create({"worker": worker, "journal": str(tmp_path / "journal"), **options})
        assert isinstance(driver, VulkanDriver)
        opened.append(driver)
        return driver

    yield open_
    for driver in opened:
        driver.close()
