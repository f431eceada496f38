"""Drivers for tests of explanations: the emulator as a device, which shows nothing but memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from cts.case.model import Case
from cts.device.capabilities import Capabilities
from cts.device.driver import Job, Outcome
from cts.judging.judge import OpenDriver
from cts.plugins import registry

ORACLE = registry.oracle()


def debugged(case: Case) -> int:
    """How many buffers of intermediate results a case has."""
    return sum(name.startswith("debug_") for name in case.buffers)


class Device:
    """A mutant of the emulator whose matrices are not seen, in cases where `broken` says so; else a right one."""

    def __init__(self, mutant: str, broken: Callable[[Case], bool]) -> None:
        self.name = "device"
        self.wrong = registry.driver(f"emulator:mutant={mutant}" if mutant else "emulator")
        self.right = registry.driver("emulator")
        self.broken = broken
        self.ran: list[Case] = []

    def capabilities(self) -> Capabilities:
        return self.wrong.capabilities()

    def run(self, job: Job) -> Outcome:
        self.ran.append(job.case)
        driver = self.wrong if self.broken(job.case) else self.right
        return replace(driver.run(job), matrices={})

    def close(self) -> None:
        pass


def device(mutant: str, broken: Callable[[Case], bool] = lambda case: True) -> OpenDriver:
    driver = Device(mutant, broken)
    return OpenDriver(f"device:{mutant}", driver, driver.capabilities())
