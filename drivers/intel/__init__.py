"""Cases as machine code for Intel's Xe2 and Xe-HPG: Mesa's ANV compiles them without a GPU, NumPy runs the code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cts.device.driver import Described, Driver

if TYPE_CHECKING:
    from cts.drivers.intel.options import Options


class _Factory:
    """What the registry names."""

    def __call__(self, options: dict[str, str]) -> Driver:
        """The driver from a spec string's options: `intel:worker=chroot /srv/mesa python3`.

        Raises BadInput for wrong options, HarnessTrouble where Mesa or a C compiler is not there.
        """
        from cts.device.driver_options import parse
        from cts.drivers.intel.driver import IntelDriver

        return IntelDriver(parse(self.option_struct, options, "intel"))

    def mutants(self) -> list[Described]:
        """Changes of one word of compiled code."""
        from cts.drivers.intel.mutants import CATALOGUE

        return CATALOGUE.described()

    @property
    def option_struct(self) -> type[Options]:
        """The options of the driver."""
        from cts.drivers.intel.options import Options

        return Options


create = _Factory()
