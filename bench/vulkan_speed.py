"""How fast the vulkan driver is on one device: cases with a pipeline each, and parameter sets through one pipeline.

    python bench/vulkan_speed.py --driver vulkan:0 [--pipelines 300] [--sets 20000] [--multiple 1] [--json FILE]

A case loads a tile and stores it. With tensor addressing that is a 16x16 float16 accumulator through a tensor
layout; without it, each matrix type that the device lists at subgroup scope in its turn, with the device's own
smallest size times `--multiple`. Every module is a new one, in this run and, but for chance, in all runs before:
a shader cache on disk, which most drivers keep, has nothing to offer.

Exit status 1 when a case does not pass, or parameter sets are not 50 times as fast as pipelines.
"""

from __future__ import annotations

import argparse
import json
import secrets
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cts import registry
from cts.batch import judge_many
from cts.capabilities import Capabilities, Feature
from cts.driver import Job, Outcome, Status
from cts.drivers.vulkan.driver import VulkanDriver
from cts.judge import OpenDriver, job
from cts.model import GUARD_BYTES, Case, Scope, initial_memory, loads_case
from cts.verdict import Verdict

#: What the second figure must be of the first.
FACTOR = 50

#: A tensor's size, and offsets and strides in elements: multiples that satisfy every alignment (VK-040).
TENSOR, UNIT = 64, 16
OFFSETS, STRIDES = 128, 4

_TYPE = "{{component: {component}, scope: Subgroup, rows: {rows}, cols: {cols}, use: {use}}}"

_TENSOR = """
  - {{op: TensorLayout, id: t, dim: 2, clamp: ClampToEdge}}
  - {{op: TensorLayoutSetDimension, id: u, of: t, dims: [64, 64]}}
  - {{op: TensorLayoutSlice, id: v, of: u, offset: [{row}, {col}], span: [16, 16]}}
  - {{op: MatrixConstant, id: z, type: {type}, value: 0}}
  - {{op: MatrixLoadTensor, id: m, object: z, buffer: src, layout: v}}
"""

_PLAIN = """
  - {{op: MatrixLoad, id: m, type: {type}, buffer: src, stride: {stride}, offset: {offset}}}
"""

_CASE = """
schema: 1
name: bench
buffers:
  src: {{type: {component}, shape: {shape}, data: {{random_bits: {{seed: 5}}}}}}
  dst: {{type: {component}, shape: [{size}], data: {{random_bits: {{seed: 6}}}}}}
program:{load}  - {{op: MatrixStore, matrix: m, buffer: dst, stride: {stride}, offset: {offset}}}
"""


