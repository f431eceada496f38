"""`cts run`: cases and generated examples on drivers."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from cts.cli import completion, report
from cts.cli.configured import OFF, origins, typed
from cts.cli.options import (
    BaselineFile,
    BundleFolder,
    BundleSeconds,
    Drivers,
    HtmlFile,
    Jobs,
    JsonFile,
    JunitFile,
    MaxTime,
    QuarantineFile,
    ReduceSeconds,
    Reruns,
    ResumedFolder,
    SaveFolder,
    Seed,
    ShardText,
    Stop,
    Transforms,
    Validation,
)

if TYPE_CHECKING:
    from cts.config import Config
    from cts.judging.events import Event
    from cts.running.runner import Plan
    from cts.store import RunFolder

#: Parameters that go with --resume: how the run is reported, not what it does.
WITH_RESUME = (
    "resume",
    "no_config",
    "max_time",
    "jobs",
    "json",
    "junit",
    "html",
    "bundle_dir",
    "bundle_seconds",
    "reduce_seconds",
)


def run(
    context: typer.Context,
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            help="Case files, bundles, folders, names of corpus cases or the beginning of names.",
            metavar="[CASE]...",
            autocompletion=completion.cases,
        ),
    ] = None,
    driver: Drivers = None,
    area: Annotated[
        list[str] | None,
        typer.Option("--area", help="Generate cases of this area only. Repeatable.", autocompletion=completion.areas),
    ] = None,
    corpus: Annotated[
        bool | None, typer.Option("--corpus/--no-corpus", help="Run the corpus. Default: yes, unless CASEs are given.")
    ] = None,
    generate: Annotated[
        bool | None,
        typer.Option("--generate/--no-generate", help="Generate cases. Default: yes, unless CASEs are given."),
    ] = None,
    profile: Annotated[
        str,
        typer.Option(
            "--profile",
            help="smoke (20 examples, seed 0), default (500) or nightly (10000).",
            autocompletion=completion.profiles,
        ),
    ] = "default",
    max_examples: Annotated[
        int | None, typer.Option("--max-examples", help="Generated cases per area and driver.", metavar="N")
    ] = None,
    seed: Seed = None,
    sets: Annotated[
        int,
        typer.Option(
            "--sets",
            help="Run each generated case that passes with so many other operands and contents of buffers, too.",
            metavar="N",
            min=0,
        ),
    ] = 0,
    listed: Annotated[
        bool,
        typer.Option(
            "--listed",
            help="Instead: one smallest and one largest case of everything that the drivers list, named after its row.",
        ),
    ] = False,
    keyword: Annotated[
        list[str] | None,
        typer.Option(
            "-k",
            help="Only cases with this text in their names, upper or lower case: of corpus cases as `cts list` prints "
            "them, generated.AREA, of other files without folder. Repeatable: all must match.",
            metavar="TEXT",
        ),
    ] = None,
    shard: ShardText = "1/1",
    jobs: Jobs = "1",
    max_time: MaxTime = None,
    stop: Stop = False,
    quarantine: QuarantineFile = None,
    baseline: BaselineFile = None,
    validation: Validation = False,
    transform: Transforms = None,
    forms: Annotated[
        int,
        typer.Option(
            "--forms",
            help="Also run each driver that runs modules with every module in so many other forms.",
            metavar="N",
            min=0,
        ),
    ] = 0,
    optimised: Annotated[
        int,
        typer.Option(
            "--optimised",
            help="Also run each driver that runs modules with every module after so many drawn lists of passes of "
            "spirv-opt.",
            metavar="N",
            min=0,
        ),
    ] = 0,
    stages: Annotated[
        str,
        typer.Option(
            "--stages",
            help="Also run each driver that can in these shader stages: all, or names such as fragment,miss. Cases of "
            "cooperative vectors alone run there.",
            metavar="NAMES",
        ),
    ] = "",
    reruns: Reruns = 1,
    json: JsonFile = None,
    save_dir: SaveFolder = Path("cts-run"),
    junit: JunitFile = None,
    html: HtmlFile = None,
    bundle_dir: BundleFolder = None,
    bundle_seconds: BundleSeconds = 20,
    reduce_seconds: ReduceSeconds = 20,
    resume: ResumedFolder = None,
    no_config: Annotated[bool, typer.Option(OFF, help="Use no pyproject.toml.")] = False,
) -> None:
    """Run cases on drivers and compare all memory with what the specification allows.

    Without CASE: the whole corpus, then generated cases of every area. A failure is shrunk, shown
    and kept in the run's folder, which is printed; the command that reproduces it is printed last.

    Options may have defaults in the table tool.cts of a pyproject.toml, in this folder or above.
    """
    from dataclasses import replace

    from cts import store
    from cts.cli.planning import Outputs, Request, make_plan
    from cts.errors import Checks
    from cts.running.checks import check_jobs

    config: Config | None = context.obj
    places = origins(context)
    checks = Checks()
    checks.errors += config.errors if config is not None else ()
    Outputs(json, junit, html, bundle_dir, None if resume else save_dir).check(checks, places)
    processes = 1
    with checks.part(places.get("jobs", "")):
        processes = check_jobs(jobs)
    if resume is not None:
        checks.finish()
        folder, plan = resumed(resume, typed(context), WITH_RESUME, "cts run")
        plan = replace(plan, max_seconds=max_time)
    else:
        if targets or listed:
            # What a file says of all cases is not meant for those that are named.
            area = None if "area" in places else area
            corpus = None if "corpus" in places else corpus
            generate = None if "generate" in places else generate
            shard = "1/1" if "shard" in places else shard
        request = Request(
            targets or [],
            driver or [],
            area or [],
            corpus,
            generate,
            profile,
            max_examples,
            seed,
            keyword or [],
            shard,
            max_time,
            stop,
            quarantine,
            baseline,
            validation,
            transform or [],
            reruns,
            sets=sets,
            forms=forms,
            listed=save_dir if listed else None,
            optimised=optimised,
            stages=stages,
            origins=places,
        )
        plan = make_plan(request, checks)
        folder = store.create(save_dir, store.Manifest.from_plan(plan, "cts run", ["cts", *sys.argv[1:]]))
    plan = replace(plan, profile=replace(plan.profile, reduce_seconds=reduce_seconds))
    plan = replace(plan, jobs=processes, config=str(config.path) if config is not None else "")
    raise typer.Exit(to_the_end(plan, folder, "cts run", (json, junit, html), bundle_dir, bundle_seconds))


def _option(parameter: str) -> str:
    return f"--{parameter.replace('_', '-')}"


def resumed(path: Path, given: list[str], allowed: Sequence[str], verb: str) -> tuple[RunFolder, Plan]:
    """The run to continue. Raises BadInput where other options than the `allowed` ones ask for another run."""
    from cts import store

    check_resumed(given, allowed, verb)
    return store.resume(path)


def check_resumed(given: list[str], allowed: Sequence[str], verb: str) -> None:
    """Raise BadInput where other options than the `allowed` ones ask for another run than the one that is resumed."""
    from cts.errors import BadInput

    others = [_option(name) for name in given if name not in allowed]
    if others:
        raise BadInput(
            "resume-options",
            f"a resumed run keeps its settings, and takes no {', '.join(others)}",
            f"{verb} --resume",
            f"only {', '.join(_option(name) for name in allowed if name not in ('resume', 'no_config'))} with it",
        )


def to_the_end(
    plan: Plan,
    folder: RunFolder,
    verb: str,
    outputs: tuple[Path | None, Path | None, Path | None],
    bundle_dir: Path | None,
    bundle_seconds: float,
) -> int:
    """Run a plan, write JSON lines, JUnit XML and an HTML report where `outputs` say; returns the exit status.

    That of a run that is interrupted is that of a program that the signal SIGINT has ended.
    """
    from cts.errors import CtsError, HarnessTrouble
    from cts.verdict import TROUBLE

    json, junit, html = outputs
    status = TROUBLE
    try:
        with ExitStack() as stack:
            stack.callback(folder.close)
            status = run_and_report(plan, folder, stack, json, bundle_dir, bundle_seconds, in_workflow=True)
    except KeyboardInterrupt:
        status = 128 + signal.SIGINT
        typer.echo(f"interrupted: the run is not complete; to go on: {verb} --resume {folder.path}", err=True)
    except SystemExit as e:
        remedy = f"{verb} --resume {folder.path}; a driver in a process of its own cannot do that: process=own"
        raise HarnessTrouble("exit", f"something has ended the run by an exit ({e.code})", remedy=remedy) from e
    finally:
        written = bundle_dir if bundle_dir is not None and bundle_dir.is_dir() else None
        for page, document in ((html, None), (None, junit)):
            if page is not None or document is not None:
                try:
                    report.report(folder.path, page, document, bundle_dir=written)
                except CtsError as e:
                    typer.echo(str(e), err=True)
                    status = TROUBLE if status < TROUBLE else status
    return status


def _closed(file: BinaryIO) -> None:
    """Close a file. That what is left of it cannot be written is known by then."""
    with suppress(OSError):
        file.close()


def run_and_report(
    plan: Plan,
    folder: RunFolder,
    stack: ExitStack,
    json: Path | None = None,
    bundle_dir: Path | None = None,
    bundle_seconds: float = 0,
    *,
    in_workflow: bool = False,
) -> int:
    """Run a plan with a report on the terminal; what it keeps goes to `folder`. Returns the exit status.

    `json` and `bundle_dir` are those of `cts run`; `stack` closes what is opened here. `in_workflow` reports to GitHub,
    too, where this is part of a workflow there.
    """
    from cts.cli.streams import command_writer
    from cts.errors import BadInput
    from cts.report.console import ReportConsole
    from cts.report.github import GitHub
    from cts.report.jsonl import JsonLines
    from cts.report.save import Saver
    from cts.report.side import SideOutput
    from cts.report.terminal import Terminal
    from cts.running.runner import run as run_plan
    from cts.verdict import TROUBLE

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
        from cts.deadline import Deadline
        from cts.export.bundles import Bundles

        bundles = Bundles(bundle_dir, plan.quarantine, bundle_seconds, Deadline(plan.max_seconds))
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
