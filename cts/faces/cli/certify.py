"""`cts certify`: for each row that a device lists, whether it is right."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cts.faces.cli import completion
from cts.faces.cli.options import JsonFile
from cts.faces.cli.paths import written

if TYPE_CHECKING:
    from cts.running.certificate import Certificate


def certify(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Certificates (JSON) of other devices or versions, for --header.",
            metavar="CERTIFICATE",
            autocompletion=completion.paths,
        ),
    ] = None,
    driver: Annotated[
        str | None, typer.Option("--driver", "-d", help="The driver to certify.", autocompletion=completion.drivers)
    ] = None,
    keyword: Annotated[
        list[str] | None,
        typer.Option("-k", help="Only rows whose name has this text. Repeatable.", metavar="TEXT"),
    ] = None,
    max_time: Annotated[
        float, typer.Option("--max-time", help="Seconds after which no row is begun.", metavar="S", min=0)
    ] = 600.0,
    json: JsonFile = None,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html", help="Also write a page.", metavar="FILE", callback=written, autocompletion=completion.paths
        ),
    ] = None,
    header: Annotated[
        Path | None,
        typer.Option(
            "--header",
            help="Also write a C header that says which rows are allowed.",
            metavar="FILE",
            callback=written,
            autocompletion=completion.paths,
        ),
    ] = None,
) -> None:
    """Tell of each row that a device lists whether it is right, wrong, slow, crashes, or was not tried.

    Of multiplications of floats it measures how sums are formed: order, bits, rounding, subnormal numbers, worst error.
    The exit status is 1 if a row is wrong or crashes.
    """
    from cts.base.errors import BadInput
    from cts.faces.cli.documents import check_json, is_stdout, write_json
    from cts.running.outputs import check_file
    from cts.showing.report import certificate as shown

    if driver is None and not files:
        raise BadInput(
            "no-driver", "no driver to certify", "cts certify", "--driver SPEC, or certificates and --header"
        )
    if files and header is None:
        raise BadInput("no-header", "certificates without --header", "cts certify", "--header FILE")
    if driver is None and (json is not None or html is not None or keyword):
        raise BadInput("no-driver", "no driver to certify", "cts certify", "--driver SPEC for --json, --html and -k")
    check_json(json)
    for option, path in (("--html", html), ("--header", header)):
        check_file(path, option)
    certificates = [_read(path) for path in files or ()]
    made = None
    if driver is not None:
        made = _certified(driver, max_time, keyword or [], quiet=is_stdout(json))
        write_json(json, _plain(made))
        if html is not None:
            html.write_text(shown.page(made), encoding="utf-8", newline="\n")
        certificates.append(made)
    if header is not None:
        header.write_text(shown.header(certificates), encoding="utf-8", newline="\n")
    if made is None or is_stdout(json):
        raise typer.Exit(1 if made is not None and made.wrong else 0)
    for line in shown.lines(made):
        typer.echo(line)
    raise typer.Exit(1 if made.wrong else 0)


def _certified(driver: str, max_time: float, words: list[str], *, quiet: bool) -> Certificate:
    """The certificate of a driver. Raises BadInput if no row is chosen."""
    from contextlib import closing

    from cts.base.errors import BadInput
    from cts.plugins import registry
    from cts.running.certificate import certify as certified
    from cts.running.opening import open_driver
    from cts.showing.report.failure import headline

    with closing(open_driver(driver)) as opened:
        made = certified(opened, registry.oracle(), headline, max_time, words)
    if not made.rows:
        remedy = "a device with cooperative matrices or vectors; another -k"
        raise BadInput("nothing-selected", f"{made.device} lists no such row", "cts certify", remedy)
    return made


def _read(path: Path) -> Certificate:
    """A certificate. Raises BadInput for anything else."""
    import msgspec

    from cts.base.input_files import Kind, read_bytes
    from cts.running.certificate import load

    kind = Kind("certificate", "a file that `cts certify --json` wrote")
    try:
        return load(read_bytes(path, kind))
    except (msgspec.DecodeError, UnicodeDecodeError) as e:
        raise kind.malformed(str(e), str(path)) from e


def _plain(made: Certificate) -> object:
    import msgspec

    return msgspec.to_builtins(made)
