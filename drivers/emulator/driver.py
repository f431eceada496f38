"""The driver: options in, outcomes out. NumPy and Numba are imported when they are needed, not before."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from cts.driver import Described, Job, Outcome, Status
from cts.drivers.emulator import options as opt
from cts.drivers.emulator.mutants import catalogue
from cts.errors import BadInput

if TYPE_CHECKING:
    from cts.capabilities import Capabilities

#: Subgroups (in programs of vectors, invocations) of one dispatch that fit into this emulator.
MAX_INSTANCES = 1 << 16


class Emulator:
    """Runs cases invocation by invocation, as a GPU would, on the CPU."""

    name = "emulator"

    def __init__(self, options: opt.Options) -> None:
        self._options = options

    def capabilities(self) -> Capabilities:
        """Every feature and every matrix type, for the subgroup size chosen."""
        from cts.capabilities import everything

        return everything(self._options.subgroup_size)

    def run(self, job: Job) -> Outcome:
        """Run the case. An access outside a buffer's memory is a CRASH that names it."""
        from cts.drivers.emulator.matrices.access import MemoryFault
        from cts.drivers.emulator.running import run

        x, y, z = job.case.dispatch.workgroups
        invocations = job.case.dispatch.invocations
        instances = x * y * z * (invocations or job.case.dispatch.subgroups)
        if instances > MAX_INSTANCES:
            noun = "subgroups" if invocations is None else "invocations"
            return Outcome(Status.UNSUPPORTED, detail=f"{instances} {noun} in a dispatch (at most {MAX_INSTANCES})")
        memory = {name: data.copy() for name, data in job.memory.items()}
        try:
            matrices = run(job.case, memory, self._options)
        except MemoryFault as fault:
            return Outcome(Status.CRASH, detail=str(fault))
        return Outcome(Status.DONE, memory, matrices=matrices)

    def close(self) -> None:
        """Nothing to release."""


class Factory:
    """Builds emulators from options, and lists the options that tests choose among.

    It has variants and mutants, see `VariantFactory` and `MutantFactory` in `cts.driver`.
    """

    runs_modules = False

    def __call__(self, options: dict[str, str]) -> Emulator:
        """An emulator. Raises BadInput as `check` does."""
        self.check(options)
        return Emulator(opt.parse(options))

    def check(self, options: dict[str, str]) -> None:
        """Raise BadInput for an option that is wrong, and where what the emulator needs is not installed."""
        opt.parse(options)
        missing = [name for name in ("numba", "filelock") if find_spec(name) is None]
        if missing:
            raise BadInput(
                "emulator-extra",
                f"the emulator needs {' and '.join(missing)}, not installed here",
                "--driver emulator",
                "pip install 'coopmat-cts[emulator]' (in a checkout -e '.[emulator]'), or --driver interpreter",
            )

    def variants(self) -> list[Described]:
        return opt.variants()

    def mutants(self) -> list[Described]:
        return catalogue.mutants()


create = Factory()
