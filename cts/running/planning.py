"""Which examples are next: areas take turns, or areas that still yield new features of cases come more often."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from cts.judging.events import ExamplesJudged
from cts.running.compiling import Times
from cts.running.policy import FEWEST

#: Chunks of each of the first rounds: what is learnt of the first four soon matters, and sixteen processes still have
#: something to do while one chunk takes long. Round number.
ROUND = 24

#: Rounds grow to so many times that: later, what is new changes slowly, and more processes may wait for answers.
GROWTH = 8

#: The part of a round's time that all areas share equally, regardless of news: an area whose news were underestimated
#: gets enough cases to show them. Round number.
ALIKE = 0.25

#: With the policy of novelty, a round is planned from the results of rounds that are at least this many rounds older:
#: one chunk that takes long delays no other process.
PLANNING_LAG = 4

#: Seconds of a chunk of a device that says how long it takes: a chunk of slow cases is short, so that it delays no
#: plan.
CHUNK_SECONDS = 1.5

#: What another program is worth of a new feature. Once most features have been seen, their chances say little, and
#: what counts is how many programs a second there are. Round number.
PROGRAM = 0.05

#: The most chunks of usual size that a chunk of fast cases is as long as. Round number.
LONGEST = 4


class Chunk(NamedTuple):
    """So many examples of a stream, from the number `start` on."""

    stream: str
    start: int
    length: int


class Planner:
    """Plans rounds of chunks of streams: each the examples of an area for drivers of equal capabilities.

    `each` examples are planned for a stream, and `budget` for all streams together; 0 means no limit. By novelty, a
    round follows from the answers of whole earlier rounds, their times among them, not from the clock: the same answers
    give the same chunks, regardless of processes and restarts. The first rounds have short chunks of all streams in
    turn; later, streams share the time by what the last news cost.
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
        #: By group of drivers: each draws for itself.
        everywhere: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._estimates = {stream: NoveltyEstimate(everywhere[stream.partition(" ")[2]]) for stream in streams}
        #: What is known of the streams after each round that is whole.
        self._after: list[_Known] = []
        #: How long cases take; and by chunk the round of which it is part.
        self._times = {stream: Times() for stream in streams}
        self._round_of: dict[Chunk, int] = {}

    def next(self) -> Chunk | None:
        """The next chunk, or rest of a chunk, that no process has.

        None if answers are needed first, or no chunk is left.
        """
        while True:
            first = max(0, len(self._rounds) - PLANNING_LAG)
            for number, chunks in enumerate(self._rounds[first:], first):
                for chunk in chunks:
                    left = self._left(chunk)
                    if left is not None and left not in self._handed:
                        self._handed.add(left)
                        self._round_of[left] = number
                        return left
            if not self._plan():
                return None

    def sizes(self, chunk: Chunk) -> Sizes:
        """What was known of sizes when a chunk that `next` returned was planned."""
        before = self._round_of[chunk] - PLANNING_LAG
        return self._after[before].sizes[chunk.stream] if self._by_novelty and before >= 0 else ANY_SIZE

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
                    self._times[chunk.stream](judged)
            known = {stream: (one.chance, one.cost) for stream, one in self._estimates.items()}
            self._after.append(_Known(known, {stream: self._sizes(stream) for stream in self._streams}))

    def _sizes(self, stream: str) -> Sizes:
        """Which sizes take long. Nothing is passed over if a number of cases is asked for: all of them would run."""
        times, endless = self._times[stream], self._each == self.budget_left == float("inf")
        return Sizes(times.slow(), times.rare() if endless and self._estimates[stream].is_timed else {})

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
        shares = [Share(1.0, self._first_size if self._by_novelty else self._size)] * len(streams)
        if self._by_novelty and number >= PLANNING_LAG:
            known = self._after[number - PLANNING_LAG].streams
            shares = shared([known[stream] for stream in streams], self._size)
        size = ROUND * min(GROWTH, 2 ** (number // PLANNING_LAG)) if self._by_novelty else ROUND
        lengths = dict(zip(streams, (share.length for share in shares), strict=True))
        for stream in interleaved(streams, [share.weight for share in shares], size):
            start = self._next[stream]
            if not self._by_novelty:
                start = self._after_done(stream, start)
            rest = min(self.budget_left, self._each - start + 1, self._until_done(stream, start))
            count = int(min(lengths[stream], rest))
            if count > 0:
                yield Chunk(stream, start, count)
                self.budget_left -= count
            self._next[stream] = start + max(count, 0)

    @property
    def _first_size(self) -> int:
        """The length of a chunk while nothing is known: all areas are known soon."""
        return max(1, self._size // LONGEST)

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


class Sizes(NamedTuple):
    """Slow sizes, whose cases are set aside at once; and dear sizes, with N if one in N of their cases runs."""

    slow: frozenset[str]
    rare: Mapping[str, int]


ANY_SIZE = Sizes(frozenset(), {})


class _Known(NamedTuple):
    """What is known of each stream after a round: the chance of something new, seconds of a case, and its sizes."""

    streams: dict[str, tuple[float, float | None]]
    sizes: dict[str, Sizes]


class NoveltyEstimate:
    """New features and facts of drawn cases, and what these cost; cases that a driver cannot run have none.

    `everywhere` counts the cases of all areas that have each.
    """

    def __init__(self, everywhere: Counter[str]) -> None:
        self.drawn = 0
        self.seen: Counter[str] = Counter()
        self._everywhere = everywhere
        #: Seconds of drawing, oracle and device; and whether the device said how long it took.
        self.seconds = 0.0
        self.is_timed = False

    def add(self, judged: ExamplesJudged) -> None:
        """Count the features and facts of examples."""
        self.drawn += judged.drawn
        for seen in (self.seen, self._everywhere):
            seen.update(judged.features)
            seen.update(judged.facts)
        self.seconds += sum(judged.seconds.values())
        self.is_timed |= judged.timed

    @property
    def chance(self) -> float:
        """How likely the next case has something that no case has (Good 1953): the part of it seen once, anywhere."""
        news = sum(count == 1 and self._everywhere[name] == 1 for name, count in self.seen.items())
        return news / self.drawn if self.drawn else 1.0

    @property
    def cost(self) -> float | None:
        """Seconds of a drawn case; None if the device does not say, so that plans do not follow from our clock."""
        return self.seconds / self.drawn if self.is_timed and self.drawn else None


class Share(NamedTuple):
    """The weight of a stream's chunks in a round, and how many examples each has."""

    weight: float
    length: int


def shared(known: Sequence[tuple[float, float | None]], size: int) -> list[Share]:
    """Shares of streams, of which the chance of something new and the seconds of a case are known.

    Each gets time by its news per second, to which each case adds PROGRAM. If the seconds are not known of all, each
    case costs the same.

    >>> shared([(0.4, None), (0.2, None)], 25)
    [Share(weight=0.625, length=25), Share(weight=0.375, length=25)]
    >>> [(round(weight, 3), length) for weight, length in shared([(0.35, 0.25), (0.15, 0.125)], 25)]
    [(0.333, 6), (0.333, 12)]
    """
    timed = all(cost is not None for _, cost in known)
    costs = [max(cost, 1e-3) if timed and cost is not None else 1.0 for _, cost in known]
    lengths = [min(max(round(CHUNK_SECONDS / cost), FEWEST), LONGEST * size) if timed else size for cost in costs]
    worth = PROGRAM if timed else 0.0
    rates = [(chance + worth) / cost for (chance, _), cost in zip(known, costs, strict=True)]
    total = sum(rates)
    times = [ALIKE / len(known) + (1 - ALIKE) * rate / total if total else 1.0 for rate in rates]
    if not timed:
        return [Share(time, length) for time, length in zip(times, lengths, strict=True)]
    each = zip(times, lengths, costs, strict=True)
    return [Share(time / (length * cost), length) for time, length, cost in each]


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
