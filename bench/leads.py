"""Whether the first lead of a failure leads to its cause: `python bench/leads.py [--seed N] [--processes N]`.

Each planted bug of the emulator is found in its area, its case reduced and explained. tests/explain/causes.txt says
what the bug is, so that the first lead, the instruction and the fact that are named first, is *right*, names the
*place* alone, *misleads* to another instruction, or is *none*. A guess ("looks like") misleads where it says that
elements come from elsewhere, and numbers are wrong. Exit status 1 where fewer leads are right, or more mislead, than is
promised. `--memory-only` hides matrices and vectors, as a device does.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from cts.case.model import Case
from cts.device.capabilities import Capabilities
from cts.device.driver import Driver, Job, Outcome
from cts.drivers.emulator.mutants.catalogue import mutants
from cts.findings.explain import explain
from cts.findings.explain.model import Explanation
from cts.judging.events import Finding, ignore
from cts.judging.finding import finding
from cts.judging.guesses import BufferShifted, BufferTransposed, ElementReadInstead, ReadAtDistance, ReadInOtherSteps
from cts.judging.judge import judge, refusal
from cts.judging.sentences import guess_text
from cts.judging.verdict import Verdict
from cts.plugins import registry
from cts.running.drawing import Draws, checked_expectation
from cts.running.opening import open_driver
from cts.running.profiles import profile
from cts.running.shrinking import Failing, NotReduced, Shrinker

TABLE = Path(__file__).parents[1] / "tests" / "explain" / "causes.txt"

#: Examples in which a bug is looked for; shares of leads that are promised: right, and at most misleading.
EXAMPLES, RIGHT, MISLEADING = 3000, 0.8, 0.02

#: Instructions that the reason for a suspicion names.
_OP = re.compile(r"\b(?:Matrix|Vector)[A-Z]\w+|\b(?:If|Switch|Loop|Break|Continue|Return)\b")

#: Guesses that say where elements come from.
_ELSEWHERE = (BufferShifted, BufferTransposed, ElementReadInstead, ReadAtDistance, ReadInOtherSteps)


@dataclass(frozen=True)
class Cause:
    """What a mutant breaks: what shows of it, and the instructions and facts of which any will do."""

    kind: str
    ops: tuple[str, ...]
    facts: tuple[str, ...]

    def has_op(self, op: str) -> bool:
        """Whether the bug is in this instruction."""
        return "*" in self.ops or op.partition("[")[0] in self.ops

    def has_fact(self, fact: str) -> bool:
        """Whether it breaks this fact."""
        return any(
            fact.startswith(f[:-1]) if f.endswith("*") else fact.rstrip("b") == f.rstrip("b") for f in self.facts
        )


def causes() -> dict[str, Cause]:
    """The table, by mutant."""
    rows = [line.split() for line in TABLE.read_text(encoding="utf-8").splitlines() if line[:1] != "#"]
    return {name: Cause(kind, tuple(ops.split("|")), tuple(facts.split("|"))) for name, kind, ops, facts in rows}


def led(cause: Cause, explained: Explanation) -> str:
    """What the first lead is: right, place, misleads or none."""
    first = explained.suspects[0] if explained.suspects else None
    named = {explained.op} if first is None else {explained.op, *_OP.findall(first.why)}
    if first is not None and cause.has_fact(first.fact) and any(map(cause.has_op, named)):
        return "right"
    if not explained.op:
        return "none"
    return "place" if cause.has_op(explained.op) else "misleads"


class Counted:
    """A driver whose runs are counted; on request it returns memory only."""

    def __init__(self, driver: Driver, *, memory_only: bool) -> None:
        self.name, self.runs = driver.name, 0
        self._driver, self._memory_only = driver, memory_only

    def capabilities(self) -> Capabilities:
        return self._driver.capabilities()

    def run(self, job: Job) -> Outcome:
        self.runs += 1
        outcome = self._driver.run(job)
        return replace(outcome, matrices={}) if self._memory_only else outcome

    def close(self) -> None:
        self._driver.close()


def measured(name: str, area: str, seed: int, *, memory_only: bool) -> Mapping[str, Any]:
    """A mutant that is found, reduced and explained."""
    cause, opened, oracle = causes()[name], open_driver(f"emulator:mutant={name}"), registry.oracle()
    counted = Counted(opened.driver, memory_only=memory_only)
    driver = replace(opened, driver=counted)
    settings = profile("default", seed=seed)
    found: dict[str, Any] = {"mutant": name, "area": area}
    draws = Draws(registry.area(area)(driver.capabilities), seed)
    for number in range(1, EXAMPLES + 1):
        case = draws.example(number)
        if not isinstance(case, Case) or refusal(driver, case) is not None:
            continue
        expectation = checked_expectation(case, oracle)
        attempt = judge(driver, case, expectation)
        if attempt.verdict is Verdict.FAIL:
            break
    else:
        return found | {"lead": "not found"}
    try:
        failing = Shrinker(driver, oracle, settings, ignore).shrunk(draws, number, case, Verdict.FAIL)
    except NotReduced:
        failing = Failing(case, attempt, expectation)
    start, before = time.perf_counter(), counted.runs
    explained = explain(failing.case, driver, oracle, found=case)
    seconds = time.perf_counter() - start
    shown = finding(failing.case, failing.attempt, failing.expectation, oracle)
    return found | {
        "example": number,
        "lead": led(cause, explained),
        "guess": _guessed(cause, shown),
        "rank": next((n for n, fact in enumerate(explained.facts) if cause.has_fact(fact)), None),
        "op": explained.op,
        "facts": explained.facts[:3],
        "why": explained.suspects[0].why if explained.suspects else "",
        "looks": [guess_text(g) for g in shown.guesses],
        "seconds": round(seconds, 2),
        "runs": counted.runs - before,
        "hash": failing.case.content_hash,
    }


def _guessed(cause: Cause, shown: Finding) -> str:
    elsewhere = [g for g in shown.guesses if isinstance(g, _ELSEWHERE)]
    return "misleads" if elsewhere and cause.kind == "value" else "elsewhere" if elsewhere else "no more"


def main() -> int:
    """Measure, one line of JSON for each mutant, and a table by area on stderr."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--mutants", default=".*", metavar="REGEX", help="those whose names match")
    parser.add_argument("--memory-only", action="store_true")
    given = parser.parse_args()
    chosen = [m for m in mutants() if re.fullmatch(given.mutants, m.name)]
    tally: dict[str, Counter[str]] = defaultdict(Counter)
    task = partial(measured, seed=given.seed, memory_only=given.memory_only)
    most: Counter[str] = Counter()
    with ProcessPoolExecutor(given.processes) as pool:
        for future in as_completed([pool.submit(task, m.name, m.area) for m in chosen]):
            one = future.result()
            most |= Counter({"seconds": one.get("seconds", 0), "runs": one.get("runs", 0)})
            for area in (one["area"], "all"):
                tally[area][one["lead"]] += 1
                tally[area]["guess misleads"] += one.get("guess") == "misleads"
                tally[area]["fact in three"] += one.get("rank") in (0, 1, 2)
                tally[area]["mutants"] += 1
            print(json.dumps(one), flush=True)
    columns = ("mutants", "right", "place", "none", "misleads", "not found", "fact in three", "guess misleads")
    print(f"{'area':20}" + "".join(f"{c:>16}" for c in columns), file=sys.stderr)
    for area, counts in sorted(tally.items(), key=lambda item: item[0] == "all"):
        print(f"{area:20}" + "".join(f"{counts[c]:16}" for c in columns), file=sys.stderr)
    print(f"the longest explanation took {most['seconds']} s, the one of most runs {most['runs']}", file=sys.stderr)
    every = tally["all"]
    kept = every["right"] >= RIGHT * len(chosen) and every["misleads"] <= MISLEADING * len(chosen)
    return int(not kept)


if __name__ == "__main__":
    sys.exit(main())
