"""Judging the answers of a device: each statement holds, is broken, or is about something that the device has not."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from cts.device.queries import extensions, lists, matrices, parts, sizes, vectors
from cts.device.queries.answers import Answers
from cts.device.queries.statement import STATEMENTS, Broken

#: The modules that make the statements.
MODULES = (lists, parts, extensions, sizes, matrices, vectors)


class State(Enum):
    """What became of a statement."""

    HOLDS = "holds"
    BROKEN = "broken"
    ABSENT = "absent"
    UNTRIED = "untried"


@dataclass(frozen=True)
class Judged:
    """A statement and what became of it: where it is `broken`, or what the device `lacks` that it is about."""

    fact: str
    state: State
    broken: tuple[Broken, ...] = ()
    lacks: str = ""


def judge(answers: Answers) -> list[Judged]:
    """Hold answers against every statement, in the order of the facts."""
    return [_judge(answers, fact) for fact in sorted(STATEMENTS)]


def _judge(answers: Answers, fact: str) -> Judged:
    statement = STATEMENTS[fact]
    if not statement.applies(answers):
        return Judged(fact, State.ABSENT, lacks=statement.lacks)
    broken = tuple(statement.check(answers))
    return Judged(fact, State.BROKEN if broken else State.HOLDS, broken)
