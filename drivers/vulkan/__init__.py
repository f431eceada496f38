"""Cases on a real Vulkan implementation, which may live on another machine and may die at any time."""

from __future__ import annotations

from cts.driver import Driver
from cts.drivers.vulkan.driver import VulkanDriver
from cts.drivers.vulkan.options import Options, parse


def create(options: dict[str, str]) -> Driver:
    """The driver from a spec string's options: `vulkan`, `vulkan:0`, `vulkan:llvmpipe,worker=chroot /srv/root python3`."""
    return VulkanDriver(parse(options))


__all__ = ["Options", "VulkanDriver", "create", "parse"]
