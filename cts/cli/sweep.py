"""`cts sweep`: universes of parameter sets on drivers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from cts.cli import completion
from cts.cli.configured import typed
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
    Validation,
)

if TYPE_CHECKING:
    from cts.sweeps.selection import SweepEntry

#: Parameters that go with --resume: how the run is reported, not what it does.
WITH_RESUME = ("resume", "max_time", "jobs", "json", "junit", "html", "bundle_dir", "bundle_seconds", "reduce_seconds")


class Sweep(TyperCommand):
    """`--list --json` needs no file."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the command line, where `--json` without a file means standard output beside `--list`."""
        if "--list" in args and "--json" in args:
            place = args.index("--json") + 1
            if place == len(args) or args[place].startswith("--"):
                args.insert(place, "-")
        return super().parse_args(ctx, args)


def sweep(
    context: typer.Context,
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            help="Names of universes as --list prints them, or files. Default: all that come with the suite.",
            metavar="[UNIVERSE]...",
            autocompletion=completion.universes,
        ),
    ] = None,
    driver: Drivers = None,
    listed: Annotated[
        bool, typer.Option("--list", help="List the universes and their sizes; with --json as a list of objects.")
    ] = False,
    max_sets: Annotated[
        int | None,
        typer.Option(
            "--max-sets", help="Only so many parameter sets of each universe, evenly spread.", metavar="N", min=1
        ),
    ] = None,
    seed: Seed = None,
    shard: ShardText = "1/1",
    jobs: Jobs = "1",
    max_time: MaxTime = None,
    stop: Stop = False,
    quarantine: QuarantineFile = None,
    baseline: BaselineFile = None,
    validation: Validation = False,
    reruns: Reruns = 1,
    json: JsonFile = None,
    save_dir: SaveFolder = Path("cts-run"),
    junit: JunitFile = None,
    html: HtmlFile = None,
    bundle_dir: BundleFolder = None,
    bundle_seconds: BundleSeconds = 20,
    reduce_seconds: ReduceSeconds = 20,
    resume: ResumedFolder = None,
) -> None:
    """Run every parameter set of a universe, thousands in each dispatch, and compare all memory.

    Sets that are undefined or invalid are excluded by the rule that they break, and never run. Sets that differ are
    reported with what they have in common, each cause once, with its smallest case. The last lines say what was
    enumerated, what was excluded, and what agreed.
    """
    from dataclasses import replace

    from cts import store
    from cts.cli.planning import Outputs, Request, make_plan
    from cts.cli.run import resumed, to_the_end
    from cts.errors import Checks
    from cts.running.checks import check_jobs
    from cts.sweeps.selection import select

    checks = Checks()
    entries: list[SweepEntry] = []
    if resume is None:
        entries, errors = select(targets or [], max_sets)
        checks.errors += errors
    if listed:
        checks.finish()
        _list(entries, as_json=json is not None)
        return
    Outputs(json, junit, html, bundle_dir, None if resume else save_dir).check(checks, {})
    processes = 1
    with checks.part():
        processes = check_jobs(jobs)
    if resume is not None:
        checks.finish()
        folder, plan = resumed(resume, typed(context), WITH_RESUME, "cts sweep")
        plan = replace(plan, max_seconds=max_time)
    else:
        request = Request(
            [],
            driver or [],
            [],
            False,
            False,
            "default",
            None,
            seed,
            [],
            shard,
            max_time,
            stop,
            quarantine,
            baseline,
            validation,
            [],
            reruns,
            entries,
        )
        plan = make_plan(request, checks)
        folder = store.create(save_dir, store.Manifest.from_plan(plan, "cts run", ["cts", *sys.argv[1:]]))
    plan = replace(plan, jobs=processes, profile=replace(plan.profile, reduce_seconds=reduce_seconds))
    raise typer.Exit(to_the_end(plan, folder, "cts sweep", (json, junit, html), bundle_dir, bundle_seconds))


def _list(entries: list[SweepEntry], *, as_json: bool) -> None:
    """Name, size and description of universes."""
    import msgspec

    from cts.sweeps.selection import opened

    universes = [opened(entry.path) for entry in entries]
    if as_json:
        rows = [{"name": u.name, "size": u.size, "description": u.description} for u in universes]
        typer.echo(msgspec.json.encode(rows).decode())
        return
    for universe in universes:
        typer.echo(f"{universe.name}  {universe.size:,} parameter sets\n    {universe.description}")
