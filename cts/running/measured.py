"""Numbers that compilers report for the pipelines of a run, such as registers and instructions: sums and outliers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cts.judging.events import ExamplesJudged, Result


@dataclass(frozen=True)
class Measured:
    """A statistic of several cases: how many have it, the sum, the largest, and the name of the case that has that."""

    cases: int
    total: float
    largest: float
    whose: str

    def __add__(self, other: Measured) -> Measured:
        most = self if self.largest >= other.largest else other
        return Measured(self.cases + other.cases, self.total + other.total, most.largest, most.whose)

    @property
    def mean(self) -> float:
        return self.total / self.cases


def measured(event: Result | ExamplesJudged) -> Iterator[tuple[str, Measured]]:
    """Each statistic of an event."""
    if isinstance(event, Result):
        for name, value in event.statistics.items():
            yield name, Measured(1, value, value, event.name)
    else:
        for name, (cases, total, largest, number) in event.statistics.items():
            yield name, Measured(cases, total, largest, f"example {number} of {event.area}")
