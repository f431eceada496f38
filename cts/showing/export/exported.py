"""What C programs and AmberScript are made of: a job, its buffers before and after, and words about it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

import cts
from cts.case.model import Case, ComponentType, dumps_case, initial_bits
from cts.case.oracle.expectation import Allowed, Expectation
from cts.device.job import ModuleJob
from cts.judging.judge import job as job_of

Bits = npt.NDArray[Any]


@dataclass(frozen=True)
class ExportedBuffer:
    """A buffer: `initial` are its bits before the run, one unsigned integer for each component of an element."""

    type: ComponentType
    shape: tuple[int, ...]
    components: int
    initial: Bits
    allowed: Allowed
    begins_at: int = 0

    @property
    def size(self) -> int:
        """Bytes without guards."""
        return math.prod(self.shape) * self.components * self.type.size


@dataclass(frozen=True)
class Exported:
    """A dispatch to export. `buffers` are those of the job that are judged; others must stay as they are.

    `description` is free text, `hidden` says which case or file it was, and `source` is that itself.
    """

    name: str
    description: str
    hidden: str
    source: str
    job: ModuleJob
    buffers: dict[str, ExportedBuffer]


def of_case(case: Case, expectation: Expectation, subgroup_size: int) -> Exported:
    """A case, whose module is lowered for subgroups of this size. Raises HarnessTrouble if it cannot be lowered."""
    buffers = {
        name: ExportedBuffer(b.type, b.shape, b.components, initial_bits(b), expectation.buffers[name], b.begins_at)
        for name, b in case.buffers.items()
    }
    covers = f"facts {', '.join(case.covers)}, " if case.covers else ""
    hidden = f"{covers}content hash {case.content_hash}, written by cts {cts.__version__}"
    job = job_of(case, subgroup_size).module()
    return Exported(case.name, case.description, hidden, dumps_case(case), job, buffers)
