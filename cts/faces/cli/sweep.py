"""`cts sweep`: universes of parameter sets on drivers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from cts.base.settings import SWEEP, Settings
from cts.faces.cli import completion
from cts.faces.cli.options import ResumedFolder, with_settings


@with_settings(SWEEP)
def sweep(
    context: typer.Context,
    settings: Settings,
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            help="Names of universes as --list prints them, or files. Default: all that come with the suite.",
            metavar="UNIVERSE",
            autocompletion=completion.universes,
        ),
    ] = None,
    list_: Annotated[
        bool, typer.Option("--list", help="List the universes and their sizes, with --json as a list of objects.")
    ] = False,
    resume: ResumedFolder = None,
) -> None:
    """Run every parameter set of a universe, thousands in each dispatch, and compare all memory.

    Sets that are undefined or invalid are excluded by the rule that they break, and never run. Sets that differ are
    reported with what they have in common, each cause once, with its smallest case. The last lines count the
    enumerated, the excluded and the agreeing sets.
    """
    from cts.faces.cli.execution import execute

    if list_:
        _list(targets or [], settings.json)
        return
    settings = replace(settings, corpus=False, generate=False)
    raise typer.Exit(execute(context, SWEEP, settings, resume, universes=tuple(targets or ["*"])))


def _list(targets: list[str], json: Path | None) -> None:
    """Name, size and description of universes."""
    from cts.base.errors import Checks
    from cts.faces.cli.documents import is_stdout, write_json
    from cts.running.sweeps.selection import opened, select

    checks = Checks()
    entries, errors = select(targets)
    checks.errors += errors
    checks.finish()
    universes = [opened(entry.path) for entry in entries]
    write_json(json, [{"name": u.name, "size": u.size, "description": u.description} for u in universes])
    for universe in universes if not is_stdout(json) else ():
        typer.echo(f"{universe.name}  {universe.size:,} parameter sets\n    {universe.description}")
