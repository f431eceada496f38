"""`cts list`: the cases of the corpus."""

from __future__ import annotations

from typing import Annotated

import typer

from cts.faces.cli import completion


def list_cases(
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            help="Case files, folders or (beginnings of) names.", metavar="CASE", autocompletion=completion.cases
        ),
    ] = None,
    keyword: Annotated[
        list[str] | None,
        typer.Option("-k", help="Only cases whose name or covered facts have this text. Repeatable.", metavar="TEXT"),
    ] = None,
) -> None:
    """List corpus cases: name, the facts it covers, what it is about."""
    from cts.base.errors import BadInput
    from cts.running import corpus

    entries, errors = corpus.select(targets or [])
    count = 0
    for entry in entries:
        try:
            case = corpus.load(entry.path).case
        except BadInput as e:
            errors.append(e)
            continue
        facts = " ".join(case.covers)
        if corpus.has_words(f"{entry.name} {facts}", keyword or []):
            count += 1
            typer.echo(f"{entry.name}  [{facts}]\n    {case.description or '(no description)'}")
    for error in errors:
        typer.echo(str(error), err=True)
    typer.echo(f"{count} cases")
    raise typer.Exit(2 if errors or not count else 0)
