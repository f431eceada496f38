"""Which examples are next: areas take turns, or areas that still yield new features of cases come more often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from cts.judging.events import ExamplesJudged

#: Chunks that are planned together: two for each of about thirty processes.
ROUND = 64

#: The part of a round that all areas share equally, regardless of novelty: an area whose novelty was underestimated
#: gets enough cases to show it. Round number.
ALIKE = 0.25

#: With the policy of novelty, a round is planned from the results of rounds that are at least this many rounds older.
#: The chunks of 16 rounds are minutes of work for thirty processes: a pipeline that takes a minute to create delays no
#: other process.
PLANNING_LAG = 16


class Chunk(NamedTuple):
    """So many examples of a stream, from the number `start` on."""

    stream: str
    start: int
    length: int


class Planner:
    """Plans rounds of chunks of streams: each the examples of an area for drivers of equal capabilities.

    `each` examples are planned for a stream, and `budget` for all streams together; 0 means no limit. By novelty, a
    round follows from the results of whole earlier rounds, not from the clock: the same answers give the same chunks,
    regardless of processes and restarts.
    """

    def __init__(self, streams: Sequence[str], size: int, each: int, budget: int, *, by_novelty: bool) -> None:
        self._streams = streams
        self._size = size
        self._by_novelty = by_novelty
        self._next = dict.fromkeys(streams, 1)
        self._each = each or float("inf")
        #: Examples that are not planned yet.
        self.budget_left = budget or float("inf")
        self._rounds: list[list[Chunk]] = []
        self._handed: set[Chunk] = set()
        #: By stream and first number: the number of examples of an answer, and their novelty.
        self._done: dict[tuple[str, int], tuple[int, ExamplesJudged | None]] = {}
        self._covered = Counter[str]()
        #: First numbers of chunks that were done before they were planned: by an interrupted run.
        self._ahead: dict[str, list[int]] = {stream: [] for stream in streams}
        self._estimates = {stream: NoveltyEstimate() for stream in streams}
        #: The chances of something new by stream, after each round that is whole.
        self._after: list[list[float]] = []

    def next(self) -> Chunk | None:
        """The next chunk, or rest of a chunk, that no process has.

        None if answers are needed first, or no chunk is left.
        """
        while True:
            for chunks in self._rounds[-PLANNING_LAG:]:
                for chunk in chunks:
                    left = self._left(chunk)
                    if left is not None and left not in self._handed:
                        self._handed.add(left)
                        return left
            if not self._plan():
                return None

    def done(self, stream: str, start: int, count: int, judged: ExamplesJudged | None = None) -> None:
        """Note that examples are done, with their results if known."""
        self._done[stream, start] = count, judged if self._by_novelty else None
        self._covered[stream] += count
        if start >= self._next[stream]:
            self._ahead[stream].append(start)
        self._count()

    def undone(self) -> Counter[str]:
        """How many examples of each stream are planned, and not done."""
        undone = Counter[str]()
        for chunk in (chunk for chunks in self._rounds[len(self._after) :] for chunk in chunks):
            if (left := self._left(chunk)) is not None:
                undone[chunk.stream] += left.length
        return undone

    def has_more(self, stream: str) -> bool:
        """Whether there are examples of a stream that are not planned, or not done."""
        planned, covered = self._next[stream] - 1, self._covered[stream]
        return covered < planned or (self.budget_left > 0 and max(planned, covered) < self._each)

    def _left(self, chunk: Chunk) -> Chunk | None:
        """The rest of a chunk: answers may have been about its first part."""
        start, end = chunk.start, chunk.start + chunk.length
        while start < end and (chunk.stream, start) in self._done:
            start += self._done[chunk.stream, start][0]
        return Chunk(chunk.stream, start, end - start) if start < end else None

    def _count(self) -> None:
        """Add the novelty of rounds that are now whole, in the order of their chunks."""
        while len(self._after) < len(self._rounds):
            chunks = self._rounds[len(self._after)]
            if any(self._left(chunk) for chunk in chunks):
                return
            for chunk in chunks:
                for judged in self._answers(chunk):
                    self._estimates[chunk.stream].add(judged)
            self._after.append([estimate.chance for estimate in self._estimates.values()])

    def _answers(self, chunk: Chunk) -> Iterator[ExamplesJudged]:
        start = chunk.start
        while start < chunk.start + chunk.length:
            count, judged = self._done[chunk.stream, start]
            self._done[chunk.stream, start] = count, None
            if judged is not None:
                yield judged
            start += count

    def _plan(self) -> bool:
        """Plan a round; whether there was one to plan, and enough is known for it."""
        if self._by_novelty and len(self._after) < len(self._rounds) - PLANNING_LAG + 1:
            return False
        chunks = list(self._drawn(len(self._rounds)))
        if not chunks:
            return False
        self._rounds.append(chunks)
        self._count()
        return True

    def _drawn(self, number: int) -> Iterator[Chunk]:
        streams = [stream for stream in self._streams if self._next[stream] <= self._each]
        weights = [1.0] * len(streams)
        if self._by_novelty and number >= PLANNING_LAG:
            chances = dict(zip(self._streams, self._after[number - PLANNING_LAG], strict=True))
            total = sum(chances[stream] for stream in streams)
            if total > 0:
                weights = [ALIKE / len(streams) + (1 - ALIKE) * chances[stream] / total for stream in streams]
        for stream in interleaved(streams, weights, ROUND):
            start = self._next[stream]
            if not self._by_novelty:
                start = self._after_done(stream, start)
            count = int(min(self._size, self.budget_left, self._each - start + 1, self._until_done(stream, start)))
            if count > 0:
                yield Chunk(stream, start, count)
                self.budget_left -= count
            self._next[stream] = start + max(count, 0)

    def _after_done(self, stream: str, start: int) -> int:
        """The first number from `start` on that is not done: a run that goes on may have chunks of another size."""
        while (stream, start) in self._done:
            count = self._done[stream, start][0]
            self.budget_left -= count
            start += count
        return start

    def _until_done(self, stream: str, start: int) -> float:
        """How many examples there are until the next ones that are done already.

        By novelty chunks are always the same.
        """
        later = [] if self._by_novelty else [s for s in self._ahead[stream] if s > start]
        return min(later, default=float("inf")) - start


class NoveltyEstimate:
    """New features and facts of drawn cases; cases that a driver cannot run have none."""

    def __init__(self) -> None:
        self.drawn = 0
        self.seen: Counter[str] = Counter()

    def add(self, judged: ExamplesJudged) -> None:
        """Count the features and facts of examples."""
        self.drawn += judged.drawn
        self.seen.update(judged.features)
        self.seen.update(judged.facts)

    @property
    def chance(self) -> float:
        """How likely the next case has something that none of these has (Good 1953): the part of it seen once."""
        return sum(count == 1 for count in self.seen.values()) / self.drawn if self.drawn else 1.0


def interleaved(areas: Sequence[str], weights: Sequence[float], count: int) -> list[str]:
    """So many areas by their weights, each spread evenly.

    >>> interleaved(["a", "b"], [3, 1], 4)
    ['a', 'a', 'b', 'a']
    """
    counts = [0] * len(areas)
    order = []
    for _ in range(count if areas else 0):
        place = max(range(len(areas)), key=lambda n: (weights[n] / (2 * counts[n] + 1), -n))
        counts[place] += 1
        order.append(areas[place])
    return order
