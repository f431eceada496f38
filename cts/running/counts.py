"""Counts of examples on one driver in one process, made as the examples are judged."""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

import msgspec

from cts.case.model import Case, dumps_case
from cts.case.model.plain import plain
from cts.features.coverage.exercised import exercised
from cts.features.phrases import phrases
from cts.judging.effects import has_effect
from cts.judging.events import ExamplesJudged, FaultSeen, Kept
from cts.judging.judge import Attempt, OpenDriver
from cts.judging.verdict import Verdict
from cts.running.compiling import size_of
from cts.running.drawing import Fault
from cts.running.slowest import SLOW, SLOWEST
from cts.running.usage import describe

#: Bytes of a digest in an answer.
DIGEST = 8

#: Cases of one cause that an answer has; all are counted.
KEPT = 3

#: Numbers of a case that are not compiled into types: operands, offsets, seeds of contents.
_NUMBER = re.compile(rb'(?<![\w"])-?\d[\d.eE+-]*|(?<=":)"0x[0-9a-f]+"')
_SIZES = re.compile(rb'"(?:rows|cols|length|dim|m|k|components)":\d+')


class Counts:
    """Counts of examples of an area on a driver, from the number `start` on.

    `covered` is the number of the last example that is counted, and `ended` whether none after it is.
    """

    #: Why an example is given to no driver: a case like it was, it is of another shard, too large for the profile or
    #: of a size of which few run, a quarantine leaves it for last, or most cases of its size take long.
    REPEATED, ELSEWHERE, FOR_LAST, SLOW = "repeated", "elsewhere", "for last", "slow"

    def __init__(self, driver: OpenDriver, area: str, start: int, *, last: bool) -> None:
        self.driver = driver
        self.area = area
        self.start = start
        self.last = last
        self.covered = start - 1
        self.ended = False
        self.drawn = self.unsupported = self.repeated = self.elsewhere = self.sets = 0
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.verdicts: Counter[str] = Counter()
        self.lacks: Counter[str] = Counter()
        self.not_run: Counter[str] = Counter()
        self.known: Counter[str] = Counter()
        self.facts: Counter[str] = Counter()
        self.features: Counter[str] = Counter()
        self.statistics: dict[str, tuple[int, float, float, int]] = {}
        self.matching = 0
        #: By entry: cases that ran, those that failed as it lists, and those that were left out.
        self.entries: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
        rules = (*driver.baseline.rules, *(r for r in driver.quarantine.rules if r.when == "never"))
        self._rules = [(rule, describe(rule)) for rule in rules if rule.match.condition is not None]
        self._failing: defaultdict[str, list[str]] = defaultdict(list)
        self._not_passed: defaultdict[str, list[str]] = defaultdict(list)
        self._kept: list[Kept] = []
        self._faults: dict[str, FaultSeen] = {}
        self._for_last: list[int] = []
        self._set_aside: list[int] = []
        self._ran: dict[str, bytes] = {}
        self._times: defaultdict[str, list[float]] = defaultdict(list)
        self._slow_sizes: Counter[str] = Counter()
        self._timed = False
        self._slow: list[tuple[float, str]] = []

    def omit(self, number: int, why: Fault | Case | str) -> None:
        """Count an example that is given to no driver."""
        if isinstance(why, Fault):
            self.fault(number, why, None)
        elif why == self.FOR_LAST:
            self._for_last.append(number)
        elif why == self.SLOW:
            self._set_aside.append(number)
        else:
            self.repeated += why == self.REPEATED
            self.elsewhere += why == self.ELSEWHERE

    def fault(self, number: int, fault: Fault, case: Case | None) -> None:
        """Count a fault of the generator."""
        first = self._faults.get(fault.kind)
        if first is None:
            text = dumps_case(case) if case is not None else ""
            first = FaultSeen(fault.code, fault.what, fault.where, number, 0, fault.detail, text)
        self._faults[fault.kind] = msgspec.structs.replace(first, count=first.count + 1)

    def set_aside(self, number: int, case: Case, seconds: float) -> None:
        """Note a case that the driver has given up for now, after so many seconds."""
        self.seconds["driver"] += seconds
        self._set_aside.append(number)
        self._slow_sizes[str(size_of(case))] += 1

    def ran(self, case: Case, seconds: float, *, timed: bool) -> None:
        """Note a case that has run in so many seconds, of the device if `timed`, with its facts and features."""
        self._ran[case.content_hash] = structure(case)
        self._times[str(size_of(case))].append(round(seconds, 3))
        self._timed |= timed
        self.facts.update(exercised(case))
        self.features.update(phrases(case))

    def took(self, case: Case, seconds: float) -> None:
        """Note how long the driver had a case."""
        self.seconds["driver"] += seconds
        if seconds >= SLOW:
            self._slow = sorted([*self._slow, (round(seconds, 3), case.content_hash)], reverse=True)[:SLOWEST]

    def came_to(self, case: Case, verdict: Verdict) -> None:
        """Count the verdict of a case that has run."""
        self.verdicts[verdict.value] += 1
        if verdict is not Verdict.PASS:
            self._not_passed[verdict.value].append(case.content_hash)

    def measure(self, number: int, statistics: Mapping[str, float]) -> None:
        """Count the driver's compiler statistics of an example."""
        for name, value in statistics.items():
            cases, total, largest, whose = self.statistics.get(name, (0, 0.0, -1.0, number))
            whose, largest = (number, value) if value > largest else (whose, largest)
            self.statistics[name] = cases + 1, total + value, largest, whose

    def match(self, case: Case, attempt: Attempt) -> None:
        """Note which entries with a condition match a case that has run, or was left out.

        A case counts as blind if an entry would excuse whatever it leaves.
        """
        matching = [(rule, text) for rule, text in self._rules if rule.match.matches_case(case)]
        ran = attempt.verdict is not Verdict.NOT_RUN
        self.matching += ran and any(not rule.leaves for rule, _ in matching)
        for rule, text in matching:
            counts = self.entries[text]
            counts[0] += ran
            listed = ran and attempt.verdict.value in rule.verdicts
            counts[1] += listed and (not rule.has_effect or has_effect(rule, case, attempt))
            counts[2] += not ran and rule.when == "never"

    def fail(self, kept: Kept, *, end: bool) -> None:
        """Count a failure that is not known by its cause, and keep some; `end` counting with it."""
        self._failing[kept.cause].append(kept.finding.case.content_hash)
        if sum(other.cause == kept.cause for other in self._kept) < KEPT:
            self._kept.append(kept)
        self.ended = self.ended or end

    def cut(self, number: int) -> None:
        """End counting before an example for which there was no time."""
        self.covered, self.ended = number - 1, True
        self.drawn -= 1

    def event(self, where: str, restarts: int) -> ExamplesJudged:
        """The counts, as an event."""
        return ExamplesJudged(
            driver=self.driver.spec,
            area=self.area,
            start=self.start,
            count=self.covered - self.start + 1,
            last=self.last,
            drawn=self.drawn,
            verdicts=dict(self.verdicts),
            unsupported=self.unsupported,
            lacks=dict(self.lacks),
            not_run=dict(self.not_run),
            repeated=self.repeated,
            elsewhere=self.elsewhere,
            for_last=tuple(self._for_last),
            set_aside=tuple(self._set_aside),
            faults=self._faults,
            sets=self.sets,
            known=dict(self.known),
            not_passed=_packed(self._not_passed),
            failing=_packed(self._failing),
            kept=tuple(self._kept),
            matching=self.matching,
            entries={text: (n[0], n[1], n[2]) for text, n in self.entries.items()},
            cases=bytes.fromhex("".join(self._ran)),
            structures=b"".join(self._ran.values()),
            facts=dict(self.facts),
            features=dict(self.features),
            seconds={stage: round(seconds, 4) for stage, seconds in self.seconds.items()},
            where=where,
            restarts=restarts,
            statistics=self.statistics,
            slowest=tuple(self._slow),
            times={size: tuple(seconds) for size, seconds in self._times.items()},
            slow=dict(self._slow_sizes),
            timed=self._timed,
        )


def _packed(hashes: Mapping[str, list[str]]) -> dict[str, bytes]:
    """The digests of content hashes, by key."""
    return {key: bytes.fromhex("".join(some)) for key, some in hashes.items()}


def digests(packed: bytes) -> Iterator[bytes]:
    """The digests of an answer's `cases`, `structures` or `failing`, one by one."""
    return (packed[i : i + DIGEST] for i in range(0, len(packed), DIGEST))


def structure(case: Case) -> bytes:
    """The digest of a case without its numbers and contents: instructions, types, and how operands are delivered."""
    data = plain(msgspec.structs.replace(case, name="", covers=(), description=""))
    for buffer in data["buffers"].values():
        del buffer["data"], buffer["shape"]
    text = _without_numbers(msgspec.json.encode(data, order="sorted"))
    return hashlib.sha256(text).digest()[:DIGEST]


def _without_numbers(text: bytes) -> bytes:
    """A text of JSON in which every number but a size of a type is 0."""
    parts, end = [], 0
    for size in _SIZES.finditer(text):
        parts += [_NUMBER.sub(b"0", text[end : size.start()]), size.group()]
        end = size.end()
    return b"".join((*parts, _NUMBER.sub(b"0", text[end:])))
