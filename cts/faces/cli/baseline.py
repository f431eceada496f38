"""`cts baseline`: the failures of a run as a list of known ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from cts.faces.cli import completion
from cts.faces.cli.documents import check_json, is_stdout, write_json
from cts.faces.cli.options import JsonFile

if TYPE_CHECKING:
    from cts.judging.events import Result
    from cts.running.store import Run


def baseline(
    run: Annotated[
        Path,
        typer.Argument(
            help="The folder of a run, or the folder of runs for the latest; a list, with --from.",
            autocompletion=completion.paths,
        ),
    ],
    reason: Annotated[str, typer.Option("--reason", help="Why these cases fail; reports print it.")] = "known",
    link: Annotated[str, typer.Option("--link", help="Where to read more, such as a bug report.")] = "",
    incomplete: Annotated[bool, typer.Option("--incomplete", help="Accept an incomplete run.")] = False,
    timeouts: Annotated[
        bool, typer.Option("--timeouts", help="List timeouts as well, which a busy machine may have caused.")
    ] = False,
    audit: Annotated[bool, typer.Option("--audit", help="Report how precise the baseline's conditions are.")] = False,
    json: JsonFile = None,
    format_name: Annotated[
        str | None,
        typer.Option("--format", help="Print a list for deqp-runner instead: fails, flakes or skips.", metavar="LIST"),
    ] = None,
    from_list: Annotated[
        str | None,
        typer.Option("--from", help="RUN is a list of deqp-runner: fails, flakes or skips.", metavar="LIST"),
    ] = None,
    driver: Annotated[
        str, typer.Option("--driver", help="With --from: the drivers that the entries are for.", metavar="GLOB")
    ] = "*",
) -> None:
    """Print a baseline with every failure of a run, for `cts run --baseline`.

    --format prints a run's failures, flaky cases, or cases that hang as a list for deqp-runner; --from makes a baseline
    of such a list. Errors of the suite or of a driver are no failures of a device, and not in a baseline. With --audit,
    the exit status is 1 if an entry is too wide: it matches at least 30 cases, and fewer than 90 % of them fail.
    """
    from cts.base.errors import BadInput
    from cts.faces.cli.stored import stored
    from cts.judging.known.baseline import document
    from cts.judging.verdict import Verdict

    _check_lists(format_name, from_list, driver, audit=audit, json=json)
    if from_list is not None:
        _imported(run, from_list, driver, reason)
        return
    stored_run = stored(run)
    if audit:
        _audit(stored_run, json)
    if json is not None:
        raise BadInput("json-audit", "--json without --audit", f"--json {json}", "a baseline is YAML: > FILE")
    why = "; ".join(stored_run.incomplete)
    if why and not incomplete:
        what = "the run is incomplete: cases without a verdict would count as passing"
        remedy = f"`cts run --resume {stored_run.path}` first, or --incomplete"
        raise BadInput("incomplete-run", what, str(stored_run.path), remedy)
    failures = stored_run.findings()
    if format_name is not None:
        _listed(failures, format_name)
        return
    listed = [result for result in failures if timeouts or result.verdict is not Verdict.TIMEOUT]
    if left_out := len(failures) - len(listed):
        typer.echo(f"note: {left_out} timeouts are left out, which a busy machine may cause: --timeouts", err=True)
    if why:
        typer.echo(f"# from an incomplete run: {why}")
    typer.echo(document(listed, stored_run.manifest.drivers, reason, link, stored_run.failing()), nl=False)


def _check_lists(
    format_name: str | None, from_list: str | None, driver: str, *, audit: bool, json: Path | None
) -> None:
    """Raise BadInput for options of lists that are wrong, or that others exclude."""
    from cts.base.errors import BadInput
    from cts.running.harness_lists import check_format

    given = {"--format": format_name, "--from": from_list}
    for option, name in given.items():
        if name is not None:
            check_format(name, option)
            if audit or json is not None or None not in given.values():
                what = f"{option} with --audit, --json or another list"
                raise BadInput("list-alone", what, "cts baseline", f"{option} {name} alone")
    if driver != "*" and from_list is None:
        raise BadInput("list-alone", "--driver without --from", "cts baseline", "a run knows its drivers")


def _imported(path: Path, from_list: str, driver: str, reason: str) -> None:
    """Print the baseline of a list."""
    from cts.running.caselists import corpus_names
    from cts.running.harness_lists import imported

    made = imported(path, from_list, driver, reason, corpus_names())
    typer.echo(made.text, nl=False)
    foreign = f"; {made.foreign} lines name no failure of a case of the corpus" if made.foreign else ""
    typer.echo(f"{path}: {made.entries} entries{foreign}", err=True)


def _listed(failures: list[Result], format_name: str) -> None:
    """Print a run's failures as a list for deqp-runner."""
    from cts.running.harness_lists import exported

    lines, unnamed = exported(failures, format_name)
    for line in lines:
        typer.echo(line)
    if unnamed:
        what = "generated failures are left out: `cts deqp --draw` names drawn cases"
        typer.echo(f"note: {unnamed} {what}", err=True)


def _audit(run: Run, json: Path | None) -> NoReturn:
    """Print what the known conditions did to a run, and end."""
    from dataclasses import asdict

    from cts.base.errors import BadInput
    from cts.running.store.audit import audited

    check_json(json)
    audit = audited(run)
    if not audit.areas and not any(entry.ran for entry in audit.entries.values()):
        what = "the run has generated no cases, or none that a suite of today has counted, and met no known one"
        raise BadInput("nothing-to-audit", what, str(run.path), "a run with --baseline and generated cases, or --known")
    if not audit.entries:
        what = "the run knew no condition of its drivers"
        raise BadInput("nothing-to-audit", what, str(run.path), "a run with --baseline or --quarantine")
    entries = [{**asdict(entry), "verdict": entry.verdict} for entry in audit.entries.values()]
    write_json(json, {"entries": entries, "areas": [asdict(area) for area in audit.areas.values()]})
    if not is_stdout(json):
        for line in audit.lines():
            typer.echo(line)
    raise typer.Exit(1 if audit.wide else 0)
