"""What becomes of the examples of an area, added up in their order, in whatever process they were judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from enum import Enum

from cts.choices import Source
from cts.deadline import NO_DEADLINE, Deadline
from cts.judging.events import Emit, Finding, Progress, Shrinking, ignore
from cts.model import Case
from cts.oracle.expectation import Oracle
from cts.running.drawing import Fault, Faults, Faulty, checked_expectation
from cts.running.profiles import Profile
from cts.verdict import Verdict


@dataclass(frozen=True)
class Found:
    """A finding or an error of a driver as it is reported: made smaller, and run again.

    What a quarantine leaves for last, or what the run dies with, is not made smaller. `runs` counts verdicts, and
    `known` is why a baseline lists it.
    """

    verdict: Verdict
    detail: str
    finding: Finding
    runs: dict[str, int]
    known: str


@dataclass(frozen=True)
class Attempted:
    """What an example came to on one driver.

    `known` is why a baseline lists its failure by a condition, `lacks` what the driver has not, and `sets` how many of
    its other parameter sets were judged.
    """

    verdict: Verdict
    detail: str = ""
    seconds: float = 0.0
    known: str = ""
    found: Found | None = None
    lacks: tuple[str, ...] = ()
    sets: int = 0


class Omitted(Enum):
    """Why an example is given to no driver."""

    OTHER_SHARD = "other shard"
    REPEATED = "repeated"
    #: A quarantine leaves it for last.
    FOR_LAST = "for last"


@dataclass(frozen=True)
class Seen:
    """What became of the example of a number: omitted, a fault, perhaps of a `case`, or attempts by driver."""

    number: int
    omitted: Omitted | None = None
    fault: Fault | None = None
    case: Case | None = None
    attempts: Mapping[str, Attempted] = field(default_factory=dict)


@dataclass(eq=False)
class Explored:
    """What became of one area on one driver.

    `examples` counts cases judged until the end or the first finding, without those of shrinking, and `repeated`
    those that were like an earlier one. `not_run` counts what was left out, by reason, `lacks` what the driver has
    not, and `known` the failures that a baseline lists by a condition, which end nothing.
    """

    verdict: Verdict = Verdict.PASS
    detail: str = ""
    found: Found | None = None
    examples: int = 0
    unsupported: int = 0
    lacks: Counter[str] = field(default_factory=Counter)
    repeated: int = 0
    sets: int = 0
    seconds: float = 0.0
    not_run: Counter[str] = field(default_factory=Counter)
    known: Counter[str] = field(default_factory=Counter)


@dataclass(eq=False)
class Exploration:
    """What became of an area: by driver spec, and what is wrong with its examples, by kind."""

    results: dict[str, Explored]
    faults: dict[str, Faulty]


class Survey:
    """What becomes of the examples of an area on several drivers, each until its first finding.

    `alive` are the specs of the drivers without one. Nothing is counted of a driver after its first.
    """

    def __init__(
        self,
        specs: Sequence[str],
        profile: Profile,
        emit: Emit = ignore,
        area: str = "",
        time_is_up: Deadline = NO_DEADLINE,
    ) -> None:
        self.results = {spec: Explored() for spec in specs}
        self.alive = list(self.results)
        self._faults = Faults()
        self._profile = profile
        self._emit = emit
        self._area = area
        self._time_is_up = time_is_up
        self._drawn = 0
        self._of_other_shards = 0
        self._for_last: list[int] = []
        #: Why no more examples are begun, where that is for lack of time.
        self._late = ""

    def chunks(self, size: int) -> Iterator[range]:
        """The numbers of the examples to judge next, as long as there is a reason to."""
        for start in range(1, self._profile.max_examples + 1, size):
            self._late = self._late or self._time_is_up()
            if not self.alive or self._faults.too_many or self._late:
                return
            yield range(start, min(start + size, self._profile.max_examples + 1))

    def for_last(self) -> Iterator[int]:
        """The numbers of the examples that a quarantine leaves for last, as long as a driver is left."""
        while self._for_last:
            self._late = self._late or self._time_is_up()
            if not self.alive or self._late:
                return
            yield self._for_last.pop(0)

    @property
    def has_last(self) -> bool:
        """Whether a quarantine leaves some examples for last."""
        return bool(self._for_last)

    def wants(self, specs: Iterable[str]) -> bool:
        """Whether examples on these drivers are still asked for."""
        return not self._faults.too_many and not set(self.alive).isdisjoint(specs)

    def add(self, seen: Seen) -> None:
        """Count what became of an example. They come in the order of their numbers, but for those left for last."""
        self._drawn = max(self._drawn, seen.number)
        if seen.fault is not None:
            self._faults.add(seen.fault, seen.case, seen.number)
        if seen.omitted is Omitted.FOR_LAST:
            self._for_last.append(seen.number)
        elif seen.omitted is not None:
            self._of_other_shards += seen.omitted is Omitted.OTHER_SHARD
            for spec in self.alive:
                self.results[spec].repeated += seen.omitted is Omitted.REPEATED
                self._emit(Progress(spec, self._area, 1))
        for spec, attempted in seen.attempts.items():
            if spec in self.alive:
                self._count(spec, attempted)

    def _count(self, spec: str, attempted: Attempted) -> None:
        explored = self.results[spec]
        explored.seconds += attempted.seconds
        self._emit(Progress(spec, self._area, 1))
        if attempted.verdict is Verdict.UNSUPPORTED:
            explored.unsupported += 1
            explored.lacks.update(attempted.lacks)
        elif attempted.verdict is Verdict.NOT_RUN:
            explored.not_run[attempted.detail] += 1
        else:
            explored.examples += 1
            explored.sets += attempted.sets
            if attempted.known:
                explored.known[attempted.known] += 1
            if attempted.found is not None:
                found = attempted.found
                explored.verdict, explored.detail, explored.found = found.verdict, found.detail, found
                self.alive.remove(spec)

    def exploration(self, source: Source[Case], oracle: Oracle, known: Set[str] = frozenset()) -> Exploration:
        """All of it, with the faults made smaller; those whose kind is `known` are only counted."""
        ended = self._late
        if self._faults.too_many and self._drawn < self._profile.max_examples:
            ended = f"{self._faults.total} of the first {self._drawn} examples are faults of the generator"
        if set(self._faults.by_kind) - known:
            self._emit(Shrinking("", self._area))
            self._faults.shrink(source, self._profile, lambda case: checked_expectation(case, oracle), known)
        for spec, explored in self.results.items():
            if ended and spec in self.alive:
                explored.not_run[ended] += self._profile.max_examples - self._drawn + len(self._for_last)
            if explored.verdict is Verdict.PASS and not explored.examples:
                explored.verdict, explored.detail = self._nothing_ran(explored)
        return Exploration(self.results, self._faults.by_kind)

    def _nothing_ran(self, explored: Explored) -> tuple[Verdict, str]:
        if self._faults.total:
            return Verdict.NOT_RUN, "the generator has faults, and no case for this driver beside them"
        if explored.not_run:
            return Verdict.NOT_RUN, "; ".join(explored.not_run)
        if explored.unsupported:
            return Verdict.UNSUPPORTED, f"the driver supports none of {explored.unsupported} generated cases"
        if self._of_other_shards:
            return Verdict.NOT_RUN, f"all {self._of_other_shards} generated cases are of other shards"
        return Verdict.ERROR, "the area generated no case for this driver"
