"""Kills workers at random moments of a sweep: every parameter set must be judged, once and rightly.

    python bench/sweep_kills.py --driver vulkan:0 [--sets 200000] [--kills 200]

The sweep is of plain loads of 8x8 float32 matrices, which lavapipe has, too. A set whose worker was killed while it ran
alone is a crash; all others pass. Exit status 1 otherwise.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from vulkan_kills import Killer

from cts.device.driver import Outcome, SweepJob
from cts.drivers.vulkan.driver import VulkanDriver
from cts.judging.judge import OpenDriver
from cts.plugins import registry
from cts.running.sweeps import judging
from cts.running.sweeps.judging import judge_sets
from cts.running.sweeps.states import State
from cts.running.sweeps.universe import loads

UNIVERSE = """\
schema: 1
name: plain_loads
description: Loads of 8x8 matrices at every fourth offset and stride.
template:
  schema: 1
  buffers:
    src: {type: float32, shape: [16384], data: {iota: {}}}
    dst: {type: float32, shape: [8, 8], data: {fill: -5}}
  program:
    - {op: MatrixLoad, id: m, type: {component: float32, scope: Subgroup, rows: 8, cols: 8, use: Accumulator},
       buffer: src, offset: {dynamic: 0}, stride: {dynamic: 8}}
    - {op: MatrixStore, matrix: m, buffer: dst, stride: 8}
axes:
  offset: {at: ['program[0].offset'], values: {from: 0, to: 7996, step: 4}}
  stride: {at: ['program[0].stride'], values: {from: 4, to: 400, step: 4}}
"""


class Killed:
    """A driver whose workers are killed between the outcomes of dispatches, and during them."""

    def __init__(self, driver: VulkanDriver, killer: Killer) -> None:
        self.driver = driver
        self.killer = killer
        self.dispatches = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.driver, name)

    def run_sweeps(self, jobs: Iterable[SweepJob]) -> Iterator[Outcome]:
        """The driver's outcomes."""
        for outcome in self.driver.run_sweeps(jobs):
            self.killer.seen(self.dispatches)
            self.dispatches += 1
            yield outcome


def main() -> int:
    """Sweep, kill, count; 1 when something was lost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--driver", default="vulkan")
    parser.add_argument("--sets", type=int, default=200_000)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    # Many small dispatches, so that kills meet some of them.
    judging.DISPATCH_SETS = options.sets // (2 * options.kills)
    driver = registry.driver(options.driver)
    assert isinstance(driver, VulkanDriver), "this bench is about the vulkan driver"
    killer = Killer(driver, 2 * options.kills, options.kills, options.seed)
    killed = Killed(driver, killer)
    (part,) = loads(UNIVERSE, Path(__file__)).parts
    begin = time.perf_counter()
    try:
        opened = OpenDriver("killed", killed, driver.capabilities())
        judged = judge_sets(part, np.arange(options.sets), opened, registry.oracle())
    finally:
        killer.stop()
        driver.close()
    states = Counter(State(state).name for state in judged.states.tolist())
    report = {
        "sets": options.sets,
        "kills": killer.kills,
        "restarts": driver.pool.restarts,
        "dispatches": killed.dispatches,
        "states": dict(states),
        "seconds": round(time.perf_counter() - begin, 1),
    }
    print(json.dumps(report, indent=1))
    right = set(states) <= {"PASS", "CRASH"} and states["CRASH"] <= killer.kills <= 2 * options.kills
    return 0 if right and killer.kills >= options.kills else 1


if __name__ == "__main__":
    sys.exit(main())
