"""What a case costs, stage by stage: drawing, rules, oracle, lowering and the driver, by area.

    python bench/pipeline_cost.py --driver vulkan:0,threads=1 [--area AREA ...] [--cases 60] [-j 8] [--out FILE]

Each process draws cases of one area and runs each case alone on the process's driver, so that the driver's time is the
time for one pipeline and one dispatch. `--out` gets a JSON line for each case, with what may explain its cost: words of
the module, instructions of the program, elements of its matrices, loops, scope.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from cts.base.errors import NothingToGenerate
from cts.case.model import Case, MatrixType, VectorMatrixMul, constant_of, dumps_case
from cts.device.driver import Driver
from cts.judging.judge import job
from cts.judging.known.baseline import load as load_baseline
from cts.judging.known.quarantine import NO_RULES
from cts.plugins import registry
from cts.running.drawing import Draws, check, fault_of
from cts.running.opening import open_driver

#: Seconds of a driver from which on a row has the case itself.
SLOW = 0.5

STAGES = ("draw", "check", "oracle", "lower", "driver")


def main() -> None:
    """Print a line for each area: milliseconds of each stage, the middle case and the mean."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--driver", default="interpreter")
    parser.add_argument("--area", action="append")
    parser.add_argument("--cases", type=int, default=60, help="of each area, repeated ones left out")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1e9, help="of each area")
    parser.add_argument("--baseline", type=Path)
    parser.add_argument("-j", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    areas = options.area or registry.names("cts.areas")
    rows: list[dict[str, Any]] = []
    with ProcessPoolExecutor(options.j) as pool:
        tasks = [
            pool.submit(measured, options.driver, a, options.cases, options.seed, options.seconds, options.baseline)
            for a in areas
        ]
        for area, task in zip(areas, tasks, strict=True):
            found = task.result()
            rows += found
            if found:
                print(
                    f"{area:20} {len(found):4} cases  " + "  ".join(said(found, stage) for stage in STAGES), flush=True
                )
    if options.out:
        options.out.write_text("".join(json.dumps(row) + "\n" for row in rows))


def said(rows: list[dict[str, Any]], stage: str) -> str:
    """Middle and mean of a stage's milliseconds."""
    times = [1e3 * row[stage] for row in rows]
    return f"{stage} {statistics.median(times):.1f}/{statistics.mean(times):.1f}"


def measured(
    spec: str, area: str, cases: int, seed: int, seconds: float, baseline: Path | None
) -> list[dict[str, Any]]:
    """Rows of an area's cases, in the order drawn; none of what a quarantine leaves out."""
    quarantine = load_baseline(baseline)[1] if baseline else NO_RULES
    opened, oracle = open_driver(spec, quarantine), registry.oracle()
    rows, seen, until = [], set(), time.perf_counter() + seconds
    try:
        source = registry.area(area)(opened.capabilities)
        number = 0
        while len(rows) < cases and number < 10 * cases and time.perf_counter() < until:
            number += 1
            laps = [time.perf_counter()]
            case = Draws(source, seed).example(number)
            laps.append(time.perf_counter())
            if not isinstance(case, Case) or case.content_hash in seen:
                continue
            seen.add(case.content_hash)
            start = time.perf_counter()
            if fault_of(case, lambda case: check(case, oracle)) or opened.quarantine.find(case):
                continue
            checked = time.perf_counter() - start
            rows.append({"area": area, "number": number, "draw": laps[1] - laps[0], "check": checked})
            rows[-1] |= run(case, opened.driver, opened.capabilities.subgroup_size) | dict(traits(case))
            if rows[-1]["driver"] > SLOW:
                rows[-1]["case"] = dumps_case(case)
    except NothingToGenerate:
        pass
    finally:
        opened.driver.close()
    return rows


def run(case: Case, driver: Driver, subgroup_size: int) -> dict[str, Any]:
    """Seconds of oracle, lowering and driver, and the words of the module."""
    start = time.perf_counter()
    registry.oracle().expect(case)
    answered = time.perf_counter()
    one = job(case, subgroup_size)
    module = one.module()
    lowered = time.perf_counter()
    outcome = driver.run(type(one)(case, one.memory, lambda: module))
    ran = time.perf_counter()
    return {
        "oracle": answered - start,
        "lower": lowered - answered,
        "driver": ran - lowered,
        "words": len(module.words),
        "status": outcome.status.value,
    }


def traits(case: Case) -> Iterator[tuple[str, Any]]:
    """What may explain a pipeline's cost."""
    yield "instructions", len(case.program)
    kinds = [type(i).__name__ for i in case.program]
    yield "kinds", kinds
    yield "invocations", case.dispatch.subgroups
    types = [i.type for i in case.program if isinstance(getattr(i, "type", None), MatrixType)]
    yield "elements", [constant_of(t.rows) * constant_of(t.cols) for t in types]
    lengths = [i.type.length for i in case.program if hasattr(getattr(i, "type", None), "length")]
    yield "lengths", [constant_of(length) for length in lengths]
    yield "products", [constant_of(i.m) * constant_of(i.k) for i in case.program if isinstance(i, VectorMatrixMul)]
    yield "scopes", sorted({str(constant_of(t.scope)) for t in types})
    yield "hash", case.content_hash


if __name__ == "__main__":
    main()
