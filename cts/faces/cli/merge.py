"""`cts merge`: several runs as one."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from cts.faces.cli import completion
from cts.faces.cli.paths import written


def merge(
    runs: Annotated[
        list[Path], typer.Argument(help="The folders of the runs.", metavar="RUN", autocompletion=completion.paths)
    ],
    save_dir: Annotated[
        Path,
        typer.Option(
            "--save-dir",
            help="The folder of runs, in which the merged one gets its own.",
            metavar="DIR",
            callback=written,
            autocompletion=completion.paths,
        ),
    ] = Path("cts-run"),
) -> None:
    """Make one run of the shards of a run, or of runs that differ in their seeds alone.

    All verbs that read runs read the result as if it had been judged in one piece. The exit status is that of such a
    run.
    """
    from cts.faces.cli.stored import stored
    from cts.judging.events import Event, RunFinished
    from cts.running import store
    from cts.running.outputs import check_folder
    from cts.running.store.merge import merge as merged
    from cts.running.store.merge import merged_manifest
    from cts.showing.report.ending import counts_text
    from cts.showing.report.save import Saver

    check_folder(save_dir, "--save-dir")
    parts = [stored(path) for path in runs]
    manifest = merged_manifest(parts, ["cts", *sys.argv[1:]])
    folder = store.create(save_dir, manifest)
    saver = Saver(folder.path)

    def emit(event: Event) -> None:
        folder(event)
        saver(event)
        if isinstance(event, RunFinished):
            typer.echo(counts_text(event))

    with closing(folder):
        status = merged(parts, manifest, emit)
    typer.echo(f"{len(parts)} runs merged in {folder.path}, exit status {status}")
    raise typer.Exit(status)
