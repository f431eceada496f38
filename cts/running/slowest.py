"""The slowest cases of a run, from its events."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from cts.judging.events import Event, ExamplesJudged, Result

#: How many are kept of a run.
SLOWEST = 10

#: Seconds from which a case counts as slow: a driver's first case compiles for long.
SLOW = 5.0


class Slow(NamedTuple):
    """A case that took so many seconds on a driver, with its comparison."""

    seconds: float
    name: str
    driver: str

    @property
    def text(self) -> str:
        """It, in a line."""
        return f"{self.seconds:>7.1f} s  {self.name} on {self.driver}"


class Slowest:
    """Consumes events. `cases` are the slowest first."""

    def __init__(self) -> None:
        self.cases: list[Slow] = []

    def __call__(self, event: Event) -> None:
        found: Iterable[Slow] = ()
        if isinstance(event, Result) and not event.generated:
            found = (Slow(event.seconds, event.name, event.driver),)
        elif isinstance(event, ExamplesJudged):
            found = (Slow(s, f"generated.{event.area}.{identity}", event.driver) for s, identity in event.slowest)
        slow = {case for case in found if case.seconds >= SLOW}
        if slow:
            self.cases = sorted({*self.cases, *slow}, reverse=True)[:SLOWEST]


def slowest(events: Iterable[Event]) -> list[Slow]:
    """The slowest cases of events that have happened."""
    found = Slowest()
    for event in events:
        found(event)
    return found.cases
