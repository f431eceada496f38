"""Where the values of a run are: segments of a module, and the regions of invocations and matrices in a buffer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cts.device.job import ModuleJob
from cts.modules.locating.shapes import Grid
from cts.spirv.encode import Id
from cts.spirv.forms.layout import Op

Words = npt.NDArray[np.uint32]

#: The words at the start of an invocation's region: how many words it has written, a check, and its subgroup.
HEAD = 4
COUNT, CHECK, SUBGROUP = range(3)

#: What the check is if booleans are kept rightly.
CHECKED = 0x600D


class Unlocatable(ValueError):
    """Why no values can be kept."""


class Kept(NamedTuple):
    """A value of the instruction at word `at`: it begins at word `start` of its segment; matrices are elsewhere."""

    op: Op
    at: int
    start: int
    words: int
    grid: Grid | None = None


@dataclass(frozen=True)
class Segment:
    """What is executed together in a function: values in their order, and the instruction that ends it, by its word.

    `begins`: it is the first of its function.
    """

    number: int
    first: int
    kept: tuple[Kept, ...]
    words: int
    matrices: bool
    end: int
    function: Id
    begins: bool


@dataclass(frozen=True)
class Instrumented:
    """The job with the buffer `name`, and where in it everything is.

    `room` are the words of an invocation's values in its `region`; `subgroups` and `workgroups` begin the regions of
    matrices, of `matrices` words each. With `since`, only values from that word of an invocation on are kept.
    `made` are the module's instructions by their results, `writes` those that write memory.
    """

    job: ModuleJob
    name: str
    segments: dict[int, Segment]
    extent: tuple[int, int, int]
    local: tuple[int, int, int]
    room: int
    region: int
    subgroups: int
    workgroups: int
    matrices: int
    per_workgroup: int
    since: int | None = None
    made: dict[Id, Op] | None = None
    writes: tuple[tuple[Op, int], ...] = ()

    @property
    def invocations(self) -> int:
        return math.prod(self.extent)

    def kept(self, memory: dict[str, npt.NDArray[np.uint8]]) -> Words:
        """The words that a run has kept."""
        start = self.job.buffers[self.name].start
        return memory[self.name][start : start + self.job.buffers[self.name].size].view("<u4")

    def coordinates(self, invocation: int) -> tuple[int, int, int]:
        """The GlobalInvocationId of an invocation by its number."""
        x, y, _ = self.extent
        return invocation % x, invocation // x % y, invocation // (x * y)

    def workgroup(self, invocation: int) -> int:
        """The number of an invocation's workgroup."""
        x, y, z = (c // n for c, n in zip(self.coordinates(invocation), self.local, strict=True))
        wx, wy, _ = self.job.workgroups
        return x + wx * (y + wy * z)
