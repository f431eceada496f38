"""The results of an area's examples on several drivers, added up, regardless of the processes that judged them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from math import inf

import msgspec

from cts.base.deadline import TIME_IS_UP
from cts.case.model import loads_case
from cts.case.oracle.expectation import Oracle
from cts.judging.events import Emit, ExamplesJudged, Finding, Kept, Shrinking, ignore
from cts.judging.known.quarantine import Rule
from cts.judging.reduction_record import Stopped
from cts.judging.verdict import Verdict
from cts.running.counts import digests
from cts.running.deadline import SET_ASIDE
from cts.running.drawing import REMEDY, Draws, Fault, Faults, Faulty, checked_expectation
from cts.running.policy import Policy
from cts.running.profiles import Profile


@dataclass(frozen=True)
class ReportedFinding:
    """A finding or an error of a driver in the form that is reported: reduced, and run again.

    A case that a quarantine leaves for last, or with which the run dies, is not reduced. `runs` counts verdicts, and
    `known` is the baseline's reason for listing it.
    """

    verdict: Verdict
    detail: str
    finding: Finding
    runs: dict[str, int]
    known: str

    @property
    def ran_out(self) -> bool:
        """Whether there was no more time to make it smaller."""
        return self.finding.reduction is not None and self.finding.reduction.stopped is Stopped.TIME_LIMIT

    @classmethod
    def from_kept(
        cls, kept: Kept, verdict: Verdict | None = None, detail: str = "", rule: Rule | None = None
    ) -> ReportedFinding:
        """A kept case with its own verdict, or with the verdict of a further run."""
        reason = rule.text if rule is not None else ""
        return cls(verdict or kept.verdict, detail or kept.detail, kept.finding, kept.runs, reason)


@dataclass(eq=False)
class AreaResult:
    """The result of one area on one driver.

    `examples` counts distinct judged cases, `verdicts` what they came to, and `repeated` the cases that equal an
    earlier one. `not_run` counts cases left out, by reason, `lacks` missing capabilities of the driver, and `known`
    failures that a baseline lists. By suspected cause, `failing` has the content hashes of the other failures, `kept`
    the shortest of their cases, and `reduced` one of these after its reduction.
    """

    examples: int = 0
    covered: int = 0
    unsupported: int = 0
    elsewhere: int = 0
    repeated: int = 0
    sets: int = 0
    seconds: float = 0.0
    verdicts: Counter[str] = field(default_factory=Counter)
    lacks: Counter[str] = field(default_factory=Counter)
    not_run: Counter[str] = field(default_factory=Counter)
    known: Counter[str] = field(default_factory=Counter)
    failing: dict[str, set[bytes]] = field(default_factory=dict)
    kept: dict[str, dict[str, Kept]] = field(default_factory=dict)
    reduced: dict[str, ReportedFinding] = field(default_factory=dict)
    verdict: Verdict = Verdict.PASS
    detail: str = ""
    _hashes: set[bytes] = field(default_factory=set)

    def add(self, judged: ExamplesJudged, most: int) -> ExamplesJudged:
        """Count examples, keeping at most `most` cases of a cause; returns the event with kept cases only."""
        before = len(self._hashes)
        ran = [*digests(judged.cases)]
        self._count_verdicts(judged, set(ran) - self._hashes)
        self._hashes.update(ran)
        self.examples = len(self._hashes)
        self.repeated += judged.repeated + len(ran) - (self.examples - before)
        self.covered += 0 if judged.last else judged.count
        self.unsupported += judged.unsupported
        self.elsewhere += judged.elsewhere
        self.sets += judged.sets
        self.seconds += judged.seconds.get("driver", 0.0) + judged.seconds.get("sets", 0.0)
        for name in ("lacks", "not_run", "known"):
            getattr(self, name).update(getattr(judged, name))
        for cause, hashes in judged.failing.items():
            self.failing.setdefault(cause, set()).update(digests(hashes))
        for kept in judged.kept:
            of_cause = self.kept.setdefault(kept.cause, {})
            of_cause[kept.finding.case.content_hash] = kept
            if len(of_cause) > most:
                del of_cause[max(of_cause, key=lambda identity: (of_cause[identity].size, identity))]
        left = tuple(k for k in judged.kept if k.finding.case.content_hash in self.kept[k.cause])
        return judged if left == judged.kept else msgspec.structs.replace(judged, kept=left)

    def _count_verdicts(self, judged: ExamplesJudged, new: set[bytes]) -> None:
        """Count what new cases came to. Older runs have no hashes of the cases that did not pass."""
        left = len(new)
        for verdict, count in judged.verdicts.items():
            if verdict != Verdict.PASS.value:
                hashes = judged.not_passed.get(verdict)
                counted = min(left, count) if hashes is None else len(new & {*digests(hashes)})
                self.verdicts[verdict] += counted
                left -= counted
        self.verdicts[Verdict.PASS.value] += left

    def cases(self) -> dict[str, int]:
        """How many distinct cases came to each verdict; a reported case to that of its last run."""
        verdicts = self.verdicts.copy()
        for cause in self.causes:
            before, now = self.shortest(cause).verdict.value, self.found(cause).verdict
            if verdicts[before] and now not in (Verdict.UNSUPPORTED, Verdict.NOT_RUN):
                verdicts[before] -= 1
                verdicts[now.value] += 1
        return {verdict.value: verdicts[verdict.value] for verdict in Verdict if verdicts[verdict.value]}

    def shortest(self, cause: str) -> Kept:
        """The shortest case of a cause."""
        return min(self.kept[cause].values(), key=lambda kept: (kept.size, kept.finding.case.content_hash))

    def found(self, cause: str) -> ReportedFinding:
        """A cause's reduced case, or else its shortest case."""
        return self.reduced.get(cause) or ReportedFinding.from_kept(self.shortest(cause))

    @property
    def causes(self) -> list[str]:
        """The suspected causes, most frequent first."""
        return sorted(self.failing, key=lambda cause: (-len(self.failing[cause]), cause))


