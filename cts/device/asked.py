"""Drivers that are asked about a module before anything is run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from cts.device.driver import Driver

if TYPE_CHECKING:
    from cts.device.job import ModuleJob


@runtime_checkable
class AskedDriver(Driver, Protocol):
    """Optional: a driver that knows of a module whether the device can run it, without running it."""

    def lacks_module(self, job: ModuleJob) -> str:
        """What the device lacks for a module; "" if it can run it."""
        ...
