"""The driver: options in, outcomes out. NumPy and Numba are imported when they are needed, not before."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from cts.base.errors import BadInput
from cts.device.driver import Described, Job, Outcome, Status, SweepJob
from cts.device.driver_options import parse
from cts.device.vendors import VENDORS, refuse_beside
from cts.drivers.emulator import options as opt
from cts.drivers.emulator.mutants import catalogue

if TYPE_CHECKING:
    import numpy.typing as npt

    from cts.case.model import Dispatch
    from cts.case.model.sweep import Sweep
    from cts.device.capabilities import Capabilities
    from cts.device.trials import Trial, Tried
    from cts.drivers.emulator.matrices.memory import Bytes

#: Subgroups (in programs of vectors, invocations) of one dispatch that fit into this emulator.
MAX_INSTANCES = 1 << 16


class Emulator:
    """Runs cases invocation by invocation, as a GPU would, on the CPU."""

    name = "emulator"

    def __init__(self, options: opt.Options) -> None:
        self._options = options

    def capabilities(self) -> Capabilities:
        """Every feature and every matrix type, for the subgroup size chosen."""
        from cts.device.capabilities import everything, limited

        every, vendor = everything(self._options.subgroup_size), self._options.vendor
        return limited(every, VENDORS[vendor]) if vendor else every

    def subgroup_sizes(self) -> tuple[int, ...]:
        """All that there are."""
        return opt.SUBGROUP_SIZES

    def run(self, job: Job) -> Outcome:
        """Run the case. An access outside a buffer's memory is a CRASH that names it."""
        from cts.drivers.emulator.running import run

        return _outcome(job.case.dispatch, job.memory, lambda memory: run(job.case, memory, self._options))

    def run_sweeps(self, jobs: Iterable[SweepJob]) -> Iterator[Outcome]:
        """Run each sweep. Status and errors are those of `run`; an access that misses its set's window is performed."""
        for job in jobs:
            yield self._run_sweep(job.sweep, job.memory)

    def _run_sweep(self, sweep: Sweep, memory: Mapping[str, Bytes]) -> Outcome:
        from cts.drivers.emulator.running import run_sweep

        return _outcome(sweep.template.dispatch, memory, lambda memory: run_sweep(sweep, memory, self._options))

    def lacks_conversions(self) -> str:
        """Nothing: all of them are here."""
        return ""

    def convert(self, trials: Iterable[Trial]) -> Iterator[Tried]:
        """What comes of calls that convert matrices."""
        from cts.drivers.emulator.vectors.converter import Converter
        from cts.drivers.emulator.vectors.trials import run_trial

        converter = Converter(self._options)
        for trial in trials:
            yield run_trial(converter, trial)

    def close(self) -> None:
        """Nothing to release."""


def _outcome(
    dispatch: Dispatch, given: Mapping[str, Bytes], run: Callable[[dict[str, Bytes]], dict[str, npt.NDArray[Any]]]
) -> Outcome:
    """How a run on a copy of the memory ended; `run` returns matrices."""
    from cts.drivers.emulator.instances import instances_of
    from cts.drivers.emulator.matrices.access import MemoryFault

    instances = instances_of(dispatch)
    if instances > MAX_INSTANCES:
        noun = "subgroups" if dispatch.invocations is None else "invocations"
        return Outcome(Status.UNSUPPORTED, detail=f"{instances} {noun} in a dispatch (at most {MAX_INSTANCES})")
    memory = {name: data.copy() for name, data in given.items()}
    try:
        matrices = run(memory)
    except MemoryFault as fault:
        return Outcome(Status.CRASH, detail=str(fault))
    return Outcome(Status.DONE, memory, matrices=matrices)


class Factory:
    """Builds emulators from options, and lists the options that tests choose among.

    It has variants and mutants, see `VariantFactory` and `MutantFactory` in `cts.device.driver`.
    """

    runs_modules = False
    option_struct = opt.Options

    def __call__(self, options: dict[str, str]) -> Emulator:
        """An emulator. Raises BadInput."""
        parsed = parse(opt.Options, options, "emulator")
        self.check(options)
        if parsed.vendor:
            own = VENDORS[parsed.vendor]
            parsed = replace(parsed, subgroup_size=own.subgroup_size, tile=own.tile)
        return Emulator(parsed)

    def check(self, options: dict[str, str]) -> None:
        """Raise BadInput where what the emulator needs is not there, or options exclude one another."""
        refuse_beside(options, "subgroup_size", "tile")
        missing = [name for name in ("numba", "filelock") if find_spec(name) is None]
        if missing:
            raise BadInput(
                "emulator-extra",
                f"the emulator needs {' and '.join(missing)}, not installed here",
                "--driver emulator",
                "pip install 'coopmat-cts[emulator]' (in a checkout -e '.[emulator]'), or --driver interpreter",
            )

        if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
            what = "the emulator needs Numba's compiler, which NUMBA_DISABLE_JIT switches off"
            raise BadInput(
                "emulator-jit", what, "--driver emulator", "unset NUMBA_DISABLE_JIT, or --driver interpreter"
            )

    def variants(self) -> list[Described]:
        return opt.variants()

    def mutants(self) -> list[Described]:
        return catalogue.mutants()


create = Factory()
