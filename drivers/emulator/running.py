"""One run of a case: conversions, the machine that its program needs, conversions."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cts.drivers.emulator.matrices.machine import Machine
from cts.drivers.emulator.matrices.memory import Bytes
from cts.drivers.emulator.options import Options
from cts.drivers.emulator.vectors.lanes import Lanes
from cts.drivers.emulator.vectors.machine import VectorMachine
from cts.drivers.emulator.vectors.memory import Memory
from cts.drivers.emulator.vectors.opaque import Conversions, allocate
from cts.model import Case


def run(case: Case, memory: dict[str, Bytes], options: Options) -> dict[str, npt.NDArray[Any]]:
    """Run a case on the buffers' memory, which is changed in place; returns its matrices and vectors.

    Raises MemoryFault for an access outside of a memory. NaNs and overflows are results like others.
    """
    with np.errstate(all="ignore"):
        return _run(case, memory, options)


def _run(case: Case, memory: dict[str, Bytes], options: Options) -> dict[str, npt.NDArray[Any]]:
    x, y, z = case.dispatch.workgroups
    per_workgroup = case.dispatch.invocations or 1
    lanes = Lanes(x * y * z * per_workgroup, per_workgroup, options.subgroup_size)
    opaque = {name: allocate(matrix, options.opaque, options.mutant) for name, matrix in case.opaque.items()}
    spaces = Memory(case, {**memory, **opaque}, lanes.workgroup)
    conversions = Conversions(case, spaces, options)
    conversions.run(after=False)
    if case.dispatch.invocations is None:
        machine = Machine(case, memory, options)
        machine.run()
        matrices = {name: matrix.elements() for name, matrix in machine.matrices.items()}
    else:
        vectors = VectorMachine(case, spaces, lanes, options)
        vectors.run()
        matrices = {name: vector.elements() for name, vector in vectors.matrices.items() if not vector.is_scalar}
    conversions.run(after=True)
    return matrices
