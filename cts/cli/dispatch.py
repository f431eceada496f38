"""`cts dispatch`: any SPIR-V module on any module driver."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def dispatch(
    file: Annotated[Path, typer.Argument(help="A dispatch file, see docs/dispatch.md.", metavar="FILE.yaml")],
    driver: Annotated[
        list[str] | None,
        typer.Option("--driver", "-d", help="A driver that runs modules. Repeatable. Default: interpreter."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write outputs to DIR/DRIVER/BUFFER.npy.", metavar="DIR")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Run a SPIR-V compute module on drivers; compare them with each other and with what is expected."""
    import msgspec

    from cts.dispatch import run
    from cts.dispatch.report import document, lines

    result = run(file, driver or ["interpreter"], out=out)
    if json:
        typer.echo(msgspec.json.format(msgspec.json.encode(document(result)), indent=2).decode())
    else:
        for line in lines(result):
            typer.echo(line)
    raise typer.Exit(result.status)