def main() -> int:
    """Measure and print; 1 when something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--driver", default="vulkan")
    parser.add_argument("--pipelines", type=int, default=300)
    parser.add_argument("--sets", type=int, default=20_000)
    parser.add_argument("--multiple", type=int, default=1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    driver = registry.driver(options.driver)
    assert isinstance(driver, VulkanDriver), "this bench is about the vulkan driver"
    try:
        figures = measure(driver, options.pipelines, options.sets, options.multiple)
    finally:
        driver.close()
    print(json.dumps(figures, indent=1))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")
    return 0 if figures["sets per second"] >= FACTOR * figures["one by one, per second"] else 1


def measure(driver: VulkanDriver, pipelines: int, sets: int, multiple: int) -> dict[str, float]:
    """Cases per second in four ways; everything is checked."""
    capabilities = driver.capabilities()
    copies, size = Copies(capabilities, multiple), capabilities.subgroup_size
    warm = [job(c.case, size) for c in copies.take(4 * len(copies.shapes))]
    list(driver.run_many(warm))

    alone = copies.take(pipelines)
    jobs = lowered(alone, size)
    outcomes, seconds_alone = timed(lambda: (driver.run(j) for j in jobs))
    check(alone, outcomes)

    ahead = copies.take(pipelines)
    jobs = lowered(ahead, size)
    outcomes, seconds_ahead = timed(lambda: driver.run_many(jobs))
    check(ahead, outcomes)

    cases = [c.case for c in copies.take(pipelines)]
    opened, oracle, start = OpenDriver("vulkan", driver, capabilities), registry.oracle(), time.perf_counter()
    attempts = judge_many(opened, [(case, oracle.expect(case)) for case in cases])
    seconds_judged = time.perf_counter() - start
    assert all(a.verdict is Verdict.PASS for a in attempts), [a.detail for a in attempts]

    same = copies.take(sets, "dynamic", copies.shapes[0])
    modules = [j.module() for j in lowered(same, size)]
    outcomes, seconds_sets = timed(lambda: driver.run_modules(modules))
    check(same, outcomes)
    return {
        "one by one, per second": round(pipelines / seconds_alone, 1),
        "pipelined, per second": round(pipelines / seconds_ahead, 1),
        "pipelined, with oracle, lowering and verdict, per second": round(pipelines / seconds_judged, 1),
        "sets per second": round(sets / seconds_sets, 1),
    }


class Tile(NamedTuple):
    """A matrix type at subgroup scope."""

    component: str
    use: str
    rows: int
    cols: int


@dataclass(frozen=True)
class Copy:
    """A case that copies one tile, and what it must leave behind; offsets and strides in elements."""

    case: Case
    shape: Tile
    source: npt.NDArray[np.intp]
    target: npt.NDArray[np.intp]


class Copies:
    """Endless different cases. Two processes hardly ever make the same ones: each starts elsewhere."""

    def __init__(self, capabilities: Capabilities, multiple: int) -> None:
        self.tensor = Feature.TENSOR_ADDRESSING in capabilities.features
        self.shapes = [Tile("float16", "Accumulator", 16, 16)]
        if not self.tensor:
            self.shapes = [
                Tile(m.component.value, m.use.value, multiple * m.rows, multiple * m.cols)
                for m in capabilities.matrices
                if m.scope is Scope.Subgroup
            ]
        self._next = secrets.randbits(40)

    def take(self, count: int, constness: str = "literal", shape: Tile | None = None) -> list[Copy]:
        """New cases; with literal operands each has a module of its own, with dynamic ones they share one."""
        taken = []
        for _ in range(count):
            self._next += 1
            taken.append(self._copy(self._next, constness, shape or self.shapes[self._next % len(self.shapes)]))
        return taken

    def _copy(self, number: int, constness: str, shape: Tile) -> Copy:
        # An odd factor permutes the numbers below a power of two: neighbours differ in everything.
        where = number * 0x9E3779B1 % (OFFSETS * STRIDES * TENSOR * TENSOR)
        places, where = where % (OFFSETS * STRIDES), where // (OFFSETS * STRIDES)
        width = -(-shape.cols // UNIT)
        size = UNIT * (OFFSETS + (width + STRIDES) * shape.rows)
        rows, cols = np.arange(shape.rows)[:, None], np.arange(shape.cols)
        offset, stride = UNIT * (places % OFFSETS), UNIT * (width + places // OFFSETS)
        target = offset + rows * stride + cols
        kind = _TYPE.format(**shape._asdict())
        if self.tensor:
            row, col = where % TENSOR, where // TENSOR
            source = np.minimum(rows + row, TENSOR - 1) * TENSOR + np.minimum(cols + col, TENSOR - 1)
            load = _TENSOR.format(type=kind, row=operand(row, constness), col=operand(col, constness))
            extent = f"[{TENSOR}, {TENSOR}]"
        else:
            start, step = UNIT * (where % OFFSETS), UNIT * (width + where // OFFSETS % STRIDES)
            source = start + rows * step + cols
            load = _PLAIN.format(type=kind, offset=operand(start, constness), stride=operand(step, constness))
            extent = f"[{size}]"
        text = _CASE.format(
            component=shape.component,
            shape=extent,
            size=size,
            load=load,
            offset=operand(offset, constness),
            stride=operand(stride, constness),
        )
        return Copy(loads_case(text), shape, source, target)


def operand(value: int, constness: str) -> str:
    """An operand as the case writes it."""
    return str(value) if constness == "literal" else f"{{{constness}: {value}}}"


def lowered(copies: Sequence[Copy], subgroup_size: int) -> list[Job]:
    """Jobs whose modules are ready: lowering is not the driver's time."""
    jobs = [job(c.case, subgroup_size) for c in copies]
    for j in jobs:
        j.module()
    return jobs


def timed(run: Callable[[], Iterator[Outcome]]) -> tuple[list[Outcome], float]:
    """Outcomes and seconds."""
    start = time.perf_counter()
    outcomes = list(run())
    return outcomes, time.perf_counter() - start


def check(copies: Sequence[Copy], outcomes: Sequence[Outcome]) -> None:
    """Every outcome is the tile that it should be, and nothing else has changed."""
    for number, (c, outcome) in enumerate(zip(copies, outcomes, strict=True)):
        assert outcome.status is Status.DONE, outcome.detail
        before, dtype = initial_memory(c.case), f"u{c.case.buffers['dst'].element_size}"
        expected = before["dst"].copy()
        expected[GUARD_BYTES:-GUARD_BYTES].view(dtype)[c.target] = before["src"][GUARD_BYTES:-GUARD_BYTES].view(dtype)[
            c.source
        ]
        assert (outcome.memory["dst"] == expected).all(), f"case {number} stored a wrong tile"


if __name__ == "__main__":
    sys.exit(main())
