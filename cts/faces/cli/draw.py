"""`cts draw`: drawn programs with inputs and allowed memory, for tools that know nothing of this suite."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cts.faces.cli import completion
from cts.faces.cli.paths import written


def draw(
    count: Annotated[int, typer.Option("-n", "--count", help="How many programs.", metavar="N", min=1)] = 100,
    area: Annotated[
        list[str] | None,
        typer.Option(
            "--area", help="Only of this area. Repeatable. Default: all in turn.", autocompletion=completion.areas
        ),
    ] = None,
    format_name: Annotated[
        str, typer.Option("--format", "-f", help="spirv, c, glsl, amber or dispatch.", metavar="FORMAT")
    ] = "spirv",
    seed: Annotated[int, typer.Option("--seed", help="The seed of the draws.", min=0)] = 0,
    driver: Annotated[
        str,
        typer.Option(
            "--driver", "-d", help="Draw what this driver can run; it runs nothing.", autocompletion=completion.drivers
        ),
    ] = "interpreter",
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            help="A folder, new or empty.",
            metavar="FOLDER",
            callback=written,
            autocompletion=completion.paths,
        ),
    ] = Path("drawn"),
    jobs: Annotated[
        str, typer.Option("--jobs", "-j", help="Processes; auto: one for each processor.", metavar="N")
    ] = "1",
    subgroup_size: Annotated[
        int | None, typer.Option("--subgroup-size", help="Subgroup size to lower for. Default: the driver's.", min=1)
    ] = None,
) -> None:
    """Write drawn programs with inputs, allowed memory and facts, for fuzzers and test suites of others.

    A program is valid, defined, and the same for the same seed and driver. Nothing of this suite is needed to run it.
    """
    from cts.base.errors import BadInput, did_you_mean
    from cts.faces.cli.target import tell_if_not_validated
    from cts.plugins import registry
    from cts.running.checks import check_jobs
    from cts.running.outputs import check_folder
    from cts.showing.export.drawing import FORMATS, INDEX, Request, drawable
    from cts.showing.export.drawing import draw as drawn_into

    if format_name not in FORMATS:
        what = f"no format {format_name!r}"
        raise BadInput("unknown-format", what, "--format", did_you_mean(format_name, list(FORMATS)))
    areas = tuple(dict.fromkeys(area or registry.names("cts.areas")))
    for name in areas:
        registry.area(name)
    check_folder(out, "--out")
    if out.is_dir() and any(out.iterdir()):
        raise BadInput("output-path", "the folder is not empty", f"--out {out}", "a new folder")
    processes = min(check_jobs(jobs), count)
    tell_if_not_validated()
    request = drawable(Request(areas, count, seed, driver, format_name, subgroup_size))
    drawn = drawn_into(request, out, processes)
    for what, times in drawn.refused.most_common(5):
        typer.echo(f"drawn anew, {times} times: {what}", err=True)
    typer.echo(f"{out}: {len(drawn.lines)} programs; {out / INDEX} lists files and facts")
    if drawn.missing:
        typer.echo(
            f"{drawn.missing} fewer than asked for: the format cannot express most cases of these areas", err=True
        )
        raise typer.Exit(1)
