"""One planted bug, one cause: `python bench/triage.py [--mutants NAME ...] [--processes N] [--at-once N]`.

Each mutant of tests/explain/mutants.txt runs the corpus, and its failures are grouped as `cts triage` groups them,
without explanations. Then failures of many mutants, of the emulator's all, are explained and grouped together. Exit
status 1 where fewer than 40 of the 42 have one cause, or less than 85 % of the groups are of one bug.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path

from cts.case.model import Case
from cts.drivers.emulator.mutants.catalogue import mutants
from cts.features.phrases import phrases
from cts.findings.explain import Explanation, explain
from cts.judging.events import Result, ignore
from cts.judging.finding import finding
from cts.judging.judge import Attempt, judge, refusal
from cts.judging.verdict import Verdict
from cts.plugins import registry
from cts.running.cases import run_entries
from cts.running.corpus import Entry, entries, read
from cts.running.drawing import Draws, checked_expectation
from cts.running.opening import open_driver
from cts.running.profiles import profile
from cts.running.shrinking import Failing, NotReduced, Shrinker
from cts.running.store.run import Run
from cts.showing.report.grouping import alike
from cts.showing.report.triage import triage

TABLE = Path(__file__).parents[1] / "tests" / "explain" / "mutants.txt"

#: How many mutants may have more than one cause, and which share of groups is to be of one bug where there are many.
DIVIDED, PURE = 2, 0.85

#: Examples in which a mutant is looked for, and its failures: drawn ones, and cases of the corpus.
EXAMPLES, DRAWN, OF_CORPUS = 1500, 3, 4

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


def shown(mutant: str, seed: int, failing: list[str]) -> list[tuple[Result, Explanation]]:
    """Failures of a mutant, explained: three examples of its area, reduced, and four cases of the corpus."""
    driver, oracle, settings = (
        open_driver(f"emulator:mutant={mutant}"),
        registry.oracle(),
        profile("default", seed=seed),
    )
    area = next(one.area for one in mutants() if one.name == mutant)
    draws = Draws(registry.area(area)(driver.capabilities), seed)
    found: list[tuple[Result, Explanation]] = []

    def add(case: Case, attempt: Attempt, before: Case | None) -> None:
        seen = finding(case, attempt, oracle.expect(case), oracle)
        result = Result(
            "emulator", area, f"{mutant} {len(found)}", before is not None, attempt.verdict, 1, 0, 0.0, finding=seen
        )
        found.append((result, explain(case, driver, oracle, found=before)))

    for number in range(1, EXAMPLES):
        case = draws.example(number)
        if len(found) == DRAWN or not isinstance(case, Case) or refusal(driver, case) is not None:
            continue
        expectation = checked_expectation(case, oracle)
        if (attempt := judge(driver, case, expectation)).verdict is Verdict.FAIL:
            try:
                failed = Shrinker(driver, oracle, settings, ignore).shrunk(draws, number, case, Verdict.FAIL)
            except NotReduced:
                failed = Failing(case, attempt, expectation)
            add(failed.case, failed.attempt, case)
    cases = {entry.name: case for entry, case in corpus()}
    for name in random.Random(mutant).sample(failing, min(OF_CORPUS, len(failing))):
        attempt = judge(driver, cases[name], oracle.expect(cases[name]))
        if attempt.verdict is Verdict.FAIL:
            add(cases[name], attempt, None)
    return found


def at_once(found: dict[str, list[tuple[Result, Explanation]]], passing: set[str]) -> float:
    """Print what becomes of the failures of many mutants at once; returns which share of groups is of one alone."""
    results, explanations = [], {}
    for result, explanation in (one for some in found.values() for one in some):
        key = result.driver, result.finding.case.content_hash
        if key not in explanations:  # a case that fails by several bugs counts as of the first
            results.append(result)
            explanations[key] = explanation
    passed = [Result("emulator", "", name, False, Verdict.PASS, 1, 0, 0.0) for name in sorted(passing)]
    groups = triage(Run(Path(), None, (*results, *passed)), None, explanations).groups
    of = [{failure.result.name.split()[0] for failure in group.failures} for group in groups]
    for group, bugs in zip(groups, of, strict=True):
        if len(bugs) > 1:
            print(f"{group.cause.instruction} {group.cause.fact} of {', '.join(sorted(bugs))}: {group.cause.why}")
    several = [bugs for group, bugs in zip(groups, of, strict=True) if len(group.failures) > 1]
    pure = sum(len(bugs) == 1 for bugs in of)
    each = Counter(bug for bugs in of for bug in bugs)
    assert all(len({failure.result.verdict for failure in group.failures}) == 1 for group in groups)
    print(f"{len(results)} failures of {len(each)} bugs at once: {len(groups)} groups, {pure / len(groups):.0%} of one "
          f"bug; of {len(several)} groups of several failures {sum(len(b) == 1 for b in several)} are of one bug; "
          f"{sum(each.values()) / len(each):.1f} groups a bug")  # fmt: skip
    return pure / len(groups)


def main() -> int:
    """Run, group, print and judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mutants", nargs="*", default=[])
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--at-once", type=int, default=60)
    options = parser.parse_args()
    lines = (line.split() for line in TABLE.read_text(encoding="utf-8").splitlines())
    names = options.mutants or [words[0] for words in lines if words and words[0] != "#"]
    divided = 0
    with ProcessPoolExecutor(options.processes) as pool:
        for mutant, (failing, passing) in zip(names, pool.map(verdicts, names), strict=True):
            groups = alike([has()[n] for n in failing], [has()[n] for n in passing]) if failing else []
            divided += len(groups) != 1
            said = "; ".join(
                f"{len(g.places)} with {' and '.join(g.traits) or 'nothing'} ({g.passing} pass)" for g in groups
            )
            print(f"{mutant}: {said or 'not found'}", flush=True)
    print(f"{len(names) - divided} of {len(names)} mutants have one cause")
    pure = together(options.at_once, options.processes) if options.at_once else 1.0
    return int(divided > DIVIDED or pure < PURE)


def together(count: int, processes: int) -> float:
    """The same of so many mutants, taken at random."""
    chosen = random.Random(5).sample([one.name for one in mutants()], count)
    with ProcessPoolExecutor(processes) as pool:
        failed = dict(zip(chosen, pool.map(verdicts, chosen), strict=True))
        of = [pool.submit(shown, mutant, 1, failed[mutant][0]) for mutant in chosen]
        found = {mutant: one.result() for mutant, one in zip(chosen, of, strict=True)}
    return at_once(found, set.intersection(*(set(passing) for _, passing in failed.values())))


if __name__ == "__main__":
    sys.exit(main())
