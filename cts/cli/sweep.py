"""`cts sweep`: universes of parameter sets on drivers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from cts.cli import completion
from cts.cli.options import ResumedFolder, with_settings
from cts.settings import SWEEP, Settings


class Sweep(TyperCommand):
    """`--list --json` needs no file."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the command line, where `--json` without a file means standard output beside `--list`."""
        if "--list" in args and "--json" in args:
            place = args.index("--json") + 1
            if place == len(args) or args[place].startswith("--"):
                args.insert(place, "-")
        return super().parse_args(ctx, args)


@with_settings(SWEEP)
def sweep(
    context: typer.Context,
    settings: Settings,
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            help="Names of universes as --list prints them, or files. Default: all that come with the suite.",
            metavar="[UNIVERSE]...",
            autocompletion=completion.universes,
        ),
    ] = None,
    list_: Annotated[
        bool, typer.Option("--list", help="List the universes and their sizes; with --json as a list of objects.")
    ] = False,
    resume: ResumedFolder = None,
) -> None:
    """Run every parameter set of a universe, thousands in each dispatch, and compare all memory.

    Sets that are undefined or invalid are excluded by the rule that they break, and never run. Sets that differ are
    reported with what they have in common, each cause once, with its smallest case. The last lines say what was
    enumerated, what was excluded, and what agreed.
    """
    from cts.cli.execution import execute

    if list_:
        _list(targets or [], settings.json)
        return
    settings = replace(settings, corpus=False, generate=False)
    raise typer.Exit(execute(context, SWEEP, settings, resume, universes=tuple(targets or ["*"])))


def _list(targets: list[str], json: Path | None) -> None:
    """Name, size and description of universes."""
    import msgspec

    from cts.errors import Checks
    from cts.sweeps.selection import opened, select

    checks = Checks()
    entries, errors = select(targets)
    checks.errors += errors
    checks.finish()
    universes = [opened(entry.path) for entry in entries]
    if json is not None:
        rows = [{"name": u.name, "size": u.size, "description": u.description} for u in universes]
        typer.echo(msgspec.json.encode(rows).decode())
        return
    for universe in universes:
        typer.echo(f"{universe.name}  {universe.size:,} parameter sets\n    {universe.description}")
