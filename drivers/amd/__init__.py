"""Cases as machine code for AMD's RDNA 4: Mesa's RADV compiles them without a GPU, and NumPy runs what it made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cts.device.driver import Described, Driver

if TYPE_CHECKING:
    from cts.drivers.amd.options import Options


class _Factory:
    """What the registry names."""

    def __call__(self, options: dict[str, str]) -> Driver:
        """The driver from a spec string's options: `amd:worker=chroot /srv/mesa python3`.

        Raises BadInput for wrong options, HarnessTrouble where Mesa or its shim is not there.
        """
        from cts.device.driver_options import parse
        from cts.drivers.amd.driver import AmdDriver

        return AmdDriver(parse(self.option_struct, options, "amd"))

    def mutants(self) -> list[Described]:
        """Changes of one word of compiled code."""
        from cts.drivers.amd.mutants import CATALOGUE

        return CATALOGUE.described()

    def variants(self) -> list[Described]:
        """Choices of hardware that no document makes."""
        from cts.drivers.amd.options import variants

        return variants()

    @property
    def option_struct(self) -> type[Options]:
        """The options of the driver."""
        from cts.drivers.amd.options import Options

        return Options


create = _Factory()
