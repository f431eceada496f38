"""Workgroup memory that matrices of Workgroup scope reserve (VK-025), where a bug begins it before its place."""

from __future__ import annotations

import numpy as np

from cts.case.model import Case, Scope, StorageClass
from cts.device.capabilities import PART_ALIGNMENT, everything
from cts.drivers.emulator.instances import Instances
from cts.drivers.emulator.matrices.memory import Bytes

#: So many bytes before the end of what a program may use does the bug begin.
TOO_EARLY = 512


def overwrite(case: Case, memory: dict[str, Bytes], instances: Instances, subgroup_size: int) -> None:
    """Zero what the buffers of each running workgroup have there; they lie one behind the other, in case order."""
    first = everything(subgroup_size).workgroup_room(Scope.Workgroup) - TOO_EARLY
    for name, buffer in case.buffers.items():
        if buffer.storage is not StorageClass.Workgroup:
            continue
        size = buffer.size // buffer.shape[0]
        for part in np.unique(instances.start(name)[instances.active]):
            memory[name][part + max(first, 0) : part + size] = 0
        first -= -(-size // PART_ALIGNMENT) * PART_ALIGNMENT
