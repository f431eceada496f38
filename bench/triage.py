"""One planted bug, one cause: `python bench/triage.py [--mutants NAME ...] [--processes N] [--pairs N]`.

Each mutant of tests/explain/mutants.txt runs the corpus, and its failures are grouped as `cts triage` groups them,
without explanations. Then failures of two mutants at a time are grouped together. Exit status 1 where fewer than 40 of
the 42 have one cause.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path

from cts.features.phrases import phrases
from cts.model import Case
from cts.plugins import registry
from cts.report.grouping import alike
from cts.running.cases import run_entries
from cts.running.corpus import Entry, entries, read
from cts.running.opening import open_driver
from cts.verdict import Verdict

TABLE = Path(__file__).parents[1] / "tests" / "explain" / "mutants.txt"

#: How many mutants may have more than one cause.
DIVIDED = 2

#: Cases that a driver gets at a time.
BLOCK = 64


@cache
def corpus() -> list[tuple[Entry, Case]]:
    """Every case of the corpus."""
    return [(entry, read(entry, registry.oracle())) for entry in entries()]


@cache
def has() -> dict[str, frozenset[str]]:
    """What every case of the corpus has, by name."""
    return {entry.name: phrases(case) for entry, case in corpus()}


def verdicts(mutant: str) -> tuple[list[str], list[str]]:
    """The names of cases that fail on a mutant, and of those that pass."""
    driver = open_driver(f"emulator:mutant={mutant}")
    failing, passing = [], []
    for start in range(0, len(corpus()), BLOCK):
        for (result,) in run_entries(corpus()[start : start + BLOCK], [driver], registry.oracle(), reruns=0):
            if result.verdict.is_finding:
                failing.append(result.name)
            elif result.verdict is Verdict.PASS:
                passing.append(result.name)
    return failing, passing


def mixed(pairs: int, found: dict[str, tuple[list[str], list[str]]]) -> None:
    """Print what becomes of the failures of two mutants: how many causes, and how often a failure is with its like."""
    choices = random.Random(1)
    counts: Counter[int] = Counter()
    right = total = 0
    for _ in range(pairs):
        (a, passing_a), (b, passing_b) = (found[m] for m in choices.sample(sorted(found), 2))
        failing, passing = sorted({*a, *b}), sorted({*passing_a} & {*passing_b})
        groups = alike([has()[n] for n in failing], [has()[n] for n in passing])
        counts[len(groups)] += 1
        for group in groups:
            names = {failing[place] for place in group.places}
            right += max(len(names & {*a}), len(names & {*b}))
            total += len(names)
    said = ", ".join(f"{n} causes {count} times" for n, count in sorted(counts.items()))
    print(f"{pairs} pairs of mutants: {said}; {right / total:.1%} of failures with those of their mutant")


def main() -> int:
    """Run, group, print and judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mutants", nargs="*", default=[])
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=80)
    options = parser.parse_args()
    lines = (line.split() for line in TABLE.read_text(encoding="utf-8").splitlines())
    mutants = options.mutants or [words[0] for words in lines if words and words[0] != "#"]
    found: dict[str, tuple[list[str], list[str]]] = {}
    divided = 0
    with ProcessPoolExecutor(options.processes) as pool:
        for mutant, (failing, passing) in zip(mutants, pool.map(verdicts, mutants), strict=True):
            groups = alike([has()[n] for n in failing], [has()[n] for n in passing]) if failing else []
            divided += len(groups) != 1
            said = "; ".join(
                f"{len(g.places)} with {' and '.join(g.traits) or 'nothing'} ({g.passing} pass)" for g in groups
            )
            print(f"{mutant}: {said or 'not found'}", flush=True)
            if failing:
                found[mutant] = failing, passing
    print(f"{len(mutants) - divided} of {len(mutants)} mutants have one cause")
    if len(found) > 1:
        mixed(options.pairs, found)
    return int(divided > DIVIDED)


if __name__ == "__main__":
    sys.exit(main())
