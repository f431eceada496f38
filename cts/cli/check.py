"""`cts check`: whether case files are cases."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from cts.corpus import Entry
    from cts.expectation import Oracle


def check(
    targets: Annotated[
        list[str], typer.Argument(help="Case files, folders or names of corpus cases.", metavar="CASE...")
    ],
    fix: Annotated[bool, typer.Option("--fix", help="Rewrite files that are not in canonical form.")] = False,
) -> None:
    """Check that files are well-formed cases without undefined behaviour, in canonical form."""
    from cts import corpus, registry
    from cts.errors import BadInput

    entries, errors = corpus.select(targets)
    oracle = registry.oracle()
    for entry in entries:
        try:
            typer.echo(f"{entry.name}: {_check(entry, oracle, fix=fix)}")
        except BadInput as e:
            errors.append(e)
    for error in errors:
        typer.echo(str(error), err=True)
    raise typer.Exit(2 if errors else 0)


def _check(entry: Entry, oracle: Oracle, *, fix: bool) -> str:
    """What is said of a good case. Raises BadInput for any other."""
    from cts.corpus import load, read
    from cts.errors import BadInput
    from cts.model import dumps_case

    case = read(entry, oracle)
    if entry.in_corpus and case.name != entry.name:
        raise BadInput("case-name", f"the case calls itself {case.name!r}", f"{entry.path}: name", entry.name)
    text = dumps_case(case)
    loaded = load(entry.path)
    if loaded.text == text:
        return "ok"
    if not fix or loaded.where != str(entry.path):
        raise BadInput("not-canonical", "the file is not in canonical form", loaded.where, "cts check --fix")
    Path(entry.path).write_text(text, encoding="utf-8")
    return "rewritten"
