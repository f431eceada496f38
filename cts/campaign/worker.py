"""One process of a campaign: a driver, the oracle, and chunks one after the other."""

from __future__ import annotations

import os
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np

from cts.campaign.chunks import Answer, Chunk, FaultSeen, Kept, Lost, Reduce, Reduced, Report, structure
from cts.campaign.settings import DEVICE, Settings, differing, host, identity
from cts.coverage.situations import exercised
from cts.driver import Outcome, Status
from cts.errors import BadInput, CtsError, HarnessTrouble, described
from cts.judging.batch import judge_all
from cts.judging.cause import suspected
from cts.judging.compare import compare
from cts.judging.events import Finding
from cts.judging.finding import finding
from cts.judging.judge import OUR_ENDS, Attempt
from cts.judging.reruns import rerun_findings
from cts.known.baseline import Baseline
from cts.known.quarantine import Quarantine
from cts.known.traits import choices
from cts.model import Case, dumps_case, loads_case
from cts.model.sweep import AREA, Bytes
from cts.oracle.expectation import Expectation
from cts.plugins import registry
from cts.reduction.minimize import Budget, minimize, renamed
from cts.reduction.narrowing import narrowed
from cts.report.failure import details, summary
from cts.running.drawing import Fault, Undrawn, checked_expectation, example
from cts.running.garbage import rarely_collected
from cts.running.opening import open_driver
from cts.running.operand_sets import judge_given, parameter_sets
from cts.sweeps.judging import Judged, State, have_verdict, judge_sets, wrong
from cts.sweeps.selection import Chosen, opened, sweep_entry
from cts.verdict import Verdict

T = TypeVar("T")

#: Cases that a chunk keeps of each cause; all are counted.
KEPT = 3

#: Wrong elements that are shown of a case.
SHOWN = 8

#: The environment variable that names the device of a process, for `{device}` in a driver's spec.
VARIABLE = "CTS_DEVICE"


class Worker:
    """A driver and the oracle, for the chunks of one campaign. Raises BadInput or HarnessTrouble where it cannot be."""

    def __init__(self, settings: Settings, device: str | None = None) -> None:
        if what := differing(settings.suite, identity()):
            where = f"the worker {os.getpid()} on {host()}"
            raise BadInput("other-suite", f"the suite is another one here: {what}", where, "the same suite everywhere")
        self.settings = settings
        spec = settings.driver
        if DEVICE in spec:
            device = device if device is not None else os.environ.get(VARIABLE)
            if device is None:
                what = f"the driver {spec!r} has a device of each process, and this one has none"
                raise BadInput("no-device", what, f"the worker {os.getpid()} on {host()}", f"{VARIABLE}=0 for it")
            spec = spec.replace(DEVICE, device)
        self.driver = open_driver(spec, Quarantine(settings.quarantine), Baseline(settings.baseline))
        self.oracle = registry.oracle()
        self.sources: dict[str, Any] = {}

    def close(self) -> None:
        """Close the driver."""
        self.driver.close()

    def answer(self, task: Chunk | Reduce) -> Answer:
        """Do a task. What the suite itself cannot do is a task that is lost."""
        try:
            with rarely_collected():
                return self._reduced(task) if isinstance(task, Reduce) else self._report(task)
        except (CtsError, OSError) as e:
            return Lost(task, str(e))
        except OUR_ENDS:
            raise
        except BaseException as e:  # noqa: BLE001 - whatever a driver raises is its outcome
            return Lost(task, described(e))

    def _report(self, chunk: Chunk) -> Report:
        one = _ChunkRun(self, chunk)
        before = self.restarts
        if chunk.area.startswith(f"{AREA}."):
            one.sweep(_chosen(self.settings, chunk.area))
        else:
            if chunk.area not in self.sources:
                self.sources[chunk.area] = registry.area(chunk.area)(self.driver.capabilities)
            one.draw(self.sources[chunk.area])
        return one.report(self.restarts - before)

    @property
    def restarts(self) -> int:
        """How often the device's own process was started again."""
        return int(getattr(self.driver.driver, "restarts", 0))

    @property
    def device(self) -> str:
        """What the driver says that it is, or its spec."""
        return self.driver.identity or self.driver.spec

    def _reduced(self, task: Reduce) -> Reduced:
        """The smallest case that ends alike, away from what is known."""
        case, driver = loads_case(task.case), self.driver
        (judged,) = judge_all([case], [driver], self.oracle.expect)
        attempt = judged.attempts[0]
        if not attempt.verdict.is_finding:
            return Reduced(task, "", f"{attempt.verdict.value} when it was run again")

        driver, attempt = narrowed(driver, case, attempt, judged.expectation)
        smaller = minimize(case, driver, self.oracle, Budget(task.seconds))
        note = f"{smaller.verdict.value} on {driver.narrowed or driver.spec}"
        return Reduced(task, dumps_case(renamed(smaller)), note)


