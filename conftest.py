"""Plugins and fixtures of all tests. In a checkout that is not installed, the entry point's plugin comes from here."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from cts.plugins import registry
from tests.browser import Browse, browser_of

if TYPE_CHECKING:
    from cts.drivers.vulkan.driver import VulkanDriver

pytest_plugins = ["cts.pytest_plugin", "pytester"]

FAKES = Path(__file__).parent / "tests" / "fakes"


@pytest.fixture(scope="session", autouse=True)
def no_workflow() -> Iterator[None]:
    """In a workflow of GitHub, runs of the tests are not to be reported there."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE"):
            patch.delenv(name, raising=False)
        yield


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """`--driver fake:KIND` and area `fake_area` work in this process; returns the module."""
    monkeypatch.syspath_prepend(str(FAKES))
    # As one of the suite's own drivers, which share its process.
    monkeypatch.setitem(registry._EMBEDDED["cts.drivers"], "fake", "fake_drivers:factory")
    return importlib.import_module("fake_drivers")


@pytest.fixture
def fakes_path() -> Path:
    """The folder that makes the same work in another process, on its PYTHONPATH."""
    return FAKES


#: Names the worker command of a machine with a Vulkan device; .ci/run sets it to a lavapipe of its own.
WORKER = "CTS_TEST_VULKAN_WORKER"


@pytest.fixture
def vulkan_worker() -> str:
    """The worker command of a machine with a Vulkan device."""
    command = os.environ.get(WORKER)
    if command is None:
        pytest.skip(f"no Vulkan device: set {WORKER} to a worker command (README.md, 'Vulkan devices')")
    return command


@pytest.fixture
def open_device(vulkan_worker: str, tmp_path: Path) -> Iterator[Callable[..., VulkanDriver]]:
    """Opens the vulkan driver on a real device, with options; closes it after the test."""
    from cts.drivers.vulkan import create
    from cts.drivers.vulkan.driver import VulkanDriver

    opened: list[VulkanDriver] = []

    def open_(**options: str) -> VulkanDriver:
        driver = create({"worker": vulkan_worker, "journal": str(tmp_path / "journal"), **options})
        assert isinstance(driver, VulkanDriver)
        opened.append(driver)
        return driver

    yield open_
    for driver in opened:
        driver.close()


@pytest.fixture
def browse(tmp_path: Path) -> Browse:
    """Opens a page in a headless browser and gives its document then; whatever the console says fails the test."""
    return browser_of(tmp_path)
