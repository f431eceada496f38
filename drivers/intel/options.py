"""The options of the driver's spec string."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from cts.base.errors import BadInput
from cts.device.driver_options import among, number, says, seconds
from cts.drivers.intel.mutants import CATALOGUE
from cts.drivers.intel.shim import CHIP_VARIABLE, preloading
from cts.drivers.vulkan.options import Options as VulkanOptions
from cts.plugins.commands import split

#: The chips that the shim knows.
CHIPS = {"lnl": "Lunar Lake, Xe2", "bmg": "Arc B580, Xe2", "ptl": "Panther Lake, Xe3", "dg2": "Arc A770, Xe-HPG"}

DEFAULT_MAX_STEPS = 10_000_000


def mutant_names() -> list[str]:
    """The names of the planted bugs."""
    return [mutant.name for mutant in CATALOGUE.described()]


class Options(msgspec.Struct, frozen=True):
    """What stands after `intel:`."""

    chip: Annotated[Literal["lnl", "bmg", "ptl", "dg2"], among("what ANV compiles for", CHIPS)] = "lnl"
    worker: Annotated[
        str, says("the command that starts the worker where Mesa is", metavar="COMMAND", absent="this Python")
    ] = ""
    icd: Annotated[
        str,
        says("the file of the driver where the worker is", metavar="FILE", absent="the one that is installed"),
    ] = ""
    subgroup_size: Annotated[int, number("another size that the chip has", least=8, most=32, absent="32")] | None = None
    judge: Annotated[
        Literal["memory", "pipeline"],
        among(
            "what a case passes by",
            {"memory": "what its code leaves behind", "pipeline": "its pipeline, which is made and not run"},
        ),
    ] = "memory"
    timeout: Annotated[float, seconds("for all dispatches of a run together")] = 60.0
    max_steps: Annotated[int, number("end a dispatch that executes more instructions", least=1, most=10**12)] = (
        DEFAULT_MAX_STEPS
    )
    negation: Annotated[
        Literal["wraps", "widens"],
        among(
            "what the opposite of the smallest number of a signed type is, in an operand with a minus",
            {"wraps": "the number itself, as ANV's code needs it", "widens": "the positive number, of one bit more"},
        ),
    ] = "wraps"
    functions: Annotated[
        Literal["nearest", "mode"],
        among(
            "how inverses, roots, powers and logarithms are rounded",
            {"nearest": "to the nearest number", "mode": "as the code's rounding mode says, towards zero if that does"},
        ),
    ] = "nearest"
    check: Annotated[
        frozenset[Literal["uninitialised", "beyond"]],
        says(
            "find fault with a run whose memory depends on registers or shared memory that nothing has written, or "
            "with an access outside a descriptor"
        ),
    ] = frozenset()
    mutant: Annotated[str, among("have this change of one word in the compiled code", mutant_names)] = ""
    journal: Annotated[Path, says("folder of the journal and of culprits")] = Path("cts-run/intel")

    def __post_init__(self) -> None:
        """Raise BadInput for a size that subgroups do not have."""
        sizes = (8, 16, 32) if self.chip == "dg2" else (16, 32)
        if self.subgroup_size not in (None, *sizes):
            remedy = " or ".join(str(size) for size in sizes)
            raise BadInput("driver-option", f"subgroup_size={self.subgroup_size}", remedy=remedy)

    @property
    def grf(self) -> int:
        """Bytes of a register."""
        return 32 if self.chip == "dg2" else 64

    def vulkan(self) -> VulkanOptions:
        """The options of the Vulkan driver that compiles. Raises HarnessTrouble where the shim cannot be compiled."""
        return VulkanOptions(
            worker=self.command(),
            icd=self.icd,
            timeout=self.timeout,
            subgroup_size=self.subgroup_size,
            worker_memory=8,
            judge=self.judge,
            journal=self.journal,
        )

    def command(self) -> str:
        """The worker's command, which loads the shim before Mesa. Raises HarnessTrouble."""
        *before, python = split(self.worker) or [sys.executable]
        environment = [f"{CHIP_VARIABLE}={self.chip}", "MESA_SHADER_CACHE_DISABLE=true"]
        if not self.icd:
            environment.append("VK_LOADER_DRIVERS_SELECT=*intel_icd*")
        return shlex.join([*before, "env", *environment, *preloading(python)])
