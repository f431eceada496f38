"""`cts run`: cases and generated examples on drivers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cts.base.settings import RUN, Settings
from cts.faces.cli import completion
from cts.faces.cli.options import NoConfig, ResumedFolder, with_settings

if TYPE_CHECKING:
    from cts.base.config import Config


@with_settings(RUN)
def run(
    context: typer.Context,
    settings: Settings,
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            help="Case files, bundles, folders, names of corpus cases or the beginning of names.",
            metavar="CASE",
            autocompletion=completion.cases,
        ),
    ] = None,
    resume: ResumedFolder = None,
    no_config: NoConfig = False,
) -> None:
    """Run cases on drivers and compare all memory with what the specification allows.

    Without CASE: the whole corpus, then generated cases of every area. A failure is shrunk, shown
    and kept in the run's folder, which is printed; the command that reproduces it is printed last.

    Options may have defaults in the table tool.cts of a pyproject.toml, in this folder or above.
    """
    from cts.faces.cli.execution import execute

    config: Config | None = context.obj
    raise typer.Exit(execute(context, RUN, settings, resume, targets=tuple(targets or ()), config=config))
