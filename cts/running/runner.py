"""A plan, run: cases and areas on drivers, reported as events.

The life of a run:

1. `Plan` says what to run. It comes from the command line, or from the manifest of a run that is resumed.
2. `RunStarted`: the header.
3. Each driver is opened: `DriverOpened`. One that cannot be is `Rejected` or a `Trouble`; the others go on.
   `NotValidated` where there is no spirv-val.
4. Of a resumed run, what it knows already: each `GeneratorFault` and `Result`, as if it had just happened.
5. The cases, in blocks. The oracle says what is allowed, once for all drivers. A driver is given cases
   (`CasesStarted`), each is judged as soon as it has run (`CaseJudged`), a finding runs again, and what became of a
   case on a driver is a `Result`.
6. The areas, one after the other. An example is drawn, and judged as a case is (`Progress`); a finding, or a fault of
   the generator, is made smaller (`Shrinking`, `Reduced`). What is wrong with the generator is a `GeneratorFault`, and
   what became of an area on a driver a `Result`.
7. The cases that a quarantine leaves for last, one by one.
8. Each driver is closed.
9. Drivers on which nothing was tested are a `Trouble`, entries of the baseline that were not needed are `Unused`. A run
   that has stopped at its first finding, or whose time was up, does not know either.
10. `RunFinished`: the footer, with what the run's `cts.running.tally.Tally` has counted, and the exit status.

A session of pytest lives in the same way (`cts.pytest_cases.items`), with items in the place of 5 to 7. An exception
that is no case's own, such as Ctrl-C, may end a run at any of these steps: drivers are closed, and there is no footer.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec

import cts
from cts.driver import NamedDriver
from cts.errors import BadInput, HarnessTrouble
from cts.judging.batch import OnJudged, block_size, judge_all
from cts.judging.events import (
    CaseJudged,
    DriverOpened,
    Emit,
    Event,
    GeneratorFault,
    NotValidated,
    Result,
    RunStarted,
    ignore,
    problem,
)
from cts.judging.judge import NO_RESUME_STATE, Attempt, OpenDriver, ResumeState, judged_event, trouble
from cts.judging.reruns import RERUNS, rerun_findings
from cts.known.baseline import NO_BASELINE, Baseline
from cts.known.quarantine import NO_RULES, Quarantine
from cts.model import Case
from cts.oracle.expectation import Oracle
from cts.plugins import registry
from cts.running.areas import run_area
from cts.running.corpus import Entry, read
from cts.running.deadline import Deadline
from cts.running.profiles import Profile
from cts.running.results import STOPPED, not_run, of_case
from cts.running.tally import Tally
from cts.spirv import tools
from cts.spirv.subprocess_tools import NOT_VALIDATED, REMEDY


@dataclass(frozen=True)
class ResumedRun:
    """What an interrupted run has come to: results and faults of generators, which are reported again, the cases that
    were judged, and what follows from these for each driver, by spec.
    """

    results: tuple[Result, ...] = ()
    faults: tuple[GeneratorFault, ...] = ()
    judged: tuple[CaseJudged, ...] = ()
    states: Mapping[str, ResumeState] = field(default_factory=dict)


NOT_RESUMED = ResumedRun()


@dataclass(frozen=True)
class Plan:
    """What to run. `areas` are generated, with `profile.max_examples` cases each, after `entries` have run.

    What is in `resumed` is reported first and not run again; findings are run `reruns` times more. Nothing is begun
    after `max_seconds`. `config` is the file that options without a value on the command line come from, if any.
    """

    drivers: tuple[str, ...]
    profile: Profile
    entries: tuple[Entry, ...] = ()
    areas: tuple[str, ...] = ()
    stop_at_first: bool = False
    quarantine: Quarantine = NO_RULES
    resumed: ResumedRun = NOT_RESUMED
    baseline: Baseline = NO_BASELINE
    reruns: int = RERUNS
    max_seconds: float | None = None
    config: str = ""


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
        return OpenDriver(
            spec, driver, driver.capabilities(), quarantine.for_driver(*names), baseline=baseline.for_driver(*names)
        )
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
    emit: Emit = ignore,
    reruns: int = RERUNS,
) -> Iterator[list[Result]]:
    """A list of results for each case, one by driver; drivers that can take many cases at once get all of them.

    `emit` is told of each case that has run as soon as it is judged. A finding is run `reruns` times more.
    """
    areas = {id(case): entry.area for entry, case in block}

    def tell(driver: OpenDriver, case: Case, attempt: Attempt) -> None:
        emit(judged_event(driver, areas[id(case)], case, attempt))

    on_judged: OnJudged = ignore if emit is ignore else tell
    judged = judge_all([case for _, case in block], drivers, oracle.expect, on_judged)
    for (entry, _), one in zip(block, judged, strict=True):
        yield [
            of_case(driver, entry, rerun_findings(driver, one.case, one.expectation, attempt, reruns), one, oracle)
            for driver, attempt in zip(drivers, one.attempts, strict=True)
        ]


class _Run:
    """One run: what is done, and what is left."""

    def __init__(self, plan: Plan, emit: Emit) -> None:
        self.plan = plan
        self.tally = Tally(plan.baseline)
        #: Why nothing more is begun.
        self.stopped = ""
        self.started = time.perf_counter()
        self.time_is_up = Deadline(plan.max_seconds)
        self.done: set[tuple[str, str]] = set()
        self.kept: list[tuple[Entry, Case]] = []
        self._emit = emit

    def emit(self, event: Event) -> None:
        """Count an event, and tell of it."""
        self.tally(event)
        self._emit(event)

    def run(self) -> int:
        plan = self.plan
        self.emit(
            RunStarted(
                cts.__version__,
                plan.profile.name,
                plan.profile.max_examples,
                plan.profile.seed or 0,
                plan.drivers,
                plan.areas,
                len(plan.entries),
                config=plan.config,
            )
        )
        drivers = self._open()
        if missing := not_validated():
            self.emit(missing)
        try:
            if drivers:
                self._resume(drivers)
                self._cases(drivers)
                self._areas(drivers)
                self._last(drivers)
        finally:
            for driver in drivers:
                self._close(driver)
        if self.stopped != STOPPED:
            for event in self.tally.closing(complete=not self.stopped):
                self.emit(event)
        footer = self.tally.footer(time.perf_counter() - self.started)
        self.emit(footer)
        return footer.exit_status

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
                state = self.plan.resumed.states.get(spec, NO_RESUME_STATE)
                opened.append(replace(driver, resumed=state, emit=self.emit))
            except (BadInput, HarnessTrouble) as e:
                self._problem(e)
        return opened

    def _close(self, driver: OpenDriver) -> None:
        try:
            driver.driver.close()
        except Exception as e:  # noqa: BLE001 - every driver is closed, whatever one of them does
            self._problem(trouble("driver-close", f"driver {driver.spec!r} does not close", e))

    def _resume(self, drivers: Sequence[OpenDriver]) -> None:
        """What is known already, as if it had just happened. That cases were judged is counted, and not told again."""
        specs = {d.spec for d in drivers}
        results = [r for r in self.plan.resumed.results if r.driver in specs]
        for judged in self.plan.resumed.judged:
            if judged.driver in specs:
                self.tally(judged)
        self.done = {(r.driver, r.name) for r in results}
        # What is left of an area meets its faults again.
        self._faults(f for f in self.plan.resumed.faults if not self._open_questions(f"generated.{f.area}", drivers))
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
        if why := self._stopping():
            for entry, _ in block:
                self._add([not_run(d, entry.area, entry.name, why, generated=False) for d in drivers])
            return
        for results in run_entries(block, drivers, oracle, self.emit, self.plan.reruns):
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
            if why := self._stopping():
                self._add([not_run(d, area, f"generated.{area}", why, generated=True) for d in some])
                continue
            plan = self.plan
            try:
                ran = run_area(
                    area, some, registry.oracle(), plan.profile, self.emit, plan.reruns, time_is_up=self.time_is_up
                )
            except BadInput as e:
                self._problem(e)
            else:
                self._faults(ran.faults.values())
                self._add(ran.results)

    def _add(self, results: list[Result]) -> None:
        for result in results:
            self.emit(result)
            if self.plan.stop_at_first and result.fails_run:
                self.stopped = self.stopped or STOPPED

    def _faults(self, faults: Iterable[GeneratorFault]) -> None:
        for fault in faults:
            self.emit(fault)
            if self.plan.stop_at_first:
                self.stopped = self.stopped or STOPPED

    def _stopping(self) -> str:
        """Why nothing more is begun, "" where the run goes on."""
        self.stopped = self.stopped or self.time_is_up()
        return self.stopped

    def _problem(self, error: BadInput | HarnessTrouble) -> None:
        self.emit(problem(error))


def not_validated() -> NotValidated | None:
    """What a run tells where nothing can validate the modules that its drivers get; else None."""
    return None if tools.can_validate() else NotValidated(NOT_VALIDATED, REMEDY)


def described(driver: OpenDriver) -> DriverOpened:
    """What a driver says of itself, as data that can be written."""
    identity = driver.driver.identity() if isinstance(driver.driver, NamedDriver) else ""
    capabilities = {
        # Sets have an order of their own in each process.
        name: sorted(value, key=repr) if isinstance(value, list) else value
        for name, value in msgspec.json.decode(msgspec.json.encode(driver.capabilities)).items()
    }
    return DriverOpened(driver.spec, identity, capabilities)
