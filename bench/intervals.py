"""Whether the oracle's answer for an interval allows its answer for each number in it, over many samples.

    python bench/intervals.py [--samples N] [--seed S] [-j PROCESSES]

It takes every operation in every setting, then chains of two to four operations, until N numbers were tried. It exits
with 1 if one is refused, and prints the first ones. `tests/reference/test_intervals_against_points.py` tries a share.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from measuring import Figure, concluded

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from tests.reference.interval_points import chains, operations, refused, settings

#: Elements of a call: many more make NumPy no faster, and fewer spend the time in Python.
ELEMENTS = 256
SHOWN = 20


def sampled(seed: int, part: int, parts: int, samples: int) -> tuple[int, list[str]]:
    """A share of all operations and settings, and of chains for the rest of the samples; refusals as texts."""
    rng = np.random.default_rng((seed, part))
    every, tried = settings(), 0
    refusals: list[str] = []
    work = [((operation,), setting) for operation in operations() for setting in every][part::parts]
    endless = [chains(rng, length) for length in (2, 3, 4)]
    chained = ((next(endless[n % 3]), every[rng.integers(len(every))]) for n in itertools.count())
    for n, (chain, setting) in enumerate(itertools.chain(work, chained)):
        if n >= len(work) and tried >= samples:
            return tried, refusals
        with np.errstate(all="ignore"):
            count, found = refused(chain, setting, rng, ELEMENTS, 2)
        tried += count
        refusals += map(str, found)
    raise AssertionError


def main() -> int:
    """Sample, print the refusals and the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-j", "--processes", type=int, default=1)
    args = parser.parse_args()
    parts = args.processes
    with ProcessPoolExecutor(parts) as pool:
        share = -(-args.samples // parts)
        results = list(pool.map(sampled, [args.seed] * parts, range(parts), [parts] * parts, [share] * parts))
    refusals = [text for _, some in results for text in some]
    for text in refusals[:SHOWN]:
        print(text)
    tried = sum(count for count, _ in results)
    return concluded(
        Figure("numbers tried", tried, at_least=args.samples), Figure("numbers refused", len(refusals), at_most=0)
    )


if __name__ == "__main__":
    sys.exit(main())
