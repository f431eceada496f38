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
from cts.running.compiling import size_of
from cts.running.drawing import Draws, fault_of
from cts.running.drawing import check as check_case
from cts.running.opening import open_driver
from cts.running.planning import Chunk, Planner
from cts.running.slowest import SLOW

#: Milliseconds of the driver, middle and mean, on an H100: bench/README.md, and for areas that have grown since the
#: means of a campaign of 240 s. Areas without figures have those of matrix_programs.
DRIVER = {
    "block_loads": (51, 283),
    "conversions": (16, 20),
    "kernels": (120, 542),
    "matrix_arithmetic": (33, 55),
    "matrix_memory": (31, 40),
    "matrix_programs": (73, 354),
    "per_element": (31, 53),
    "reductions": (12, 14),
    "tensor_addressing": (85, 307),
    "vector_arithmetic": (33, 177),
    "vector_conversions": (30, 54),
    "vector_multiply": (57, 174),
    "vector_training": (57, 159),
}
OTHER = DRIVER["matrix_programs"]

#: Milliseconds of a generator and of the oracle, together.
HOST = {"kernels": 63, "block_loads": 35, "vector_training": 32, "matrix_programs": 20}
HOST_OTHER = 10

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
    size: str
    seconds: float


def seconds_of(area: str, identity: str) -> float:
    """How long the device takes: log-normal with the area's middle and mean, by the case alone."""
    middle, mean = DRIVER.get(area, OTHER)
    spread = math.sqrt(2 * math.log(mean / middle))
    return middle / 1e3 * math.exp(spread * random.Random(identity).gauss())


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
                    str(size_of(case)),
                    seconds_of(area, case.content_hash),
                )
                if isinstance(case, Case)
                else Example("", (), (), "", 0.0)
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
                taken, judged = self._judged(table, chunk, planner.slow(chunk), by_news=by_news)
                number += 1
                heapq.heappush(flying, (now + taken, number, chunk, judged))
            before = now
            now, _, chunk, judged = heapq.heappop(flying)
            self.idle += (self.processes - len(flying) - 1) * (now - before)
            if now < self.seconds:
                self._count(table, chunk, judged, now)
            planner.done(chunk.stream, chunk.start, chunk.length, judged)
        return self

    def _judged(
        self, table: Table, chunk: Chunk, slow: frozenset[str], *, by_news: bool
    ) -> tuple[float, ExamplesJudged]:
        features, facts, times = Counter[str](), Counter[str](), dict[str, tuple[float, ...]]()
        aside, host, driver = [], 0.0, 0.0
        for number in range(chunk.start, chunk.start + chunk.length):
            example = table.example(chunk.stream, number)
            host += HOST.get(chunk.stream, HOST_OTHER) / 1e3
            if not example.identity:
                continue
            if by_news and ((example.size in slow and number % 20) or example.seconds > SLOW):
                aside.append(number)
                took = 0.0 if example.size in slow and number % 20 else SLOW + RESTART
            else:
                took = RUNS * (LIMIT + RESTART) if example.seconds > LIMIT else example.seconds
                features.update(example.features)
                facts.update(example.facts)
                times[example.size] = (*times.get(example.size, ()), example.seconds)
            self.stuck += took if example.seconds > LIMIT else 0.0
            driver += took
        seconds = {"draw": host, "driver": driver}
        judged = ExamplesJudged(
            "", chunk.stream, chunk.start, chunk.length, drawn=chunk.length, set_aside=tuple(aside), times=times,
            features=dict(features), facts=dict(facts), seconds=seconds, timed=True,
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
            if number not in judged.set_aside and (identity := table.example(chunk.stream, number).identity):
                self.cases.add(identity)
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
