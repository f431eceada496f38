"""`cts baseline`: the failures of a run as a list of known ones."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cts.cli import completion


def baseline(
    run: Annotated[
        Path,
        typer.Argument(
            help="The folder of a run, or the folder of runs for the latest.", autocompletion=completion.paths
        ),
    ],
    reason: Annotated[str, typer.Option("--reason", help="Why these cases fail; reports print it.")] = "known",
    link: Annotated[str, typer.Option("--link", help="Where to read more, such as a bug report.")] = "",
) -> None:
    """Print a baseline, for `cts run --baseline`, that lists every failure of a run.

    Errors of the suite or of a driver are no failures of a device, and are not listed.
    """
    from cts.cli.stored import stored
    from cts.known.baseline import document

    stored_run = stored(run)
    typer.echo(document(stored_run.findings(), stored_run.manifest.drivers, reason, link), nl=False)
