"""Statements about a device in the terminal: which hold, and where one is broken."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cts.device_queries import Judged

#: Columns of a list of facts.
_WIDTH = 11

#: Places where one statement is broken that are printed.
_MOST = 8


def print_judged(judged: Sequence[Judged], source: str) -> int:
    """Print what became of statements; returns the exit status."""
    from cts.device_queries import State
    from cts.verdict import CLEAN, FINDINGS

    of = {state: [j for j in judged if j.state is state] for state in State}
    for label, state in (("holds", State.HOLDS), ("not there", State.ABSENT)):
        facts = [j.fact for j in of[state]]
        for start in range(0, len(facts), _WIDTH):
            row(label if start == 0 else "", " ".join(facts[start : start + _WIDTH]))
    for one in of[State.BROKEN]:
        _broken(one)
    broken, asked = len(of[State.BROKEN]), len(judged) - len(of[State.ABSENT])
    rest = f"{len(of[State.ABSENT])} are about what the device does not have"
    if broken:
        typer.echo(f"\nno: {source} breaks {broken} of {asked} statements; {rest}")
        return FINDINGS
    typer.echo(f"\nyes: all {asked} statements hold of {source}; {rest}")
    return CLEAN


def row(label: str, text: str) -> None:
    """Print a row."""
    typer.echo(f"  {label:<13} {text}")


def _broken(judged: Judged) -> None:
    from cts.coverage.facts import text_of

    row("BROKEN", f"{judged.fact}: {text_of(judged.fact)}")
    for one in judged.broken[:_MOST]:
        for label, text in (("where", one.where), ("reported", one.reported), ("right", one.right)):
            typer.echo(f"{'':<16} {label + ':':<10}{text}")
    if len(judged.broken) > _MOST:
        typer.echo(f"{'':<16} and {len(judged.broken) - _MOST} places more")
