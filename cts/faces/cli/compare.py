"""`cts compare`: runs and shipped results side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cts.faces.cli import completion
from cts.faces.cli.documents import check_json, is_stdout, write_json
from cts.faces.cli.options import JsonFile
from cts.faces.cli.paths import written

if TYPE_CHECKING:
    from cts.running.compiling import Slower
    from cts.running.store import Run
    from cts.running.store.comparison import Column, Comparison
    from cts.running.store.diff import Difference, Shift

#: Files of a run, whose folder is meant.
_OF_RUN = ("manifest.json", "results.jsonl")

#: What is compared if nothing is named.
_RUNS = Path("cts-run")


def compare(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Folders of runs, or of single runs; files that --json wrote; or names of shipped results, such as "
            "nvidia-580. Default: cts-run.",
            metavar="RUN",
            autocompletion=completion.compared,
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            help="Write a page with all cases, areas and features.",
            metavar="FILE",
            callback=written,
            autocompletion=completion.paths,
        ),
    ] = None,
    badges: Annotated[
        Path | None,
        typer.Option(
            "--badges",
            help="Write an SVG badge of each driver into this folder.",
            metavar="DIR",
            autocompletion=completion.paths,
        ),
    ] = None,
    json: JsonFile = None,
    driver: Annotated[
        str | None, typer.Option("--driver", "-d", help="Only this driver, by its spec or by what it reports.")
    ] = None,
) -> None:
    """Compare drivers, versions and dates: which cases pass, fail, fail as known, or are unsupported.

    Two single runs BEFORE AFTER: lists the failures that are new, changed, the same, fixed, or gone, the numbers of the
    drivers' compilers that have changed, and sizes of cases that take longer; exit status 1 if failures are new or
    changed.
    Otherwise: lists the cases that fail on some driver, and with which run each failure appeared; exit status 1 if the
    latest run of some driver has a failure that no baseline lists.
    """
    from cts.base.errors import BadInput
    from cts.running.compiling import slower, times_of
    from cts.running.outputs import check_file
    from cts.running.store.comparison import columns_of, document
    from cts.running.store.comparison import compare as side_by_side
    from cts.running.store.diff import Change, diff, shifts

    check_json(json)
    check_file(html, "--html")
    if badges is not None and badges.exists() and not badges.is_dir():
        raise BadInput("output-path", "it is a file", f"--badges {badges}", "a folder")
    kept, loaded = _read(runs or [_RUNS])
    columns = [*kept, *(column for run in loaded for column in columns_of(run))]
    comparison = side_by_side(columns)
    if driver is not None:
        comparison = comparison.of_driver(driver)
    if html is not None:
        from cts.faces.cli.report import write
        from cts.showing.report.html.compared import page_of_comparison

        write(html, page_of_comparison(comparison).encode())
    if badges is not None:
        _write_badges(badges, comparison)
    two = len(loaded) == 2 and len(runs or ()) == 2 and driver is None
    differences = diff(*loaded) if two else []
    write_json(json, document(comparison.columns, differences))
    if two:
        if not is_stdout(json):
            _print_changes(differences, shifts(*loaded), slower(*(times_of([*r.results, *r.examples]) for r in loaded)))
        raise typer.Exit(1 if any(d.change in (Change.NEW, Change.CHANGED) for d in differences) else 0)
    if not is_stdout(json):
        _print(comparison)
    raise typer.Exit(1 if any(c.fails for c in comparison.latest) else 0)


def _read(paths: list[Path]) -> tuple[list[Column], list[Run]]:
    """The columns of files, and the runs of folders."""
    from cts.base.input_files import is_folder
    from cts.faces.cli.stored import stored
    from cts.running.store import folders
    from cts.running.store.comparison import read

    columns: list[Column] = []
    runs: list[Run] = []
    for path in paths:
        if path.name in _OF_RUN:
            path = path.parent
        if is_folder(path) or path == _RUNS or (len(path.parts) > 1 and not path.suffix):
            runs += (stored(folder) for folder in folders(path))
        else:
            columns += read(path)
    return columns, runs


def _write_badges(folder: Path, comparison: Comparison) -> None:
    from cts.base.errors import BadInput
    from cts.faces.cli.report import write
    from cts.showing.report.html.compared import badge, badge_names

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise BadInput("output-path", e.strerror or str(e), f"--badges {folder}", "a folder") from e
    for name, column in zip(badge_names(comparison.columns), comparison.columns, strict=True):
        write(folder / name, badge(column).encode())


def _print_changes(differences: Sequence[Difference], shifts: Sequence[Shift], slower: Sequence[Slower]) -> None:
    from cts.running.store.diff import Change

    counts = Counter(d.change for d in differences)
    for difference in differences:
        typer.echo(_change(difference))
    for shift in shifts:
        typer.echo(_shift(shift))
    for change in slower:
        typer.echo(f"slower: {change.what}: a median case took {change.before:.3g} s, now {change.after:.3g} s")
    typer.echo(", ".join(f"{counts[c]} {c.value}" for c in Change))


def _shift(shift: Shift) -> str:
    most = f"most in {shift.most}: {shift.most_before:,g} -> {shift.most_after:,g}"
    return f"{shift.name} of {shift.driver}: {shift.before:,g} -> {shift.after:,g} in {shift.cases} cases, {most}"


def _change(difference: Difference) -> str:
    verdicts = [r.verdict.value if r else "not in the run" for r in (difference.before, difference.after)]
    drivers = dict.fromkeys(r.driver for r in (difference.before, difference.after) if r)
    return f"{difference.change.value:<8} {difference.result.name}  {' -> '.join(verdicts)}  {' -> '.join(drivers)}"


def _print(comparison: Comparison) -> None:
    for number, column in enumerate(comparison.columns, 1):
        counts = ", ".join(f"{n} {status.value}" for status, n in column.counts.items())
        typer.echo(f"{number:>3}  {column.started}  {column.title}: {counts}  {column.run}".rstrip())
    typer.echo("")
    for row in comparison.failing:
        verdicts = " ".join((v.value if v is not None else "-") for v in row.verdicts)
        told = [f"since {n + 1}" for n in row.since] + [f"until {n + 1}" for n in row.until]
        reason = f" ({row.known})" if row.known else ""
        typer.echo(f"{row.name}{reason}: {verdicts}  [{', '.join(told)}]")
    if not comparison.failing:
        typer.echo("nothing fails")
