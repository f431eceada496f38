"""Cases on a real Vulkan implementation, which may live on another machine and may die at any time."""

from __future__ import annotations

from cts.driver import Driver


def create(options: dict[str, str]) -> Driver:
    """The driver from a spec string's options: `vulkan`, `vulkan:0`, `vulkan:llvmpipe,worker=chroot /srv/root python3`.

    Raises BadInput for wrong options and for a device that is not there, HarnessTrouble without any device.
    """
    # The worker's modules are inside this package and must not bring the driver's along.
    from cts.drivers.vulkan.driver import VulkanDriver
    from cts.drivers.vulkan.options import parse

    return VulkanDriver(parse(options))
