"""Distinct drawn programs per second, by area: `python bench/distinct.py [--examples 2000] [--seed 1] [AREA...]`.

Draws examples for the interpreter in one process, judges nothing, and counts those whose content differs. To compare
with another commit, run this file there: `PYTHONPATH=OTHER python bench/distinct.py`.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time

from measuring import Figure, concluded

from cts.case.model import Case
from cts.judging.known.quarantine import NO_RULES
from cts.plugins import registry
from cts.running.drawing import Draws
from cts.running.garbage import rarely_collected
from cts.running.opening import open_driver


def main() -> int:
    """A line for each area: distinct programs per second of drawing, and how many of the examples repeat another."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("areas", nargs="*")
    parser.add_argument("--examples", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    opened, rates = open_driver("interpreter", NO_RULES), []
    for area in options.areas or registry.names("cts.areas"):
        source = registry.area(area)(opened.capabilities)
        with rarely_collected():
            for number in range(1, 50):
                Draws(source, 0).example(number)
            start = time.perf_counter()
            drawn = [Draws(source, options.seed).example(number) for number in range(1, options.examples + 1)]
            seconds = time.perf_counter() - start
        distinct = len({case.content_hash for case in drawn if isinstance(case, Case)})
        rates.append(distinct / seconds)
        print(
            f"{area:20} {rates[-1]:6.0f} distinct per second, {1 - distinct / options.examples:.0%} repeated",
            flush=True,
        )
    opened.driver.close()
    print(f"{'median':20} {statistics.median(rates):6.0f}")
    return concluded(Figure("median of the areas", statistics.median(rates), "programs/s"))


if __name__ == "__main__":
    sys.exit(main())
