"""Which planted bugs of the emulator the universes find, without generated cases and without making anything smaller.

    python bench/universe_mutants.py [--area NAME ...] [--mutant NAME ...] [--universe NAME ...] [--max-sets N]

For each mutant the universes are swept, so many evenly spread sets of each, until a set does not pass which the
emulator without the mutant gets right. Exit status 1 when a smaller share of the mutants is found than promised.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import product
from typing import Any, cast

import numpy as np
from measuring import Figure, concluded

from cts.case.model.sweep import Sweep
from cts.case.oracle.expectation import Oracle, Swept
from cts.drivers.emulator import create
from cts.judging.judge import OpenDriver
from cts.plugins import registry
from cts.plugins.universes import packaged
from cts.running.opening import open_driver
from cts.running.sweeps.judging import judge_sets
from cts.running.sweeps.selection import Chosen, opened
from cts.running.sweeps.states import VERDICTS, State, States
from cts.running.sweeps.universe import Numbers, Part

#: What the project promises: the share of the mutants of tensor addressing that universes find.
PROMISED = 95

#: The states of sets that show a bug.
BUGS = [int(state) for state in VERDICTS if state is not State.PASS]


#: Sets of each universe that all mutants meet before any meets more.
FIRST_SETS = 200


class Remembering:
    """The oracle, which is asked once about the sets that every mutant meets."""

    def __init__(self, oracle: Oracle) -> None:
        self._oracle = oracle
        self._swept: dict[tuple[object, ...], tuple[Sweep, Swept]] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._oracle, name)

    def sweep(self, sweep: Sweep) -> Swept:
        """As the oracle's; templates are distinguished by identity, and kept."""
        data = tuple((name, rows.tobytes()) for name, rows in sweep.data.items())
        key = id(sweep.template), sweep.sets.tobytes(), data
        if key not in self._swept:
            self._swept[key] = sweep, self._oracle.sweep(sweep)
        return self._swept[key][1]


@cache
def _oracle() -> Oracle:
    return cast(Oracle, Remembering(registry.oracle()))


@cache
def _driver(spec: str) -> OpenDriver:
    return open_driver(spec)


def _states(part: Part, numbers: Numbers, spec: str) -> States:
    return judge_sets(part, numbers, _driver(spec), _oracle()).states


def hunt(mutant: str, universes: Sequence[str], max_sets: int) -> tuple[str, int] | None:
    """The first universe that finds the mutant, and how many of its sets were judged until then, few or many."""
    spec = f"emulator:mutant={mutant}"
    for most, name in product((min(FIRST_SETS, max_sets), max_sets), universes):
        universe = opened(packaged()[name])
        chosen = Chosen(universe.size, most, seed=0)
        judged = 0
        for part, numbers in universe.by_part(chosen.numbers(0, chosen.count)):
            failing = np.flatnonzero(np.isin(_states(part, numbers, spec), BUGS))
            if failing.size:
                # A find counts only if the mutant is to blame.
                (right,) = _states(part, numbers[failing[:1]], "emulator")
                assert right == State.PASS, f"{name}: set {numbers[failing[0]]} fails without the mutant, too"
                return name, judged + int(failing[0]) + 1
            judged += len(numbers)
    return None


def main() -> int:
    """Hunt, print the table, judge."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--area", nargs="+", default=["tensor_addressing"])
    parser.add_argument("--mutant", nargs="+", help="default: all of the areas")
    parser.add_argument("--universe", nargs="+", help="default: all of them", choices=list(packaged()))
    parser.add_argument("--max-sets", type=int, default=3000)
    parser.add_argument("--processes", type=int, default=2)
    args = parser.parse_args()
    areas = {m.name: m.area for m in create.mutants()}
    for noun, given, known in (("mutant", args.mutant, areas.keys()), ("area", args.area, areas.values())):
        if unknown := sorted(set(given or ()) - set(known)):
            parser.error(f"no {noun} named {', '.join(unknown)}; `cts drivers --json -` lists them")
    mutants = args.mutant or [m for m, area in areas.items() if area in args.area]
    universes = args.universe or list(packaged())
    missed = []
    started = time.perf_counter()
    with ProcessPoolExecutor(args.processes) as pool:
        jobs = [pool.submit(hunt, mutant, universes, args.max_sets) for mutant in mutants]
        print(f"{'mutant':32} {'universe':28} {'set':>6}")
        for mutant, job in zip(mutants, jobs, strict=True):
            universe, place = job.result() or ("never", "-")
            print(f"{mutant:32} {universe:28} {place:>6}", flush=True)
            if universe == "never":
                missed.append(mutant)
    found = len(mutants) - len(missed)
    print(f"{found} of {len(mutants)} mutants found; {time.perf_counter() - started:.0f} s")
    if missed:
        print(f"missed: {', '.join(missed)}")
    return concluded(Figure("mutants found", 100 * found / len(mutants), "%", at_least=PROMISED))


if __name__ == "__main__":
    sys.exit(main())
