"""`cts docs`: the pages of the documentation, which come with the suite."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from cts.faces.cli import completion


def docs(
    page: Annotated[
        str | None,
        typer.Argument(
            help="A page by its name, such as runs or findings/mesa-26.1.6-lavapipe. Default: all names and titles.",
            metavar="PAGE",
            autocompletion=completion.pages,
        ),
    ] = None,
) -> None:
    """Print a page of the documentation: laid out on a terminal, as Markdown elsewhere."""
    from cts.base.shipped import by_name, shipped

    if page is None:
        pages = shipped("", ".md")
        width = max(map(len, pages))
        for name, path in pages.items():
            typer.echo(f"{name:{width}}  {_title(path)}")
        return
    name = page.removeprefix("docs/").removesuffix(".md")
    text = by_name(name, "", ".md", "no-page").read_text(encoding="utf-8")
    if not sys.stdout.isatty():
        typer.echo(text, nl=False)
        return
    from rich.markdown import Markdown

    from cts.showing.report.console import ReportConsole

    ReportConsole().print(Markdown(text))


def _title(path: Path) -> str:
    """The first heading of a page."""
    with path.open(encoding="utf-8") as lines:
        return next((line.lstrip("# ").rstrip() for line in lines if line.startswith("#")), "")
