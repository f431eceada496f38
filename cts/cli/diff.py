"""`cts diff`: two runs side by side."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cts.cli import completion
from cts.cli.documents import check_json, is_stdout, write_json
from cts.cli.options import JsonFile

if TYPE_CHECKING:
    from cts.store.diff import Difference, Shift


def diff(
    before: Annotated[
        Path, typer.Argument(help="The folder of a run.", metavar="BEFORE", autocompletion=completion.paths)
    ],
    after: Annotated[
        Path, typer.Argument(help="The folder of another run.", metavar="AFTER", autocompletion=completion.paths)
    ],
    json: JsonFile = None,
) -> None:
    """Compare two runs: failures that are new, changed, the same, fixed, or gone because their case did not run.

    Where both have numbers of the drivers' compilers, such as registers and instructions: those that have changed.

    Exit status 1 where failures are new or changed.
    """
    from cts.cli.stored import stored
    from cts.store.diff import Change, shifts
    from cts.store.diff import diff as compare

    check_json(json)
    first, second = stored(before), stored(after)
    differences = compare(first, second)
    write_json(json, [{"change": d.change, "before": d.before, "after": d.after} for d in differences])
    counts = Counter(d.change for d in differences)
    if not is_stdout(json):
        for difference in differences:
            typer.echo(_line(difference))
        for shift in shifts(first, second):
            typer.echo(_shift(shift))
        typer.echo(", ".join(f"{counts[c]} {c.value}" for c in Change))
    raise typer.Exit(1 if counts[Change.NEW] or counts[Change.CHANGED] else 0)


def _shift(shift: Shift) -> str:
    most = f"most in {shift.most}: {shift.most_before:,g} -> {shift.most_after:,g}"
    return f"{shift.name} of {shift.driver}: {shift.before:,g} -> {shift.after:,g} in {shift.cases} cases, {most}"


def _line(difference: Difference) -> str:
    verdicts = [r.verdict.value if r else "not in the run" for r in (difference.before, difference.after)]
    drivers = dict.fromkeys(r.driver for r in (difference.before, difference.after) if r)
    return f"{difference.change.value:<8} {difference.result.name}  {' -> '.join(verdicts)}  {' -> '.join(drivers)}"
