"""How fast the vulkan driver is on one device: cases with a pipeline each, and parameter sets through one pipeline.

    python bench/vulkan_speed.py --driver vulkan:0 [--pipelines 300] [--sets 20000] [--json FILE]
        [--cases copy|multiply] [--multiple 1]

"copy" loads a tile and stores it. With tensor addressing that is a 16x16 float16 accumulator through a tensor layout;
without it, each matrix type that the device lists at subgroup scope in its turn. "multiply" loads three matrices,
multiplies and adds, and stores the result: each listed combination of types in its turn. Sizes are the device's own
smallest ones times `--multiple`. Every module is a new one, in this run and, but for chance, in all runs before.

Exit status 1 when a case does not pass, or parameter sets are not 50 times as fast as pipelines.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from vulkan_cases import Sample, Samples, samples

from cts.device.driver import Job, Outcome, Status
from cts.drivers.vulkan.driver import VulkanDriver
from cts.judging.batch import judge_many
from cts.judging.judge import OpenDriver, job
from cts.judging.verdict import Verdict
from cts.plugins import registry

#: What the second figure must be of the first.
FACTOR = 50


def main() -> int:
    """Measure and print; 1 when something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--driver", default="vulkan")
    parser.add_argument("--pipelines", type=int, default=300)
    parser.add_argument("--sets", type=int, default=20_000)
    parser.add_argument("--cases", choices=("copy", "multiply"), default="copy")
    parser.add_argument("--multiple", type=int, default=1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    driver = registry.driver(options.driver)
    assert isinstance(driver, VulkanDriver), "this bench is about the vulkan driver"
    try:
        made = samples(options.cases, driver.capabilities(), options.multiple)
        figures = measure(driver, made, options.pipelines, options.sets)
    finally:
        driver.close()
    print(json.dumps(figures, indent=1))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")
    return 0 if figures["sets per second"] >= FACTOR * figures["one by one, per second"] else 1


def measure(driver: VulkanDriver, made: Samples, pipelines: int, sets: int) -> dict[str, float]:
    """Cases per second in four ways; everything is checked."""
    capabilities = driver.capabilities()
    size = capabilities.subgroup_size
    list(driver.run_many(lowered(made.take(4 * made.kinds), size)))  # starts all that is to be started

    alone = made.take(pipelines)
    jobs = lowered(alone, size)
    outcomes, seconds_alone = timed(lambda: (driver.run(j) for j in jobs))
    check(alone, outcomes)

    ahead = made.take(pipelines)
    jobs = lowered(ahead, size)
    outcomes, seconds_ahead = timed(lambda: driver.run_many(jobs))
    check(ahead, outcomes)

    cases = [sample.case for sample in made.take(pipelines)]
    opened, oracle, start = OpenDriver("vulkan", driver, capabilities), registry.oracle(), time.perf_counter()
    attempts = judge_many(opened, [(case, oracle.expect(case)) for case in cases])
    seconds_judged = time.perf_counter() - start
    assert all(a.verdict is Verdict.PASS for a in attempts), [a.detail for a in attempts]

    same = made.take(sets, "dynamic", kind=0)
    modules = [j.module() for j in lowered(same, size)]
    outcomes, seconds_sets = timed(lambda: driver.run_modules(modules))
    check(same, outcomes)
    return {
        "one by one, per second": round(pipelines / seconds_alone, 1),
        "pipelined, per second": round(pipelines / seconds_ahead, 1),
        "pipelined, with oracle, lowering and verdict, per second": round(pipelines / seconds_judged, 1),
        "sets per second": round(sets / seconds_sets, 1),
    }


def lowered(taken: Sequence[Sample], subgroup_size: int) -> list[Job]:
    """Jobs whose modules are ready: lowering is not the driver's time."""
    jobs = [job(sample.case, subgroup_size) for sample in taken]
    for j in jobs:
        j.module()
    return jobs


def timed(run: Callable[[], Iterator[Outcome]]) -> tuple[list[Outcome], float]:
    """Outcomes and seconds."""
    start = time.perf_counter()
    outcomes = list(run())
    return outcomes, time.perf_counter() - start


def check(taken: Sequence[Sample], outcomes: Sequence[Outcome]) -> None:
    """Every outcome is what it should be."""
    for number, (sample, outcome) in enumerate(zip(taken, outcomes, strict=True)):
        assert outcome.status is Status.DONE, outcome.detail
        assert (outcome.memory["dst"] == sample.expected()).all(), f"case {number} stored something wrong"


if __name__ == "__main__":
    sys.exit(main())
