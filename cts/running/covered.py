"""The coverage of generated cases so far, from the events of a run, and how often further ones add to it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from cts.case.model.sweep import sweep_name
from cts.judging.events import ExamplesJudged, SetsJudged
from cts.running.counts import digests


class Point(NamedTuple):
    """Coverage after so many seconds: judged cases and sets, and distinct cases, structures, facts and features."""

    seconds: float
    judged: int
    sets: int
    cases: int
    structures: int
    facts: int
    features: int


@dataclass
class AreaCovered:
    """The counts of an area on all drivers; `seconds` are by stage, of all processes together.

    `first` counts the features and facts that a case of it showed first, and `whole` has the seconds of all areas.
    """

    whole: defaultdict[str, float]

    drawn: int = 0
    judged: int = 0
    sets: int = 0
    known: int = 0
    new: int = 0
    left_out: int = 0
    first: int = 0
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))

    @property
    def share(self) -> float:
        """Its part of the time of all areas."""
        return sum(self.seconds.values()) / (sum(self.whole.values()) or 1.0)

    def milliseconds(self, stage: str) -> str:
        """How long a stage takes for each case that is drawn, in words; "" without any."""
        return f"{1e3 * self.seconds[stage] / self.drawn:.1f}" if self.drawn else ""


class Covered:
    """Consumes events.

    `cases` are distinct ones, and `structures` cases without their numbers, by how many have them.
    """

    def __init__(self) -> None:
        self.areas: dict[str, AreaCovered] = {}
        self._whole: defaultdict[str, float] = defaultdict(float)
        self.judged = 0
        self.sets = 0
        self.new = 0
        self.known = 0
        self.restarts = 0
        self.seconds = 0.0
        self.processes: Counter[str] = Counter()
        self.cases: set[bytes] = set()
        self.structures: Counter[bytes] = Counter()
        self.facts: Counter[str] = Counter()
        self.features: Counter[str] = Counter()
        self.causes: Counter[str] = Counter()
        self.curve: list[Point] = []

    def __call__(self, event: ExamplesJudged | SetsJudged) -> None:
        if isinstance(event, SetsJudged):
            area = self._area(sweep_name(event.universe))
            area.sets += event.count
            self._took(area, "sets", event.seconds)
            self.sets += event.count
            return
        area = self._area(event.area)
        judged, known = sum(event.verdicts.values()), sum(event.known.values())
        new = {cause: len([*digests(hashes)]) for cause, hashes in event.failing.items()}
        area.drawn += event.drawn
        area.judged += judged
        area.sets += event.sets
        area.known += known
        area.new += sum(new.values())
        area.left_out += event.unsupported + sum(event.not_run.values())
        for stage, seconds in event.seconds.items():
            self._took(area, stage, seconds)
        area.first += len((event.facts.keys() - self.facts.keys()) | (event.features.keys() - self.features.keys()))
        self.judged += judged
        self.sets += event.sets
        self.known += known
        self.new += sum(new.values())
        self.restarts += event.restarts
        self.seconds = max(self.seconds, event.at)
        self.processes[event.where] += 1
        self.cases.update(digests(event.cases))
        self.structures.update(digests(event.structures))
        self.facts.update(event.facts)
        self.features.update(event.features)
        self.causes.update(new)
        self.curve.append(self._point())

    def _area(self, name: str) -> AreaCovered:
        return self.areas.setdefault(name, AreaCovered(self._whole))

    def _took(self, area: AreaCovered, stage: str, seconds: float) -> None:
        area.seconds[stage] += seconds
        self._whole[stage] += seconds

    def _point(self) -> Point:
        counts = len(self.cases), len(self.structures), len(self.facts), len(self.features)
        return Point(self.seconds, self.judged, self.sets, *counts)

    @property
    def worth(self) -> str:
        """How often a further generated case would have a new situation, in a sentence."""
        if not self.judged:
            return "no generated case was judged yet"
        new = chance(self.features, self.judged)
        each = "no new case" if not new else "each new case" if new > 2 / 3 else f"1 new case in {1 / new:,.0f}"
        return f"{each} still shows something new"

    @property
    def said(self) -> str:
        """All that was covered, in a sentence."""
        return (
            f"{len(self.cases):,} distinct cases of {len(self.structures):,} structures, {len(self.facts)} facts and "
            f"{len(self.features):,} features; {_counted(len(self.processes), 'process', 'processes')}, "
            f"{_counted(self.restarts, 'restart')}"
        )


def chance(seen: Mapping[str, int] | Mapping[bytes, int], cases: int) -> float:
    """Chance that the next case has something new (Good 1953): the features seen once, divided by the cases so far."""
    return min(1.0, sum(count == 1 for count in seen.values()) / cases) if cases else 1.0


def _counted(count: int, one: str, more: str = "") -> str:
    return f"{count} {one if count == 1 else more or one + 's'}"
