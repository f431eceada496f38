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
    incomplete: Annotated[
        bool, typer.Option("--incomplete", help="Also of a run in which something has no verdict.")
    ] = False,
    timeouts: Annotated[
        bool, typer.Option("--timeouts", help="List timeouts as well, which a busy machine may have caused.")
    ] = False,
) -> None:
    """Print a baseline, for `cts run --baseline`, that lists every failure of a run.

    Errors of the suite or of a driver are no failures of a device, and are not listed.
    """
    from cts.cli.stored import stored
    from cts.errors import BadInput
    from cts.known.baseline import document
    from cts.verdict import Verdict

    stored_run = stored(run)
    why = "; ".join(stored_run.incomplete)
    if why and not incomplete:
        what = "the run is incomplete, and what has no verdict would be taken for what passes"
        remedy = f"`cts run --resume {stored_run.path}` first, or --incomplete"
        raise BadInput("incomplete-run", what, str(stored_run.path), remedy)
    found = stored_run.findings()
    listed = [result for result in found if timeouts or result.verdict is not Verdict.TIMEOUT]
    if left_out := len(found) - len(listed):
        typer.echo(f"note: {left_out} timeouts are left out, which a busy machine may cause: --timeouts", err=True)
    if why:
        typer.echo(f"# of a run that is incomplete: {why}")
    typer.echo(document(listed, stored_run.manifest.drivers, reason, link, stored_run.failing()), nl=False)
