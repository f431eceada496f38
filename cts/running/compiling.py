"""How long devices take for cases, by area and size: which sizes are slow, in a run and between two."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from cts.case.model import Case, MatrixShape, VectorShape, types_of
from cts.judging.events import Event, ExamplesJudged, Result
from cts.running.policy import WATCH
from cts.running.slowest import SLOW

#: Sizes that a report lists.
LISTED = 10

#: Seconds of a median case from which on a size is worth a line.
SLOW_MEDIAN = 1.0

#: Of fewer cases a median says nothing.
FEWEST = 3

#: A size is slower with another driver if its median grows by this factor and by these seconds. Round numbers, above
#: the differences between two runs of one driver.
TIMES, SECONDS = 1.5, 0.1

#: The size of cases of the corpus.
CORPUS = "corpus"

#: The part of a size's cases that are set aside for it to count as slow.
MOSTLY = 0.5

#: Cases of an area from which on a median says what its cases usually cost.
ENOUGH = 10

#: Seconds below which no case is dear: drawing another one takes about as long.
CHEAP = 0.02


class Size(NamedTuple):
    """A power of two that is at least the number of instructions, and a power of four that is at least the number of
    elements of all their results: compilers unroll what has many.
    """

    instructions: int
    elements: int

    def __str__(self) -> str:
        return f"{self.instructions:,} instructions, {self.elements:,} elements"

    @property
    def product(self) -> int:
        """What grows with the time that it takes to compile."""
        return self.instructions * self.elements


def size_of(case: Case) -> Size:
    """The size of a well-formed case."""
    elements = 1
    for shape in types_of(case).values():
        match shape:
            case MatrixShape(rows=rows, cols=cols):
                elements += rows * cols
            case VectorShape(length=length):
                elements += length
    bits = (elements - 1).bit_length()
    return Size(1 << (len(case.program) - 1).bit_length(), 1 << bits + bits % 2)


class Compiled(NamedTuple):
    """How long a device takes for cases of an area and size: the number of cases, their median and the most seconds.

    `set_aside` of them took too long at first.
    """

    driver: str
    area: str
    size: str
    cases: int
    median: float
    most: float
    set_aside: int

    @property
    def text(self) -> str:
        """It, in a line."""
        aside = f", {self.set_aside} set aside at first" if self.set_aside else ""
        return f"{self.median:>7.1f} s  {self.area}, {self.size}: {self.cases} cases, {self.most:.1f} s at most{aside}"


class Times:
    """Consumes events: the seconds of cases by driver, area and size, and how many generated ones were set aside.

    Cases of the corpus have a size of their own, CORPUS.
    """

    def __init__(self) -> None:
        self.seconds: dict[tuple[str, str, str], list[float]] = {}
        self.set_aside: dict[tuple[str, str, str], int] = {}

    def __call__(self, event: Event) -> None:
        if isinstance(event, Result) and not event.generated and event.examples:
            self.seconds.setdefault((event.driver, event.area, CORPUS), []).append(event.seconds)
        if isinstance(event, ExamplesJudged):
            for size, seconds in event.times.items():
                self.seconds.setdefault((event.driver, event.area, size), []).extend(seconds)
            for size, count in event.slow.items():
                key = event.driver, event.area, size
                self.set_aside[key] = self.set_aside.get(key, 0) + count

    def slow(self) -> frozenset[str]:
        """The sizes of which most cases were set aside in some area on some driver."""
        return frozenset(
            key[-1]
            for key, count in self.set_aside.items()
            if 1 < count >= MOSTLY * (count + len(self.seconds.get(key, ())))
        )

    def rare(self) -> dict[str, int]:
        """By size: of how many cases one is worth its time, if not each.

        A size whose mean case costs so many times the median case of all sizes gets no more time than if its cases
        cost as much as the median.
        """
        costs: dict[str, list[float]] = {}
        for (*_, size), some in self.seconds.items():
            costs.setdefault(size, []).extend(some)
        for (*_, size), count in self.set_aside.items():
            costs.setdefault(size, []).extend([2 * SLOW] * count)  # tried twice
        every = [seconds for some in costs.values() for seconds in some]
        if len(every) < ENOUGH:
            return {}
        usual = max(statistics.median(every), CHEAP)
        times = {size: round(statistics.mean(some) / usual) for size, some in costs.items() if len(some) >= FEWEST}
        return {size: min(count, WATCH) for size, count in times.items() if count > 1}

    def slowest(self) -> list[Compiled]:
        """The sizes of which a median case takes longest, SLOW_MEDIAN seconds at least."""
        rows = [
            Compiled(*key, len(some), statistics.median(some), max(some), self.set_aside.get(key, 0))
            for key, some in self.seconds.items()
            if len(some) >= FEWEST and statistics.median(some) >= SLOW_MEDIAN
        ]
        return sorted(rows, key=lambda row: -row.median)[:LISTED]


class Slower(NamedTuple):
    """Cases of an area and size, or of the corpus, that take longer than before: the seconds of a median case."""

    what: str
    before: float
    after: float


def times_of(events: Iterable[Event]) -> Times:
    """The times of events that have happened."""
    times = Times()
    for event in events:
        times(event)
    return times


def slower(before: Times, after: Times) -> list[Slower]:
    """Sizes whose cases take longer with the drivers of another run, the worst first; drivers are paired by order."""
    first, second = _medians(before), _medians(after)
    return sorted(_changes(first, second), key=lambda change: change.before / change.after)


def _changes(before: Mapping[str, float], after: Mapping[str, float]) -> Iterator[Slower]:
    for what in before.keys() & after.keys():
        if after[what] > TIMES * before[what] and after[what] > before[what] + SECONDS:
            yield Slower(what, before[what], after[what])


def _medians(times: Times) -> dict[str, float]:
    drivers = list(dict.fromkeys(driver for driver, _, _ in times.seconds))
    return {
        f"{area}, {size}{f' (driver {drivers.index(driver) + 1})' if len(drivers) > 1 else ''}": statistics.median(some)
        for (driver, area, size), some in times.seconds.items()
        if len(some) >= FEWEST
    }