@dataclass(eq=False)
class AreaOutcome:
    """The outcome of an area: results by driver spec, and faults of its examples by kind."""

    results: dict[str, AreaResult]
    faults: dict[str, Faulty]


class AreaTally:
    """The tally of an area's examples on several drivers.

    `alive` are the specs of drivers on which the area goes on: all, or the drivers without a finding. For a driver
    whose area ends at its first finding, nothing after it is counted, as if examples were judged one after the other.
    """

    def __init__(
        self, specs: Sequence[str], profile: Profile, policy: Policy, emit: Emit = ignore, area: str = ""
    ) -> None:
        self.results = {spec: AreaResult() for spec in specs}
        self.alive = list(self.results)
        #: Why no more examples are started for lack of time, "" otherwise; and how many are not.
        self.late, self.left = "", 0
        self._profile = profile
        self._policy = policy
        self._emit = emit
        self._area = area
        self._faults = Faults()
        self._fault_places: set[tuple[str, int]] = set()
        #: Numbers that a quarantine leaves for last, and whether they are given out; and by number the drivers that
        #: have set it aside, and the numbers of these that are not given out.
        self._for_last: dict[int, bool] = {}
        self._set_aside: dict[int, list[str]] = {}
        self._not_given: dict[int, None] = {}
        #: Answers that came before those to earlier examples, by their first number; and the number that is due.
        self._early: dict[str, dict[int, ExamplesJudged]] = {spec: {} for spec in specs}
        self._due = dict.fromkeys(specs, 1)

    @property
    def has_last(self) -> bool:
        """Whether some examples are left for last, or set aside, and not given out."""
        return not all(self._for_last.values()) or bool(self._not_given)

    @property
    def goes_on(self) -> bool:
        """Whether more examples are asked for."""
        return bool(self.alive) and not self._too_many

    def next_of_last(self) -> int | None:
        """The number of the next example that a quarantine leaves for last."""
        number = next((number for number, is_given in self._for_last.items() if not is_given), None)
        if number is not None:
            self._for_last[number] = True
        return number

    def next_set_aside(self) -> tuple[int, tuple[str, ...]] | None:
        """The number of the next example that was set aside, and the drivers on which the area goes on that did so."""
        while self._not_given:
            number = next(iter(self._not_given))
            del self._not_given[number]
            if specs := tuple(spec for spec in self._set_aside[number] if spec in self.alive):
                return number, specs
        return None

    def wants(self, specs: Iterable[str]) -> bool:
        """Whether examples on these drivers are still asked for."""
        return not self._too_many and not set(self.alive).isdisjoint(specs)

    @property
    def _too_many(self) -> bool:
        return self._faults.too_many and not self._policy.keep

    def add(self, judged: ExamplesJudged) -> Iterator[ExamplesJudged]:
        """Count examples of a driver once all earlier ones are counted; yields the events that are counted now."""
        spec = judged.driver
        if self._policy.keep or judged.last:
            yield from self._count(judged)
            return
        early = self._early[spec]
        early[judged.start] = judged
        while self._due[spec] in early:
            judged = early.pop(self._due[spec])
            self._due[spec] += judged.count
            yield from self._count(judged)

    def _count(self, judged: ExamplesJudged) -> Iterator[ExamplesJudged]:
        spec = judged.driver
        if spec not in self.alive or not judged.count or (self._too_many and not judged.last):
            return  # one process would not have gone so far
        if judged.last:
            self._for_last.pop(judged.start, None)
            if spec in (specs := self._set_aside.get(judged.start, [])):
                specs.remove(spec)
        self._for_last |= dict.fromkeys(judged.for_last, False)
        for number in judged.set_aside:
            self._set_aside.setdefault(number, []).append(spec)
            self._not_given[number] = None
        for kind, fault_seen in judged.faults.items():
            if (kind, judged.start) not in self._fault_places:  # not counted of another driver
                self._fault_places.add((kind, judged.start))
                fault = Fault(fault_seen.code, fault_seen.what, fault_seen.where, REMEDY, kind, fault_seen.detail)
                self._faults.add(
                    fault, loads_case(fault_seen.case) if fault_seen.case else None, fault_seen.number, fault_seen.count
                )
        yield self.results[spec].add(judged, self._policy.keep or 1)
        if judged.kept and not self._policy.keep:
            self.alive.remove(spec)

    def outcome(self, draws: Draws, oracle: Oracle, known: Set[str] = frozenset()) -> AreaOutcome:
        """The area's outcome, with simplified faults; faults whose kind is `known` are only counted."""
        if set(self._faults.by_kind) - known:
            self._emit(Shrinking("", self._area))
            self._faults.shrink(draws, lambda case: checked_expectation(case, oracle), known)
        for spec, explored in self.results.items():
            if spec in self.alive:
                self._leave_out(spec, explored)
            if not explored.failing and not explored.examples:
                explored.verdict, explored.detail = self._nothing_ran(explored)
        return AreaOutcome(self.results, self._faults.by_kind)

    def _leave_out(self, spec: str, explored: AreaResult) -> None:
        """Count examples that were not started, or not finished."""
        if unfinished := sum(spec in specs for specs in self._set_aside.values()):
            explored.not_run[(self.late or TIME_IS_UP) + SET_ASIDE] += unfinished
        left = self.left if self._policy.budget else self._profile.max_examples - explored.covered
        if self._too_many and left > 0:
            why = f"{self._faults.total} of the first {explored.covered} examples are faults of the generator"
            explored.not_run[why] += left + len(self._for_last)
        elif self.late and (left > 0 or self._for_last or not explored.covered):
            explored.not_run[self.late] += max(left, 0) + len(self._for_last)

    def _nothing_ran(self, explored: AreaResult) -> tuple[Verdict, str]:
        if self._faults.total:
            return Verdict.NOT_RUN, "the generator has faults, and no case for this driver beside them"
        if explored.not_run:
            return Verdict.NOT_RUN, "; ".join(explored.not_run)
        if explored.unsupported:
            return Verdict.UNSUPPORTED, f"the driver supports none of {explored.unsupported} generated cases"
        if explored.elsewhere:
            large = ", or too large" if self._profile.largest < inf else ""
            return Verdict.NOT_RUN, f"all {explored.elsewhere} generated cases are of other shards{large}"
        if self._policy.budget and not explored.covered:
            return Verdict.NOT_RUN, "no example was drawn: other areas promised more new features"
        return Verdict.ERROR, "the area generated no case for this driver"
