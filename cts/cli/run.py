"""`cts run`: cases and generated examples on drivers."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cts.cli import completion, report
from cts.cli.configured import OFF, origins, typed
from cts.cli.paths import written

if TYPE_CHECKING:
    from cts.config import Config
    from cts.judging.events import Emit, Event
    from cts.running.runner import Plan
    from cts.store import RunFolder

#: Parameters that go with --resume: how the run is reported, not what it does.
WITH_RESUME = ("resume", "no_config", "max_time", "jobs", "json", "junit", "html", "bundle_dir", "bundle_seconds")


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
    driver: Annotated[
        list[str] | None,
        typer.Option(
            "--driver",
            "-d",
            help="A driver to test, e.g. emulator:subgroup_size=64. Repeatable.",
            autocompletion=completion.drivers,
        ),
    ] = None,
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
    seed: Annotated[int | None, typer.Option("--seed", help="Seed of generation; printed by every run.")] = None,
    keyword: Annotated[
        list[str] | None,
        typer.Option(
            "-k",
            help="Only cases with this text in their names, upper or lower case: of corpus cases as `cts list` prints "
            "them, generated.AREA, of other files without folder. Repeatable: all must match.",
            metavar="TEXT",
        ),
    ] = None,
    shard: Annotated[
        str,
        typer.Option("--shard", help="Only this part of all cases, by their content: 2/3 is the second of three."),
    ] = "1/1",
    jobs: Annotated[
        str,
        typer.Option("--jobs", "-j", help="Processes that share the run; auto: one for each processor.", metavar="N"),
    ] = "1",
    max_time: Annotated[
        float | None, typer.Option("--max-time", help="Begin nothing after so many seconds.", metavar="S", min=0)
    ] = None,
    stop: Annotated[bool, typer.Option("-x", "--exitfirst", help="Stop at the first finding.")] = False,
    quarantine: Annotated[
        Path | None,
        typer.Option(
            "--quarantine",
            help="Cases known to hang or crash a device: left out, or run last.",
            metavar="FILE",
            autocompletion=completion.paths,
        ),
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option(
            "--baseline",
            help="Known failures: new ones and unexpected passes fail the run.",
            metavar="FILE",
            autocompletion=completion.paths,
        ),
    ] = None,
    validation: Annotated[
        bool,
        typer.Option(
            "--validation/--no-validation",
            help="Load the drivers' validation layers: a case that they reject is an error.",
        ),
    ] = False,
    transform: Annotated[
        list[str] | None,
        typer.Option("--transform", help="Transform modules before drivers get them, e.g. spirv-opt:-O. Repeatable."),
    ] = None,
    reruns: Annotated[
        int, typer.Option("--reruns", help="How often a finding is run again, to find flaky ones.", min=0)
    ] = 1,
    json: Annotated[
        Path | None,
        typer.Option(
            "--json",
            help="Write events as JSON lines to this file; - for stdout.",
            callback=written,
            autocompletion=completion.paths,
        ),
    ] = None,
    save_dir: Annotated[
        Path,
        typer.Option(
            "--save-dir",
            help="The folder of runs, in which this run gets its own.",
            metavar="DIR",
            callback=written,
            autocompletion=completion.paths,
        ),
    ] = Path("cts-run"),
    junit: Annotated[
        Path | None,
        typer.Option(
            "--junit",
            help="Write JUnit XML when the run ends.",
            metavar="FILE",
            callback=written,
            autocompletion=completion.paths,
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            help="Write an HTML report when the run ends.",
            metavar="FILE",
            callback=written,
            autocompletion=completion.paths,
        ),
    ] = None,
    bundle_dir: Annotated[
        Path | None,
        typer.Option(
            "--bundle-dir",
            help="Write a bundle for each finding, to report it to others.",
            metavar="DIR",
            callback=written,
            autocompletion=completion.paths,
        ),
    ] = None,
    bundle_seconds: Annotated[
        float,
        typer.Option(
            "--bundle-seconds",
            help="How long to minimise the case of each bundle; 0: not at all.",
            metavar="S",
            min=0,
        ),
    ] = 20,
    resume: Annotated[
        Path | None,
        typer.Option(
            "--resume",
            help="Continue an interrupted run; its settings are kept.",
            metavar="RUN",
            autocompletion=completion.paths,
        ),
    ] = None,
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
    from cts.errors import Checks, HarnessTrouble
    from cts.running.checks import check_jobs

    config: Config | None = context.obj
    places = origins(context)
    checks = Checks()
    checks.errors += config.errors if config is not None else ()
    Outputs(json, junit, html, bundle_dir, None if resume else save_dir).check(checks, places)
    with ExitStack() as stack:
        processes = 1
        with checks.part(places.get("jobs", "")):
            processes = check_jobs(jobs)
        if resume is not None:
            checks.finish()
            folder, plan = _resumed(resume, typed(context))
            plan = replace(plan, max_seconds=max_time)
        else:
            if targets:
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
                places,
            )
            plan = make_plan(request, checks)
            folder = store.create(save_dir, store.Manifest.from_plan(plan, "cts run", ["cts", *sys.argv[1:]]))
        plan = replace(plan, jobs=processes, config=str(config.path) if config is not None else "")
        stack.callback(folder.close)
        try:
            status = run_and_report(plan, folder, stack, json, bundle_dir, bundle_seconds, in_workflow=True)
        except KeyboardInterrupt:
            remedy = f"cts run --resume {folder.path}"
            raise HarnessTrouble("interrupted", "the run was interrupted: it is not complete", remedy=remedy) from None
        finally:
            if junit is not None or html is not None:
                report.report(folder.path, html, junit)
    raise typer.Exit(status)


def _option(parameter: str) -> str:
    return f"--{parameter.replace('_', '-')}"


def _resumed(path: Path, given: list[str]) -> tuple[RunFolder, Plan]:
    """The run to continue. Raises BadInput where other options ask for another run."""
    from cts import store
    from cts.errors import BadInput

    others = [_option(name) for name in given if name not in WITH_RESUME]
    if others:
        raise BadInput(
            "resume-options",
            f"a resumed run keeps its settings, and takes no {', '.join(others)}",
            "cts run --resume",
            f"only {', '.join(_option(name) for name in WITH_RESUME[2:])} with it",
        )
    return store.resume(path)


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
    from cts.errors import BadInput
    from cts.report.console import ReportConsole
    from cts.report.github import GitHub
    from cts.report.jsonl import JsonLines
    from cts.report.save import Saver
    from cts.report.terminal import Terminal
    from cts.running.runner import run as run_plan
    from cts.running.tally import TROUBLE

    to_stdout = json is not None and str(json) == "-"
    stream = sys.stderr if to_stdout else sys.stdout
    console = ReportConsole(file=stream, width=None if stream.isatty() else 160)
    terminal = stack.enter_context(Terminal(console, ReportConsole(stderr=True), folder.path))
    consumers: list[Emit] = [folder, Saver(folder.path), terminal]

    def write(line: str) -> None:
        console.print(line, markup=False, highlight=False, soft_wrap=True)

    github = GitHub.from_environment(folder.path, write) if in_workflow else None
    if github is not None:
        consumers.append(github)
    if json is not None:
        try:
            lines = sys.stdout.buffer if to_stdout else stack.enter_context(json.open("wb"))
        except OSError as e:
            raise BadInput("output-path", e.strerror or str(e), f"--json {json}", "a file that can be written") from e
        consumers.append(JsonLines(lines))

    bundles = None
    if bundle_dir is not None:
        from cts.export.bundles import Bundles

        bundles = Bundles(bundle_dir, plan.quarantine, bundle_seconds)
        stack.callback(bundles.close)
        consumers.append(bundles)

    def emit(event: Event) -> None:
        for consumer in consumers:
            consumer(event)

    status = run_plan(plan, emit)
    if bundles is None:
        return status
    for path in bundles.written:
        write(f"bundle: {path}")
    for trouble in bundles.troubles:
        typer.echo(str(trouble), err=True)
    return TROUBLE if bundles.troubles else status
