"""`cts minimize`: the smallest case that ends like a given one."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cts.faces.cli import completion
from cts.faces.cli.documents import check_json, is_stdout, write_json
from cts.faces.cli.options import BaselineFile, JsonFile, QuarantineFile
from cts.faces.cli.paths import written
from cts.faces.cli.target import Driver, Target

if TYPE_CHECKING:
    from cts.case.model import Case
    from cts.findings.reduction.minimize import Budget, Minimized
    from cts.judging.events import Event
    from cts.judging.judge import OpenDriver


def minimize(
    target: Target,
    driver: Driver,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Write the case to FILE. Default: print it.",
            metavar="FILE",
            callback=written,
            autocompletion=completion.paths,
        ),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option("--reduce-time", help="Stop after this time.", metavar="S", min=0)
    ] = None,
    max_runs: Annotated[
        int | None, typer.Option("--max-runs", help="Stop after this many runs.", metavar="N", min=0)
    ] = None,
    quarantine: QuarantineFile = None,
    baseline: BaselineFile = None,
    json: JsonFile = None,
) -> None:
    """Reduce a case as long as the driver gives the same kind of verdict: a crash stays a crash.

    Removes instructions, then shrinks dimensions, numbers, types and data. Only valid cases are tried. With --baseline,
    cases that match a known failure are not taken. Ctrl-C keeps the best case so far. Each step of the reducer is
    printed on stderr, or written by --json.
    """
    from cts.base.errors import BadInput
    from cts.case.model import dumps_case
    from cts.faces.cli.target import read, tell_if_not_validated
    from cts.findings.reduction.minimize import Budget, renamed, report
    from cts.plugins import registry
    from cts.running.checks import load_known
    from cts.running.opening import open_driver
    from cts.running.outputs import check_file

    check_file(out, "--out")
    check_json(json)
    oracle = registry.oracle()
    case = read(target, oracle)
    tell_if_not_validated()
    opened = open_driver(driver, *load_known(quarantine, baseline))
    with closing(opened):
        minimized, spec = _watched(case, opened, Budget(seconds, runs=max_runs))
    text = dumps_case(renamed(minimized))
    if out is not None:
        try:
            out.write_text(text, encoding="utf-8", newline="\n")
        except OSError as e:
            raise BadInput("out-file", e.strerror or str(e), str(out), "a file that can be written") from e
    write_json(json, _document(minimized, text, spec))
    if not is_stdout(json):
        if out is None:
            typer.echo(text, nl=False)
        typer.echo(report(minimized), err=True)
        if spec != driver:
            typer.echo(f"with less in its transforms: {spec}", err=True)
    if out is not None:
        typer.echo(f"reproduce: cts run {out} --driver '{spec}'", err=True)


def _document(minimized: Minimized, text: str, spec: str) -> dict[str, Any]:
    """The case and every step as plain data."""
    return {
        "case": text,
        "driver": spec,
        "verdict": minimized.verdict,
        "seconds": round(minimized.seconds, 6),
        "reduction": minimized.reduction,
    }


def _watched(case: Case, driver: OpenDriver, budget: Budget) -> tuple[Minimized, str]:
    """The result, and the spec of the driver that it is of, with progress on stderr where it is a terminal."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from cts.base.heartbeat import heartbeat
    from cts.findings.reduction.minimize import minimize as reduced
    from cts.findings.reduction.narrowing import narrowed_for
    from cts.judging.events import Reduced
    from cts.plugins import registry
    from cts.showing.report.console import ReportConsole

    console = ReportConsole(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("first runs")

        def show(event: Event) -> None:
            if isinstance(event, Reduced):
                size = f"{event.instructions} instructions, length {event.length}"
                heartbeat.doing = f"{event.verdict.value}: {size}, {event.runs} runs"
                progress.update(task, description=heartbeat.doing)

        oracle = registry.oracle()
        driver = narrowed_for(driver, case, oracle)
        return reduced(case, driver, oracle, budget, show), driver.spec
