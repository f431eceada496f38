"""How soon generated cases find each planted bug of the emulator, and how small the failures shrink.

    python bench/mutants.py --seeds 0 1 2 --max-examples 2000 [--mutant NAME ...] [--json FILE]

Exit status 1 when a mutant is not found on every seed, or shrinks to more than 8 instructions.
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

from cts import registry
from cts.drivers.emulator import create
from cts.explore import explore
from cts.judge import judge
from cts.model import dumps_case
from cts.profiles import Profile
from cts.runner import open_driver
from cts.verdict import Verdict

#: What the project promises of a shrunk failure.
MOST_INSTRUCTIONS = 8


#: Mutants that share examples in one process.
TOGETHER = 11


@dataclass(frozen=True)
class Hunt:
    """One mutant, one seed. `found` is the number of examples up to the first failure, None when there is none."""

    mutant: str
    seed: int
    found: int | None
    instructions: int | None
    case: str


def hunt(mutants: list[str], seed: int, max_examples: int) -> list[Hunt]:
    """What `cts run` makes of these mutants: find, shrink, reduce."""
    oracle = registry.oracle()
    drivers = [open_driver(f"emulator:mutant={mutant}") for mutant in mutants]
    strategy = registry.area("tensor_addressing")(drivers[0].capabilities)
    explored = explore(strategy, drivers, oracle, Profile("mutants", max_examples, seed))
    hunts = []
    for mutant, driver in zip(mutants, drivers, strict=True):
        result = explored[driver.spec]
        if result.case is None:
            hunts.append(Hunt(mutant, seed, None, None, ""))
            continue
        # A find counts only if the mutant is to blame: the case is valid, and right without the mutant.
        text = dumps_case(result.case)
        assert oracle.violations(result.case) == [], text
        assert judge(open_driver("emulator"), result.case, oracle.expect(result.case)).verdict is Verdict.PASS, text
        hunts.append(Hunt(mutant, seed, result.examples, len(result.case.program), text))
    return hunts


def main() -> int:
    """Hunt, print the table, judge."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--max-examples", type=int, default=2000)
    parser.add_argument("--mutant", nargs="+", help="default: all of them")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--json", type=Path, help="write every hunt, with its shrunk case, to this file")
    args = parser.parse_args()
    known = [m.name for m in create.mutants()]
    wanted = args.mutant or known
    if unknown := sorted(set(wanted) - set(known)):
        parser.error(f"no mutant named {', '.join(unknown)}; `cts drivers --json` lists them")
    hunts: list[Hunt] = []
    groups = [wanted[i : i + TOGETHER] for i in range(0, len(wanted), TOGETHER)]
    started = time.perf_counter()
    with ProcessPoolExecutor(args.processes) as pool:
        jobs = [pool.submit(hunt, group, seed, args.max_examples) for seed, group in product(args.seeds, groups)]
        print(f"{'mutant':32} {'seed':>4} {'found at':>8} {'instructions':>12}")
        for job in jobs:
            for h in job.result():
                hunts.append(h)
                print(f"{h.mutant:32} {h.seed:4} {h.found or 'never':>8} {h.instructions or '-':>12}", flush=True)
    if args.json:
        args.json.write_text(json.dumps([asdict(h) for h in hunts], indent=1), encoding="utf-8")
    missed = [h for h in hunts if h.found is None]
    large = [h for h in hunts if h.instructions is not None and h.instructions > MOST_INSTRUCTIONS]
    print(f"{len(wanted)} mutants, {len(hunts)} hunts: {len(missed)} missed, {len(large)} shrunk to more than ", end="")
    print(f"{MOST_INSTRUCTIONS} instructions; {time.perf_counter() - started:.0f} s")
    return 1 if missed or large else 0


if __name__ == "__main__":
    sys.exit(main())
