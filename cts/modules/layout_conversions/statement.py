"""Statements about conversions: a fact, the trials that show it, and a function that finds where it is broken."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from cts.device.queries.statement import Broken
from cts.device.trials import Trial, Tried
from cts.modules.layout_conversions.abilities import Abilities


@dataclass(frozen=True)
class JudgedTrial:
    """A trial and what came of it. `wrong` are its elements that the oracle does not allow."""

    trial: Trial
    tried: Tried
    wrong: tuple[Broken, ...] = ()


Plan: TypeAlias = Callable[[Abilities], Iterable[Trial]]

#: Finds where trials, those of other statements among them, break a statement.
Check: TypeAlias = Callable[[Sequence[JudgedTrial]], Iterable[Broken]]


@dataclass(frozen=True)
class Statement:
    """A fact about conversions, and its trials, whose elements are compared. `check` finds what else breaks it.

    Where a device allows none of the trials, `lacks` is what it has not.
    """

    fact: str
    trials: Plan
    check: Check
    lacks: str


#: Every statement by its fact, in the order of the facts.
STATEMENTS: dict[str, Statement] = {}


def state(fact: str, trials: Plan, check: Check, lacks: str = "") -> None:
    """Make a statement of a fact."""
    assert fact not in STATEMENTS, fact
    STATEMENTS[fact] = Statement(fact, trials, check, lacks)


def nothing(_: Abilities) -> Iterable[Trial]:
    """The plan of a statement that the trials of others show."""
    return ()


def elements(fact: str, lacks: str = "") -> Callable[[Plan], Plan]:
    """Make a statement of the plan that follows: after its trials all elements are what the oracle says."""

    def made(trials: Plan) -> Plan:
        state(fact, trials, lambda seen: (), lacks)
        return trials

    return made
