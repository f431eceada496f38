"""`cts minimize`: the smallest case, or dispatch of any module, that ends like a given one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cts.faces.cli import completion
from cts.faces.cli.documents import check_json, is_stdout, write_json
from cts.faces.cli.options import BaselineFile, JsonFile, QuarantineFile
from cts.faces.cli.paths import written

if TYPE_CHECKING:
    from cts.case.model import Case
    from cts.findings.reduction.minimize import Minimized
    from cts.findings.reduction.progress import Budget
    from cts.judging.events import Emit, Event
    from cts.judging.judge import OpenDriver


def minimize(
    target: Annotated[
        str,
        typer.Argument(
            help="A case file, the name of a corpus case, the journal of a crash; or a dispatch file, or a module.",
            metavar="CASE",
            autocompletion=completion.cases,
        ),
    ],
    driver: Annotated[
        list[str],
        typer.Option(
            "--driver",
            "-d",
            help="The driver that is wrong; of a dispatch also what to compare it with (interpreter).",
            autocompletion=completion.drivers,
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Write the case to this file, a dispatch to this folder. Default: print it.",
            metavar="PATH",
            callback=written,
            autocompletion=completion.paths,
        ),
    ] = None,
    case_name: Annotated[
        str | None, typer.Option("--case", help="The case of a dispatch file that has several.", metavar="NAME")
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

    A dispatch file, or a module, is reduced in the same way: see `cts docs dispatch`.
    """
    from cts.base.errors import BadInput
    from cts.case.model import dumps_case
    from cts.faces.cli.target import is_dispatch, read, tell_if_not_validated
    from cts.findings.reduction.minimize import renamed, report
    from cts.findings.reduction.progress import Budget
    from cts.plugins import registry
    from cts.running.checks import load_known
    from cts.running.opening import open_driver
    from cts.running.outputs import check_file

    check_json(json)
    if is_dispatch(target):
        _dispatch(Path(target), driver, case_name, out, Budget(seconds, runs=max_runs), quarantine or baseline, json)
        return
    check_file(out, "--out")
    if len(driver) > 1 or case_name is not None:
        option = f"--case {case_name}" if case_name is not None else f"--driver {driver[1]}"
        raise BadInput("not-minimized", "this is for dispatch files; the oracle judges cases", option, "one --driver")
    oracle = registry.oracle()
    case = read(target, oracle)
    tell_if_not_validated()
    opened = open_driver(driver[0], *load_known(quarantine, baseline))
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
        if spec != driver[0]:
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


def _dispatch(
    path: Path,
    drivers: list[str],
    case: str | None,
    out: Path | None,
    budget: Budget,
    known: object,
    json: Path | None,
) -> None:
    """Reduce a dispatch, and write or print what is left. Raises BadInput."""
    from cts.base.errors import BadInput
    from cts.faces.cli.target import tell_if_not_validated
    from cts.findings.reduction.progress import report
    from cts.modules.dispatch.running import dispatch_of
    from cts.modules.dispatch.written import ASSEMBLY, FILE
    from cts.modules.reduction.search import minimize as reduced
    from cts.running.archive import write_folder
    from cts.running.outputs import check_folder

    if known is not None:
        what = "--quarantine and --baseline know cases, and none of dispatch files"
        raise BadInput("not-minimized", what, str(path), "neither of them")
    if len(drivers) > 2:
        what = f"{len(drivers)} drivers"
        raise BadInput("not-minimized", what, f"--driver {drivers[2]}", "the wrong one, then what to compare it with")
    check_folder(out, "--out")
    tell_if_not_validated()
    device, reference = [*drivers, None][:2]
    assert device is not None
    with _shown() as show:
        minimized = reduced(dispatch_of(path, case), device, reference, budget, show)
    made = minimized.files()
    if out is not None:
        write_folder(made, out)
    document = {
        "dispatch": made[FILE].decode(),
        "module": made[ASSEMBLY].decode(),
        "driver": device,
        "reference": minimized.reference,
        "verdict": minimized.verdict,
        "seconds": round(minimized.seconds, 6),
        "lines": list(map(str, minimized.lines)),
        "reduction": minimized.reduction,
    }
    write_json(json, document)
    if is_stdout(json):
        return
    if out is None:
        typer.echo(made[ASSEMBLY].decode() + made[FILE].decode(), nl=False)
    typer.echo(report(minimized.reduction, minimized.verdict, minimized.seconds), err=True)
    if minimized.lines:
        typer.echo("what is left comes from:", err=True)
    for line in minimized.lines:
        typer.echo(f"  {line}", err=True)
    if out is not None:
        other = "" if reference is None else f"-d '{reference}' "
        typer.echo(f"reproduce: cts dispatch {out / FILE} {other}-d '{device}'", err=True)


@contextmanager
def _shown() -> Iterator[Emit]:
    """What shows the progress of a reduction, on stderr if that is a terminal."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from cts.base.heartbeat import heartbeat
    from cts.judging.events import Reduced
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

        yield show


def _watched(case: Case, driver: OpenDriver, budget: Budget) -> tuple[Minimized, str]:
    """The result, and the spec of the driver that it is of, with progress on stderr where it is a terminal."""
    from cts.findings.reduction.minimize import minimize as reduced
    from cts.findings.reduction.narrowing import narrowed_for
    from cts.plugins import registry

    oracle = registry.oracle()
    with _shown() as show:
        driver = narrowed_for(driver, case, oracle)
        return reduced(case, driver, oracle, budget, show), driver.spec
