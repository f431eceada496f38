"""The verbs of `cts`. Each module imports what it needs when its verb runs, so that `cts --help` is quick."""

from __future__ import annotations

from typing import Annotated

import typer

import cts
from cts.cli import (
    baseline,
    check,
    configured,
    coverage,
    demo,
    diff,
    dispatch,
    doctor,
    drivers,
    explain,
    export,
    minimize,
    report,
    run,
    schema,
    show,
    sweep,
    triage,
    worker,
)
from cts.cli import list as list_

EXIT_STATUS = "Exit status: 0 no findings, 1 findings, 2 wrong usage or input, 3 an error of a driver or the suite."

app = typer.Typer(
    help=f"{cts.__doc__}\n\n{EXIT_STATUS}",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"cts {cts.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


app.command("demo", epilog=EXIT_STATUS)(demo.demo)
app.command("run", epilog=EXIT_STATUS, cls=configured.Configured)(run.run)
app.command("sweep", epilog=EXIT_STATUS, cls=sweep.Sweep)(sweep.sweep)
app.command("diff")(diff.diff)
app.command("baseline")(baseline.baseline)
app.command("triage")(triage.triage)
app.command("report")(report.report)
app.command("list")(list_.list_cases)
app.command("show")(show.show)
app.command("check")(check.check)
app.command("coverage", epilog=EXIT_STATUS)(coverage.coverage)
app.command("dispatch", epilog=EXIT_STATUS)(dispatch.dispatch)
app.command("explain", epilog=EXIT_STATUS)(explain.explain)
app.command("minimize")(minimize.minimize)
app.command("export", epilog=EXIT_STATUS)(export.export)
app.command("drivers")(drivers.drivers)
app.command("doctor", epilog=EXIT_STATUS)(doctor.doctor)
app.command("schema")(schema.schema)
app.command("worker")(worker.worker)
