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

from hypothesis import HealthCheck, Phase, given, seed, settings

from cts import registry
from cts.compare import compare
from cts.driver import Driver, Job, Status
from cts.drivers.emulator import create
from cts.job import ModuleJob
from cts.model import Case, dumps_case, initial_memory
from cts.seeding import same_examples_everywhere

#: What the project promises of a shrunk failure.
MOST_INSTRUCTIONS = 8


@dataclass(frozen=True)
class Hunt:
    """One mutant, one seed. `found` is the number of examples up to the first failure, None when there is none."""

    mutant: str
    seed: int
    found: int | None
    instructions: int | None
    shrink_calls: int
    find_seconds: float
    shrink_seconds: float
    case: str


class Found(AssertionError):
    """The driver's memory is not the expected one."""


def is_right(driver: Driver, case: Case) -> bool:
    """Whether the driver leaves behind what the oracle allows."""
    outcome = driver.run(Job(case, initial_memory(case), _no_module))
    if outcome.status is not Status.DONE:
        return False
    return compare(case, registry.oracle().expect(case), outcome.memory) is None


def _no_module() -> ModuleJob:
    raise AssertionError("the emulator runs cases, not modules")


def hunt(mutant: str, number: int, max_examples: int) -> Hunt:
    """Run the property test until it fails, and shrink."""
    driver = registry.driver(f"emulator:mutant={mutant}")
    strategy = registry.area("tensor_addressing")(driver.capabilities())
    calls, found_at, smallest = 0, 0, None
    started = found_time = time.perf_counter()

    @seed(number)
    @settings(
        max_examples=max_examples,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
    @given(strategy)
    def test(case: Case) -> None:
        nonlocal calls, found_at, found_time, smallest
        calls += 1
        if not is_right(driver, case):
            if not found_at:
                found_at, found_time = calls, time.perf_counter()
            smallest = case
            raise Found

    try:
        with same_examples_everywhere():
            test()
    except Found:
        assert smallest is not None
        # A find counts only if the mutant is to blame: the case is valid, and right without the mutant.
        assert registry.oracle().violations(smallest) == [], dumps_case(smallest)
        assert is_right(registry.driver("emulator"), smallest), dumps_case(smallest)
        return Hunt(
            mutant,
            number,
            found_at,
            len(smallest.program),
            calls - found_at,
            round(found_time - started, 2),
            round(time.perf_counter() - found_time, 2),
            dumps_case(smallest),
        )
    return Hunt(mutant, number, None, None, 0, round(time.perf_counter() - started, 2), 0.0, "")


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
    hunts = []
    with ProcessPoolExecutor(args.processes) as pool:
        jobs = [pool.submit(hunt, m, s, args.max_examples) for m, s in product(wanted, args.seeds)]
        print(f"{'mutant':32} {'seed':>4} {'found at':>8} {'instructions':>12} {'shrink calls':>12} {'seconds':>8}")
        for job in jobs:
            h = job.result()
            hunts.append(h)
            found, size = h.found or "never", h.instructions or "-"
            seconds = h.find_seconds + h.shrink_seconds
            print(f"{h.mutant:32} {h.seed:4} {found:>8} {size:>12} {h.shrink_calls:12} {seconds:8.1f}", flush=True)
    if args.json:
        args.json.write_text(json.dumps([asdict(h) for h in hunts], indent=1), encoding="utf-8")
    missed = [h for h in hunts if h.found is None]
    large = [h for h in hunts if h.instructions is not None and h.instructions > MOST_INSTRUCTIONS]
    print(f"{len(wanted)} mutants, {len(hunts)} hunts: {len(missed)} missed, {len(large)} shrunk to more than ", end="")
    print(f"{MOST_INSTRUCTIONS} instructions")
    return 1 if missed or large else 0


if __name__ == "__main__":
    sys.exit(main())
