"""`cts report`: a run as an HTML page, or as JUnit XML for a continuous integration server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cts.faces.cli import completion
from cts.faces.cli.coverage import EXAMPLES, sampled
from cts.faces.cli.paths import written

if TYPE_CHECKING:
    from cts.running.store import Run


def report(
    run: Annotated[
        Path,
        typer.Argument(
            help="The folder of a run, or the folder of runs for the latest.", autocompletion=completion.paths
        ),
    ] = Path("cts-run"),
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            help="Default: report.html in the run's folder.",
            metavar="FILE",
            callback=written,
            autocompletion=completion.paths,
        ),
    ] = None,
    junit: Annotated[
        Path | None,
        typer.Option(
            "--junit",
            help="Write JUnit XML, without the page unless --html.",
            metavar="FILE",
            callback=written,
            autocompletion=completion.paths,
        ),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(
            "--against",
            help="An earlier run. Default: the one before, in the same folder.",
            metavar="RUN",
            autocompletion=completion.paths,
        ),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="First explain each failure on its driver, as `cts explain` does.")
    ] = False,
    coverage: Annotated[
        bool, typer.Option("--coverage/--no-coverage", help="Add the table of facts and the cases that test them.")
    ] = True,
    examples: Annotated[
        int,
        typer.Option("--max-examples", help="Generated cases per area for that table; 0 for none.", metavar="N", min=0),
    ] = EXAMPLES,
    bundle_dir: Annotated[
        Path | None,
        typer.Option(
            "--bundle-dir",
            help="Link each failure to its bundle in this folder, as `cts run --bundle-dir` wrote it.",
            metavar="DIR",
            autocompletion=completion.paths,
        ),
    ] = None,
) -> None:
    """Write a run as one self-contained HTML file, or as JUnit XML."""
    from cts.base.errors import BadInput
    from cts.faces.cli.triage import explained, runs
    from cts.running.outputs import check_file

    check_file(html, "--html")
    check_file(junit, "--junit")
    if bundle_dir is not None and not bundle_dir.is_dir():
        raise BadInput("no-bundles", "there is no such folder", f"--bundle-dir {bundle_dir}", "a folder of bundles")
    this, earlier = runs(run, against)
    if html is None and junit is None:
        html = this.path / "report.html"
    if junit is not None:
        write_junit(this, junit)
    if html is not None:
        from cts.showing.report.html import page

        explanations = explained(this, explain=explain)
        samples = sampled(examples) if coverage else {}
        bundles = None if bundle_dir is None else (bundle_dir, html.parent)
        write(html, page(this, earlier, explanations, samples, coverage=coverage, bundles=bundles).encode())


def write_junit(run: Run, path: Path) -> None:
    """Write a run as JUnit XML."""
    from cts.showing.report.junit import junit

    write(path, junit(run))


def write(path: Path, text: bytes) -> None:
    """Write a report, and name it. Raises BadInput where that cannot be."""
    from cts.base.errors import BadInput

    try:
        path.write_bytes(text)
    except OSError as e:
        raise BadInput("report-file", e.strerror or str(e), str(path), "a file that can be written") from e
    typer.echo(f"written: {path}", err=True)
