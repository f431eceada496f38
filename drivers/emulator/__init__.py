"""Runs cases invocation by invocation, with legal variants and planted bugs."""

from cts.drivers.emulator.driver import create

__all__ = ["create"]
