"""`cts history`: many runs side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cts.cli import completion
from cts.cli.documents import check_json, is_stdout, write_json
from cts.cli.options import JsonFile

if TYPE_CHECKING:
    from cts.store import Run
    from cts.store.history import Column, History


def history(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Folders of runs, or of single runs. Default: cts-run.", metavar="RUN", autocompletion=completion.paths
        ),
    ] = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write a page of it.", metavar="FILE")] = None,
    json: JsonFile = None,
    badge: Annotated[
        Path | None, typer.Option("--badge", help="Write an SVG badge of the latest run.", metavar="FILE")
    ] = None,
    driver: Annotated[
        str | None, typer.Option("--driver", "-d", help="Of this driver alone, by its spec or by what it reports.")
    ] = None,
) -> None:
    """Show which cases fail in which of many runs, and with which driver, version or date each failure appeared.

    Exit status 1 where something fails in the latest run of some driver.
    """
    from cts.cli.report import write
    from cts.errors import BadInput
    from cts.store.history import badge as drawn
    from cts.store.history import history as side_by_side

    check_json(json)
    found = side_by_side(_runs(runs or [Path("cts-run")]))
    if driver is not None:
        found = _of_driver(found, driver)
    latest = _latest(found)
    if badge is not None:
        if len(latest) != 1:
            several = ", ".join(sorted({c.driver for c in latest}))
            raise BadInput("several-drivers", f"the runs have {several}", "--badge", "--driver with one of them")
        write(badge, drawn(latest[0]).encode())
    if html is not None:
        from cts.report.html import page_of_history

        write(html, page_of_history(found).encode())
    write_json(json, _plain(found))
    if not is_stdout(json):
        _print(found)
    raise typer.Exit(1 if any(c.failures for c in latest) else 0)


def _runs(paths: list[Path]) -> list[Run]:
    from cts.cli.stored import stored
    from cts.store import folders

    return [stored(folder) for path in paths for folder in folders(path)]


def _of_driver(found: History, driver: str) -> History:
    from dataclasses import replace

    from cts.errors import BadInput

    chosen = [n for n, c in enumerate(found.columns) if driver in (c.driver, c.device)]
    if not chosen:
        known = ", ".join(dict.fromkeys(c.driver for c in found.columns))
        raise BadInput("unknown-driver", f"no run has the driver {driver!r}", "--driver", f"one of {known}")
    place = {n: k for k, n in enumerate(chosen)}
    rows = [
        replace(
            row,
            verdicts=tuple(row.verdicts[n] for n in chosen),
            since=tuple(place[n] for n in row.since if n in place),
            until=tuple(place[n] for n in row.until if n in place),
        )
        for row in found.rows
    ]
    return replace(found, columns=tuple(found.columns[n] for n in chosen), rows=tuple(r for r in rows if r.since))


def _latest(found: History) -> list[Column]:
    """The last column of each driver."""
    return list({c.driver: c for c in found.columns}.values())


def _plain(found: History) -> dict[str, object]:
    return {
        "columns": [
            {
                "run": c.run,
                "started": c.started,
                "suite": c.suite,
                "driver": c.driver,
                "device": c.device,
                "counts": {verdict.value: n for verdict, n in c.counts.items()},
            }
            for c in found.columns
        ],
        "cases": [
            {
                "name": row.name,
                "verdicts": [v.value if v is not None else None for v in row.verdicts],
                "known": row.known,
                "since": row.since,
                "until": row.until,
            }
            for row in found.rows
        ],
    }


def _print(found: History) -> None:
    for number, column in enumerate(found.columns, 1):
        counts = ", ".join(f"{n} {verdict.value}" for verdict, n in column.counts.items())
        typer.echo(f"{number:>3}  {column.started}  {column.device or column.driver}: {counts}  {column.run}")
    if found.rows:
        typer.echo("")
    for row in found.rows:
        verdicts = " ".join((v.value if v is not None else "-") for v in row.verdicts)
        told = [f"since {n + 1}" for n in row.since] + [f"until {n + 1}" for n in row.until]
        known = f" ({row.known})" if row.known else ""
        typer.echo(f"{row.name}{known}: {verdicts}  [{', '.join(told)}]")
    if not found.rows:
        typer.echo("nothing fails")
