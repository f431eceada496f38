"""What a campaign has come to, folded from what its workers answered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from cts.campaign.chunks import Answer, FaultSeen, Kept, Lost, Reduced, Report, digests
from cts.verdict import Verdict


class Point(NamedTuple):
    """How much was covered after so many seconds: cases and parameter sets that were judged, and what was distinct."""

    seconds: float
    judged: int
    sets: int
    cases: int
    structures: int
    facts: int
    situations: int


@dataclass
class AreaTotals:
    """What is counted of an area; `seconds` by stage, of all processes together."""

    drawn: int = 0
    judged: int = 0
    sets: int = 0
    excluded: int = 0
    known: int = 0
    new: int = 0
    unsupported: int = 0
    not_run: int = 0
    chunks: int = 0
    seconds: Counter[str] = field(default_factory=Counter)


@dataclass
class Totals:
    """The counts of a campaign. `kept` are the cases of each cause, the shortest first, `reduced` their smallest."""

    areas: dict[str, AreaTotals] = field(default_factory=dict)
    verdicts: Counter[str] = field(default_factory=Counter)
    unsupported: Counter[str] = field(default_factory=Counter)
    not_run: Counter[str] = field(default_factory=Counter)
    known: Counter[str] = field(default_factory=Counter)
    causes: Counter[str] = field(default_factory=Counter)
    kept: dict[str, dict[str, Kept]] = field(default_factory=dict)
    reduced: dict[str, Reduced] = field(default_factory=dict)
    faults: dict[tuple[str, str], FaultSeen] = field(default_factory=dict)
    devices: Counter[str] = field(default_factory=Counter)
    processes: Counter[str] = field(default_factory=Counter)
    lost: list[Lost] = field(default_factory=list)
    restarts: int = 0
    cases: set[bytes] = field(default_factory=set)
    structures: Counter[bytes] = field(default_factory=Counter)
    facts: Counter[str] = field(default_factory=Counter)
    situations: Counter[str] = field(default_factory=Counter)
    curve: list[Point] = field(default_factory=list)

    @property
    def judged(self) -> int:
        """Cases that have a verdict."""
        return sum(self.verdicts.values())

    @property
    def sets(self) -> int:
        """Parameter sets that have a verdict."""
        return sum(area.sets for area in self.areas.values())

    @property
    def findings(self) -> int:
        """Cases that did not pass, and are on no list."""
        return sum(self.causes.values())

    def add(self, answer: Answer, seconds: float) -> None:
        """Count an answer that came after so many seconds."""
        match answer:
            case Report():
                self._report(answer, seconds)
            case Reduced():
                self.reduced[answer.task.cause] = answer
            case Lost():
                self.lost.append(answer)

    def _report(self, report: Report, seconds: float) -> None:
        area = self.areas.setdefault(report.chunk.area, AreaTotals())
        area.chunks += 1
        area.drawn += report.drawn
        area.judged += sum(report.verdicts.values())
        area.sets += report.sets
        area.excluded += report.excluded
        area.known += sum(report.known.values())
        area.new += sum(report.causes.values())
        area.unsupported += max(report.unsupported.values(), default=0)
        area.not_run += sum(report.not_run.values())
        area.seconds.update(report.seconds)
        for name in ("verdicts", "unsupported", "not_run", "known", "causes", "facts", "situations"):
            getattr(self, name).update(getattr(report, name))
        self.devices[report.device] += 1
        self.processes[report.where] += 1
        self.restarts += report.restarts
        self.cases.update(digests(report.cases))
        self.structures.update(digests(report.structures))
        for kept in report.kept:
            self.kept.setdefault(kept.cause, {})[kept.hash] = kept
        for kind, fault in report.faults.items():
            first = self.faults.get((report.chunk.area, kind))
            count = fault.count + (first.count if first else 0)
            one = fault if first is None or fault.number < first.number else first
            self.faults[report.chunk.area, kind] = FaultSeen(one.what, one.where, one.number, count)
        self.curve.append(self.point(seconds))

    def point(self, seconds: float) -> Point:
        """Where the curve is."""
        counts = len(self.cases), len(self.structures), len(self.facts), len(self.situations)
        return Point(round(seconds, 3), self.judged, self.sets, *counts)

    def shortest(self, cause: str) -> Kept:
        """The shortest case of a cause."""
        return min(self.kept[cause].values(), key=lambda kept: (len(kept.case), kept.hash))

    @property
    def exit_status(self) -> int:
        """3 where the suite could not do its part or nothing was judged, 1 where something new was found, else 0."""
        if self.lost or self.faults or self.verdicts[Verdict.ERROR.value] or not (self.judged or self.sets):
            return 3
        return int(bool(self.causes))


def chance(seen: Mapping[str, int] | Mapping[bytes, int], cases: int) -> float:
    """How likely the next case has something new (Good 1953): how many were seen once, for each case so far."""
    return min(1.0, sum(count == 1 for count in seen.values()) / cases) if cases else 1.0


def worth(totals: Totals) -> str:
    """What more of the same would bring, in a sentence."""
    if not totals.judged:
        return "nothing was judged yet"
    situation, structure = chance(totals.situations, totals.judged), chance(totals.structures, totals.judged)
    each = f"one case in {1 / situation:,.0f}" if situation else "no case"
    return f"by now {each} has a situation that none before had, and {structure:.0%} have a new structure"