def _chosen(settings: Settings, area: str) -> tuple[Path, Chosen]:
    """The file of a universe, and the sets of it that the campaign has."""
    (record,) = (s for s in settings.sweeps if f"{AREA}.{s.name}" == area)
    entry = sweep_entry(record)
    return entry.path, Chosen(opened(entry.path).size, entry.max_sets, settings.seed)


@dataclass(eq=False)
class _ChunkRun:
    """A chunk that is being done, and what is counted of it."""

    worker: Worker
    chunk: Chunk
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    verdicts: Counter[str] = field(default_factory=Counter)
    unsupported: Counter[str] = field(default_factory=Counter)
    not_run: Counter[str] = field(default_factory=Counter)
    known: Counter[str] = field(default_factory=Counter)
    causes: Counter[str] = field(default_factory=Counter)
    facts: Counter[str] = field(default_factory=Counter)
    situations: Counter[str] = field(default_factory=Counter)
    kept: list[Kept] = field(default_factory=list)
    faults: dict[str, FaultSeen] = field(default_factory=dict)
    ran: dict[str, bytes] = field(default_factory=dict)
    sets: int = 0
    excluded: int = 0
    drawn: int = 0

    def report(self, restarts: int) -> Report:
        """What became of the chunk."""
        return Report(
            self.chunk,
            self.worker.device,
            f"{host()} {os.getpid()}",
            self.drawn,
            dict(self.verdicts),
            dict(self.unsupported),
            dict(self.not_run),
            dict(self.known),
            dict(self.causes),
            tuple(self.kept),
            self.faults,
            self.sets,
            bytes.fromhex("".join(self.ran)),
            b"".join(self.ran.values()),
            dict(self.facts),
            dict(self.situations),
            {stage: round(seconds, 4) for stage, seconds in self.seconds.items()},
            restarts,
            self.excluded,
        )

    def draw(self, source: Any) -> None:
        """Draw the examples of the chunk, and judge each case once; what is wanted last, last."""
        settings, chunk, driver = self.worker.settings, self.chunk, self.worker.driver
        numbers: dict[str, int] = {}
        cases: dict[str, Case] = {}
        for number in range(chunk.start, chunk.start + chunk.count):
            drawn = self._timed("draw", lambda: example(source, settings.seed, number))  # noqa: B023 - called at once
            self.drawn += 1
            if isinstance(drawn, Undrawn):
                self._fault(drawn.fault, number)
            elif drawn.content_hash not in cases:
                numbers[drawn.content_hash], cases[drawn.content_hash] = number, drawn
        for_last = [case for case in cases.values() if driver.quarantine.last(case)]
        first = [case for key, case in cases.items() if not driver.quarantine.last(case)]
        for some in (first, *([case] for case in for_last)):
            self._judge(some, numbers, source)

    def _judge(self, cases: Sequence[Case], numbers: dict[str, int], source: Any) -> None:
        """Judge cases together, then other parameter sets of those that pass."""
        oracle, settings, faults = self.worker.oracle, self.worker.settings, {}

        def expect(case: Case) -> Expectation:
            try:
                return self._timed("oracle", lambda: checked_expectation(case, oracle))
            except Fault as fault:
                faults[case.content_hash] = fault
                raise

        start, before = time.perf_counter(), self.seconds["oracle"]
        judged = judge_all(cases, [self.worker.driver], expect)
        self.seconds["driver"] += time.perf_counter() - start - (self.seconds["oracle"] - before)
        for one in judged:
            number = numbers[one.case.content_hash]
            if one.case.content_hash in faults:
                self._fault(faults[one.case.content_hash], number)
                continue
            self._count(one.case, one.attempts[0], one.expectation, number)
            if settings.sets and one.attempts[0].verdict is Verdict.PASS:
                self._timed("sets", lambda: self._on_sets(source, number, one.case))  # noqa: B023 - called at once

    def _on_sets(self, source: Any, number: int, case: Case) -> None:
        """A case that passes, with other parameter sets; those that are wrong count as cases."""
        worker, settings = self.worker, self.worker.settings
        sets = parameter_sets(source, settings.seed, number, case, settings.sets)
        if sets is None:
            return
        judged = judge_given(sets, settings.sets, worker.driver, worker.oracle)
        self._of_sets(judged, lambda place: sets.sweep(np.array([place])).case(0), number)

    def sweep(self, universe: tuple[Path, Chosen]) -> None:
        """Judge the sets of the chunk."""
        path, chosen = universe
        numbers = chosen.numbers(self.chunk.start, self.chunk.start + self.chunk.count)
        self.drawn = len(numbers)
        for part, some in opened(path).by_part(numbers):
            judged = self._timed("sets", lambda: judge_sets(part, some, self.worker.driver, self.worker.oracle))  # noqa: B023
            self._of_sets(judged, lambda place: part.sweep(some[place : place + 1]).case(0), 0)  # noqa: B023

    def _of_sets(self, judged: Judged, case_of: Callable[[int], Case], number: int) -> None:
        """Count sets; the first ones that are wrong are judged again, as cases."""
        self.sets += int(have_verdict(judged.states).sum())
        self.excluded += int((judged.states == State.EXCLUDED).sum())
        places = np.flatnonzero(wrong(judged.states)).tolist()
        for place in places[:KEPT]:
            case = case_of(place)
            (one,) = judge_all([case], [self.worker.driver], self.worker.oracle.expect)
            attempt = one.attempts[0]
            if attempt.verdict is Verdict.PASS and one.expectation is not None:
                attempt = among_others(case, attempt, one.expectation, judged.left.get(place))
            self._count(case, attempt, one.expectation, number)

    def _count(self, case: Case, attempt: Attempt, expectation: Expectation | None, number: int) -> None:
        """Count what became of a case, and keep it where that is new."""
        if attempt.verdict is Verdict.UNSUPPORTED:
            self.unsupported.update(attempt.lacks)
            return
        if attempt.verdict is Verdict.NOT_RUN:
            self.not_run[attempt.detail] += 1
            return
        self.ran[case.content_hash] = structure(case)
        self.facts.update(exercised(case))
        self.situations.update(choices(case))
        if attempt.verdict is not Verdict.PASS:
            attempt = self._failed(case, attempt, expectation, number)
        self.verdicts[attempt.verdict.value] += 1

    def _failed(self, case: Case, attempt: Attempt, expectation: Expectation | None, number: int) -> Attempt:
        """A case that did not pass: known, or counted by what is suspected."""
        worker = self.worker
        if (rule := worker.driver.baseline.known_by_condition(case, attempt.verdict)) is not None:
            self.known[rule.text] += 1
            return attempt
        driver = worker.driver
        attempt = rerun_findings(driver, case, expectation, attempt, worker.settings.reruns)
        found = None if attempt.divergence is None else finding(case, attempt, expectation, worker.oracle)
        cause = suspected(attempt, found)
        self.causes[cause] += 1
        if sum(kept.cause == cause for kept in self.kept) < KEPT:
            verdict, text = attempt.verdict.value, seen(attempt, found)
            self.kept.append(Kept(case.content_hash, cause, verdict, text, dumps_case(case), number))
        return attempt

    def _fault(self, fault: Fault, number: int) -> None:
        """Count a fault of the generator."""
        before = self.faults.get(fault.kind)
        first = before or FaultSeen(fault.what, fault.where, number, 0)
        self.faults[fault.kind] = msgspec.structs.replace(first, count=first.count + 1)

    def _timed(self, stage: str, work: Callable[[], T]) -> T:
        start = time.perf_counter()
        try:
            return work()
        finally:
            self.seconds[stage] += time.perf_counter() - start


