"""What the verbs that run cases do: settings become a plan, which is run and reported."""

from __future__ import annotations

import sys
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import typer

from cts.base.settings import CAMPAIGN, Settings, declared, of_verb
from cts.faces.cli import report
from cts.faces.cli.configured import typed

if TYPE_CHECKING:
    from cts.base.config import Config
    from cts.judging.events import Event
    from cts.running.plan import Plan
    from cts.running.store import RunFolder


def execute(
    context: typer.Context,
    verb: str,
    settings: Settings,
    resume: Path | None,
    *,
    targets: tuple[str, ...] = (),
    universes: tuple[str, ...] = (),
    config: Config | None = None,
) -> int:
    """Run what a verb was asked for; returns the exit status. Raises BadInput, or BadInputs with all that is wrong.

    `targets` are cases, `universes` what is swept of these ("*": all).
    """
    from cts.base.errors import Checks
    from cts.faces.cli.planning import Request, check_outputs, make_plan
    from cts.running import store

    checks = Checks()
    checks.errors += config.errors if config is not None else ()
    check_outputs(settings, checks, resumed=resume is not None)
    request = Request(f"cts {verb}", settings, targets, universes)
    if resume is not None:
        jobs, devices = request.processes(checks)
        checks.finish()
        check_resumed(typed(context), verb)
        folder, plan = store.resume(resume)
        plan = replace(plan, jobs=jobs, devices=devices or plan.devices, scheduler=settings.scheduler or "")
    else:
        plan = make_plan(request, checks)
        folder = store.create(settings.save_dir, store.Manifest.from_plan(plan, "cts run", ["cts", *sys.argv[1:]]))
    plan = replace(plan, max_seconds=settings.max_time, config=str(config.path) if config else "")
    if settings.reduce_time is not None:
        plan = replace(plan, profile=replace(plan.profile, reduce_seconds=settings.reduce_time))
    html = settings.html
    if verb == CAMPAIGN and html is None:
        html = folder.path / "report.html"
    return to_the_end(plan, folder, f"cts {verb}", replace(settings, html=html))


def check_resumed(given: list[str], verb: str) -> None:
    """Raise BadInput where options that were typed ask for another run than the one that is resumed."""
    from cts.base.errors import BadInput

    allowed = [setting for setting in of_verb(verb) if setting.option.resumed]
    names = {setting.name for setting in allowed} | {"resume", "no_config"}
    others = [declared()[name].flags[-1] if name in declared() else name for name in given if name not in names]
    if others:
        raise BadInput(
            "resume-options",
            f"a resumed run keeps its settings, and takes no {', '.join(others)}",
            f"cts {verb} --resume",
            f"only {', '.join(setting.flags[0] for setting in allowed)} with it",
        )


def to_the_end(plan: Plan, folder: RunFolder, verb: str, settings: Settings) -> int:
    """Run a plan, write JSON lines, JUnit XML and an HTML report where settings say; returns the exit status.

    That of a run that is interrupted is that of a program that the signal SIGINT has ended.
    """
    from cts.base.deadline import Deadline
    from cts.base.errors import BadInput, CtsError, HarnessTrouble
    from cts.judging.verdict import BAD_INPUT, INTERRUPTED, TROUBLE

    bundle_dir = settings.bundle_dir
    status, whole, time_is_up = TROUBLE, False, Deadline(settings.max_time)
    again = f"{verb} --resume {folder.path}{f' --scheduler {settings.scheduler}' if settings.scheduler else ''}"
    to_go_on = f"the run is not complete; to go on: {again}"
    try:
        with ExitStack() as stack:
            stack.callback(folder.close)
            status = run_and_report(plan, folder, stack, settings, in_workflow=True)
        whole = not folder.unanswered
        if not whole:
            typer.echo(to_go_on, err=True)
    except (KeyboardInterrupt, CtsError) as e:
        if isinstance(e, CtsError) and not e.told:
            raise
        interrupted = isinstance(e, KeyboardInterrupt)
        status = INTERRUPTED if interrupted else BAD_INPUT if isinstance(e, BadInput) else TROUBLE
        typer.echo(f"{'interrupted: ' if interrupted else ''}{to_go_on}", err=True)
    except SystemExit as e:
        remedy = f"{verb} --resume {folder.path}; a driver in a process of its own cannot do that: process=own"
        raise HarnessTrouble("exit", f"something has ended the run by an exit ({e.code})", remedy=remedy) from e
    finally:
        written = bundle_dir if bundle_dir is not None and bundle_dir.is_dir() else None
        for page, document in ((settings.html, None), (None, settings.junit)):
            if folder.begun and (page is not None or document is not None):
                try:
                    # When the time is up, or after an unplanned end, nobody waits for the table of facts: it takes
                    # seconds, and on a busy machine many.
                    coverage = whole and not time_is_up()
                    report.report(folder.path, page, document, bundle_dir=written, coverage=coverage)
                except CtsError as e:
                    typer.echo(str(e), err=True)
                    status = TROUBLE if status < TROUBLE else status
    return status


