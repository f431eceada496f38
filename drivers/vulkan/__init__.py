"""Cases on a real Vulkan implementation, which may live on another machine and may crash at any time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cts.device.driver import Driver

if TYPE_CHECKING:
    from cts.drivers.vulkan.options import Options


class _Factory:
    """What the registry names. Imports late: the worker's modules are in this package, and do not need the driver."""

    #: The option `validation` loads a validation layer.
    validates = True
    runs_stages = True

    makes_pipelines = True

    def __call__(self, options: dict[str, str]) -> Driver:
        """The driver from a spec string's options: `vulkan`, `vulkan:0`, `vulkan:worker=chroot /srv/root python3`.

        Raises BadInput for wrong options and for a device that is not there, HarnessTrouble without any device.
        """
        from cts.device.driver_options import parse
        from cts.drivers.vulkan.driver import VulkanDriver

        return VulkanDriver(parse(self.option_struct, options, "vulkan"))

    @property
    def option_struct(self) -> type[Options]:
        """The options of the driver."""
        from cts.drivers.vulkan.options import Options

        return Options

    def worker(self) -> bytes:
        """The worker as one file, for `cts worker`."""
        from cts.drivers.vulkan.package import zipapp

        return zipapp()


create = _Factory()
