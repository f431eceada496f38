"""A small universe, and drivers that run sweeps wrongly in known ways."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from cts.case.model.sweep import Sweep
from cts.device.capabilities import Capabilities
from cts.device.driver import Job, Outcome, Status, SweepJob
from cts.judging.judge import OpenDriver
from cts.plugins import registry
from cts.running.sweeps.universe import Universe, loads

TEXT = """\
schema: 1
name: small
description: Loads of 4x4 matrices through layouts of a few elements.
template:
  schema: 1
  buffers:
    src: {type: float16, shape: [16], data: {iota: {start: 1}}}
    dst: {type: float16, shape: [4, 4], data: {fill: -5}}
  program:
    - {op: TensorLayout, id: t, dim: 1, clamp: Undefined}
    - {op: TensorLayoutSetDimension, id: t1, of: t, dims: [{dynamic: 16}]}
    - {op: TensorLayoutSlice, id: t2, of: t1, offset: [{dynamic: 0}], span: [{dynamic: 16}]}
    - {op: MatrixNull, id: z, type: {component: float16, scope: Subgroup, rows: 4, cols: 4, use: Accumulator}}
    - {op: MatrixLoadTensor, id: m, object: z, buffer: src, layout: t2}
    - {op: MatrixStore, matrix: m, buffer: dst, stride: 4}
axes:
  clamp: {at: ['program[0].clamp'], values: [Undefined, ClampToEdge, Repeat]}
  dim: {at: ['program[1].dims[0]'], values: {from: 1, to: 16}}
  offset: {at: ['program[2].offset[0]'], values: {from: -2, to: 2}}
  span: {at: ['program[2].span[0]'], values: [4, 16]}
"""

UNIVERSE = loads(TEXT, Path("small.yaml"))

#: The number of the set with these values, in the part that has its clamp mode.
DIM, OFFSET, SPAN = 1, 2, 3


def written(folder: Path) -> Path:
    """The universe as a file."""
    path = folder / "small.yaml"
    path.write_text(TEXT, encoding="utf-8")
    return path


def every(universe: Universe = UNIVERSE) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The numbers of all sets of a part."""
    return np.arange(universe.part_size)


Breaks = Callable[[Sweep], Status | None]
Spoils = Callable[[Sweep], np.ndarray[tuple[int], np.dtype[np.bool_]]]


@dataclass
class Sweeping:
    """The interpreter, but for sweeps that `breaks` ends otherwise, and sets that `spoils` leaves wrong.

    `given` counts the sets of every dispatch.
    """

    breaks: Breaks = lambda sweep: None
    spoils: Spoils = lambda sweep: np.zeros(len(sweep), bool)
    name: str = "sweeping"
    given: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.inner = registry.driver("interpreter")

    def capabilities(self) -> Capabilities:
        return self.inner.capabilities()

    def run_sweeps(self, jobs: Iterable[SweepJob]) -> Iterator[Outcome]:
        for job in jobs:
            self.given.append(len(job.sweep))
            if (status := self.breaks(job.sweep)) is not None:
                yield Outcome(status, detail="broken")
                continue
            (outcome,) = self.inner.run_sweeps([job])  # type: ignore[attr-defined]
            memory = {name: data.copy() for name, data in outcome.memory.items()}
            job.sweep.windows["dst"].contents(memory["dst"])[self.spoils(job.sweep), 0] ^= 1
            yield replace(outcome, memory=memory)

    def run(self, job: Job) -> Outcome:
        sweep = Sweep(job.case, np.zeros((1, 0), np.uint32)) if not _words(job) else _alone(job)
        if (status := self.breaks(sweep)) is not None:
            return Outcome(status, detail="broken")
        outcome = self.inner.run(job)
        if outcome.status is Status.DONE and self.spoils(sweep)[0]:
            outcome.memory["dst"] = outcome.memory["dst"].copy()
            outcome.memory["dst"][1024] ^= 1
        return outcome

    def close(self) -> None:
        self.inner.close()


def opened(driver: Sweeping) -> OpenDriver:
    return OpenDriver(driver.name, driver, driver.capabilities())


def _words(job: Job) -> int:
    from cts.case.model import case_dynamic_operands

    return sum(1 for _ in case_dynamic_operands(job.case))


def _alone(job: Job) -> Sweep:
    from cts.case.model import dynamic_words

    return Sweep(job.case, dynamic_words(job.case)[None])
