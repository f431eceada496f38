"""Statements about a device in the terminal: which hold, and where one is broken."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cts.device.queries import Judged

#: Columns of a list of facts.
_WIDTH = 11


def print_judged(judged: Sequence[Judged], source: str, most: int | None = None) -> int:
    """Print what became of statements, and `most` places where one is broken; returns the exit status."""
    from cts.device.queries import State
    from cts.judging.verdict import CLEAN, FINDINGS

    of = {state: [j for j in judged if j.state is state] for state in State}
    rows = (("holds", State.HOLDS), ("not there", State.ABSENT), ("not tried", State.UNTRIED))
    for label, state in rows:
        facts = [j.fact for j in of[state]]
        for start in range(0, len(facts), _WIDTH):
            row(label if start == 0 else "", " ".join(facts[start : start + _WIDTH]))
    for broken_statement in of[State.BROKEN]:
        _broken(broken_statement, most)
    broken, asked = len(of[State.BROKEN]), len(judged) - len(of[State.ABSENT]) - len(of[State.UNTRIED])
    rest = f"{len(of[State.ABSENT])} are about what the device does not have"
    if of[State.UNTRIED]:
        rest += f"; {len(of[State.UNTRIED])} are not tried, for the device was lost too often"
    if broken:
        typer.echo(f"\nno: {source} breaks {broken} of {asked} statements; {rest}")
        return FINDINGS
    typer.echo(f"\nyes: all {asked} statements hold of {source}; {rest}")
    return CLEAN


def row(label: str, text: str) -> None:
    """Print a row."""
    typer.echo(f"  {label:<13} {text}")


def _broken(judged: Judged, most: int | None) -> None:
    from cts.features.coverage.facts import text_of

    row("BROKEN", f"{judged.fact}: {text_of(judged.fact)}")
    for broken in judged.broken[:most]:
        for label, text in (("where", broken.where), ("reported", broken.reported), ("right", broken.right)):
            typer.echo(f"{'':<16} {label + ':':<10}{text}")
    if most is not None and len(judged.broken) > most:
        typer.echo(f"{'':<16} and {len(judged.broken) - most} places more")
