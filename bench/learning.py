"""How well bugs are learnt: `python bench/learning.py [deviations | mutants | pairs] [--count N] [--seed N]`.

`deviations`: for planted bugs of the emulator, as many of each area, what it does wrong is learnt from the first
finding, in at most 60 runs, and checked against 500 fresh cases. Good is a deviation that predicts 95 % of their
verdicts, and of the failing ones the memory.

`mutants`: for planted bugs of the emulator, as many of each area, an expression is learnt from the first finding, in at
most 400 runs, and checked against 500 fresh cases. Good is one with precision and recall of at least 95 %.

`pairs`: for two bugs of one instruction the expression that was learnt for the first is the baseline with which the
second is looked for: how many are found as new within 3,000 examples.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import combinations
from typing import Any

from cts.base.errors import BadInput
from cts.case.model import Case
from cts.drivers.emulator.mutants.catalogue import mutants
from cts.features.deviations import parse_deviation
from cts.features.language import Condition
from cts.findings.learning.models import shows
from cts.judging.deviations import leaves
from cts.judging.judge import OpenDriver, judge, refusal
from cts.judging.verdict import Verdict
from cts.plugins import registry
from cts.running.drawing import Draws, Fault, checked_expectation
from cts.running.learn import learn, learn_deviation
from cts.running.opening import open_driver

#: Fresh cases on which an expression is measured, examples in which a bug is looked for, and what is good.
FRESH, EXAMPLES, GOOD = 500, 3000, 0.95


def cases(driver: OpenDriver, area: str, seed: int, avoid: Condition | None = None) -> Iterator[Case]:
    """Fresh examples of an area, without end."""
    draws, number = Draws(registry.area(area)(driver.capabilities), seed, avoid), 0
    while True:
        number += 1
        one = draws.example(number)
        if isinstance(one, Case) and refusal(driver, one) is None:
            yield one


def fails(driver: OpenDriver, case: Case) -> bool | None:
    """Whether a case fails; None where it neither fails nor passes."""
    try:
        verdict = judge(driver, case, checked_expectation(case, registry.oracle())).verdict
    except Fault as fault:
        print(fault, file=sys.stderr)
        return None
    return verdict is Verdict.FAIL if verdict in (Verdict.FAIL, Verdict.PASS) else None


def learnt(name: str, area: str, seed: int) -> dict[str, Any]:
    """What is learnt of a mutant from its first finding."""
    driver = open_driver(f"emulator:mutant={name}")
    found: dict[str, Any] = {"mutant": name, "area": area}
    examples = zip(range(1, EXAMPLES + 1), cases(driver, area, seed), strict=False)
    first, case = next((one for one in examples if fails(driver, one[1])), (None, None))
    found["first"] = first
    if case is None:
        return found
    start = time.perf_counter()
    try:
        _, rule = learn(case, driver, registry.oracle(), [area], seed + 1)
    except BadInput as e:
        return found | {"why": e.what}
    seconds = round(time.perf_counter() - start, 1)
    return found | {"seconds": seconds, "condition": rule.condition.text, "runs": rule.runs, "rule": rule}


def deviating(name: str, area: str, seed: int) -> dict[str, Any]:
    """What a mutant does wrong, learnt from its first finding, and how often that predicts what it leaves.

    `predicted` are the fresh cases of which the verdict, and if they fail the memory, is as the deviation says.
    """
    driver = open_driver(f"emulator:mutant={name}")
    result: dict[str, Any] = {"mutant": name, "area": area}
    examples = zip(range(1, EXAMPLES + 1), cases(driver, area, seed), strict=False)
    first, case = next((one for one in examples if fails(driver, one[1])), (None, None))
    if case is None:
        return result
    start = time.perf_counter()
    rule = learn_deviation(case, driver, registry.oracle(), [area], seed + 1)
    result |= {"first": first, "seconds": round(time.perf_counter() - start, 1)}
    if rule is None:
        return result
    wrong, predicted, judged, failing = parse_deviation(rule.text), 0, 0, 0
    for _, fresh in zip(range(FRESH), cases(driver, area, seed + 2), strict=False):
        attempt = judge(driver, fresh, registry.oracle().expect(fresh))
        if attempt.verdict not in (Verdict.PASS, Verdict.FAIL) or attempt.outcome is None:
            continue
        deviations = wrong.at(fresh)
        if attempt.verdict is Verdict.FAIL:
            predicted += leaves(fresh, deviations, attempt.outcome.memory)
        else:
            predicted += not shows(fresh, deviations)
        judged, failing = judged + 1, failing + (attempt.verdict is Verdict.FAIL)
    return result | {"leaves": rule.text, "runs": rule.runs, "predicted": predicted, "of": judged, "failing": failing}


def measured(name: str, area: str, seed: int) -> dict[str, Any]:
    """The same, with precision and recall on fresh cases."""
    found = learnt(name, area, seed)
    rule = found.pop("rule", None)
    if rule is None:
        return found
    driver = open_driver(f"emulator:mutant={name}")
    hit = held = failing = 0
    for _, case in zip(range(FRESH), cases(driver, area, seed + 2), strict=False):
        failed = fails(driver, case)
        if failed is not None:
            holds = rule.condition(case)
            hit, held, failing = hit + (holds and failed), held + holds, failing + failed
    return found | {"hit": hit, "held": held, "failing": failing}


def paired(first: str, second: str, area: str, seed: int) -> dict[str, Any]:
    """After how many examples the second bug is found with what was learnt of the first as baseline."""
    found = learnt(first, area, seed) | {"second": second}
    rule = found.pop("rule", None)
    driver = open_driver(f"emulator:mutant={second}")
    known = None if rule is None else rule.condition
    for number, case in zip(range(1, EXAMPLES + 1), cases(driver, area, seed + 3, known), strict=False):
        if not (known is not None and known(case)) and fails(driver, case):
            return found | {"found": number}
    return found | {"found": None}


def chosen(count: int, seed: int) -> list[tuple[str, str]]:
    """As many mutants of each area, and their areas."""
    by_area: dict[str, list[str]] = defaultdict(list)
    for one in mutants():
        by_area[one.area].append(one.name)
    order = random.Random(seed)
    for names in by_area.values():
        order.shuffle(names)
    rounds = (
        (names[n], area)
        for n in range(max(map(len, by_area.values())))
        for area, names in by_area.items()
        if n < len(names)
    )
    return list(rounds)[:count]


def pairs(count: int, seed: int) -> list[tuple[str, str, str]]:
    """Pairs of mutants of one area whose names begin alike, which is with what they are wrong of."""
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for one in mutants():
        groups[one.area, "-".join(one.name.split("-")[: 1 + one.name.startswith("vector")])].append(one.name)
    every = [(*pair, area) for (area, _), names in groups.items() for pair in combinations(names, 2)]
    random.Random(seed).shuffle(every)
    taken: dict[tuple[str, str], int] = defaultdict(int)
    some = []
    for first, second, area in every:  # of one group few: large ones have most pairs
        group = area, first.partition("-")[0]
        taken[group] += 1
        if taken[group] <= 6:
            some.append((first, second, area))
    return some[:count]


def is_good(one: dict[str, Any]) -> bool:
    """Whether precision and recall are at least 95 %, or a deviation predicts as many verdicts."""
    if "leaves" in one:
        return bool(one["failing"]) and one["predicted"] >= GOOD * one["of"]
    hit = one.get("hit", 0)
    return hit > 0 and hit >= GOOD * one["held"] and hit >= GOOD * one["failing"]


def main() -> int:
    """Measure, one line of JSON each, and a summary on stderr."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["deviations", "mutants", "pairs"])
    parser.add_argument("--count", type=int, default=None)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    tasks: list[tuple[Any, ...]]
    if given.what != "pairs":
        function = measured if given.what == "mutants" else deviating
        tasks = [(*one, given.seed) for one in chosen(given.count or 40, given.seed)]
    else:
        function, tasks = paired, [(*one, given.seed) for one in pairs(given.count or 60, given.seed)]
    good = 0
    with ProcessPoolExecutor(given.processes) as pool:
        for future in as_completed([pool.submit(function, *task) for task in tasks]):
            one = future.result()
            good += is_good(one) if given.what != "pairs" else one["found"] is not None
            print(json.dumps(one), flush=True)
    print(f"{good} of {len(tasks)}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
