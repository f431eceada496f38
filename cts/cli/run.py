"""`cts run`: cases and generated examples on drivers."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cts.cli import report
from cts.cli.paths import written

if TYPE_CHECKING:
    from cts.judging.events import Emit, Event
    from cts.running.profiles import Profile
    from cts.running.runner import Plan
    from cts.store import RunFolder

#: Parameters that go with --resume: how the run is reported, not what it does.
WITH_RESUME = ("resume", "max_time", "json", "junit", "html", "bundle_dir", "bundle_seconds")


def run(
    context: typer.Context,
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            help="Case files, bundles, folders, names of corpus cases or the beginning of names.", metavar="[CASE]..."
        ),
    ] = None,
    driver: Annotated[
        list[str] | None,
        typer.Option("--driver", "-d", help="A driver to test, e.g. emulator:subgroup_size=64. Repeatable."),
    ] = None,
    area: Annotated[
        list[str] | None, typer.Option("--area", help="Generate cases of this area only. Repeatable.")
    ] = None,
    corpus: Annotated[
        bool | None, typer.Option("--corpus/--no-corpus", help="Run the corpus. Default: yes, unless CASEs are given.")
    ] = None,
    generate: Annotated[
        bool | None,
        typer.Option("--generate/--no-generate", help="Generate cases. Default: yes, unless CASEs are given."),
    ] = None,
    profile: Annotated[
        str, typer.Option("--profile", help="smoke (20 examples, seed 0), default (500) or nightly (10000).")
    ] = "default",
    max_examples: Annotated[
        int | None, typer.Option("--max-examples", help="Generated cases per area and driver.", metavar="N")
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Seed of generation; printed by every run.")] = None,
    keyword: Annotated[
        list[str] | None,
        typer.Option("-k", help="Only cases whose name has this text. Repeatable: all must match.", metavar="TEXT"),
    ] = None,
    shard: Annotated[
        str,
        typer.Option("--shard", help="Only this part of all cases, by their content: 2/3 is the second of three."),
    ] = "1/1",
    max_time: Annotated[
        float | None, typer.Option("--max-time", help="Begin nothing after so many seconds.", metavar="S", min=0)
    ] = None,
    stop: Annotated[bool, typer.Option("-x", "--exitfirst", help="Stop at the first finding.")] = False,
    quarantine: Annotated[
        Path | None,
        typer.Option(
            "--quarantine", help="Cases known to hang or crash a device: left out, or run last.", metavar="FILE"
        ),
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option("--baseline", help="Known failures: new ones and unexpected passes fail the run.", metavar="FILE"),
    ] = None,
    validation: Annotated[
        bool,
        typer.Option("--validation", help="Load the drivers' validation layers: a case that they reject is an error."),
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
        typer.Option("--json", help="Write events as JSON lines to this file; - for stdout.", callback=written),
    ] = None,
    save_dir: Annotated[
        Path,
        typer.Option(
            "--save-dir", help="The folder of runs, in which this run gets its own.", metavar="DIR", callback=written
        ),
    ] = Path("cts-run"),
    junit: Annotated[
        Path | None,
        typer.Option("--junit", help="Write JUnit XML when the run ends.", metavar="FILE", callback=written),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", help="Write an HTML report when the run ends.", metavar="FILE", callback=written),
    ] = None,
    bundle_dir: Annotated[
        Path | None,
        typer.Option(
            "--bundle-dir",
            help="Write a bundle for each finding, to report it to others.",
            metavar="DIR",
            callback=written,
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
        typer.Option("--resume", help="Continue an interrupted run; its settings are kept.", metavar="RUN"),
    ] = None,
) -> None:
    """Run cases on drivers and compare all memory with what the specification allows.

    Without CASE: the whole corpus, then generated cases of every area. A failure is shrunk, shown
    and kept in the run's folder, which is printed; the command that reproduces it is printed last.
    """
    from dataclasses import replace

    from cts import store
    from cts.errors import HarnessTrouble
    from cts.running.profiles import check_shared_seed

    with ExitStack() as stack:
        if resume is not None:
            folder, plan = _resumed(resume, _given(context))
        else:
            plan = _plan(
                targets or [],
                driver or [],
                area,
                corpus,
                generate,
                _profile(profile, max_examples, seed, shard),
                keyword or [],
                stop,
            )
            if plan.areas:
                check_shared_seed(profile, seed, plan.profile.shard)
            plan = _on_devices(plan, quarantine, validation=validation, transforms=transform or [])
            plan = replace(_with_baseline(plan, baseline), reruns=reruns)
            folder = store.create(save_dir, store.Manifest.from_plan(plan, "cts run", ["cts", *sys.argv[1:]]))
        plan = replace(plan, max_seconds=max_time)
        stack.callback(folder.close)
        try:
            status = run_and_report(plan, folder, stack, json, bundle_dir, bundle_seconds)
        except KeyboardInterrupt:
            remedy = f"cts run --resume {folder.path}"
            raise HarnessTrouble("interrupted", "the run was interrupted: it is not complete", remedy=remedy) from None
        finally:
            if junit is not None or html is not None:
                report.report(folder.path, html, junit)
    raise typer.Exit(status)


def _plan(
    targets: list[str],
    drivers: list[str],
    areas: list[str] | None,
    with_corpus: bool | None,
    generate: bool | None,
    settings: Profile,
    words: list[str],
    stop: bool,
) -> Plan:
    from cts.errors import BadInput
    from cts.plugins import registry
    from cts.running import corpus
    from cts.running.runner import Plan

    if not drivers:
        raise BadInput("no-driver", "no driver to test", "cts run", "--driver emulator; `cts drivers` lists them")
    entries, rejected = corpus.select(targets) if targets else ([], [])
    if with_corpus or (with_corpus is None and not targets):
        known = {e.path.resolve() for e in entries}
        every, errors = corpus.select([])
        entries += [e for e in every if e.path.resolve() not in known]
        rejected += errors
    entries = [e for e in entries if corpus.has_words(e.name, words)]
    entries = corpus.of_shard(entries, settings.shard)
    chosen: list[str] = []
    if generate or (generate is None and (areas or not targets)):
        for name in areas or registry.names("cts.areas"):
            try:
                registry.area(name)
            except BadInput as e:
                rejected.append(e)
                continue
            if corpus.has_words(f"generated.{name}", words):
                chosen.append(name)
    if not entries and not chosen and not rejected:
        raise BadInput("nothing-selected", "no case and no area is selected", "cts run", "other text for -k")
    return Plan(tuple(drivers), settings, tuple(entries), tuple(chosen), stop, tuple(rejected))


def _profile(name: str, max_examples: int | None, seed: int | None, shard: str) -> Profile:
    from cts.running.profiles import profile
    from cts.running.shard import parse

    return profile(name, max_examples, seed, parse(shard))


def _on_devices(plan: Plan, quarantine: Path | None, *, validation: bool, transforms: list[str]) -> Plan:
    """The plan with what concerns devices alone."""
    from dataclasses import replace

    from cts.known.quarantine import load
    from cts.plugins import registry

    if quarantine is not None:
        plan = replace(plan, quarantine=load(quarantine))
    drivers = registry.validated(plan.drivers) if validation else plan.drivers
    return replace(plan, drivers=registry.transformed(drivers, transforms))


def _with_baseline(plan: Plan, path: Path | None) -> Plan:
    """The plan with the known failures of a file, and its quarantine beside that of the plan."""
    from dataclasses import replace

    from cts.known.baseline import load
    from cts.known.quarantine import Quarantine

    if path is None:
        return plan
    known, kept = load(path)
    return replace(plan, baseline=known, quarantine=Quarantine((*plan.quarantine.rules, *kept.rules)))


def _given(context: typer.Context) -> list[str]:
    """The parameters that were typed. typer may bring its own click, so that the enum is known by name alone."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return [name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"]


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
            f"only {', '.join(_option(name) for name in WITH_RESUME[1:])} with it",
        )
    return store.resume(path)


