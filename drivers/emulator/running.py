"""Runs: conversions, the machine that the program needs, conversions; for a case, and for a sweep part by part."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cts.case.model import Case, case_dynamic_operands
from cts.case.model.sweep import Sweep
from cts.drivers.emulator.counters import dispatched
from cts.drivers.emulator.instances import Instances, Sets, instances_of, members_of
from cts.drivers.emulator.matrices.machine import Machine
from cts.drivers.emulator.matrices.memory import Bytes
from cts.drivers.emulator.mutants import vectors as v
from cts.drivers.emulator.operands import InstanceOperands
from cts.drivers.emulator.options import Options
from cts.drivers.emulator.vectors.machine import VectorMachine
from cts.drivers.emulator.vectors.memory import Memory
from cts.drivers.emulator.vectors.opaque import Conversions, allocate
from cts.drivers.emulator.workgroups import launched

#: Instances that run together in a sweep: so many that the time between kernels does not count, and so few that what
#: the kernels work on stays in a processor's cache.
TOGETHER = 1024


def run(case: Case, memory: dict[str, Bytes], options: Options) -> dict[str, npt.NDArray[Any]]:
    """Run a case on the buffers' memory, which is changed in place; returns its matrices and vectors.

    Raises MemoryFault for an access outside of a memory. NaNs and overflows are results like others.
    """
    machine = _run(case, Sets(), memory, options)
    if isinstance(machine, Machine):
        return {name: matrix.elements() for name, matrix in machine.matrices.items()}
    return {name: vector.elements() for name, vector in machine.matrices.items() if not vector.is_scalar}


def run_sweep(sweep: Sweep, memory: dict[str, Bytes], options: Options) -> dict[str, npt.NDArray[Any]]:
    """Run a template under all parameter sets, as `run` does a case, some sets at a time; returns no matrices.

    Those of a template with opaque matrices or conversions run one by one: each needs such matrices of its own.
    """
    template = numbered(sweep.template)
    strides = {name: windows.stride for name, windows in sweep.windows.items()}
    alone = bool(template.opaque or template.conversions)
    step = 1 if alone else max(TOGETHER // instances_of(template.dispatch), 1)
    for first in range(0, len(sweep), step):
        _run(template, Sets(sweep.sets[first : first + step], first, strides), memory, options)
    return {}


def numbered(case: Case) -> Case:
    """The case with 0, 1, 2, ... as the words of its run-time operands: their places in a parameter set.

    An operand finds its word by its number, even if the template has one object in several places.
    """
    operands = sum(1 for _ in case_dynamic_operands(case))
    return Sweep(case, np.arange(operands, dtype=np.uint32)[None]).case(0)


def _run(case: Case, sets: Sets, memory: dict[str, Bytes], options: Options) -> Machine | VectorMachine:
    """Run a case under some parameter sets; returns the machine in its last state."""
    opaque = allocate(case.opaque, options.opaque, options.bug)
    everything = {**memory, **opaque}
    alike = options.bug == v.DISPATCHES_BEGIN_ALIKE
    before = {name: data.copy() for name, data in everything.items()} if alike else {}
    times = case.dispatch.times
    for dispatch in range(times - 1 if options.bug == v.LAST_DISPATCH_LOST and times > 1 else times):
        instances = Instances(case, sets)
        running = np.tile(launched(case.dispatch, options.bug), instances.count // members_of(case.dispatch))
        instances.active = dispatched(running, case.dispatch, options.bug)
        spaces = Memory(case, everything, instances)
        for name, data in before.items():
            everything[name][:] = data
        conversions = Conversions(case, spaces, options)
        with np.errstate(all="ignore"):
            if dispatch == 0 or options.bug == v.CONVERSIONS_REPEATED:
                conversions.run(after=False)
            machine = _machine(case, sets, spaces, instances, options)
            machine.run()
    with np.errstate(all="ignore"):
        conversions.run(after=True)
    return machine


def _machine(case: Case, sets: Sets, spaces: Memory, instances: Instances, options: Options) -> Machine | VectorMachine:
    """A machine for one dispatch."""
    operands = InstanceOperands(case, instances, sets, options.bug)
    if case.dispatch.invocations is None:
        return Machine(case, spaces.spaces, instances, operands, options)
    return VectorMachine(case, spaces, instances, operands, options)
