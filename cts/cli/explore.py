"""`cts explore`: the layout explorer, a page on what one tensor load or store accesses."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cts.cli import completion


def explore(
    target: Annotated[
        str | None,
        typer.Argument(
            help="Begin with this case: a file, or a name of the corpus. Default: a tile within a tensor.",
            metavar="CASE",
            autocompletion=completion.cases,
        ),
    ] = None,
    instruction: Annotated[
        int | None,
        typer.Option(
            "--instruction", help="Its tensor load or store, by number in `program`. Default: the first.", metavar="N"
        ),
    ] = None,
    html: Annotated[Path, typer.Option("--html", help="Where to write the page.", metavar="FILE")] = Path(
        "explorer.html"
    ),
) -> None:
    """Write a page on which a tensor layout, a view and a matrix can be changed, with where each element then lies.

    It needs no server and no network. What was chosen there is in its address, and can be kept as a case.
    """
    from cts.cli.report import write
    from cts.cli.target import read
    from cts.errors import BadInput
    from cts.explorer import page
    from cts.plugins import registry
    from cts.running.outputs import check_file

    check_file(html, "--html")
    if instruction is not None and target is None:
        raise BadInput("no-case", "an instruction of no case", "--instruction", "a case before it")
    oracle = registry.oracle()
    case = None if target is None else read(target, oracle)
    write(html, page(oracle, case, instruction).encode())
    typer.echo(html.resolve().as_uri())
