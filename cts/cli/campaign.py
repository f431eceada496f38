"""`cts campaign`: very many drawn cases on a device, in many processes."""

from __future__ import annotations

import signal
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cts.cli import completion
from cts.cli.configured import typed
from cts.cli.options import (
    BaselineFile,
    Jobs,
    MaxTime,
    QuarantineFile,
    Reruns,
    ResumedFolder,
    SaveFolder,
    Seed,
    Transforms,
)

if TYPE_CHECKING:
    from cts.campaign.local import Executor
    from cts.campaign.settings import Settings

#: Parameters that go with --resume: who does it and how it is shown, not what it is.
WITH_RESUME = ("resume", "max_time", "jobs", "devices", "scheduler", "reduce_seconds")


def campaign(
    context: typer.Context,
    driver: Annotated[
        str | None,
        typer.Option(
            "--driver",
            "-d",
            help="The driver to test. {device} in it is the device of each process, see --devices.",
            autocompletion=completion.drivers,
        ),
    ] = None,
    area: Annotated[
        list[str] | None,
        typer.Option("--area", help="Only this area. Repeatable. Default: all.", autocompletion=completion.areas),
    ] = None,
    cases: Annotated[
        int | None,
        typer.Option(
            "--cases", help="Cases to draw, of all areas together. Default: until --max-time.", metavar="N", min=1
        ),
    ] = None,
    seed: Seed = None,
    jobs: Jobs = "1",
    max_time: MaxTime = None,
    sets: Annotated[
        int,
        typer.Option(
            "--sets",
            help="Run each case that passes with so many other operands and contents of buffers, too.",
            metavar="N",
            min=0,
        ),
    ] = 0,
    sweep: Annotated[
        int, typer.Option("--sweep", help="Also judge so many parameter sets of each universe.", metavar="N", min=0)
    ] = 0,
    devices: Annotated[
        str | None,
        typer.Option(
            "--devices", help="The devices of the processes, in turn: 0,1. For {device} in --driver.", metavar="LIST"
        ),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            "--scheduler",
            help='Use the workers of this Dask scheduler that declare --resources "cts=1", and no processes here.',
            metavar="ADDRESS",
        ),
    ] = None,
    chunk: Annotated[
        int, typer.Option("--chunk", help="Cases that a process gets at a time.", metavar="N", min=1, max=10_000)
    ] = 25,
    transform: Transforms = None,
    quarantine: QuarantineFile = None,
    baseline: BaselineFile = None,
    reruns: Reruns = 1,
    reduce_seconds: Annotated[
        float,
        typer.Option(
            "--reduce-seconds",
            help="How long to make a case of each new cause smaller; 0: not at all.",
            metavar="S",
            min=0,
        ),
    ] = 20,
    save_dir: SaveFolder = Path("cts-run"),
    resume: ResumedFolder = None,
) -> None:
    """Draw very many cases, judge them in many processes, and keep every finding.

    Unlike `cts run`, a finding ends nothing: all are counted, those that are known by their reason, new ones by what is
    suspected, and some cases of each are kept. Areas that still bring something new get more of the time. What comes
    back is kept at once: after any end, --resume goes on where it was.
    """
    from cts.campaign import folder as folders
    from cts.campaign.page import page
    from cts.campaign.running import Campaign
    from cts.campaign.table import Terminal, end
    from cts.cli.report import write
    from cts.cli.run import check_resumed
    from cts.deadline import Deadline
    from cts.errors import BadInput
    from cts.report.console import ReportConsole

    if resume is not None:
        check_resumed(typed(context), WITH_RESUME, "cts campaign")
        wanted = folders.settings_of(resume)
    else:
        wanted = settings_of(
            driver,
            area or [],
            cases,
            seed,
            sets,
            sweep,
            chunk,
            transform or [],
            (quarantine, baseline),
            reruns,
            devices,
        )
        if cases is None and max_time is None:
            raise BadInput("endless", "a campaign without an end", "cts campaign", "--cases N, --max-time S, or both")
    status = 128 + signal.SIGINT
    with ExitStack() as stack:
        executor = executor_of(wanted, jobs, devices, scheduler)
        stack.callback(executor.close)
        folder = folders.create(save_dir, wanted) if resume is None else folders.resume(resume)
        stack.callback(folder.close)
        console = ReportConsole(width=None if sys.stdout.isatty() else 160)
        terminal = stack.enter_context(Terminal(console))
        typer.echo(f"campaign kept in {folder.path}, seed {folder.settings.seed}", err=True)
        try:
            status = Campaign(folder, executor, terminal, Deadline(max_time), reduce_seconds).run()
        except KeyboardInterrupt:
            again = f"cts campaign --resume {folder.path}"
            typer.echo(f"interrupted: the campaign is not complete; to go on: {again}", err=True)
        finally:
            write(folder.path / folders.PAGE, page(folder.settings, folder.totals, folder.path).encode())
        terminal.__exit__()
        end(console, folder)
    raise typer.Exit(status)


