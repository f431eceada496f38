"""A plan, run: cases and areas on drivers, reported as events.

The life of a run:

1. `Plan` says what to run. It comes from the command line, or from the manifest of a run that is resumed.
2. `RunStarted`: the header.
3. Each driver is opened: `DriverOpened`. A driver that does not open is `Rejected` or a `Trouble`; the others go on.
   `NotValidated` if spirv-val is missing.
4. A resumed run emits its known events: each `GeneratorFault` and `Result`, as if it had just happened.
5. The cases, in blocks. The oracle says what is allowed, once for all drivers. A driver is given cases
   (`CasesStarted`), each is judged as soon as it has run (`CaseJudged`), a finding runs again, and the
   result of a case on a driver is a `Result`.
6. The areas, one after the other. An example is drawn, and judged like a case (`CaseJudged`); a chunk of examples is
   counted (`ExamplesJudged`). A finding, or a fault of the generator, is reduced (`Shrinking`, `Reduced`). A fault of
   the generator is a `GeneratorFault`, and the result of an area on a driver a `Result`.
7. The cases that were set aside because they took long, then one by one those that a quarantine leaves for last.
8. Each driver is closed.
9. Drivers on which nothing was tested are a `Trouble`, entries of the baseline that were not needed are `Unused`. A run
   that has stopped at its first finding, or whose time was up, emits neither.
10. `RunFinished`: the footer, with the counts of the run's `cts.running.tally.Tally`, and the exit status.

A session of pytest has the same steps (`cts.faces.pytest_cases.items`), with items in place of 5 to 7. An exception
that belongs to no case may end a run at any step: drivers are closed, and there is no footer, but after Ctrl-C and
errors of ours, such as a scheduler that is gone.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import replace

import cts
from cts.base.deadline import Deadline
from cts.base.errors import BadInput, HarnessTrouble
from cts.case.model.sweep import AREA, sweep_name
from cts.judging import events
from cts.judging.batch import block_size
from cts.judging.judge import NO_RESUME_STATE, OUR_ENDS, OpenDriver, does_not_close
from cts.judging.same_error import SameError
from cts.judging.verdict import INTERRUPTED
from cts.plugins import registry
from cts.running import on_dask
from cts.running.areas import AreaRun
from cts.running.corpus import Entry
from cts.running.deadline import SET_ASIDE
from cts.running.exploring import Exploration
from cts.running.opening import described, not_validated, open_driver
from cts.running.plan import NOT_RESUMED, Plan
from cts.running.policy import chunk_size
from cts.running.processes import DEVICE, ProcessConfig, Processes
from cts.running.results import STOPPED, not_run
from cts.running.sweeping import SweepRun, chosen_sets
from cts.running.tally import Tally
from cts.running.tasks import Cases, Executor, FindCauses, Sets, TaskRunner
from cts.running.universes import Sweeps

#: Cases that a process gets at a time if there are several processes, and how often it gets some at least.
CASES, SHARES = 8, 4


def run(plan: Plan, emit: events.Emit) -> int:
    """Run a plan, telling `emit` everything from header to footer; returns the exit status.

    The status is the highest that applies: 0 clean, 1 findings, 2 something asked for cannot be
    used, 3 trouble with a driver or the suite, a driver on which nothing was tested included.
    """
    return _Run(plan, emit).run()


class _Run:
    """One run: its finished and its remaining work."""

    def __init__(self, plan: Plan, emit: events.Emit) -> None:
        self.plan = plan
        self.tally = Tally(plan.baseline)
        #: Why nothing more is begun.
        self.stopped = ""
        self.started = time.perf_counter()
        self.time_is_up = Deadline(plan.max_seconds)
        self.done: set[tuple[str, str]] = set()
        self.kept: list[tuple[Entry, tuple[str, ...]]] = []
        #: Cases that were set aside, each on one driver.
        self.slow: list[tuple[Entry, tuple[str, ...]]] = []
        self._emit = emit
        self._same_error = SameError()
        self.cluster: on_dask.Cluster | None = None

    def emit(self, event: events.Event) -> None:
        """Count an event, and emit it. The run stops if no case can be judged."""
        self.tally(event)
        self._emit(event)
        if trouble := self._same_error(event):
            self._problem(trouble)
            self.stopped = self.stopped or "all cases so far ended in the same error"

    def run(self) -> int:
        with ExitStack() as stack:
            if self.plan.resumed is not NOT_RESUMED:  # first: without workers, it does not change
                self._connect(stack)
            return self._run(stack)

    def _connect(self, stack: ExitStack) -> None:
        """Connect to the workers of the scheduler, if there is one and it has not been done."""
        if self.plan.scheduler and self.cluster is None:
            self.cluster = stack.enter_context(on_dask.Cluster(self.plan.scheduler, self.time_is_up))

    def _run(self, whole: ExitStack) -> int:
        plan = self.plan
        ended: BaseException | None = None
        status: int | None = None
        self.emit(
            events.RunStarted(
                cts.__version__,
                plan.profile.name,
                plan.profile.max_examples,
                plan.profile.seed or 0,
                plan.drivers,
                plan.areas,
                len(plan.entries),
                config=plan.config,
                sweeps={entry.name: chosen_sets(entry, plan.profile).count for entry in plan.sweeps},
                budget=plan.policy.budget,
                keep=plan.policy.keep,
            )
        )
        try:
            self._connect(whole)
            with ExitStack() as stack:
                self._executed(self._open(stack), stack)
        except KeyboardInterrupt as e:
            ended, status = e, INTERRUPTED
        except (BadInput, HarnessTrouble) as e:
            self._problem(e)
            ended, e.told = e, True
        if ended is None and self.stopped != STOPPED:
            for event in self.tally.closing(complete=not self.stopped):
                self.emit(event)
        self.emit(footer := self.tally.footer(self._seconds(), status, cut_short=ended is not None))
        if ended is not None:
            raise ended
        return footer.exit_status

    def _executed(self, drivers: list[OpenDriver], stack: ExitStack) -> None:
        """All of it on drivers that are open."""
        if missing := not_validated():
            self.emit(missing)
        if not drivers:
            return
        self._resume(drivers)
        self.executor = stack.enter_context(self._executing(drivers))
        self._cases(drivers)
        self._areas(drivers)
        self._sweeps(drivers)
        self._last()

    def _open(self, stack: ExitStack) -> list[OpenDriver]:
        """The drivers that open; drivers of a scheduler's workers are only known by a worker's description."""
        opened = []
        device = self.plan.devices[0] if self.plan.devices else ""
        for spec in dict.fromkeys(self.plan.drivers):
            try:
                if self.cluster:
                    driver = replace(self.cluster.opened(spec, self.plan), spec=spec)
                else:
                    actual = spec.replace(DEVICE, device)
                    driver = replace(open_driver(actual, self.plan.quarantine, self.plan.baseline), spec=spec)
                stack.callback(self._close, driver)
                self.emit(described(driver))
                state = self.plan.resumed.states.get(spec, NO_RESUME_STATE)
                opened.append(replace(driver, resumed=state, emit=self.emit))
            except (BadInput, HarnessTrouble) as e:
                self._problem(e)
        return opened

    def _close(self, driver: OpenDriver) -> None:
        try:
            driver.driver.close()
        except OUR_ENDS:
            raise
        except BaseException as e:  # noqa: BLE001 - whatever a driver raises is its outcome
            self._problem(does_not_close(driver, e))

    def _resume(self, drivers: Sequence[OpenDriver]) -> None:
        """Emit known results as if they had just happened. Judged cases are counted, but not emitted again."""
        specs = {d.spec for d in drivers}
        going_on = self.plan.policy.keep > 0  # then results follow from all examples, judged before and now
        results = [r for r in self.plan.resumed.results if r.driver in specs and not (going_on and _is_generated(r))]
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
        """The corpus, without cases that a quarantine leaves for `_last`."""
        entries = [
            (entry, some)
            for entry in self.plan.entries
            if (some := tuple(d.spec for d in self._open_questions(entry.name, drivers) if entry.is_for(d.spec)))
        ]
        size = 1 if self.plan.stop_at_first else self._cases_at_a_time(drivers, len(entries))
        tasks = [Cases(tuple(entries[i : i + size])) for i in range(0, len(entries), size)]
        self.kept = self._performed(tasks)

    def _cases_at_a_time(self, drivers: Sequence[OpenDriver], count: int) -> int:
        """As many as the drivers gain by; with several processes so few that each of them gets some, more than once."""
        if self.plan.jobs == 1:
            return block_size(drivers)
        return max(1, min(max(block_size(drivers), CASES), count // (SHARES * self.plan.jobs)))

    def _last(self) -> None:
        """The cases that were set aside, and one by one those that a quarantine leaves for last."""
        slow, self.slow = self.slow, []
        self._performed([Cases((one,), last=True) for one in slow], SET_ASIDE)
        for entry, specs in self.slow:  # they were begun, and there was no time to finish them
            why = self._stopping() + SET_ASIDE
            self._add([not_run(spec, entry.area, entry.name, why, generated=False) for spec in specs])
        for kept in self.kept:
            self._performed([Cases((kept,), last=True)])

    def _performed(self, tasks: Sequence[Cases], remark: str = "") -> list[tuple[Entry, tuple[str, ...]]]:
        """Perform tasks until the run stops; returns the entries that they leave for last.

        A `remark` is added to the reason why others are not run.
        """
        for_last: list[tuple[Entry, tuple[str, ...]]] = []
        left = {id(task): task for task in tasks}
        for task, answer in self.executor.perform(t for t in tasks if not self._stopping()):
            assert isinstance(task, Cases)
            for event in answer.events:
                self._emit_event(event)
            for_last += [task.entries[place] for place in answer.for_last]
            self.slow += [(entry, (spec,)) for entry, spec in answer.set_aside]
            del left[id(task)]
            if self.stopped == STOPPED:
                break
        for task in left.values():
            for entry, specs in task.entries:
                why = self.stopped + remark
                self._add([not_run(spec, entry.area, entry.name, why, generated=False) for spec in specs])
        return for_last

    def _areas(self, drivers: Sequence[OpenDriver]) -> None:
        """All areas: together if several processes share them or none ends another, else one after the other."""
        plan = self.plan
        runs = [
            AreaRun(area, some, registry.oracle(), plan.profile, plan.policy, self.emit, clock=self._seconds)
            for area in plan.areas
            if (some := self._open_questions(f"generated.{area}", drivers))
        ]
        if (plan.policy.keep or self.executor.size > 1) and not plan.stop_at_first:
            self._explore(runs, drivers)
        else:
            for run in runs:
                self._explore([run], drivers)

    def _explore(self, runs: Sequence[AreaRun], drivers: Sequence[OpenDriver]) -> None:
        """Areas, explored together."""
        plan, processes = self.plan, self.executor.size
        examples = plan.policy.budget or plan.profile.max_examples * len(runs)
        size = chunk_size(plan.policy, examples, processes, block_size(drivers))
        exploration = Exploration(
            runs, plan.profile, plan.policy, size, processes, self._finish, self.time_is_up, lambda: self.stopped
        )
        for run in runs:
            for result in plan.resumed.results if plan.policy.keep else ():
                if result.area == run.area and result.driver in run.specs:
                    run.restore(result)
        exploration.resume(plan.resumed.examples)
        for task, answer in self.executor.perform(exploration.tasks(), exploration.is_stale):
            exploration.take(task, answer)

    def _sweeps(self, drivers: Sequence[OpenDriver]) -> None:
        """All universes in turn."""
        plan, why = self.plan, ""
        entries = {
            e.name: (e, some) for e in plan.sweeps if (some := self._open_questions(sweep_name(e.name), drivers))
        }

        def begin(name: str) -> SweepRun:
            run = SweepRun(*entries[name], plan.profile, self.emit, self.time_is_up)
            run.resume(plan.resumed.sets)
            return run

        sweeps = Sweeps(list(entries), begin, self._add, self._stopping)
        for task, answer in self.executor.perform(sweeps.tasks()):
            assert isinstance(task, Sets | FindCauses)
            sweeps.take(task, answer)
            # Whether a baseline lists the failures is known when all sets are judged.
            run = sweeps.runs.get(task.entry.name)
            if plan.stop_at_first and not plan.baseline.rules and run is not None and run.differs:
                why = STOPPED
                break
        for run in sweeps.runs.values():
            for cause_task, answer in self.executor.perform(run.cause_tasks()):
                assert isinstance(cause_task, FindCauses)
                run.take_causes(cause_task, answer)
            self._add(list(run.finish(why or self._stopping())))
        for name in sweeps.waiting:
            entry, some = entries[name]
            count, reason = chosen_sets(entry, plan.profile).count, why or self._stopping()
            self._add([not_run(d.spec, AREA, sweep_name(name), reason, generated=True, cases=count) for d in some])

    def _finish(self, run: AreaRun) -> None:
        """Report an area when all its examples have been judged, or when it is not started."""
        counted = self.plan.policy.budget and self.time_is_up()  # the area knows how many of its examples are left
        if (why := self._stopping()) and not run.taken and not counted:
            name = f"generated.{run.area}"
            count = self.plan.profile.max_examples
            self._add([not_run(spec, run.area, name, why, generated=True, cases=count) for spec in run.specs])
            return
        try:
            ran = run.ran()
        except BadInput as e:
            self._problem(e)
        else:
            self._faults(ran.faults.values())
            self._add(ran.results)

    def _executing(self, drivers: Sequence[OpenDriver]) -> AbstractContextManager[Executor]:
        """The executor of tasks: this process, several others, or the workers of a scheduler."""
        plan = self.plan
        if plan.jobs == 1 and not plan.devices and not plan.scheduler:
            return nullcontext(
                TaskRunner(
                    drivers,
                    registry.oracle(),
                    plan.profile,
                    plan.policy,
                    self._emit_event,
                    plan.reruns,
                    self.time_is_up,
                )
            )
        states = {driver.spec: driver.resumed for driver in drivers}
        own = frozenset(driver.spec for driver in drivers if driver.own_process)
        config = ProcessConfig(
            tuple(states), plan.profile, plan.policy, plan.quarantine, plan.baseline, plan.reruns, states, own,
            self.time_is_up,
        )  # fmt: skip
        if self.cluster:
            return nullcontext(self.cluster.working(config))
        return Processes(plan.jobs, config, ordered=plan.stop_at_first, devices=plan.devices)

    def _seconds(self) -> float:
        """How long the run has taken so far, before an interruption, too."""
        return self.plan.resumed.seconds + time.perf_counter() - self.started

    def _emit_event(self, event: events.Event) -> None:
        if isinstance(event, events.Result):
            self._add([event])
        else:
            self.emit(event)

    def _add(self, results: list[events.Result]) -> None:
        for result in results:
            self.emit(result)
            if self.plan.stop_at_first and result.fails_run:
                self.stopped = self.stopped or STOPPED

    def _faults(self, faults: Iterable[events.GeneratorFault]) -> None:
        for fault in faults:
            self.emit(fault)
            if self.plan.stop_at_first:
                self.stopped = self.stopped or STOPPED

    def _stopping(self) -> str:
        """Why nothing more is started, "" while the run goes on."""
        self.stopped = self.stopped or self.time_is_up()
        return self.stopped

    def _problem(self, error: BadInput | HarnessTrouble) -> None:
        self.emit(events.problem(error))


def _is_generated(result: events.Result) -> bool:
    return result.generated and result.area != AREA
