"""Judged parameter sets per second, and the share of each stage: `python bench/sweeps.py [DRIVER...]`.

`--universe NAME` and `--sets N` choose what is swept: so many sets of each of its templates, in one process; the first
dispatches of a template compile it and are not counted. The oracle's time is its rules, addresses and values; the rest
is memory, lowering and comparison. Sets that are excluded count: they are judged, too. Exit status 1 where the
interpreter judges less than 20,000 sets a second of the templates without exclusions.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import numpy as np
from measuring import Figure, concluded

from cts.case.model.sweep import Sweep
from cts.case.oracle.expectation import Swept
from cts.plugins import registry
from cts.plugins.universes import packaged
from cts.running.garbage import rarely_collected
from cts.running.opening import open_driver
from cts.running.sweeps.judging import DISPATCH_SETS, judge_sets
from cts.running.sweeps.selection import opened
from cts.running.sweeps.states import State


class Timed:
    """The oracle, and the seconds that it takes for sweeps."""

    def __init__(self) -> None:
        self.oracle = registry.oracle()
        self.seconds = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.oracle, name)

    def sweep(self, sweep: Sweep) -> Swept:
        start = time.perf_counter()
        try:
            return self.oracle.sweep(sweep)
        finally:
            self.seconds += time.perf_counter() - start


PROMISES = {"interpreter": 20_000}


def main() -> int:
    """Print a line for each driver and template."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("drivers", nargs="*", default=["interpreter", "emulator"])
    parser.add_argument("--universe", default="tensor_loads_2d")
    parser.add_argument("--sets", type=int, default=65_536)
    arguments = parser.parse_args()
    universe, slowest = opened(packaged()[arguments.universe]), {}
    for spec in arguments.drivers:
        driver = open_driver(spec)
        for part in universe.parts:
            most = universe.part_size
            numbers = np.arange(min(arguments.sets, most)) + max(0, most - arguments.sets) // 2
            oracle = Timed()
            with rarely_collected():
                judge_sets(part, numbers[:DISPATCH_SETS], driver, oracle)
                oracle.seconds, start = 0.0, time.perf_counter()
                judged = judge_sets(part, numbers, driver, oracle)
                seconds = time.perf_counter() - start
            ended = (State.PASS, State.FAIL, State.EXCLUDED)
            assert np.isin(judged.states, ended).all(), "only what is compared or excluded is measured"
            run, rate = int((judged.states != State.EXCLUDED).sum()), len(numbers) / seconds
            shares = f"oracle {oracle.seconds / seconds:.0%}, driver {judged.seconds / seconds:.0%}"
            fixed = ", ".join(map(str, part.fixed.values()))
            counts = f"{run:,} of {len(numbers):,} run"
            print(f"{spec} {universe.name} {fixed}: {rate:,.0f} sets per second, {counts}; {shares}")
            if run == len(numbers):
                slowest[spec] = min(slowest.get(spec, rate), rate)
        driver.driver.close()
    return concluded(
        *(
            Figure(f"{spec}, nothing excluded, slowest", rate, "sets/s", at_least=PROMISES.get(spec))
            for spec, rate in slowest.items()
        )
    )


if __name__ == "__main__":
    sys.exit(main())
