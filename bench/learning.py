"""How well bugs are learnt: `python bench/learning.py WHAT [--count N] [--seed N]`.

`deviations`: for planted bugs of the emulator, as many of each area, what it does wrong is learnt from the first
finding, in at most 60 runs, and checked against 500 fresh cases. Good is a deviation that predicts 95 % of their
verdicts, and of the failing ones the memory. Beside that, how many failures of other bugs of its area it accepts.

`written`: the same for the entries of `written.yaml`, instead of what is learnt. Good is one that predicts 99 %.

`rare`: the same for planted bugs that show in one of 40 to 500 cases. Good is a deviation that predicts as much, and
explains at least half of the failing cases.

`mutants`: for planted bugs of the emulator, as many of each area, an expression is learnt from the first finding, in at
most 400 runs, and checked against 500 fresh cases. Good is one with precision and recall of at least 95 %.

`pairs`: for two bugs of one instruction the entry that is learnt of the first, a deviation where there is one and else
a condition, is the baseline with which the second is looked for: how many are found as new within 3,000 examples. A
deviation knows a failure if each element is right or as it says; of a condition cases are avoided.
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
from itertools import combinations, islice
from pathlib import Path
from typing import Any

from cts.base.errors import BadInput
from cts.base.plain_yaml import parse
from cts.case.model import Case
from cts.drivers.emulator.mutants.catalogue import mutants
from cts.features.deviations import parse_deviation
from cts.features.language import Condition
from cts.findings.learning.models import shows
from cts.judging.deviations import leaves, owned
from cts.judging.judge import OpenDriver, judge, refusal
from cts.judging.verdict import Verdict
from cts.plugins import registry
from cts.running.drawing import Draws, Fault, checked_expectation
from cts.running.learn import learn, learn_deviation
from cts.running.opening import open_driver

#: Fresh cases for an expression, examples to find a bug in, and the good shares of learnt and written entries.
FRESH, EXAMPLES, GOOD, GOOD_BY_HAND = 500, 3000, 0.95, 0.99

#: Other bugs of the area whose failures an entry should not accept, examples of each, and failures of each at most.
OTHERS, OF_OTHER, FAILURES = 8, 300, 5

#: Entries for planted bugs, written by a person who knows them.
WRITTEN = Path(__file__).parent / "written.yaml"

#: Planted bugs, and their areas, that showed in one of 40 to 500 cases: the first ones of `chosen(150, 1)` behind the
#: 40, at most two of an area.
RARE = [
    ("product-of-one-buffer", "matrix_arithmetic"),
    ("vector-negation-unwrapped", "vector_arithmetic"),
    ("outer-product-swapped", "vector_training"),
    ("coordinate-use-b-swapped", "matrix_arithmetic"),
    ("helper-first-arguments", "per_element"),
    ("convert-of-scaled", "matrix_programs"),
    ("vector-rows-whole-pieces", "vector_multiply"),
    ("view-index-64-bit", "tensor_addressing"),
    ("callback-abs-keeps-zero", "per_element"),
    ("break-continues", "matrix_programs"),
    ("vector-loop-carries-two", "vector_arithmetic"),
    ("late-workgroups-lost", "reductions"),
]


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


def finding(driver: OpenDriver, area: str, seed: int) -> tuple[int | None, Case | None]:
    """The first example that a driver fails, and its number."""
    examples = zip(range(1, EXAMPLES + 1), cases(driver, area, seed), strict=False)
    return next((one for one in examples if fails(driver, one[1])), (None, None))


def learnt(name: str, area: str, seed: int) -> dict[str, Any]:
    """What is learnt of a mutant from its first finding."""
    driver = open_driver(f"emulator:mutant={name}")
    found: dict[str, Any] = {"mutant": name, "area": area}
    first, case = finding(driver, area, seed)
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


def deviating(name: str, area: str, seed: int, count: int = FRESH, others: int = OTHERS) -> dict[str, Any]:
    """What a mutant does wrong, learnt from its first finding, and how often that predicts what it leaves."""
    driver = open_driver(f"emulator:mutant={name}")
    result: dict[str, Any] = {"mutant": name, "area": area}
    first, case = finding(driver, area, seed)
    if case is None:
        return result
    start = time.perf_counter()
    rule = learn_deviation(case, driver, registry.oracle(), [area], seed + 1)
    result |= {"first": first, "seconds": round(time.perf_counter() - start, 1)}
    if rule is None:
        return result
    return result | {"leaves": rule.text, "runs": rule.runs} | checked(rule.text, name, area, seed, count, others)


def written() -> dict[str, str]:
    """What is written by hand, by the bug."""
    texts: dict[str, str] = parse(WRITTEN.read_text(), str(WRITTEN))
    return texts


def by_hand(name: str, area: str, seed: int, count: int = FRESH, others: int = OTHERS) -> dict[str, Any]:
    """The same with the entry that a person wrote."""
    text = written().get(name)
    found = {"mutant": name, "area": area}
    return found | {"leaves": text} | checked(text, name, area, seed, count, others) if text else found


def checked(text: str, name: str, area: str, seed: int, count: int, most: int) -> dict[str, int]:
    """How a deviation does on a mutant's fresh cases, and on failures of so many other mutants.

    `predicted` are the fresh cases of which the verdict, and if they fail the memory, is as the deviation says;
    `explained` are those that fail among them. If none fails, more cases are drawn. `accepted` are failures of others
    that an entry with the deviation would know, `others` all of them.
    """
    driver, wrong = open_driver(f"emulator:mutant={name}"), parse_deviation(text)
    predicted, judged, failing, explained = 0, 0, 0, 0
    for fresh in cases(driver, area, seed + 2):
        if judged >= count and (failing or judged >= EXAMPLES):
            break
        attempt = judge(driver, fresh, registry.oracle().expect(fresh))
        if attempt.verdict not in (Verdict.PASS, Verdict.FAIL) or attempt.outcome is None:
            continue
        deviations = wrong.at(fresh)
        if attempt.verdict is Verdict.FAIL:
            is_left = leaves(fresh, deviations, attempt.outcome.memory)
            predicted, explained = predicted + is_left, explained + is_left
        else:
            # Where a wrong program may leave several numbers, some of them may be right.
            predicted += not shows(fresh, deviations) or leaves(fresh, deviations, attempt.outcome.memory)
        judged, failing = judged + 1, failing + (attempt.verdict is Verdict.FAIL)
    accepted = others = 0
    names = [one.name for one in mutants() if one.area == area and one.name != name]
    for other in random.Random(name).sample(names, min(most, len(names))):
        driver, failures = open_driver(f"emulator:mutant={other}"), 0
        for fresh in islice(cases(driver, area, seed + 4), OF_OTHER):
            attempt = judge(driver, fresh, registry.oracle().expect(fresh))
            if attempt.verdict is Verdict.FAIL and attempt.divergence is not None and attempt.outcome is not None:
                failures += 1
                accepted += owned(fresh, [wrong.at(fresh)], attempt.outcome.memory, attempt.divergence)
            if failures == FAILURES:
                break
        others += failures
    return {
        "predicted": predicted, "of": judged, "failing": failing, "explained": explained,
        "accepted": accepted, "others": others,
    }  # fmt: skip


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
    """After how many examples the second bug is found with what was learnt of the first as baseline.

    `known` are the failures before, that the baseline has.
    """
    found: dict[str, Any] = {"mutant": first, "area": area, "second": second, "found": None, "known": 0}
    case = finding(open_driver(f"emulator:mutant={first}"), area, seed)[1]
    rule = (
        None
        if case is None
        else learn_deviation(case, open_driver(f"emulator:mutant={first}"), registry.oracle(), [area], seed + 1)
    )
    wrong = None if rule is None else parse_deviation(rule.text)
    condition = None
    if wrong is None:
        condition = learnt(first, area, seed).get("rule")
    found |= {"leaves": rule.text} if rule else {"condition": condition.condition.text} if condition else {}
    driver = open_driver(f"emulator:mutant={second}")
    known = None if condition is None else condition.condition
    for number, fresh in zip(range(1, EXAMPLES + 1), cases(driver, area, seed + 3, known), strict=False):
        if known is not None and known(fresh):
            continue
        attempt = judge(driver, fresh, registry.oracle().expect(fresh))
        if attempt.verdict is not Verdict.FAIL or attempt.outcome is None or attempt.divergence is None:
            continue
        if wrong is None or not owned(fresh, [wrong.at(fresh)], attempt.outcome.memory, attempt.divergence):
            return found | {"found": number}
        found["known"] += 1
    return found


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


def is_good(one: dict[str, Any], share: float = GOOD) -> bool:
    """Whether precision and recall are 95 %, or a deviation predicts as many verdicts and half of the failures."""
    if "leaves" in one:
        return 0 < one["failing"] <= 2 * one["explained"] and one["predicted"] >= share * one["of"]
    hit = one.get("hit", 0)
    return hit > 0 and hit >= GOOD * one["held"] and hit >= GOOD * one["failing"]


def main() -> int:
    """Measure, one line of JSON each, and a summary on stderr."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["deviations", "written", "rare", "mutants", "pairs"])
    parser.add_argument("--count", type=int, default=None)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", nargs="+", default=(), help="`deviations` and `rare`: these planted bugs alone")
    parser.add_argument("--fresh", type=int, default=FRESH, help="fresh cases that what is learnt is measured on")
    parser.add_argument("--others", type=int, default=OTHERS, help="other bugs, whose failures it should not accept")
    given = parser.parse_args()
    tasks: list[tuple[Any, ...]]
    if given.what != "pairs":
        function = {"mutants": measured, "written": by_hand}.get(given.what, deviating)
        some = RARE if given.what == "rare" else chosen(given.count or 40, given.seed)
        if given.only:
            areas = {one.name: one.area for one in mutants()}
            some = [(name, areas[name]) for name in given.only]
        fresh = () if function is measured else (given.fresh, given.others)
        tasks = [(*one, given.seed, *fresh) for one in some[: given.count]]
    else:
        function, tasks = paired, [(*one, given.seed) for one in pairs(given.count or 60, given.seed)]
    failed, good, share = 0, 0, GOOD_BY_HAND if given.what == "written" else GOOD
    with ProcessPoolExecutor(given.processes) as pool:
        for future in as_completed([pool.submit(function, *task) for task in tasks]):
            if future.exception() is not None:
                print(f"a task ended in {future.exception()!r}", file=sys.stderr)
                failed += 1
                continue
            one = future.result()
            good += is_good(one, share) if given.what != "pairs" else one["found"] is not None
            print(json.dumps(one), flush=True)
    print(f"{good} of {len(tasks)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
