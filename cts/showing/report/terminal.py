"""A run on the terminal: header, progress bar, failures as they are found, summary by driver and area."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from cts.base.errors import BadInput, CtsError, HarnessTrouble, OutputClosed
from cts.base.heartbeat import SILENCE, heartbeat
from cts.base.specs import labels
from cts.case.model.sweep import AREA, sweep_name
from cts.judging import events as ev
from cts.judging.verdict import Verdict
from cts.running.covered import AreaCovered, Covered
from cts.running.slowest import Slowest
from cts.running.tally import Tally
from cts.showing.report.ending import counts_text, finding_lines, next_step, verdict_texts
from cts.showing.report.failure import failure, fault_text
from cts.showing.report.reasons import summed_up

#: Failures shown in full; the summary and the saved files have all of them.
SHOWN = 3

#: Seconds between two lines that say how far a run is, where no bar can: before `cts.base.heartbeat` would say a word.
HEARTBEAT = 25.0

_COLOURS = {Verdict.PASS: "green", Verdict.UNSUPPORTED: "yellow", Verdict.NOT_RUN: "yellow"}


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
                self._judged(event.driver, event.area, 1 if event.last else event.count - len(event.for_last))
                for kept in event.kept:
                    self.failing.setdefault((event.driver, kept.finding.case.name), kept)
            case ev.SetsJudged():
                self._judged(event.driver, sweep_name(event.universe), event.count)
            case ev.Shrinking():
                whose = event.driver or "the generator"
                self.shrinking = event
                self._task(event.area, f"{event.area}: shrinking a failure of {whose}")
            case ev.Reduced():
                self._reduced(event)
            case ev.Result():
                self._result(event)
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
        what += [f"{count:,} parameter sets of {name}" for name, count in event.sweeps.items()]
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

    def _advance(self, task: TaskID, count: int) -> None:
        """Count cases of a part of the run, and say how far the whole run is."""
        self.done += count
        self.progress.advance(task, count)
        if self.overall_task is not None:
            self.progress.update(self.overall_task, advance=count, note=self._pace())
        now = self.clock()
        if not self.console.is_terminal and now - self.last_line >= HEARTBEAT:
            self.last_line = now
            self._print(f"after {now - self.started:.0f} s: {self._far()}, {self._pace()}")

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
        elif self.corpus_task is not None:
            self._advance(self.corpus_task, 1)
        if result.unexpected:
            self._print(f"\n{result.name} passes on {result.driver}, and should fail: {result.unexpected}", "bold red")
        if result.known:
            return
        if result.verdict in _COLOURS:
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
        if (step := next_step(self.tally, self.findings, self.header, self.save_dir)) != "":
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

    def _print(self, text: str, style: str | None = None) -> None:
        self.console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)


def _left(seconds: float, silent: float) -> str:
    """How long a run still takes at its pace so far; that is less than it takes if nothing has ended for long.

    >>> _left(90.4, 1.0), _left(90.4, 70.0)
    ('about 90 s left', 'at least 90 s left')
    """
    return f"{'at least' if silent >= SILENCE else 'about'} {seconds:.0f} s left"


def summary(tally: Tally) -> Table:
    """Cases by driver, area and origin: how many were judged, and every verdict but pass."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("driver", "area", "cases"):
        table.add_column(heading)
    table.add_column("judged", justify="right")
    table.add_column("unsupported", justify="right")
    table.add_column("verdicts")
    named = labels(driver for driver, _, _ in tally.rows)
    for (driver, area, generated), row in tally.rows.items():
        words = verdict_texts(row)
        shown = ", ".join(f"[{_COLOURS.get(verdict, 'bold red')}]{text}[/]" for verdict, text in words)
        kind = "generated" if generated else "corpus"
        judged = f"{row.judged} and {row.sets} sets" if row.sets else str(row.judged)
        table.add_row(escape(named[driver]), escape(area), kind, judged, str(row.unsupported), shown)
    return table


def statistics(tally: Tally) -> Table:
    """What compilers tell of the cases: the mean and the largest of each number, and the case that has that."""
    several = len({driver for driver, _ in tally.measured}) > 1
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("driver", "compiled")[not several :]:
        table.add_column(heading)
    for heading in ("cases", "mean", "largest"):
        table.add_column(heading, justify="right")
    table.add_column("in")
    for (driver, name), of in tally.measured.items():
        texts = (escape(driver), escape(name))[not several :]
        table.add_row(*texts, str(of.cases), f"{of.mean:,.1f}", f"{of.largest:,g}", of.whose)
    return table


#: The columns of a table of areas: a heading, and what stands below it.
AREA_COLUMNS: tuple[tuple[str, Callable[[AreaCovered], str]], ...] = (
    ("drawn", lambda area: f"{area.drawn:,}"),
    ("judged", lambda area: f"{area.judged:,}"),
    ("sets", lambda area: f"{area.sets:,}"),
    ("known", lambda area: f"{area.known:,}"),
    ("new", lambda area: f"{area.new:,}"),
    ("left out", lambda area: f"{area.left_out:,}"),
    ("draw ms", lambda area: area.milliseconds("draw")),
    ("oracle ms", lambda area: area.milliseconds("oracle")),
    ("driver ms", lambda area: area.milliseconds("driver")),
    ("sets ms", lambda area: area.milliseconds("sets")),
)


def by_area(covered: Covered) -> Table:
    """Generated cases by area: counts, then milliseconds of each stage for each case that was drawn."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("area")
    for heading, _ in AREA_COLUMNS:
        table.add_column(heading, justify="right")
    for name, area in sorted(covered.areas.items()):
        cells = (cell(area) for _, cell in AREA_COLUMNS)
        table.add_row(escape(name), *cells, style="bold red" if area.new else None)
    return table


def _asked_for(header: ev.RunStarted) -> str:
    """How many generated cases a run has, in words."""
    if header.budget:
        return f"{header.budget} examples"
    return f"{header.max_examples} examples" if header.max_examples else "as many examples as there is time for"
