"""Generated examples per second, from drawing to verdict: `python bench/end_to_end.py [DRIVER...] [--jobs N]`.

For each driver and area, in one process; a first run compiles and warms caches, the second is measured. "driver" is
the share of the time that the driver itself took. With `--jobs`, then a run of all areas in one process and in so many,
their start included: how much faster these are.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time

from measuring import Figure, concluded

from cts.judging.events import ignore
from cts.judging.judge import OpenDriver
from cts.judging.verdict import Verdict
from cts.plugins import registry
from cts.running.exploring import run_area
from cts.running.garbage import rarely_collected
from cts.running.opening import open_driver
from cts.running.plan import Plan
from cts.running.profiles import profile
from cts.running.runner import run

#: How many times as fast two processes must be as one.
SPEED_UP = 1.8


def measured(driver: OpenDriver, area: str, examples: int, seed: int) -> tuple[float, float]:
    """Examples per second of a driver, and its share of the time."""
    start = time.perf_counter()
    (result,) = run_area(area, [driver], registry.oracle(), profile("default", examples, seed)).results
    seconds = time.perf_counter() - start
    assert result.verdict is Verdict.PASS, "only drivers that pass are measured"
    return examples / seconds, result.seconds / seconds


def whole(spec: str, examples: int, jobs: int) -> float:
    """Seconds of a run of all areas."""
    start = time.perf_counter()
    areas = tuple(registry.names("cts.areas"))
    assert run(Plan((spec,), profile("default", examples, 3), areas=areas, jobs=jobs), ignore) == 0
    return time.perf_counter() - start


def main() -> int:
    """Print a line for each driver and area."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("drivers", nargs="*", default=["emulator", "interpreter"])
    parser.add_argument("--examples", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    figures = []
    for spec in arguments.drivers:
        driver, rates = open_driver(spec), []
        for area in registry.names("cts.areas"):
            with rarely_collected():  # as `cts run` does
                measured(driver, area, 30, seed=1)
                rate, share = measured(driver, area, arguments.examples, seed=2)
            rates.append(rate)
            print(f"{spec} {area}: {rate:.0f} examples per second, driver {share:.0%}")
        driver.driver.close()
        print(f"{spec}: median of the areas {statistics.median(rates):.0f} per second")
        figures.append(Figure(f"{spec}, median of the areas", statistics.median(rates), "examples/s"))
        if arguments.jobs > 1:
            one, several = (whole(spec, arguments.examples, jobs) for jobs in (1, arguments.jobs))
            print(f"{spec}: {one:.1f} s in one process, {several:.1f} s in {arguments.jobs}: {one / several:.2f}x")
            limit = SPEED_UP if arguments.jobs == 2 else None
            figures.append(Figure(f"{spec}, {arguments.jobs} processes", one / several, "times", at_least=limit))
    return concluded(*figures)


if __name__ == "__main__":
    sys.exit(main())