def _closed(file: BinaryIO) -> None:
    """Close a file. That what is left of it cannot be written is known by then."""
    with suppress(OSError):
        file.close()


def run_and_report(
    plan: Plan, folder: RunFolder, stack: ExitStack, settings: Settings | None = None, *, in_workflow: bool = False
) -> int:
    """Run a plan with a report on the terminal; what it keeps goes to `folder`. Returns the exit status.

    `settings` say where else it is reported; `stack` closes what is opened here. `in_workflow` reports to GitHub,
    too, where this is part of a workflow there.
    """
    from cts.base.errors import BadInput
    from cts.faces.cli.streams import command_writer
    from cts.judging.verdict import TROUBLE
    from cts.running.runner import run as run_plan
    from cts.showing.report.console import ReportConsole
    from cts.showing.report.github import GitHub
    from cts.showing.report.jsonl import JsonLines
    from cts.showing.report.save import Saver
    from cts.showing.report.side import SideOutput
    from cts.showing.report.terminal import Terminal

    settings = settings or Settings()
    json, bundle_dir = settings.json, settings.bundle_dir
    to_stdout = json is not None and str(json) == "-"
    stream = sys.stderr if to_stdout else sys.stdout
    console = ReportConsole(file=stream, width=None if stream.isatty() else 160)
    terminal = stack.enter_context(Terminal(console, ReportConsole(stderr=True), folder.path))
    sides = [
        SideOutput(Saver(folder.path), f"what is saved in {folder.path} beside the run"),
        SideOutput(terminal, "the report on the terminal"),
    ]

    def write(line: str) -> None:
        console.print(line, markup=False, highlight=False, soft_wrap=True)

    github = GitHub.from_environment(folder.path, command_writer(stream)) if in_workflow else None
    if github is not None:
        sides.append(SideOutput(github, "the report to GitHub"))
    if json is not None:
        try:
            lines = sys.stdout.buffer if to_stdout else json.open("wb")
        except OSError as e:
            raise BadInput("output-path", e.strerror or str(e), f"--json {json}", "a file that can be written") from e
        if not to_stdout:
            stack.callback(_closed, lines)
        sides.append(SideOutput(JsonLines(lines), f"--json {json}", whole=True))

    bundles = None
    if bundle_dir is not None:
        from cts.base.deadline import Deadline
        from cts.showing.export.bundles import Bundles

        bundles = Bundles(bundle_dir, plan.quarantine, plan.profile.reduce_seconds, Deadline(plan.max_seconds))
        stack.callback(bundles.close)
        sides.append(SideOutput(bundles, f"--bundle-dir {bundle_dir}"))

    def emit(event: Event) -> None:
        folder(event)
        for side in sides:
            side(event)

    status = run_plan(plan, emit)
    troubles = [side.trouble for side in sides if side.trouble is not None]
    if bundles is not None:
        for path in bundles.written:
            write(f"bundle: {path}")
        troubles += bundles.troubles
    for trouble in troubles:
        typer.echo(str(trouble), err=True)
    return max(status, TROUBLE) if troubles else status
