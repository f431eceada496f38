"""Why the suite runs no case that breaks a rule: the table `basis.yaml`, one entry for each rule.

A rule forbids what a specification leaves undefined or forbids, with the sentences that do; or what specifications
can be read in several ways on; or what is defined and the oracle cannot judge.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any

from cts.base.plain_yaml import parse
from cts.case.oracle.expectation import Violation, ViolationKind

_FILE = "basis.yaml"


@dataclass(frozen=True)
class Quoted:
    """A sentence, an entry of a list or a line of pseudo-code, whole, without markup."""

    document: str
    section: str
    text: str


@dataclass(frozen=True)
class Basis:
    """Why cases that break a rule are refused; `wider` are cases that it refuses and `text` does not."""

    rule: str
    kind: ViolationKind
    what: str
    text: tuple[Quoted, ...]
    question: str
    readings: tuple[str, ...]
    wider: str


@cache
def bases() -> dict[str, Basis]:
    """All entries by rule, in the order of the table."""
    file = resources.files(__package__) / _FILE
    entries: dict[str, dict[str, Any]] = parse(file.read_text(encoding="utf-8"), _FILE)
    return {rule: _basis(rule, entry) for rule, entry in entries.items()}


def _basis(rule: str, entry: dict[str, Any]) -> Basis:
    return Basis(
        rule,
        ViolationKind(entry["kind"]),
        entry["what"],
        tuple(Quoted(*quoted) for quoted in entry["text"]),
        entry.get("question", ""),
        tuple(entry.get("readings", ())),
        entry.get("wider", ""),
    )


def with_basis(violation: Violation) -> Violation:
    """The violation with the kind and the readings of its rule; what is no rule is a limit: a loop's, for example."""
    basis = bases().get(violation.rule)
    if basis is None:
        return replace(violation, kind=ViolationKind.LIMIT)
    return replace(violation, kind=basis.kind, readings=basis.readings)
