"""The driver: modules that ANV compiles for an Intel GPU, which need not be there, and whose code runs on NumPy."""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from collections.abc import Hashable
from functools import partial

from cts.base.errors import HarnessTrouble
from cts.device.driver import Status
from cts.drivers.intel.machine import Dispatch, Program, program
from cts.drivers.intel.memory import AddressSpace
from cts.drivers.intel.options import Options
from cts.drivers.intel.pushed import Compile, range_start
from cts.drivers.intel.thread import OTHER_POISON, POISON
from cts.drivers.machine.problems import Problem, Unsupported, Wrong
from cts.drivers.machine.remembering import remember
from cts.drivers.vulkan.driver import VulkanDriver
from cts.drivers.vulkan.session import Loss
from cts.drivers.vulkan.worker.protocol import Done, ParameterSet, Run

#: The first Mesa whose assembly has the syntax that `listing` reads, and how drivers tell theirs.
_OLDEST, _VERSION = (26, 2), re.compile(r"\bMesa (\d+)\.(\d+)")

#: What to do where no device opens.
_REMEDY = "Mesa's ANV (Debian: mesa-vulkan-drivers) where the option `worker` leads: `cts docs intel`"


class Executor:
    """Runs what a pipeline was compiled to."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._programs: OrderedDict[Hashable, Program] = OrderedDict()
        self._starts: OrderedDict[Hashable, int] = OrderedDict()

    def execute(self, run: Run, made: Done, make: Compile) -> Done | Loss:
        """The memory after a run, or the reason why the run failed."""
        try:
            if run.opaque or run.conversions:
                raise Unsupported("matrices in layouts of the driver's own")
            ready = self._program(made.listing)
            start = self._start(run, ready, made.listing, make)
            sets = tuple(self._checked(run, parameters, ready, start) for parameters in run.sets)
        except Problem as problem:
            return Loss(problem.status, str(problem), made.messages)
        except Exception as e:  # noqa: BLE001 - a bug of ours must not end the run of other cases
            return Loss(Status.ERROR, f"intel: {type(e).__name__}: {e}", made.messages)
        return Done(made.id, sets, made.messages)

    def _run(
        self, run: Run, parameters: ParameterSet, ready: Program, start: int, poison: int = POISON
    ) -> tuple[tuple[bytes | None, ...], Dispatch]:
        memory = AddressSpace(parameters.buffers, exact="robustBufferAccess2" in run.features)
        push_constants = memory.patched(parameters.push_constants, parameters.push_addresses)
        surfaces = memory.surfaces(run.bindings, ready.shader.table)
        memory.describe(run.bindings)
        dispatch = Dispatch(ready, memory, self._options.max_steps, time.monotonic() + run.timeout, poison)
        parts = run.submitting.parts or (((0, 0, 0), run.workgroups),)
        for _ in range(run.times):
            for first, count in parts:
                dispatch.run(surfaces, push_constants, first, count, start)
        return memory.after(), dispatch

    def _checked(self, run: Run, parameters: ParameterSet, ready: Program, start: int) -> tuple[bytes | None, ...]:
        """The memory after a run that does nothing which the option `check` finds fault with. Raises Wrong."""
        after, dispatch = self._run(run, parameters, ready, start)
        if "beyond" in self._options.check and dispatch.beyond:
            raise Wrong("an access outside its descriptor", dispatch.beyond[0])
        if "uninitialised" in self._options.check:
            again, _ = self._run(run, parameters, ready, start, OTHER_POISON)
            if again != after:
                read = "; ".join(f"{name} at {where}" for name, where in dispatch.unwritten.items()) or "shared memory"
                raise Wrong(f"what is stored depends on what nothing has written: {read}")
        return after

    def _start(self, run: Run, ready: Program, texts: dict[str, str], make: Compile) -> int:
        key = run.module, tuple(run.specialization.items())
        return remember(self._starts, key, lambda: range_start(run, ready.shader, texts, make))

    def _program(self, texts: dict[str, str]) -> Program:
        if "GEN Assembly" not in texts:
            raise Unsupported("what Mesa hands out no code of, such as a shader object")
        options = self._options
        wraps, nearest = options.negation == "wraps", options.functions == "nearest"
        make = partial(program, texts, options.grf, wraps=wraps, nearest=nearest, mutant=options.mutant)
        return remember(self._programs, tuple(texts.values()), make)


class IntelDriver(VulkanDriver):
    """Compiles on Mesa's ANV for a chip that need not be there, and runs the machine code."""

    name = "intel"

    def __init__(self, options: Options) -> None:
        """Raises HarnessTrouble without ANV, a Mesa whose text is read, or a C compiler; BadInput for wrong options."""
        machine = Executor(options) if options.judge == "memory" else None
        try:
            super().__init__(options.vulkan(), machine)
        except HarnessTrouble as trouble:
            if trouble.code == "no-shim":
                raise
            raise HarnessTrouble(trouble.code, trouble.what, trouble.where, _REMEDY) from trouble
        name = self.description.device.name
        if options.chip.upper() not in name.upper():
            self.close()
            what = f"the worker's driver compiles for {name}, and not for {options.chip}"
            raise HarnessTrouble("no-device", what, "the Vulkan worker", _REMEDY)
        version = _VERSION.search(self.description.device.driver)
        if machine is not None and version and (int(version[1]), int(version[2])) < _OLDEST:
            self.close()
            what = f"{self.description.device.driver} writes its machine code in another syntax than this suite reads"
            remedy = "Mesa 26.2 or newer where the option `worker` leads; with judge=pipeline any: `cts docs intel`"
            raise HarnessTrouble("old-mesa", what, "the Vulkan worker", remedy)

    def identity(self) -> str:
        """The compiler, and that it is its code that is run here."""
        ran = "" if self.only_makes else ", its code run by this suite"
        return f"{super().identity()}{ran}"
