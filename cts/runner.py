"""A plan, run: cases and areas on drivers, reported as events."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec

import cts
from cts import registry
from cts.areas import run_area
from cts.baseline import NO_BASELINE, Baseline
from cts.batch import Told, block_size, judge_all, nobody
from cts.corpus import Entry, read
from cts.driver import NamedDriver
from cts.errors import BadInput, HarnessTrouble
from cts.events import (
    CasesStarted,
    DriverOpened,
    Event,
    GeneratorFault,
    Result,
    RunFinished,
    RunStarted,
    problem,
)
from cts.expectation import Oracle
from cts.judge import NOTHING_RECALLED, Attempt, OpenDriver, Recalled, trouble
from cts.met import Met
from cts.model import Case
from cts.profiles import Profile
from cts.quarantine import NO_RULES, Quarantine
from cts.results import RERUNS, judged_event, not_run, of_case, settled
from cts.verdict import Verdict

Emit = Callable[[Event], None]

CLEAN, FINDINGS, BAD_INPUT, TROUBLE = 0, 1, 2, 3


@dataclass(frozen=True)
class Past:
    """What an interrupted run has come to: results and faults of generators, which are reported again, and what it
    knows of drivers, by spec.
    """

    results: tuple[Result, ...] = ()
    faults: tuple[GeneratorFault, ...] = ()
    recalled: Mapping[str, Recalled] = field(default_factory=dict)


NOTHING_PAST = Past()


@dataclass(frozen=True)
class Plan:
    """What to run. `areas` are generated, with `profile.max_examples` cases each, after `entries` have run.

    What is in `past` is reported first and not run again; findings are run `reruns` times more.
    """

    drivers: tuple[str, ...]
    profile: Profile
    entries: tuple[Entry, ...] = ()
    areas: tuple[str, ...] = ()
    stop_at_first: bool = False
    rejected: tuple[BadInput, ...] = ()
    quarantine: Quarantine = NO_RULES
    past: Past = NOTHING_PAST
    baseline: Baseline = NO_BASELINE
    reruns: int = RERUNS


def run(plan: Plan, emit: Emit) -> int:
    """Run a plan, telling `emit` everything from header to footer; returns the exit status.

    The status is the highest that applies: 0 clean, 1 findings, 2 something asked for cannot be
    used, 3 trouble with a driver or the suite, a driver on which nothing was tested included.
    """
    return _Run(plan, emit).run()


def open_driver(spec: str, quarantine: Quarantine = NO_RULES, baseline: Baseline = NO_BASELINE) -> OpenDriver:
    """A driver ready for use. Raises BadInput for a spec that is wrong, HarnessTrouble where the driver fails."""
    try:
        driver = registry.driver(spec)
        names = (spec, driver.identity()) if isinstance(driver, NamedDriver) else (spec,)
        return OpenDriver(spec, driver, driver.capabilities(), quarantine.on(*names), baseline=baseline.on(*names))
    except (BadInput, HarnessTrouble):
        raise
    except Exception as e:
        raise trouble("driver-failed", f"driver {spec!r} does not start", e) from e


def run_entry(
    entry: Entry, case: Case, drivers: Sequence[OpenDriver], oracle: Oracle, reruns: int = RERUNS
) -> list[Result]:
    """One case on several drivers; the oracle answers once, and only where some driver can run the case."""
    return next(run_entries([(entry, case)], drivers, oracle, reruns=reruns))


def run_entries(
    block: Sequence[tuple[Entry, Case]],
    drivers: Sequence[OpenDriver],
    oracle: Oracle,
    told: Told = nobody,
    reruns: int = RERUNS,
) -> Iterator[list[Result]]:
    """A list of results for each case, one by driver; drivers that can take many cases at once get all of them.

    A finding is run `reruns` times more.
    """
    judged = judge_all([case for _, case in block], drivers, oracle.expect, told)
    for (entry, _), one in zip(block, judged, strict=True):
        yield [
            of_case(driver, entry, settled(driver, one.case, one.expectation, attempt, reruns), one, oracle)
            for driver, attempt in zip(drivers, one.attempts, strict=True)
        ]


def exit_status(
    verdicts: Iterable[Verdict], *, rejected: bool = False, troubled: bool = False, unexpected: bool = False
) -> int:
    """The highest status that applies to what was seen, known failures left out.

    >>> exit_status([Verdict.PASS, Verdict.FAIL])
    1
    """
    seen = set(verdicts)
    if troubled or Verdict.ERROR in seen:
        return TROUBLE
    if rejected:
        return BAD_INPUT
    return FINDINGS if unexpected or any(v.is_finding for v in seen) else CLEAN


class _Run:
    """The state of one run: open drivers, and what has been counted."""

    def __init__(self, plan: Plan, emit: Emit) -> None:
        self.plan = plan
        self.emit = emit
        self.verdicts: Counter[Verdict] = Counter()
        self.known: Counter[Verdict] = Counter()
        self.unexpected = 0
        self.met = Met()
        self.results: Counter[str] = Counter()
        self.tested: Counter[str] = Counter()
        self.rejected = 0
        self.troubles = 0
        self.stopped = False
        self.done: set[tuple[str, str]] = set()
        self.kept: list[tuple[Entry, Case]] = []

    def run(self) -> int:
        plan, start = self.plan, time.perf_counter()
        self.emit(
            RunStarted(
                cts.__version__,
                plan.profile.name,
                plan.profile.max_examples,
                plan.profile.seed or 0,
                plan.drivers,
                plan.areas,
                len(plan.entries),
            )
        )
        for error in plan.rejected:
            self._problem(error)
        drivers = self._open()
        try:
            if drivers:
                self._past(drivers)
                self._cases(drivers)
                self._areas(drivers)
                self._last(drivers)
        finally:
            for driver in drivers:
                self._close(driver)
        for driver in drivers:
            # Where nothing was left to test, what was asked for has been rejected, which is told already.
            if self.results[driver.spec] and not self.tested[driver.spec] and not self.stopped:
                self._problem(
                    HarnessTrouble(
                        "nothing-tested",
                        f"nothing was tested on {driver.spec}",
                        remedy="cases that exist, and that the driver supports: `cts list` and `cts drivers` show both",
                    )
                )
        self._unused(drivers)
        new = self.verdicts - self.known
        status = exit_status(
            new, rejected=self.rejected > 0, troubled=self.troubles > 0, unexpected=self.unexpected > 0
        )
        counts = {v.value: self.verdicts[v] for v in Verdict if self.verdicts[v]}
        seconds = round(time.perf_counter() - start, 3)
        known = self.known.total()
        self.emit(
            RunFinished(
                counts, self.tested.total(), self.rejected, self.troubles, seconds, status, known, self.unexpected
            )
        )
        return status

    def _open(self) -> list[OpenDriver]:
        opened = []
        for spec in dict.fromkeys(self.plan.drivers):
            try:
                driver = open_driver(spec, self.plan.quarantine, self.plan.baseline)
                try:
                    self.emit(described(driver))
                except BadInput:
                    self._close(driver)
                    raise
                recalled = self.plan.past.recalled.get(spec, NOTHING_RECALLED)
                opened.append(replace(driver, recalled=recalled, starting=self._starting))
            except (BadInput, HarnessTrouble) as e:
                self._problem(e)
        return opened

    def _starting(self, spec: str, cases: Sequence[Case]) -> None:
        self.emit(CasesStarted(spec, tuple(c.content_hash for c in cases)))

    def _close(self, driver: OpenDriver) -> None:
        try:
            driver.driver.close()
        except Exception as e:  # noqa: BLE001 - every driver is closed, whatever one of them does
            self._problem(trouble("driver-close", f"driver {driver.spec!r} does not close", e))

    def _past(self, drivers: Sequence[OpenDriver]) -> None:
        """What is known already, as if it had just happened."""
        specs = {d.spec for d in drivers}
        results = [r for r in self.plan.past.results if r.driver in specs]
        self.done = {(r.driver, r.name) for r in results}
        # What is left of an area meets its faults again.
        self._faults(f for f in self.plan.past.faults if not self._open_questions(f"generated.{f.area}", drivers))
        self._add(results)

    def _open_questions(self, name: str, drivers: Sequence[OpenDriver]) -> list[OpenDriver]:
        """The drivers that have no result of that name yet."""
        return [d for d in drivers if (d.spec, name) not in self.done]

    def _cases(self, drivers: Sequence[OpenDriver]) -> None:
        """The corpus, but for what a quarantine leaves for `_last`."""
        oracle = registry.oracle()
        size = 1 if self.plan.stop_at_first else block_size(drivers)
        block: list[tuple[Entry, Case]] = []
        for entry, case in self._readable(drivers, oracle):
            if any(d.quarantine.last(case) for d in drivers):
                self.kept.append((entry, case))
                continue
            if len(some := self._open_questions(entry.name, drivers)) < len(drivers):
                self._block([(entry, case)], some, oracle)
                continue
            block.append((entry, case))
            if len(block) == size:
                self._block(block, drivers, oracle)
                block = []
        self._block(block, drivers, oracle)

    def _last(self, drivers: Sequence[OpenDriver]) -> None:
        """The cases that a quarantine leaves for last, one by one."""
        for entry, case in self.kept:
            self._block([(entry, case)], self._open_questions(entry.name, drivers), registry.oracle())

    def _block(self, block: Sequence[tuple[Entry, Case]], drivers: Sequence[OpenDriver], oracle: Oracle) -> None:
        if self.stopped:
            for entry, _ in block:
                self._add([not_run(d, entry.area, entry.name, generated=False) for d in drivers])
            return
        areas = {case.content_hash: entry.area for entry, case in block}

        def told(driver: OpenDriver, case: Case, attempt: Attempt) -> None:
            self.emit(judged_event(driver, areas[case.content_hash], case, attempt))
            self.met.add(driver, case, attempt)

        for results in run_entries(block, drivers, oracle, told, self.plan.reruns):
            self._add(results)

    def _readable(self, drivers: Sequence[OpenDriver], oracle: Oracle) -> Iterator[tuple[Entry, Case]]:
        for entry in self.plan.entries:
            if not self._open_questions(entry.name, drivers):
                continue
            try:
                case = read(entry, oracle)
            except BadInput as e:
                self._problem(e)
            except Exception as e:  # noqa: BLE001 - the oracle's own bug: the other cases still run
                self._problem(trouble("oracle-failed", f"the oracle cannot judge {entry.path}", e))
            else:
                yield entry, case

    def _areas(self, drivers: Sequence[OpenDriver]) -> None:
        for area in self.plan.areas:
            some = self._open_questions(f"generated.{area}", drivers)
            if self.stopped:
                self._add([not_run(d, area, f"generated.{area}", generated=True) for d in some])
                continue
            try:
                ran = run_area(
                    area, some, registry.oracle(), self.plan.profile, self.emit, self.plan.reruns, self.met.add
                )
            except BadInput as e:
                self._problem(e)
            else:
                self._faults(ran.faults.values())
                self._add(ran.results)

    def _add(self, results: list[Result]) -> None:
        for result in results:
            self.verdicts[result.verdict] += 1
            self.results[result.driver] += 1
            self.tested[result.driver] += result.examples
            self.known[result.verdict] += bool(result.known)
            self.unexpected += bool(result.unexpected)
            self.met.result(result)
            self.emit(result)
            finding = result.verdict.is_finding or result.verdict is Verdict.ERROR
            if self.plan.stop_at_first and ((finding and not result.known) or result.unexpected):
                self.stopped = True

    def _faults(self, faults: Iterable[GeneratorFault]) -> None:
        for fault in faults:
            self.troubles += 1
            self.emit(fault)
            self.stopped = self.stopped or self.plan.stop_at_first

    def _unused(self, drivers: Sequence[OpenDriver]) -> None:
        """Name what is in the baseline without need."""
        if not self.stopped:
            names = {e.name for e in self.plan.entries}
            for driver in drivers:
                for event in self.met.unused(driver.spec, driver.baseline, names):
                    self.emit(event)

    def _problem(self, error: BadInput | HarnessTrouble) -> None:
        if isinstance(error, BadInput):
            self.rejected += 1
        else:
            self.troubles += 1
        self.emit(problem(error))


def described(driver: OpenDriver) -> DriverOpened:
    """What a driver says of itself, as data that can be written."""
    identity = driver.driver.identity() if isinstance(driver.driver, NamedDriver) else ""
    capabilities = {
        # Sets have an order of their own in each process.
        name: sorted(value, key=repr) if isinstance(value, list) else value
        for name, value in msgspec.json.decode(msgspec.json.encode(driver.capabilities)).items()
    }
    return DriverOpened(driver.spec, identity, capabilities)
