"""`cts dispatch`: any SPIR-V module on any module driver."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cts.cli import completion
from cts.cli.paths import written


def dispatch(
    file: Annotated[
        Path,
        typer.Argument(
            help="A dispatch file, see docs/dispatch.md.", metavar="FILE.yaml", autocompletion=completion.paths
        ),
    ],
    driver: Annotated[
        list[str] | None,
        typer.Option(
            "--driver",
            "-d",
            help="A driver that runs modules. Repeatable. Default: interpreter.",
            autocompletion=completion.drivers,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Write outputs to DIR/DRIVER/BUFFER.npy.",
            metavar="DIR",
            callback=written,
            autocompletion=completion.paths,
        ),
    ] = None,
    transform: Annotated[
        list[str] | None,
        typer.Option("--transform", help="Run the transformed module as well, e.g. spirv-opt:-O. Repeatable."),
    ] = None,
    trace: Annotated[
        str | None,
        typer.Option(
            "--trace", help="Print the results of a function, or one result, each time.", metavar="FUNCTION|ID"
        ),
    ] = None,
    max_steps: Annotated[
        int | None, typer.Option("--max-steps", help="The most instructions to execute.", metavar="N")
    ] = None,
    max_memory: Annotated[
        int | None, typer.Option("--max-memory", help="The most memory to use, in bytes.", metavar="BYTES")
    ] = None,
    robust: Annotated[
        bool, typer.Option("--robust", help="Reads outside a buffer give 0, writes outside one do nothing.")
    ] = False,
    check: Annotated[
        list[str] | None,
        typer.Option("--check", help="Report races or uninitialised (reads). Repeatable.", metavar="WHAT"),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Run a SPIR-V compute module on drivers; compare them with each other and with what is expected.

    --trace, --max-steps, --max-memory, --robust and --check are for the interpreter.
    """
    import msgspec

    from cts.dispatch import run
    from cts.dispatch.report import document, lines
    from cts.running.outputs import check_folder

    check_folder(out, "--out")
    given = {"trace": trace, "max_steps": max_steps, "max_memory": max_memory, "check": "+".join(check or [])}
    options = {name: str(value) for name, value in given.items() if value}
    options |= {"robust": "yes"} if robust else {}
    result = run(file, driver or ["interpreter"], out=out, options=options, transforms=transform or [])
    if json:
        typer.echo(msgspec.json.format(msgspec.json.encode(document(result)), indent=2).decode())
    else:
        for line in lines(result):
            typer.echo(line)
    raise typer.Exit(result.status)
