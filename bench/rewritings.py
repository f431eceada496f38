"""An adversary that plays the compiler: no legal rewriting of an expression may be refused by the oracle.

    python bench/rewritings.py [--expressions 100000] [--rewritings 20] [--seed 1] [--jobs 2] [--show 10]

Draws expressions (callbacks, element-wise arithmetic of matrices and of vectors, with constants, FMA and conversions),
rewrites each as its float controls allow, and evaluates what comes of it in the component types with NumPy alone
(tests/adversary). A result that the oracle does not allow would accuse a driver falsely: it is printed, and the exit
status is 1. The opposite is measured, too: how many numbers of the type the oracle allows for each between the least
and the greatest found, in the median, by operation; of exact results nothing is measured, nor of those that may
be NaN or overflow.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the adversary, which tests share

from measuring import Figure, concluded

from tests.adversary.judging import Report, examine

#: At most so many allowed numbers for each found, in the median, in up to five operations.
LIMIT = 4.0
#: Expressions that a process examines at a time.
_EACH = 250


def _task(arguments: tuple[int, int, int]) -> Report:
    return examine(*arguments)


def main() -> int:
    """Draw, rewrite, ask, and print what was refused and how wide the bounds are."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--expressions", type=int, default=100_000)
    parser.add_argument("--rewritings", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--show", type=int, default=10, help="refused results to print")
    options = parser.parse_args()
    count = -(-options.expressions // _EACH)
    tasks = [(options.seed * 1_000_000 + n, _EACH, options.rewritings) for n in range(count)]
    report, start = Report(), time.monotonic()
    with multiprocessing.Pool(options.jobs) as pool:
        for done in pool.imap_unordered(_task, tasks):
            report.add(done)
    for text in report.refused[: options.show]:
        print(text)
    print(f"{report.expressions} expressions, {report.rewritings} rewritings, {time.monotonic() - start:.0f} s")
    print("numbers allowed for each one found, median by setting and operation:")
    medians = {key: float(np.median(values)) for key, values in sorted(report.ratios.items())}
    for (setting, operation), median in medians.items():
        print(f"  {setting:16} {operation:8} {median:8.2f}  of {len(report.ratios[setting, operation])}")
    print("finite elements that may be anything:", dict(report.wild))
    return concluded(
        Figure("expressions", report.expressions),
        Figure("expressions with a refused rewriting", len(report.refused), at_most=0),
        *(
            Figure(f"numbers allowed for each one found, {setting}", round(median, 2), at_most=LIMIT)
            for (setting, operation), median in medians.items()
            if operation == "all"
        ),
    )


if __name__ == "__main__":
    sys.exit(main())
