"""How many reductions end as another bug: `python bench/slips.py [--count N] [--seed N] [--seconds S] [--unknown]`.

A driver has a planted bug, and up to three others of its area that its baseline knows: those of `written.yaml`. A
finding that the baseline does not know is reduced on it. It has slipped if the smallest case does not fail on a driver
with the first bug alone. With `--unknown` there is no baseline: three bugs of the area meet, and the finding is one of
the first.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from typing import Any

from learning import cases, fails, written

from cts.case.model import Case
from cts.case.model.sweep import Bytes
from cts.device.driver import Job, Outcome, Status
from cts.drivers.emulator.mutants.catalogue import mutants
from cts.findings.reduction.minimize import minimize
from cts.findings.reduction.progress import Budget
from cts.judging.effects import known_by_condition
from cts.judging.judge import OpenDriver, judge
from cts.judging.known.baseline import Baseline
from cts.judging.known.quarantine import Match, Rule
from cts.judging.verdict import Verdict
from cts.plugins import registry
from cts.running.opening import open_driver

#: Examples in which a finding of the first bug is looked for.
EXAMPLES = 1500


class Several:
    """A driver that is wrong in each byte in which one of several drivers is, and then as the first of these."""

    def __init__(self, drivers: list[OpenDriver]) -> None:
        self._right, self._wrong = open_driver("emulator").driver, [driver.driver for driver in drivers]

    def capabilities(self) -> Any:
        """Those of the emulator."""
        return self._right.capabilities()

    def run(self, job: Job) -> Outcome:
        """What all of them leave."""
        right = self._right.run(job)
        if right.status is not Status.DONE:
            return right
        memory: dict[str, Bytes] = {name: one.copy() for name, one in right.memory.items()}
        for driver in reversed(self._wrong):
            outcome = driver.run(job)
            if outcome.status is not Status.DONE:
                return outcome
            for name, left in outcome.memory.items():
                differs = left != right.memory[name]
                memory[name][differs] = left[differs]
        return Outcome(Status.DONE, memory)


def triples(count: int, seed: int) -> list[tuple[str, list[str]]]:
    """Areas and three of their bugs each, of each area as many."""
    of_area: dict[str, list[str]] = defaultdict(list)
    for one in mutants():
        of_area[one.area].append(one.name)
    chosen, source = [], random.Random(seed)
    areas = sorted(of_area)
    while len(chosen) < count:
        area = areas[len(chosen) % len(areas)]
        chosen.append((area, source.sample(of_area[area], 3)))
    return chosen


def with_known(count: int, seed: int) -> list[tuple[str, list[str]]]:
    """Areas, a bug of each, and the bugs that a baseline knows."""
    known, chosen, source = written(), [], random.Random(seed)
    of_area: dict[str, list[str]] = defaultdict(list)
    for one in mutants():
        of_area[one.area].append(one.name)
    areas = sorted(area for area, names in of_area.items() if any(name in known for name in names))
    while len(chosen) < count:
        area = areas[len(chosen) % len(areas)]
        some = [name for name in of_area[area] if name in known]
        new = source.choice([name for name in of_area[area] if name not in known])
        chosen.append((area, [new, *source.sample(some, min(3, len(some)))]))
    return chosen


def baseline_of(names: list[str]) -> Baseline:
    """What bugs leave, as the entries of a baseline."""
    texts = [(name, written()[name]) for name in names]
    return Baseline(
        tuple(Rule(Match(condition="some(Instruction)"), name, verdict="fail", leaves=text) for name, text in texts)
    )


def reduced(area: str, names: list[str], seed: int, seconds: float, unknown: bool) -> dict[str, Any]:
    """Whether the reduction of a finding of the first bug ends as one."""
    alone = [open_driver(f"emulator:mutant={name}") for name in names]
    driver = replace(open_driver("emulator"), spec="several", driver=Several(alone))  # type: ignore[arg-type]
    if not unknown:
        baseline = baseline_of(names[1:])
        driver = replace(driver, baseline=baseline, listed=baseline)
    drawn = zip(range(EXAMPLES), cases(alone[0], area, seed), strict=False)
    case = next((case for _, case in drawn if _is_found(driver, case) and fails(alone[0], case)), None)
    if case is None:
        return {"area": area, "bugs": names, "ends": "not found"}
    small = minimize(case, driver, registry.oracle(), Budget(seconds))
    return {"area": area, "bugs": names, "instructions": len(small.case.program), "ends": _ends(alone, small.case)}


def _is_found(driver: OpenDriver, case: Case) -> bool:
    """Whether a case fails, and the baseline does not know the failure."""
    attempt = judge(driver, case, registry.oracle().expect(case))
    return attempt.verdict is Verdict.FAIL and known_by_condition(driver, case, attempt) is None


def _ends(alone: list[OpenDriver], case: Case) -> str:
    return "as the first" if fails(alone[0], case) else "as another"


def main() -> int:
    """Measure, one line of JSON each, and a summary on stderr."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--unknown", action="store_true", help="no baseline")
    options = parser.parse_args()
    ends: dict[str, int] = defaultdict(int)
    groups = (triples if options.unknown else with_known)(options.count, options.seed)
    with ProcessPoolExecutor(options.processes) as pool:
        tasks = [pool.submit(reduced, *one, options.seed, options.seconds, options.unknown) for one in groups]
        for task in as_completed(tasks):
            one = task.result()
            ends[one["ends"]] += 1
            print(json.dumps(one), flush=True)
    print(dict(ends), file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
