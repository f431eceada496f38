"""How soon a campaign on a slow device finds what it finds: areas in turn, and by what the last news cost.

    python bench/news.py [--seconds 60] [--processes 16] [--mutants 100] [--seed 1] [--table FILE]

No device is needed, and nobody waits. Cases are drawn, and their features and facts counted; how long the device takes
for each follows from the middle and the mean that its area had on an H100, and its content hash. Sixteen processes get
chunks of both policies; a chunk takes as long as its cases. A pipeline of more than 60 s is a timeout that runs again
with areas in turn, and is set aside after 5 s by news. Planted bugs of the emulator are found with the first example of
their area that shows them. `--table` keeps what was drawn, for another run. Exit status 1 if a promise is not kept.
"""

from __future__ import annotations

import argparse
import heapq
import math
import pickle
import random
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from cts.base.errors import NothingToGenerate
from cts.case.model import Case
from cts.drivers.emulator import create
from cts.features.coverage.exercised import exercised
from cts.features.phrases import phrases
from cts.judging.events import ExamplesJudged
from cts.judging.judge import OpenDriver, judge
from cts.judging.verdict import Verdict
from cts.plugins import registry
from cts.running.compiling import Size, size_of
from cts.running.drawing import Draws, fault_of
from cts.running.drawing import check as check_case
from cts.running.opening import open_driver
from cts.running.planning import Chunk, Planner, Sizes
from cts.running.policy import WATCH
from cts.running.slowest import SLOW


class Cost(NamedTuple):
    """Milliseconds of a driver: `one` for one instruction and one element, growing by powers of both.

    The logarithm of a case's time is spread by `spread`, a standard deviation, around that of its size.
    """

    one: float
    instructions: float
    elements: float
    squares: float
    spread: float

    def seconds(self, size: Size, identity: str) -> float:
        """The time of a case, log-normal around the middle of its size, by the case alone."""
        elements = math.log2(size.elements)
        power = self.instructions * math.log2(size.instructions) + (self.elements + self.squares * elements) * elements
        return self.one / 1e3 * 2**power * math.exp(self.spread * random.Random(identity).gauss())


#: What cases cost the processes of two campaigns of 110 s on an H200 with 16 processors (13,000 cases of 9d9cdb52):
#: least squares of the logarithms of their times by those of their sizes. Other areas cost as much as matrix_programs.
DRIVER = {
    "block_loads": Cost(7.81, 0.28, -0.03, 0.020, 0.99),
    "conversions": Cost(2.63, 0.36, 0.18, 0.007, 0.62),
    "kernels": Cost(1.11e4, 0.69, -1.60, 0.066, 1.40),
    "matrix_arithmetic": Cost(7.37, 0.44, -0.06, 0.015, 0.69),
    "matrix_memory": Cost(357, 0.43, -0.75, 0.034, 0.67),
    "matrix_programs": Cost(12.8, 0.43, -0.20, 0.021, 0.99),
    "per_element": Cost(2.58, 0.33, 0.32, -0.001, 0.72),
    "reductions": Cost(0.512, 0.48, 0.72, -0.023, 0.52),
    "tensor_addressing": Cost(0.293, 0.45, 0.67, -0.010, 1.14),
    "vector_arithmetic": Cost(45.0, 0.25, -0.60, 0.064, 0.86),
    "vector_conversions": Cost(0.698, -0.26, 1.66, -0.076, 0.74),
    "vector_multiply": Cost(132, -0.18, -0.40, 0.065, 0.94),
    "vector_training": Cost(55.5, 0.07, -0.35, 0.073, 0.65),
}
OTHER = DRIVER["matrix_programs"]

#: Milliseconds of a generator and of the oracle in the same campaigns, and areas without figures.
HOST = {
    "block_loads": (12, 13),
    "conversions": (7, 8),
    "kernels": (30, 37),
    "matrix_arithmetic": (12, 18),
    "matrix_memory": (3, 12),
    "matrix_programs": (30, 44),
    "per_element": (14, 13),
    "reductions": (7, 11),
    "tensor_addressing": (8, 11),
    "vector_arithmetic": (3, 12),
    "vector_conversions": (3, 4),
    "vector_multiply": (6, 9),
    "vector_training": (3, 18),
}
HOST_OTHER = (10, 13)

#: Seconds after which a pipeline is a timeout, how often such a case runs without being set aside, and what it costs to
#: start a worker again.
LIMIT, RUNS, RESTART = 60.0, 2.5, 2.0

#: Examples in which a mutant is looked for, and failing ones that are kept of each.
EXAMPLES, FAILING = 400, 5

