"""A campaign on the terminal: a table that is redrawn, or now and then a line; and what it came to."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from cts.campaign.chunks import Waiting
from cts.campaign.folder import CampaignFolder
from cts.campaign.totals import AreaTotals, Totals, worth

#: Seconds between two lines, where nothing can be redrawn.
HEARTBEAT = 30.0

#: Tasks that are named where a campaign waits for them.
NAMED = 4


class Terminal:
    """Shows a campaign while it goes on. A context manager. `clock` gives seconds."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._last = clock()
        self._live = Live(console=console, transient=True, refresh_per_second=2) if console.is_terminal else None

    def __enter__(self) -> Terminal:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._live is not None:
            self._live.stop()

    def __call__(self, folder: CampaignFolder, waiting: Waiting) -> None:
        """Show what a campaign has come to, and what it waits for."""
        now = self._clock()
        if self._live is not None:
            lines = [f"{pace(folder)}, {waiting.flying} tasks on their way", *silence(waiting)]
            self._live.update(Group(by_area(folder.totals), *map(Text, lines)))
        elif now - self._last >= HEARTBEAT:
            self._last = now
            for line in (pace(folder), *silence(waiting)):
                self._console.print(line, markup=False, highlight=False, soft_wrap=True)


def silence(waiting: Waiting) -> Iterator[str]:
    """Which tasks a campaign waits for from which nothing has come back for long: a device may hang."""
    if waiting.seconds < HEARTBEAT / 2 or not waiting.begun:
        return
    names = [task.name for task in waiting.begun[:NAMED]]
    more = len(waiting.begun) - len(names)
    yield (
        f"nothing has come back for {waiting.seconds:.0f} s: waiting for {', '.join(names)}"
        f"{f' and {more} more' if more else ''}"
    )


def pace(folder: CampaignFolder) -> str:
    """How far a campaign is, and how fast."""
    totals, seconds = folder.totals, folder.seconds
    of = f" of {folder.settings.cases:,} to be drawn" if folder.settings.cases is not None else ""
    distinct = len(totals.cases) / seconds if seconds else 0.0
    sets = f", {totals.sets:,} sets ({totals.sets / seconds:,.0f} per second)" if totals.sets and seconds else ""
    return (
        f"after {seconds:.0f} s: {totals.judged:,} cases judged{of} ({distinct:.1f} distinct per second){sets},"
        f" {totals.findings} new findings of {len(totals.causes)} causes, {sum(totals.known.values())} known failures"
    )


def by_area(totals: Totals) -> Table:
    """Counts and times by area."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("area")
    headings = ("drawn", "judged", "sets", "known", "new", "not run", "draw ms", "oracle ms", "driver ms", "sets ms")
    for heading in headings:
        table.add_column(heading, justify="right")
    for name, area in sorted(totals.areas.items()):
        table.add_row(escape(name), *cells(area), style="bold red" if area.new else None)
    return table


def cells(area: AreaTotals) -> Iterator[str]:
    """The cells of an area: counts, then milliseconds of each stage for each case that was drawn."""
    for count in (area.drawn, area.judged, area.sets, area.known, area.new, area.not_run + area.unsupported):
        yield f"{count:,}"
    for stage in ("draw", "oracle", "driver", "sets"):
        yield f"{1e3 * area.seconds[stage] / area.drawn:.1f}" if area.drawn else ""


def end(console: Console, folder: CampaignFolder) -> None:
    """What a campaign has come to."""
    totals = folder.totals

    def say(text: str, style: str | None = None) -> None:
        console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)

    console.print(by_area(totals))
    for (area, _), fault in totals.faults.items():
        where = f" at {fault.where}" if fault.where else ""
        say(
            f"fault of the generator of {area}, {fault.count} times, first example {fault.number}: {fault.what}{where}",
            "red",
        )
    for lost in totals.lost:
        say(f"lost: {lost.task.name}: {lost.what}", "red")
    for cause, count in totals.causes.most_common():
        say(f"{count} new: {cause}", "bold red")
        say(f"    {count_of(len(totals.kept.get(cause, {})), 'case')} kept: {folder.findings(cause)}")
        if (reduced := totals.reduced.get(cause)) is not None:
            say(f"    made smaller: {reduced.note}")
    for why, count in totals.known.most_common():
        say(f"{count} known: {why}", "yellow")
    for why, count in totals.not_run.most_common():
        say(f"{count} not run: {why}", "yellow")
    for why, count in totals.unsupported.most_common(10):
        say(f"{count} unsupported: {why}", "yellow")
    verdicts = ", ".join(f"{count:,} {verdict}" for verdict, count in totals.verdicts.most_common()) or "no verdicts"
    say(
        f"{verdicts}; {len(totals.cases):,} distinct cases of {len(totals.structures):,} structures,"
        f" {len(totals.facts)} facts and {len(totals.situations):,} situations;"
        f" {count_of(totals.restarts, 'restart')} of a device's"
        f" process, {count_of(len(totals.processes), 'process', 'processes')}"
    )
    say(worth(totals))
    say(f"{pace(folder)}; exit status {totals.exit_status}")


def count_of(count: int, one: str, more: str = "") -> str:
    """A number of things.

    >>> count_of(1, "case"), count_of(2, "process", "processes")
    ('1 case', '2 processes')
    """
    return f"{count} {one if count == 1 else more or one + 's'}"
