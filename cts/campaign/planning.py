"""Which chunk is next: areas take turns, and more often those that still bring something new."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from cts.campaign.chunks import Chunk, Report
from cts.campaign.settings import Settings

#: The part of a round that all areas share alike, whatever they bring.
ALIKE = 0.25

#: A round is planned from what all rounds so many before it brought. The chunks of so many rounds are minutes of work
#: for thirty processes: nobody waits for one whose pipeline takes a minute to create.
AHEAD = 16

#: Parameter sets of a chunk of a universe.
SETS = 8192


class Planner:
    """Plans rounds of chunks. Each follows from the reports of earlier rounds as a whole, so that no clock decides.

    The same settings and reports give the same chunks, on however many processes and after however many ends.
    """

    def __init__(self, settings: Settings, sweeps: Mapping[str, int]) -> None:
        self._settings = settings
        self._rounds: list[list[Chunk]] = []
        self._waiting: list[set[Chunk]] = []
        self._done: set[Chunk] = set()
        self._next = dict.fromkeys(settings.areas, 1)
        self._left = settings.cases if settings.areas else 0
        self._news = {area: News() for area in settings.areas}
        #: Of chunks of rounds that are not all done, so that news are those of whole rounds.
        self._early: dict[Chunk, Report] = {}
        #: The chances of something new by area, after each round that is whole.
        self._after: list[list[float]] = []
        self._sweeps = [
            Chunk(area, start, min(SETS, count - start))
            for area, count in sweeps.items()
            for start in range(0, count, SETS)
        ]
        self._handed: set[Chunk] = set()

    def next(self) -> Chunk | None:
        """The next chunk that nobody has; None where the reports of earlier ones are needed first, or none is left."""
        while True:
            for chunks in self._rounds[-AHEAD:]:
                for chunk in chunks:
                    if chunk not in self._handed and chunk not in self._done:
                        self._handed.add(chunk)
                        return chunk
            if not self._plan():
                return None

    def done(self, chunk: Chunk, report: Report | None) -> bool:
        """Note that a chunk is done, with its report where it has one; whether that is news."""
        if chunk in self._done:
            return False
        self._done.add(chunk)
        if report is not None:
            self._early[chunk] = report
        for waiting in self._waiting:
            waiting.discard(chunk)
        self._count()
        return True

    def _count(self) -> None:
        """Add what the rounds that are now whole have brought, in the order of their chunks."""
        while len(self._after) < len(self._rounds) and not self._waiting[len(self._after)]:
            for chunk in self._rounds[len(self._after)]:
                report = self._early.pop(chunk, None)
                if report is not None and chunk.area in self._news:
                    self._news[chunk.area].add(report)
            self._after.append([news.chance for news in self._news.values()])

    def _plan(self) -> bool:
        """Plan a round; whether there was one to plan, and enough is known for it."""
        number = len(self._rounds)
        if len(self._after) < number - AHEAD + 1:
            return False
        chunks = list(self._drawn(number))
        if number == 0:
            chunks += self._sweeps
        if not chunks:
            return False
        self._rounds.append(chunks)
        self._waiting.append({chunk for chunk in chunks if chunk not in self._done})
        self._count()
        return True

    def _drawn(self, number: int) -> Iterator[Chunk]:
        areas = self._settings.areas
        weights = [1.0] * len(areas)
        if number >= AHEAD and areas:
            chances = self._after[number - AHEAD]
            total = sum(chances)
            if total > 0:
                weights = [ALIKE / len(areas) + (1 - ALIKE) * chance / total for chance in chances]
        for area in interleaved(areas, weights, self._settings.round):
            count = self._settings.chunk if self._left is None else min(self._settings.chunk, self._left)
            if count == 0:
                return
            yield Chunk(area, self._next[area], count)
            self._next[area] += count
            if self._left is not None:
                self._left -= count


class News:
    """What drawn cases have that others lack; those that a driver cannot run have nothing."""

    def __init__(self) -> None:
        self.drawn = 0
        self.seen: Counter[str] = Counter()

    def add(self, report: Report) -> None:
        """Count the situations and facts of a report's cases."""
        self.drawn += report.drawn
        self.seen.update(report.situations)
        self.seen.update(report.facts)

    @property
    def chance(self) -> float:
        """How likely the next case has something that none of these has (Good 1953): the part of it seen once."""
        return sum(count == 1 for count in self.seen.values()) / self.drawn if self.drawn else 1.0


def interleaved(areas: Sequence[str], weights: Sequence[float], count: int) -> list[str]:
    """So many areas by their weights, each spread evenly.

    >>> interleaved(["a", "b"], [3, 1], 4)
    ['a', 'a', 'b', 'a']
    """
    given = [0] * len(areas)
    order = []
    for _ in range(count if areas else 0):
        place = max(range(len(areas)), key=lambda n: (weights[n] / (2 * given[n] + 1), -n))
        given[place] += 1
        order.append(areas[place])
    return order
