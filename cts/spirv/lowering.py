"""Modules of jobs, made when a driver asks for them. Unlike functions, these can be sent to another process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from cts.case.model import Case
from cts.case.model.sweep import Sweep
from cts.case.stages import Stage

if TYPE_CHECKING:
    from cts.device.job import ModuleJob

Memory = dict[str, npt.NDArray[np.uint8]]


@dataclass(frozen=True)
class OfCase:
    """The module of a case."""

    case: Case
    memory: Memory
    subgroup_size: int
    stage: Stage = Stage.COMPUTE
    maintenance1: bool = False

    def __call__(self) -> ModuleJob:
        from cts.spirv.lower import module_job

        size, stage = self.subgroup_size, self.stage
        return module_job(self.case, self.memory, size, stage, maintenance1=self.maintenance1)


@dataclass(frozen=True)
class OfSweep:
    """The module of a sweep."""

    sweep: Sweep
    memory: Memory
    subgroup_size: int

    def __call__(self) -> ModuleJob:
        from cts.spirv.lower import sweep_job

        return sweep_job(self.sweep, self.memory, self.subgroup_size)


@dataclass(frozen=True)
class Made:
    """A module that is there already."""

    module: ModuleJob

    def __call__(self) -> ModuleJob:
        return self.module