#: What is promised: judged cases and the wall time of the median bug, to those with areas in turn; and the part of a
#: campaign that its pipelines of over 60 s cost.
CASES, WALL, STUCK = 2.0, 0.5, 0.03


class Example(NamedTuple):
    """What is known of an example: whether it is a case, its features, facts and size, and the device's seconds."""

    identity: str
    features: tuple[str, ...]
    facts: tuple[str, ...]
    size: Size
    seconds: float


@dataclass
class Table:
    """Examples by area and number, drawn when they are asked for."""

    seed: int
    examples: dict[tuple[str, int], Example] = field(default_factory=dict)
    found: dict[str, tuple[str, tuple[int, ...]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._draws: dict[str, Draws] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {"seed": self.seed, "examples": self.examples, "found": self.found, "_draws": {}}

    def draws(self, area: str) -> Draws:
        """The draws of an area. Raises NothingToGenerate."""
        if area not in self._draws:
            self._draws[area] = Draws(registry.area(area)(open_driver("emulator").capabilities), self.seed)
        return self._draws[area]

    def example(self, area: str, number: int) -> Example:
        """An example by its number."""
        if (area, number) not in self.examples:
            case = self.draws(area).example(number)
            self.examples[area, number] = (
                Example(
                    case.content_hash,
                    tuple(phrases(case)),
                    tuple(exercised(case)),
                    size_of(case),
                    DRIVER.get(area, OTHER).seconds(size_of(case), case.content_hash),
                )
                if isinstance(case, Case)
                else Example("", (), (), Size(1, 1), 0.0)
            )
        return self.examples[area, number]

    def areas(self) -> list[str]:
        """The areas that have cases."""
        areas = []
        for area in registry.names("cts.areas"):
            try:
                self.draws(area)
            except NothingToGenerate:
                continue
            areas.append(area)
        return areas

    def hunt(self, count: int) -> None:
        """Find the first examples that show so many planted bugs, evenly spread among all."""
        every = sorted((m.area, m.name) for m in create.mutants())
        some = [every[n * len(every) // count] for n in range(count)]
        oracle = registry.oracle()
        for area in dict.fromkeys(area for area, _ in some):
            left = {n: open_driver(f"emulator:mutant={n}") for of, n in some if of == area and n not in self.found}
            failing: dict[str, list[int]] = {name: [] for name in left}
            for number in range(1, EXAMPLES + 1):
                if not left:
                    break
                case = self.draws(area).example(number)
                if not isinstance(case, Case) or fault_of(case, lambda case: check_case(case, oracle)):
                    continue
                expectation = oracle.expect(case)
                for name in shown_by(case, expectation, left):
                    failing[name].append(number)
                    if len(failing[name]) == FAILING:
                        del left[name]
            self.found |= {name: (area, tuple(numbers)) for name, numbers in failing.items()}
            print(f"hunted in {area}: {len(failing)}", file=sys.stderr, flush=True)


def shown_by(case: Case, expectation: Any, drivers: dict[str, OpenDriver]) -> list[str]:
    """The mutants that a case shows."""
    return [name for name, driver in drivers.items() if judge(driver, case, expectation).verdict is Verdict.FAIL]


@dataclass
class Campaign:
    """What a campaign of so many seconds came to. `at` is the second at which an example was judged."""

    seconds: float
    processes: int
    cases: set[str] = field(default_factory=set)
    features: Counter[str] = field(default_factory=Counter)
    at: dict[tuple[str, int], float] = field(default_factory=dict)
    judged: set[tuple[str, int]] = field(default_factory=set)
    spent: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    news: Counter[str] = field(default_factory=Counter)
    drawn: Counter[str] = field(default_factory=Counter)
    #: Process-seconds of pipelines of more than a minute, and of waiting for a plan.
    stuck: float = 0.0
    idle: float = 0.0

    def run(self, table: Table, areas: Sequence[str], *, by_news: bool) -> Campaign:
        """Carry it out."""
        planner = Planner(areas, 25, 0, 0, by_novelty=by_news)
        flying: list[tuple[float, int, Chunk, ExamplesJudged]] = []
        now, number = 0.0, 0
        while now < self.seconds:
            while len(flying) < self.processes and (chunk := planner.next()) is not None:
                taken, judged = self._judged(table, chunk, planner.sizes(chunk), by_news=by_news)
                number += 1
                heapq.heappush(flying, (now + taken, number, chunk, judged))
            before = now
            now, _, chunk, judged = heapq.heappop(flying)
            self.idle += (self.processes - len(flying) - 1) * (now - before)
            if now < self.seconds:
                self._count(table, chunk, judged, now)
            planner.done(chunk.stream, chunk.start, chunk.length, judged)
        return self

    def _judged(self, table: Table, chunk: Chunk, sizes: Sizes, *, by_news: bool) -> tuple[float, ExamplesJudged]:
        features, facts, times, slow = Counter[str](), Counter[str](), dict[str, tuple[float, ...]](), Counter[str]()
        aside, host, driver = [], 0.0, 0.0
        for number in range(chunk.start, chunk.start + chunk.length):
            example = table.example(chunk.stream, number)
            draw, oracle = HOST.get(chunk.stream, HOST_OTHER)
            host += draw / 1e3
            if not example.identity or number % sizes.rare.get(str(example.size), 1):
                continue
            if str(example.size) in sizes.slow and number % WATCH:
                aside.append(number)
                continue
            host += oracle / 1e3
            if by_news and example.seconds > SLOW:
                aside.append(number)
                slow[str(example.size)] += 1
                took = SLOW + RESTART
            else:
                took = RUNS * (LIMIT + RESTART) if example.seconds > LIMIT else example.seconds
                features.update(example.features)
                facts.update(example.facts)
                self.judged.add((chunk.stream, number))
                times[str(example.size)] = (*times.get(str(example.size), ()), example.seconds)
            self.stuck += took if example.seconds > LIMIT else 0.0
            driver += took
        seconds = {"draw": host, "driver": driver}
        judged = ExamplesJudged(
            "", chunk.stream, chunk.start, chunk.length, drawn=chunk.length, set_aside=tuple(aside), times=times,
            slow=dict(slow), features=dict(features), facts=dict(facts), seconds=seconds, timed=True,
        )  # fmt: skip
        return host + driver, judged

    def _count(self, table: Table, chunk: Chunk, judged: ExamplesJudged, now: float) -> None:
        self.spent[chunk.stream] += sum(judged.seconds.values())
        self.drawn[chunk.stream] += chunk.length
        new = (judged.features.keys() | judged.facts.keys()) - self.features.keys()
        self.news[chunk.stream] += len(new)
        self.features.update(judged.features)
        self.features.update(judged.facts)
        for number in range(chunk.start, chunk.start + chunk.length):
            if (chunk.stream, number) in self.judged:
                self.cases.add(table.example(chunk.stream, number).identity)
                self.at[chunk.stream, number] = now

    def found(self, table: Table) -> list[float]:
        """The second at which each planted bug was found, infinity for one that was not."""
        return sorted(
            min((self.at.get((area, number), math.inf) for number in numbers), default=math.inf)
            for area, numbers in table.found.values()
        )


def main() -> int:
    """Both campaigns, side by side."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--processes", type=int, default=16)
    parser.add_argument("--mutants", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--table", type=Path)
    options = parser.parse_args()
    table = Table(options.seed)
    if options.table and options.table.exists():
        table = pickle.loads(options.table.read_bytes())
    if len(table.found) < options.mutants:
        table.hunt(options.mutants)
    areas = table.areas()
    turn, news = (Campaign(options.seconds, options.processes).run(table, areas, by_news=b) for b in (False, True))
    if options.table:
        options.table.write_bytes(pickle.dumps(table))
    print(f"{'area':20} {'in turn':>24} {'by news':>24}   (drawn, process-seconds, new features)")
    for area in areas:
        texts = [f"{c.drawn[area]:6} {c.spent[area]:8.0f} {c.news[area]:6}" for c in (turn, news)]
        print(f"{area:20} {texts[0]:>24} {texts[1]:>24}")
    for name, campaign in (("in turn", turn), ("by news", news)):
        times, whole = campaign.found(table), options.seconds * options.processes
        print(
            f"{name}: {len(campaign.cases)} distinct cases ({len(campaign.cases) / options.seconds:.0f} per second), "
            f"{len(campaign.features)} features; bugs: {sum(t < math.inf for t in times)} of {len(times)}, median "
            f"{statistics.median(times):.1f} s; pipelines of over 60 s {campaign.stuck / whole:.1%}, idle "
            f"{campaign.idle / whole:.1%}"
        )
    first, second = statistics.median(turn.found(table)), statistics.median(news.found(table))
    faster, whole = len(news.cases) / len(turn.cases), options.seconds * options.processes
    print(f"cases {faster:.2f} times, median bug after {second / first:.2f} of the time")
    kept = faster >= CASES and second <= WALL * first and news.stuck <= STUCK * whole
    return 0 if kept and len(news.features) >= len(turn.features) else 1


if __name__ == "__main__":
    sys.exit(main())
