"""One case for a verb: a file, the name of a corpus case, or the journal of a worker that died."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cts.cli import completion

if TYPE_CHECKING:
    from cts.model import Case
    from cts.oracle.expectation import Oracle

#: How a journal says that a case ended well.
_WELL = ("done", "unsupported")


Target = Annotated[
    str,
    typer.Argument(
        help="A case file, the name of a corpus case, or the journal of a crash.",
        metavar="CASE",
        autocompletion=completion.cases,
    ),
]

Driver = Annotated[
    str,
    typer.Option(
        "--driver", "-d", help="The driver on which the case does not pass.", autocompletion=completion.drivers
    ),
]


def read(target: str, oracle: Oracle) -> Case:
    """The valid case that a user names. Raises BadInput for anything else."""
    from cts.running import corpus

    if target.endswith(".jsonl"):
        return _of_journal(Path(target), oracle)
    return corpus.read(corpus.find_one(target), oracle)


def tell_if_not_validated() -> None:
    """Say on stderr where nothing validates the modules that the verb makes."""
    from cts.running.opening import not_validated

    if missing := not_validated():
        typer.echo(f"{missing.what}\n  fix:   {missing.remedy}", err=True)


def _of_journal(path: Path, oracle: Oracle) -> Case:
    """The last case of a journal that was begun and did not end well."""
    import msgspec

    from cts.errors import BadInput
    from cts.model import Case

    remedy = "a journal that the vulkan driver's option `journal` wrote"
    try:
        lines = path.read_bytes().splitlines()
    except OSError as e:
        raise BadInput("journal-unreadable", e.strerror or str(e), str(path), remedy) from e
    begun: dict[Any, Any] = {}
    for number, line in enumerate(lines, 1):
        try:
            entry = msgspec.json.decode(line)
            if "begin" in entry:
                begun[entry["begin"]] = entry.get("case")
            elif entry["status"] in _WELL:
                begun.pop(entry["end"], None)
        except (msgspec.DecodeError, RecursionError, KeyError, TypeError) as e:
            if number < len(lines):
                raise BadInput("journal-malformed", f"no journal entry: {e}", f"{path}:{number}", remedy) from e
    cases = [c for c in begun.values() if c is not None]
    if not cases:
        raise BadInput("journal-clean", "every case in the journal finished", str(path), "the journal of a crash")
    try:
        case = msgspec.convert(cases[-1], Case)
    except msgspec.ValidationError as e:
        raise BadInput("journal-malformed", str(e), str(path), remedy) from e
    violations = oracle.violations(case)
    if violations:
        raise BadInput("case-invalid", violations[0].what, f"{path}: {violations[0].path}", violations[0].remedy)
    return case