def settings_of(
    driver: str | None,
    areas: list[str],
    cases: int | None,
    seed: int | None,
    sets: int,
    sweep: int,
    chunk: int,
    transforms: list[str],
    known: tuple[Path | None, Path | None],
    reruns: int,
    devices: str | None = None,
) -> Settings:
    """The settings of a new campaign. Raises BadInput, or BadInputs with all that is wrong."""
    from cts.campaign.settings import DEVICE, Settings, identity, now
    from cts.errors import BadInput, Checks
    from cts.known.baseline import NO_BASELINE
    from cts.known.quarantine import NO_RULES
    from cts.plugins import registry
    from cts.running.checks import check_drivers, load_known
    from cts.running.profiles import profile
    from cts.sweeps.selection import select, sweep_record

    checks = Checks()
    spec = driver or ""
    with checks.part():
        if driver is None:
            raise BadInput(
                "no-driver", "no driver to test", "cts campaign", "--driver emulator; `cts drivers` lists them"
            )
        check_drivers([driver.replace(DEVICE, (devices or "0").split(",")[0].strip())])
        for text in transforms:
            registry.check_transform(text)
        (spec,) = registry.transformed((driver,), transforms)
    areas = list(dict.fromkeys(areas or registry.names("cts.areas")))
    for name in areas:
        with checks.part():
            registry.area(name)
    quarantine, baseline = NO_RULES, NO_BASELINE
    with checks.part():
        quarantine, baseline = load_known(*known)
    settled = 0
    with checks.part():
        settled = profile("default", None, seed).seed or 0
    entries = select([], sweep)[0] if sweep else []
    checks.finish()
    drawable = areas_of(spec, areas)
    return Settings(
        spec,
        drawable,
        settled,
        cases,
        chunk,
        round=64,
        suite=identity(),
        sets=sets,
        reruns=reruns,
        sweeps=tuple(map(sweep_record, entries)),
        quarantine=quarantine.rules,
        baseline=baseline.rules,
        command=("cts", *sys.argv[1:]),
        started=now(),
    )


def executor_of(settings: Settings, jobs: str, devices: str | None, scheduler: str | None) -> Executor:
    """Where the chunks are done: processes here, or the workers of a scheduler. Raises BadInput."""
    from cts.campaign.settings import DEVICE
    from cts.errors import BadInput
    from cts.running.checks import check_jobs

    if scheduler is not None:
        if jobs != "1" or devices is not None:
            what = "--scheduler with --jobs or --devices"
            remedy = "the workers have processes and devices of their own: see docs/scaling.md"
            raise BadInput("whose-processes", what, "cts campaign", remedy)
        from cts.campaign.on_dask import Cluster

        return Cluster(settings, scheduler)
    from cts.campaign.local import Processes

    count, names = check_jobs(jobs), [name.strip() for name in devices.split(",")] if devices is not None else []
    if (DEVICE in settings.driver) != bool(names) or not all(names):
        what = f"--devices {devices!r} with --driver {settings.driver!r}"
        raise BadInput("devices", what, "cts campaign", f"both or none: -d 'vulkan:{DEVICE}' --devices 0,1")
    return Processes(settings, count, names)


def areas_of(spec: str, areas: list[str]) -> tuple[str, ...]:
    """The areas that have cases for the driver; that others have none is told. Raises BadInput where none has."""
    from contextlib import closing

    from cts.campaign.settings import DEVICE
    from cts.errors import BadInput, NothingToGenerate
    from cts.plugins import registry
    from cts.running.opening import open_driver

    if DEVICE in spec:  # which devices there are, only the processes know
        return tuple(areas)
    opened, found = open_driver(spec), []
    with closing(opened):
        for area in areas:
            try:
                registry.area(area)(opened.capabilities)
                found.append(area)
            except NothingToGenerate as e:
                typer.echo(f"left out: {area}: {e}", err=True)
    if not found:
        raise BadInput("nothing-to-generate", f"no area has a case for {spec!r}", "cts campaign", "another driver")
    return tuple(found)
