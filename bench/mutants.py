"""How soon generated cases find each planted bug of the emulator, and how small the failures shrink.

    python bench/mutants.py [--seeds 0 1 2] [--area NAME ...] [--mutant NAME ...] [--json FILE]

Each mutant is hunted in the area it belongs to. Exit status 1 when one is not found on every seed within
the examples that its area promises, or shrinks to more instructions than that.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

from cts.case.model import dumps_case
from cts.drivers.emulator import create
from cts.drivers.emulator.mutants import arrays
from cts.judging.judge import judge
from cts.judging.verdict import Verdict
from cts.plugins import registry
from cts.running.exploring import run_area
from cts.running.opening import open_driver
from cts.running.profiles import Profile

#: What the project promises: by area, the most examples to find a mutant and the most instructions of its shrunk case.
PROMISES = {
    "tensor_addressing": (2000, 8),
    **dict.fromkeys(("vector_arithmetic", "vector_multiply", "vector_training", "vector_conversions"), (3000, 10)),
}
PROMISE = (3000, 12)

#: Mutants that only cases for devices of a profile show: the options of the emulator that such a device is.
PROFILES = {name.lower().replace("_", "-"): "vendor=arrays," for name, n in vars(arrays).items() if isinstance(n, int)}

#: Mutants that share examples in one process.
TOGETHER = 11


@dataclass(frozen=True)
class Hunt:
    """One mutant, one seed. `found` is the number of examples up to the first failure, None without a failure."""

    area: str
    mutant: str
    seed: int
    found: int | None
    instructions: int | None
    case: str


def hunt(area: str, mutants: list[str], seed: int, max_examples: int) -> list[Hunt]:
    """What `cts run` makes of these mutants of an area: find, shrink, reduce."""
    oracle = registry.oracle()
    drivers = [open_driver(f"emulator:{PROFILES.get(mutant, '')}mutant={mutant}") for mutant in mutants]
    ran = run_area(area, drivers, oracle, Profile("mutants", max_examples, seed), reruns=0)
    assert not ran.faults, list(ran.faults)
    hunts = []
    for mutant, result in zip(mutants, ran.results, strict=True):
        if result.finding is None:
            hunts.append(Hunt(area, mutant, seed, None, None, ""))
            continue
        # A find counts only if the mutant is to blame: the case is valid, and right without the mutant.
        case = result.finding.case
        text = dumps_case(case)
        assert oracle.violations(case) == [], text
        assert judge(open_driver("emulator"), case, oracle.expect(case)).verdict is Verdict.PASS, text
        hunts.append(Hunt(area, mutant, seed, result.examples, len(case.program), text))
    return hunts


def main() -> int:
    """Hunt, print the table, judge."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--max-examples", type=int, help="default: what the mutant's area promises")
    parser.add_argument("--area", nargs="+", help="default: all of them")
    parser.add_argument("--mutant", nargs="+", help="default: all of them")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--json", type=Path, help="write every hunt, with its shrunk case, to this file")
    args = parser.parse_args()
    areas = {m.name: m.area for m in create.mutants()}
    for noun, given, known in (("mutant", args.mutant, areas.keys()), ("area", args.area, areas.values())):
        if unknown := sorted(set(given or ()) - set(known)):
            parser.error(f"no {noun} named {', '.join(unknown)}; `cts drivers --json -` lists them")
    wanted = [m for m, area in areas.items() if m in (args.mutant or areas) and area in (args.area or areas.values())]
    groups = [
        (area, mutants[i : i + TOGETHER])
        for area in dict.fromkeys(areas[m] for m in wanted)
        for profile in dict.fromkeys(PROFILES.get(m) for m in wanted)
        for mutants in [[m for m in wanted if areas[m] == area and PROFILES.get(m) == profile]]
        for i in range(0, len(mutants), TOGETHER)
    ]
    hunts: list[Hunt] = []
    started = time.perf_counter()
    with ProcessPoolExecutor(args.processes) as pool:
        jobs = [
            pool.submit(hunt, area, group, seed, args.max_examples or promise(area)[0])
            for seed, (area, group) in product(args.seeds, groups)
        ]
        print(f"{'area':18} {'mutant':32} {'seed':>4} {'found at':>8} {'instructions':>12}")
        for job in jobs:
            for h in job.result():
                hunts.append(h)
                found, size = h.found or "never", h.instructions or "-"
                print(f"{h.area:18} {h.mutant:32} {h.seed:4} {found:>8} {size:>12}", flush=True)
    if args.json:
        args.json.write_text(json.dumps([asdict(h) for h in hunts], indent=1), encoding="utf-8")
    missed = [h for h in hunts if h.found is None]
    large = [h for h in hunts if h.instructions is not None and h.instructions > promise(h.area)[1]]
    print(f"{len(wanted)} mutants, {len(hunts)} hunts: {len(missed)} missed, {len(large)} shrunk to more than ", end="")
    print(f"promised; {time.perf_counter() - started:.0f} s")
    return 1 if missed or large else 0


def promise(area: str) -> tuple[int, int]:
    """Examples and instructions that the project promises for an area's mutants."""
    return PROMISES.get(area, PROMISE)


if __name__ == "__main__":
    sys.exit(main())
