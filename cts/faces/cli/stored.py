"""Opening the folder of a run, for the verbs that read it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from cts.running.store import Run


def stored(path: Path) -> Run:
    """The run of a folder, or the latest of a folder of runs.

    What is to know of one that an older suite wrote, or that is not complete, goes to stderr.
    """
    from cts.running import store

    run = store.load(path)
    if run.older:
        typer.echo(f"note: {run.older}", err=True)
    if run.incomplete:
        typer.echo(f"note: {run.path} is incomplete: {'; '.join(run.incomplete)}", err=True)
    return run