def run_and_report(
    plan: Plan,
    folder: RunFolder,
    stack: ExitStack,
    json: Path | None = None,
    bundle_dir: Path | None = None,
    bundle_seconds: float = 0,
) -> int:
    """Run a plan with a report on the terminal; what it keeps goes to `folder`. Returns the exit status.

    `json` and `bundle_dir` are those of `cts run`; `stack` closes what is opened here.
    """
    from rich.console import Console

    from cts.errors import BadInput
    from cts.report.jsonl import JsonLines
    from cts.report.save import Saver
    from cts.report.terminal import Terminal
    from cts.running.runner import run as run_plan
    from cts.running.tally import TROUBLE

    to_stdout = json is not None and str(json) == "-"
    stream = sys.stderr if to_stdout else sys.stdout
    console = Console(file=stream, width=None if stream.isatty() else 160)
    terminal = stack.enter_context(Terminal(console, Console(stderr=True), folder.path))
    consumers: list[Emit] = [folder, Saver(folder.path), terminal]
    if json is not None:
        try:
            lines = sys.stdout.buffer if to_stdout else stack.enter_context(json.open("wb"))
        except OSError as e:
            raise BadInput("json-file", e.strerror or str(e), str(json), "a file that can be written") from e
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
        console.print(f"bundle: {path}", markup=False, highlight=False, soft_wrap=True)
    for trouble in bundles.troubles:
        typer.echo(str(trouble), err=True)
    return TROUBLE if bundles.troubles else status
