"""`cts explain`: the first instruction whose result differs, and how its elements should be computed."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from cts.faces.cli.documents import check_json, is_stdout, write_json
from cts.faces.cli.options import CaseHtmlFile, JsonFile
from cts.faces.cli.target import Driver, Target

if TYPE_CHECKING:
    from cts.findings.explain import Explanation


def explain(
    target: Target,
    driver: Driver,
    element: Annotated[
        list[str] | None,
        typer.Option("--element", help="Explain this element of the result. Repeatable.", metavar="ROW,COL"),
    ] = None,
    json: JsonFile = None,
    html: CaseHtmlFile = None,
) -> None:
    """Find the first instruction whose result differs, and show how its elements should come about.

    Drivers that do not show their matrices and vectors run the case with every intermediate result stored; the output
    reports whether the failure still occurs. If several causes fit, the case also runs with other contents, and as a
    run found it, to rank them.
    """
    from cts.faces.cli.target import read, read_found, tell_if_not_validated
    from cts.findings.explain import DEVIATIONS
    from cts.findings.explain import explain as explained
    from cts.findings.reduction.narrowing import narrowed_for
    from cts.judging.sentences import to_json
    from cts.plugins import registry
    from cts.running.opening import open_driver
    from cts.running.outputs import check_file

    check_file(html, "--html")
    check_json(json)
    elements = [_element(text) for text in element or ()]
    oracle = registry.oracle()
    case, finding = read(target, oracle), read_found(target, oracle)
    tell_if_not_validated()
    opened = open_driver(driver)
    with closing(opened):
        narrow, tried = narrowed_for(opened, case, oracle), 0 if elements else DEVIATIONS
        explanation = explained(case, narrow, oracle, elements, finding, deviations=tried)
    write_json(json, to_json(explanation))
    if not is_stdout(json):
        _print(explanation)
    if html is not None:
        from cts.faces.cli.report import write
        from cts.showing.report.html import page_of_failure

        write(html, page_of_failure(case, explanation, oracle).encode())
    raise typer.Exit(_status(explanation))


def _element(text: str) -> tuple[int, int]:
    from cts.base.errors import BadInput

    row, comma, col = text.partition(",")
    if not (comma and row.strip().isdecimal() and col.strip().isdecimal()):
        raise BadInput(
            "no-element", f"{text!r} does not name an element", f"--element {text}", "row and column, e.g. 0,15"
        )
    return int(row), int(col)


def _status(explanation: Explanation) -> int:
    from cts.judging.verdict import Verdict

    if explanation.verdict.is_finding:
        return 1
    return 0 if explanation.verdict is Verdict.PASS else 3


def _print(explanation: Explanation) -> None:
    """To stdout, in colours where it is a terminal."""
    from rich.text import Text

    from cts.findings.explain.text import COLOURS, lines
    from cts.showing.report.console import ReportConsole

    console = ReportConsole(highlight=False)
    if not console.is_terminal:
        for line, _ in lines(explanation):
            typer.echo(line)
        return
    for line, style in lines(explanation):
        text = Text(line, style="bold red" if style == "head" else "")
        if style == "picture":
            for n, character in enumerate(line):
                text.stylize(COLOURS.get(character, ""), n, n + 1)
        console.print(text, soft_wrap=True)
