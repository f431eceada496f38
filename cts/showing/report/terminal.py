"""A run on the terminal: header, progress bar, failures as they are found, summary by driver and area."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from cts.base.errors import BadInput, CtsError, HarnessTrouble, OutputClosed
from cts.base.heartbeat import SILENCE, heartbeat
from cts.case.model.sweep import AREA, sweep_name
from cts.judging import events as ev
from cts.judging.verdict import Verdict
from cts.running.compiling import Times
from cts.running.slowest import Slowest
from cts.running.store.files import saved_case
from cts.running.sweeps.states import UNSUPPORTED
from cts.running.tally import Row, Tally
from cts.showing.report.ending import counts_text, finding_lines, going_on, next_step, verdict_texts
from cts.showing.report.failure import failure, fault_text
from cts.showing.report.reasons import summed_up
from cts.showing.report.tables import COLOURS, by_area, statistics, summary

#: Failures shown in full; the summary and the saved files have all of them.
SHOWN = 3

#: Seconds between two lines that say how far a run is, where no bar can: before `cts.base.heartbeat` would say a word.
HEARTBEAT = 25.0

#: Seconds after which a run says that it is slow, and those that must be left then.
MINUTE, LONG = 60.0, 600.0

#: Slow sizes of cases that are named at the end, and universes that the first line names.
SIZES, UNIVERSES = 5, 4


class Terminal:
    """Consumes events: the report goes to `console`, what is rejected to `errors`.

    There is a progress bar where `console` is a terminal; elsewhere a line every `HEARTBEAT` seconds says how far the
    run is. A context manager: leaving it puts the terminal in order, however the run ended, and shows what was counted
    in one that did not end. `clock` gives seconds.
    """

    def __init__(
        self, console: Console, errors: Console, save_dir: Path | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.console = console
        # Beside a progress bar, errors must go through its console.
        self.errors = console if console.is_terminal else errors
        self.save_dir = save_dir
        self.header: ev.RunStarted | None = None
        self.shown = 0
        self.tally = Tally()
        self.slowest = Slowest()
        self.times = Times()
        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[note]}"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self.clock = clock
        self.started = self.last_line = clock()
        #: Cases that are judged, left out or no longer needed, and all of the run, on all drivers.
        self.done = self.total = 0
        #: Examples by driver and area.
        self.seen: Counter[tuple[str, str]] = Counter()
        self.overall_task: TaskID | None = None
        self.corpus_task: TaskID | None = None
        self.tasks: dict[str, TaskID] = {}
        self.shrinking: ev.Shrinking | None = None
        self.finished = False
        #: Whether the run has turned out to take long, so that areas are shown as they end.
        self.is_slow = False
        #: The findings of the run, and generated cases that fail, of which there is no result yet.
        self.findings: list[ev.Result] = []
        self.failing: dict[tuple[str, str], ev.Kept] = {}
        #: What sweeps have found, for the end.
        self.statements: list[str] = []

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        self.progress.stop()
        if kind is not None and not issubclass(kind, OutputClosed) and not self.finished:
            self._counts()
            self._found_so_far()

    def __call__(self, event: ev.Event) -> None:
        self.tally(event)
        self.slowest(event)
        self.times(event)
        heartbeat.doing = self._doing(event) or heartbeat.doing
        match event:
            case ev.RunStarted():
                self._start(event)
            case ev.NotValidated():
                self._print(f"{event.what}\n  fix:   {event.remedy}", style="yellow")
            case ev.Rejected():
                self._error(BadInput(event.code, event.what, event.where, event.remedy))
            case ev.GeneratorFault():
                self._failure(fault_text(event, self.save_dir, self.header))
            case ev.Trouble():
                self._error(HarnessTrouble(event.code, event.what, event.where, event.remedy))
            case ev.ExamplesJudged():
                left = len(event.for_last) + len(event.set_aside)
                self._judged(event.driver, event.area, 1 if event.last else event.count - left)
                for kept in event.kept:
                    self.failing.setdefault((event.driver, kept.finding.case.name), kept)
            case ev.SetsJudged():
                self._sets(event)
            case ev.Shrinking():
                whose = event.driver or "the generator"
                self.shrinking = event
                self._task(event.area, f"{event.area}: shrinking a failure of {whose}")
            case ev.Reduced():
                self._reduced(event)
            case ev.Result():
                self._result(event)
            case ev.CauseReduced():
                self._print(_reduced_text(event, self.save_dir))
            case ev.UniverseSwept():
                self.statements.append(event.statement)
            case ev.Unused():
                self._print(f"not seen on {event.driver}: {event.entry}\n  {event.why}", style="yellow")
            case ev.RunFinished():
                self._finish(event)

    def _doing(self, event: ev.Event) -> Callable[[], str] | None:
        """What the run does after an event, for the heartbeat; None if the event does not change that."""
        match event:
            case ev.CasesStarted() if event.hashes:
                more = ""
            case ev.Shrinking():
                more = f"; making a failure of {event.driver or 'the generator'} in {event.area} smaller"
            case ev.Reduced():
                more = f"; {self._size(event)}"
            case _:
                return None
        far, pace = self._far(), self._paced()
        return lambda: f"{far}, {pace()}{more}"

    def _size(self, event: ev.Reduced) -> str:
        return f"shrinking a failure of {event.driver}: {event.instructions} instructions, {event.runs} runs"

    def _found_so_far(self) -> None:
        """The findings of a run that does not end, by name; generated cases may not have been made smaller yet."""
        for line in finding_lines(self.findings):
            self._print(line, style="bold red")
        for (driver, name), kept in self.failing.items():
            self._print(f"found: {name}, {kept.verdict.value} on {driver}, as drawn", style="bold red")

    def _start(self, event: ev.RunStarted) -> None:
        self.header = event
        what = [f"{event.cases:,} corpus case{'s' if event.cases != 1 else ''}"] if event.cases else []
        what += [f"{_asked_for(event)} of {', '.join(event.areas)}"] if event.areas else []
        sets = [f"{count:,} parameter sets of {name}" for name, count in event.sweeps.items()]
        every = f"{sum(event.sweeps.values()):,} parameter sets of {len(sets)} universes"
        what += sets if len(sets) <= UNIVERSES else [every]
        config = f", settings of {event.config}" if event.config else ""
        self._print(
            f"cts {event.version}, profile {event.profile}, seed {event.seed}{config}: "
            f"{' and '.join(what) or 'no case of this shard'} on {', '.join(event.drivers)}"
        )
        if self.save_dir is not None:
            self._print(f"run kept in {self.save_dir}")
        self.started = self.last_line = self.clock()
        examples = (event.budget or len(event.areas) * event.max_examples) + sum(event.sweeps.values())
        self.total = (event.cases + examples) * len(event.drivers)
        self.progress.start()
        self.overall_task = self.progress.add_task("in all", total=self.total, note="")
        if event.cases:
            self.corpus_task = self.progress.add_task("corpus", total=event.cases * len(event.drivers), note="")

    def _judged(self, driver: str, area: str, count: int) -> None:
        """Count examples or parameter sets that are done."""
        self.seen[driver, area] += count
        self._advance(self._task(area, area), count)

    def _sets(self, event: ev.SetsJudged) -> None:
        """Count parameter sets; those of a template that the driver does not support are none of the run's."""
        if event.states == UNSUPPORTED:
            self.total -= event.count
            self.seen[event.driver, sweep_name(event.universe)] += event.count
            if self.overall_task is not None:
                self.progress.update(self.overall_task, total=self.total)
        else:
            self._judged(event.driver, sweep_name(event.universe), event.count)

    def _advance(self, task: TaskID, count: int) -> None:
        """Count cases of a part of the run, and say how far the whole run is."""
        self.done += count
        self.progress.advance(task, count)
        if self.overall_task is not None:
            self.progress.update(self.overall_task, advance=count, note=self._pace())
        now = self.clock()
        if not self.is_slow and now - self.started >= MINUTE and self._left() > LONG:
            self._tell_slow(now)
        if not self.console.is_terminal and now - self.last_line >= HEARTBEAT:
            self.last_line = now
            self._print(f"after {now - self.started:.0f} s: {self._far()}, {self._pace()}")

    def _left(self) -> float:
        """Seconds that are left at the pace so far; 0 for a run that ends with its time."""
        return (self.clock() - self.started) * (self.total - self.done) / self.done if self.done and self.total else 0.0

    def _tell_slow(self, now: float) -> None:
        """Say once that the run takes long, what can be left out, and what is done."""
        self.is_slow = True
        self._print(
            f"slow: {self._far()} in {now - self.started:.0f} s, so about {self._left() / 60:.0f} minutes are left. "
            "--max-time S ends earlier, and --resume does the rest; --profile smoke, --area AREA and -k TEXT run less"
        )
        for (driver, area, _), row in self.tally.rows.items():
            self._area_so_far(driver, area, row)

    def _area_so_far(self, driver: str, area: str, row: Row) -> None:
        """What the cases of an area came to so far, in a line."""
        if texts := ", ".join(text for _, text in verdict_texts(row)):
            assert self.header is not None
            on = f" on {driver}" if len(self.header.drivers) > 1 else ""
            self._print(f"  {area}{on}: {texts}")

    def _far(self) -> str:
        """How far the run is; of one that ends with its time, what it has done."""
        return f"{self.done} of {self.total} cases" if self.total else f"{self.done} cases"

    def _pace(self) -> str:
        return self._paced()()

    def _paced(self) -> Callable[[], str]:
        """Cases per second and what is left at that pace, both at the time of the call; and findings so far.

        Of a run that goes on, those of each kind.
        """
        covered, findings = self.tally.covered, self.tally.findings
        found, unit, counted = f"{findings} finding{'' if findings == 1 else 's'}", "", self.done
        if self.header is not None and self.header.keep:
            new = f"{covered.new} new failures of {len(covered.causes)} causes, {covered.known} known failures"
            found, unit, counted = new, " distinct", len(covered.cases)
        done, total, last = self.done, self.total, self.clock()

        def at() -> str:
            now = self.clock()
            seconds = now - self.started
            rate = counted / seconds if seconds > 0 else 0.0
            left = f", {_left(seconds * (total - done) / done, now - last)}" if done and total else ""
            return f"{rate:.{1 if unit else 0}f}{unit} per second{left}, {found}"

        return at

    def _error(self, error: CtsError) -> None:
        self.errors.print(str(error), style="red", markup=False, highlight=False, soft_wrap=True)

    def _task(self, area: str, description: str) -> TaskID:
        """The progress bar of an area on all drivers, which now says `description`."""
        assert self.header is not None
        if area not in self.tasks:
            total = self._examples(area) * len(self.header.drivers)
            self.tasks[area] = self.progress.add_task(description, total=total or None, note="")
        self.progress.update(self.tasks[area], description=description)
        return self.tasks[area]

    def _area_done(self, result: ev.Result) -> None:
        """Count the examples that a finding has made needless."""
        assert self.header is not None
        if self.header.keep and result.area != AREA:
            return
        area = result.name if result.area == AREA else result.area
        if result.area != AREA or area.removeprefix(f"{AREA}.") in self.header.sweeps:
            self._advance(self._task(area, area), self._examples(area) - self.seen[result.driver, area])

    def _examples(self, area: str) -> int:
        """The examples of an area, or the parameter sets of `sweep.NAME`, on each driver."""
        assert self.header is not None
        return self.header.sweeps.get(area.removeprefix(f"{AREA}."), self.header.max_examples)

    def _reduced(self, event: ev.Reduced) -> None:
        if self.shrinking is not None:
            self._task(self.shrinking.area, f"{self.shrinking.area}: {self._size(event)}")

    def _result(self, result: ev.Result) -> None:
        if result.generated:
            prefix = f"generated.{result.area}."
            self.failing = {k: kept for k, kept in self.failing.items() if not k[1].startswith(prefix)}
        if result.generated:
            self._area_done(result)
            if self.is_slow and result.area != AREA:
                self._area_so_far(result.driver, result.area, self.tally.rows[result.driver, result.area, True])
        elif self.corpus_task is not None:
            self._advance(self.corpus_task, 1)
        if result.unexpected:
            self._print(f"\n{result.name} passes on {result.driver}, and should fail: {result.unexpected}", "bold red")
        if result.known:
            return
        if result.verdict in COLOURS:
            if result.verdict is Verdict.PASS and result.detail:
                self._print(f"{result.driver} says of {result.name}, which passes: {result.detail}")
            return
        self.findings.append(result)
        self._failure(failure(result, self.save_dir, self.header))

    def _failure(self, text: str) -> None:
        self.shown += 1
        if self.shown <= SHOWN:
            head, _, rest = text.partition("\n")
            self.console.print()
            self._print(head, style="bold red")
            self._print(rest)

    def _finish(self, event: ev.RunFinished) -> None:
        self.finished = True
        self.progress.stop()
        if self.shown > SHOWN:
            where = f": all of them are in {self.save_dir}" if self.save_dir else ""
            left = self.shown - SHOWN
            self._print(f"\n{left} more failure{'s are' if left != 1 else ' is'} not shown{where}")
        self._counts()
        for line in finding_lines(self.findings):
            self._print(line, style="bold red")
        self._print(counts_text(event))
        for statement in self.statements:
            self._print(statement)
        step = next_step(self.tally, self.findings, self.header, self.save_dir)
        unfinished = going_on(self.tally, self.save_dir)
        if unfinished and not self.tally.lost and not unfinished.endswith(step or " "):
            self._print(unfinished)
        if step:
            self._print(f"next: {step}")

    def _counts(self) -> None:
        """What was counted, by driver and area, and why what was not judged was not."""
        tally = self.tally
        if tally.rows:
            self.console.print()
            self.console.print(summary(tally))
        if self.header is not None and self.header.keep:
            self.console.print(by_area(tally.covered))
            self._print(tally.covered.said)
            self._print(tally.covered.worth)
        if tally.measured:
            self.console.print(statistics(tally))
        for line in summed_up(tally, self.save_dir):
            self._print(line, style="yellow")
        if self.slowest.cases:
            self._print("the slowest cases:")
        for case in self.slowest.cases:
            self._print(case.text)
        if rows := self.times.slowest():
            self._print("the slowest sizes, by a median case:")
            for row in rows[:SIZES]:
                self._print(row.text)

    def _print(self, text: str, style: str | None = None) -> None:
        self.console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)


def _reduced_text(event: ev.CauseReduced, save_dir: Path | None) -> str:
    """A finding of a run that goes on, in a line: where its case is."""
    finding = event.result.finding
    assert finding is not None
    drawn = f", {len(finding.found.program)} as drawn" if finding.found is not None else ""
    where = f": {saved_case(event.result, save_dir)}" if save_dir is not None else ""
    size = len(finding.case.program)
    return f"after {event.at:.0f} s: {event.result.cause} on {event.result.driver}, {size} instructions{drawn}{where}"


def _left(seconds: float, silent: float) -> str:
    """How long a run still takes at its pace so far; that is less than it takes if nothing has ended for long.

    >>> _left(90.4, 1.0), _left(90.4, 70.0)
    ('about 90 s left', 'at least 90 s left')
    """
    return f"{'at least' if silent >= SILENCE else 'about'} {seconds:.0f} s left"


def _asked_for(header: ev.RunStarted) -> str:
    """How many generated cases a run has, in words."""
    if header.budget:
        return f"{header.budget} examples"
    return f"{header.max_examples} examples" if header.max_examples else "as many examples as there is time for"