def among_others(case: Case, alone: Attempt, expectation: Expectation, left: Mapping[str, Bytes] | None) -> Attempt:
    """What a set that passes alone came to among others, where it failed, with what it left there if that is known."""
    said = "a parameter set fails among others in a dispatch, and passes alone"
    if left is None:
        return replace(alone, verdict=Verdict.FLAKY, detail=said)
    outcome, divergence = Outcome(Status.DONE, dict(left)), compare(case, expectation, left)
    return replace(alone, verdict=Verdict.FLAKY, detail=said, outcome=outcome, divergence=divergence)


def seen(attempt: Attempt, found: Finding | None) -> str:
    """What happened, and what differs where something does."""
    lines = () if found is None else (*summary(found), *details(found, SHOWN))
    return "\n".join(filter(None, (attempt.detail, *lines)))


_workers: dict[str, Worker] = {}


def answer(settings: Settings, task: Chunk | Reduce, device: str | None = None) -> Answer | BadInput | HarnessTrouble:
    """Do a task in this process, whose worker is made with the first one; what is wrong where there can be none."""
    worker = _workers.get(settings.key)
    if worker is None:
        for old in list(_workers):
            _workers.pop(old).close()
        try:
            worker = _workers[settings.key] = Worker(settings, device)
        except (BadInput, HarnessTrouble) as e:
            return e
    return worker.answer(task)
