"""Examples per second from generation to verdict, for each driver: `python bench/end_to_end.py [DRIVER...]`.

A first run compiles and warms caches; the second is measured. "driver" is the share of the time that
the driver itself took, "together" one run of all drivers, which share generation and oracle.
"""

from __future__ import annotations

import argparse
import time

from cts.judging.judge import OpenDriver
from cts.plugins import registry
from cts.running.explore import explore
from cts.running.opening import open_driver
from cts.running.profiles import profile
from cts.verdict import Verdict

AREA = "tensor_addressing"


def measured(drivers: list[OpenDriver], examples: int, seed: int) -> tuple[float, float]:
    """Examples per second of each driver, and the drivers' share of the time."""
    source = registry.area(AREA)(drivers[0].capabilities)
    start = time.perf_counter()
    explored = explore(source, drivers, registry.oracle(), profile("default", examples, seed)).results
    seconds = time.perf_counter() - start
    assert all(e.verdict is Verdict.PASS for e in explored.values()), "only drivers that pass are measured"
    return examples / seconds, sum(e.seconds for e in explored.values()) / seconds


def main() -> None:
    """Print a line for each driver."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("drivers", nargs="*", default=["emulator", "interpreter"])
    parser.add_argument("--examples", type=int, default=500)
    arguments = parser.parse_args()
    drivers = [open_driver(spec) for spec in arguments.drivers]
    for name, group in [*((d.spec, [d]) for d in drivers), ("together", drivers)]:
        measured(group, 50, seed=1)
        rate, share = measured(group, arguments.examples, seed=2)
        print(f"{name}: {rate:.0f} examples per second ({share:.0%} of the time in drivers)")


if __name__ == "__main__":
    main()
