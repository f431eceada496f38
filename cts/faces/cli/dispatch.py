"""`cts dispatch`: any SPIR-V module on any module driver."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cts.base.errors import BadInput
from cts.faces.cli import completion
from cts.faces.cli.options import JsonFile
from cts.faces.cli.paths import written


def dispatch(
    file: Annotated[
        Path | None,
        typer.Argument(
            help="A dispatch file, see `cts docs dispatch`; or a module (.spv, .spvasm, .comp, .slang) by itself.",
            metavar="FILE",
            autocompletion=completion.paths,
            show_default=False,
        ),
    ] = None,
    driver: Annotated[
        list[str] | None,
        typer.Option(
            "--driver",
            "-d",
            help="A driver that runs modules. Repeatable. Default: interpreter.",
            autocompletion=completion.drivers,
        ),
    ] = None,
    case: Annotated[
        list[str] | None, typer.Option("--case", help="Run this case of the file alone. Repeatable.", metavar="NAME")
    ] = None,
    census: Annotated[
        Path | None,
        typer.Option(
            "--census",
            help="Run every dispatch file and module of a folder on one driver, and list what each lacks.",
            metavar="DIR",
            autocompletion=completion.paths,
        ),
    ] = None,
    template: Annotated[
        Path | None,
        typer.Option(
            "--template",
            help="Write a dispatch file for a module (.spv or .spvasm) instead of running one.",
            metavar="MODULE",
            callback=written,
            autocompletion=completion.paths,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Where --template writes the file; to standard output without it.",
            metavar="FILE.yaml",
            callback=written,
            autocompletion=completion.paths,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Write outputs to DIR/DRIVER/BUFFER.npy, those of cases to DIR/CASE/DRIVER.",
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
    max_seconds: Annotated[
        float | None,
        typer.Option(
            "--max-seconds", help="The most seconds of a dispatch (600; a module by itself: 20).", metavar="SECONDS"
        ),
    ] = None,
    max_memory: Annotated[
        int | None, typer.Option("--max-memory", help="The most memory to use, in bytes.", metavar="BYTES")
    ] = None,
    robust: Annotated[
        bool, typer.Option("--robust", help="Reads outside a buffer give 0, writes outside one do nothing.")
    ] = False,
    check: Annotated[
        list[str] | None,
        typer.Option(
            "--check",
            help="Report races, uninitialised or writers, beside broken rules (contract); or none. Repeatable.",
            metavar="WHAT",
        ),
    ] = None,
    require_valid: Annotated[
        bool, typer.Option("--require-valid", help="A module that spirv-val rejects is an error: exit status 2.")
    ] = False,
    json: JsonFile = None,
) -> None:
    """Run a SPIR-V compute module on drivers; compare them with each other and with what is expected.

    --trace, --max-steps, --max-seconds, --max-memory, --robust and --check are for the interpreter.
    """
    from cts.faces.cli.dispatching import Asked, count, run

    if census is not None:
        unused = (file, case, out, transform, trace, max_steps, max_seconds, max_memory, robust, check, template)
        if any(unused) or len(driver or []) > 1:
            raise BadInput("census", "a census has a folder, one driver and --json", f"--census {census}")
        count(census, (driver or ["interpreter"])[0], json)
        return
    if template is not None:
        others = (file, driver, case, out, transform, trace, max_steps, max_seconds, max_memory, robust, check, json)
        if any(others):
            raise BadInput("template", "--template runs nothing", f"--template {template}", "--output alone beside it")
        _write_template(template, output)
        return
    if output is not None:
        raise BadInput("template", "--output is for --template", f"--output {output}", "--out, for results of a run")
    if file is None:
        raise BadInput("no-file", "no dispatch file", "FILE.yaml", "a dispatch file; --template MODULE writes one")
    lists = (driver or [], case or [], transform or [], check or [])
    raise typer.Exit(
        run(Asked(file, *lists, out, trace, max_steps, max_memory, robust, json, require_valid, max_seconds))
    )


def _write_template(module: Path, output: Path | None) -> None:
    from cts.modules.dispatch.template import template

    text = template(module, output)
    if output is None:
        typer.echo(text, nl=False)
        return
    try:
        with output.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise BadInput(
            "template", "the file is there already", str(output), "a new file, or --output left out"
        ) from None
    except OSError as e:
        raise BadInput("template", e.strerror or str(e), str(output), "a file that can be written") from e
