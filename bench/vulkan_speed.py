"""How fast the vulkan driver is on one device: cases with a pipeline each, and parameter sets through one pipeline.

    python bench/vulkan_speed.py --driver vulkan:0 [--pipelines 300] [--sets 20000] [--json FILE]

Exit status 1 when a case does not pass, or parameter sets are not 50 times as fast as pipelines.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cts import registry
from cts.capabilities import Capabilities, Feature
from cts.driver import Job, Outcome, Status
from cts.drivers.vulkan.driver import VulkanDriver
from cts.judge import job
from cts.model import GUARD_BYTES, Case, MatrixLoad, TensorLayoutSlice, base_of, loads_case

#: What the second figure must be of the first.
FACTOR = 50

_TENSOR = """
schema: 1
name: bench
buffers:
  src: {{type: float16, shape: [64, 64], data: {{iota: {{modulo: 2039}}}}}}
  dst: {{type: float16, shape: [16, 16], data: {{fill: -5}}}}
program:
  - {{op: TensorLayout, id: t, dim: 2, clamp: ClampToEdge}}
  - {{op: TensorLayoutSetDimension, id: u, of: t, dims: [64, 64]}}
  - {{op: TensorLayoutSlice, id: v, of: u, offset: [{row}, {col}], span: [16, 16]}}
  - {{op: MatrixConstant, id: z, type: {type}, value: {value}}}
  - {{op: MatrixLoadTensor, id: m, object: z, buffer: src, layout: v}}
  - {{op: MatrixStore, matrix: m, buffer: dst, stride: 16}}
"""

_PLAIN = """
schema: 1
name: bench
buffers:
  src: {{type: float16, shape: [80, 64], data: {{iota: {{modulo: 2039}}}}}}
  dst: {{type: float16, shape: [16, 16], data: {{fill: -5}}}}
program:
  - {{op: MatrixConstant, id: z, type: {type}, value: {value}}}
  - {{op: MatrixLoad, id: m, type: {type}, buffer: src, stride: 64, offset: {offset}}}
  - {{op: MatrixStore, matrix: m, buffer: dst, stride: 16}}
"""


def main() -> int:
    """Measure and print; 1 when something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--driver", default="vulkan")
    parser.add_argument("--pipelines", type=int, default=300)
    parser.add_argument("--sets", type=int, default=20_000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    driver = registry.driver(options.driver)
    assert isinstance(driver, VulkanDriver), "this bench is about the vulkan driver"
    try:
        figures = measure(driver, options.pipelines, options.sets)
    finally:
        driver.close()
    print(json.dumps(figures, indent=1))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")
    return 0 if figures["sets per second"] >= FACTOR * figures["one by one, per second"] else 1


def measure(driver: VulkanDriver, pipelines: int, sets: int) -> dict[str, float]:
    """Cases per second in three ways; everything is checked."""
    capabilities = driver.capabilities()
    tensor = Feature.TENSOR_ADDRESSING in capabilities.features
    size = capabilities.subgroup_size
    distinct = [job(case(capabilities, tensor, i, "literal"), size) for i in range(2 * pipelines)]
    for j in distinct:
        j.module()  # lowering is not the driver's time
    driver.run(distinct[-1])
    alone, seconds = timed(lambda: iter([driver.run(j) for j in distinct[:pipelines]]))
    check(distinct[:pipelines], alone, tensor)
    ahead, seconds_ahead = timed(lambda: driver.run_many(distinct[pipelines:]))
    check(distinct[pipelines:], ahead, tensor)
    same = [job(case(capabilities, tensor, i, "dynamic"), size) for i in range(sets)]
    modules = [j.module() for j in same]
    batch, seconds_sets = timed(lambda: driver.run_modules(modules))
    check(same, batch, tensor)
    return {
        "one by one, per second": round(pipelines / seconds, 1),
        "pipelined, per second": round(pipelines / seconds_ahead, 1),
        "sets per second": round(sets / seconds_sets, 1),
    }


def case(capabilities: Capabilities, tensor: bool, number: int, constness: str) -> Case:
    """A tile of a matrix; literal numbers make every module a different one, dynamic ones none."""
    component = "float16"
    shape = f"{{component: {component}, scope: Subgroup, rows: 16, cols: 16, use: Accumulator}}"
    row, col = number % 64, number // 64 % 6 * 8
    fill = number // 384 if constness == "literal" else 0
    operands = {"type": shape, "value": fill}
    if tensor:
        text = _TENSOR.format(row=operand(row, constness), col=operand(col, constness), **operands)
    else:
        text = _PLAIN.format(offset=operand(64 * row + col, constness), **operands)
    return loads_case(text)


def operand(value: int, constness: str) -> str:
    """An operand as the case writes it."""
    return str(value) if constness == "literal" else f"{{{constness}: {value}}}"


def timed(run: Callable[[], Iterator[Outcome]]) -> tuple[list[Outcome], float]:
    """Outcomes and seconds."""
    start = time.perf_counter()
    outcomes = list(run())
    return outcomes, time.perf_counter() - start


def check(jobs: Sequence[Job], outcomes: Sequence[Outcome], tensor: bool) -> None:
    """Every outcome is the tile that it should be."""
    for number, (j, outcome) in enumerate(zip(jobs, outcomes, strict=True)):
        assert outcome.status is Status.DONE, outcome.detail
        actual = outcome.memory["dst"][GUARD_BYTES:-GUARD_BYTES]
        assert (actual == tile(j.case, j.memory["src"], tensor)).all(), f"case {number} stored a wrong tile"


def tile(case: Case, source: npt.NDArray[np.uint8], tensor: bool) -> npt.NDArray[np.uint8]:
    """What the store must leave, by indexing."""
    elements = source[GUARD_BYTES:-GUARD_BYTES].view(np.float16).reshape(-1, 64)
    for instruction in case.program:
        if isinstance(instruction, TensorLayoutSlice):
            row, col = map(base_of, instruction.offset)
        elif isinstance(instruction, MatrixLoad):
            row, col = divmod(base_of(instruction.offset), 64)
    last = 63 if tensor else 79
    rows, cols = np.minimum(np.arange(16) + row, last), np.minimum(np.arange(16) + col, 63)
    return np.ascontiguousarray(elements[np.ix_(rows, cols)]).view(np.uint8).reshape(-1)


if __name__ == "__main__":
    sys.exit(main())
