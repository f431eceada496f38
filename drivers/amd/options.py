"""The options of the driver's spec string."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from cts.base.errors import BadInput
from cts.device.driver import Described
from cts.device.driver_options import among, number, says, seconds
from cts.drivers.amd.mutants import CATALOGUE
from cts.drivers.vulkan.options import Options as VulkanOptions
from cts.plugins.commands import split

#: The chips whose code is known, and what Mesa's shim calls them.
CHIPS = {"gfx1201": "Radeon RX 9070, RDNA 4", "navi31": "Radeon RX 7900, RDNA 3"}

#: The chips of RDNA 3; all others are of RDNA 4.
RDNA3 = ("navi31",)

#: What makes Mesa compile for a chip without one.
SHIM = "libamdgpu_noop_drm_shim.so"

#: What keeps ACO from optimising.
_PLAIN = "noopt,novn,nosched,nosched-ilp,nosched-vopd"

DEFAULT_MAX_STEPS = 10_000_000


def mutant_names() -> list[str]:
    """The names of the planted bugs."""
    return [mutant.name for mutant in CATALOGUE.described()]


def variants() -> list[Described]:
    """Choices that are all right hardware, each named by the text of its option."""
    return [
        Described("sums=chained", "matrix_arithmetic", "products of matrices round each of their sums"),
        Described(
            "functions=low", "matrix_arithmetic", "reciprocals and roots of single precision are rounded towards zero"
        ),
    ]


class Options(msgspec.Struct, frozen=True):
    """What stands after `amd:`."""

    chip: Annotated[Literal["gfx1201", "navi31"], among("what RADV compiles for", CHIPS)] = "gfx1201"
    worker: Annotated[
        str,
        says(
            "the command that starts the worker where Mesa and its no-op shim are",
            metavar="COMMAND",
            absent="this Python",
        ),
    ] = ""
    icd: Annotated[
        str,
        says("the file of the driver where the worker is", metavar="FILE", absent="the one that is installed"),
    ] = ""
    subgroup_size: Annotated[int, number("another size that the chip has", least=32, most=64, absent="64")] | None = (
        None
    )
    timeout: Annotated[float, seconds("for all dispatches of a run together")] = 60.0
    max_steps: Annotated[int, number("end a dispatch that executes more instructions", least=1, most=10**12)] = (
        DEFAULT_MAX_STEPS
    )
    sums: Annotated[
        Literal["once", "chained"],
        among(
            "how a product of floating-point matrices adds its terms",
            {
                "once": "in double precision, rounded at the end",
                "chained": "one by one, each sum rounded to single precision",
            },
        ),
    ] = "once"
    functions: Annotated[
        Literal["rounded", "low"],
        among(
            "what reciprocals, roots, exponentials and logarithms of single precision give that are not exact",
            {"rounded": "the nearest number", "low": "the next one towards zero"},
        ),
    ] = "rounded"
    check: Annotated[
        frozenset[Literal["uninitialised", "beyond"]],
        says(
            "find fault with a run whose memory depends on registers or LDS that nothing has written, or with an "
            "access outside a descriptor"
        ),
    ] = frozenset()
    aco: Annotated[
        Literal["optimise", "plain"],
        among(
            "what Mesa's back end does",
            {
                "optimise": "all that it does by itself",
                "plain": "no optimisation, value numbering or scheduling: what is gone with it comes about there",
            },
        ),
    ] = "optimise"
    mutant: Annotated[str, among("have this change of one word in the compiled code", mutant_names)] = ""
    journal: Annotated[Path, says("folder of the journal and of culprits")] = Path("cts-run/amd")

    def __post_init__(self) -> None:
        """Raise BadInput for a size that waves do not have."""
        if self.subgroup_size not in (None, 32, 64):
            raise BadInput("driver-option", f"subgroup_size={self.subgroup_size}", remedy="32 or 64")

    def vulkan(self) -> VulkanOptions:
        """The options of the Vulkan driver that compiles."""
        return VulkanOptions(
            worker=self.command(),
            icd=self.icd,
            timeout=self.timeout,
            subgroup_size=self.subgroup_size,
            worker_memory=8,
            journal=self.journal,
        )

    def others(self) -> tuple[Options, Options]:
        """The same without optimisations; and, as that may take too many registers, with all that keeps them few."""
        plain = msgspec.structs.replace(self, aco="plain", mutant="")
        *before, python = split(self.worker) or [sys.executable]
        scheduled = shlex.join([*before, "env", "ACO_DEBUG=noopt", python])
        return plain, msgspec.structs.replace(plain, aco="optimise", worker=scheduled)

    def command(self) -> str:
        """The worker's command with Mesa's shim in its environment.

        >>> Options(worker="chroot /srv/mesa python3").command()
        "chroot /srv/mesa env LD_PRELOAD=libamdgpu_noop_drm_shim.so AMDGPU_GPU_ID=gfx1201 \
'VK_LOADER_DRIVERS_SELECT=*radeon*' python3"
        """
        *before, python = split(self.worker) or [sys.executable]
        environment = [f"LD_PRELOAD={SHIM}", f"AMDGPU_GPU_ID={self.chip}"]
        if not self.icd:
            environment.append("VK_LOADER_DRIVERS_SELECT=*radeon*")
        if self.aco == "plain":
            environment.append(f"ACO_DEBUG={_PLAIN}")
        return shlex.join([*before, "env", *environment, python])
