"""Tables of a run: cases by verdict, statistics of compilers, and the cost and coverage of each area."""

from __future__ import annotations

from collections.abc import Callable

from rich.markup import escape
from rich.table import Table

from cts.judging.verdict import Verdict
from cts.plugins.specs import labels
from cts.running.covered import AreaCovered, Covered
from cts.running.tally import Tally
from cts.showing.report.ending import verdict_texts

COLOURS = {Verdict.PASS: "green", Verdict.UNSUPPORTED: "yellow", Verdict.NOT_RUN: "yellow"}


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
        shown = ", ".join(f"[{COLOURS.get(verdict, 'bold red')}]{text}[/]" for verdict, text in words)
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
    ("first shown", lambda area: f"{area.first:,}"),
    ("time", lambda area: f"{area.share:.0%}"),
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
