"""Judging a device's conversions: each statement holds, is broken, or is about something that the device has not."""

from __future__ import annotations

from collections.abc import Iterable

from cts.case.oracle.expectation import Oracle
from cts.device.queries.judge import Judged, State
from cts.device.queries.statement import Broken
from cts.device.trials import Trial, Tried
from cts.modules.layout_conversions import contents, effects, sizes
from cts.modules.layout_conversions.abilities import Abilities
from cts.modules.layout_conversions.expected import differing
from cts.modules.layout_conversions.statement import STATEMENTS, JudgedTrial

#: Trials that may be lost before no more are made: a device that hangs in each of them takes hours.
MOST_LOST = 3

#: The modules that make the statements.
MODULES = (sizes, effects, contents)


def trials(abilities: Abilities) -> list[Trial]:
    """The trials of all statements, in the order of the facts."""
    return [trial for fact in sorted(STATEMENTS) for trial in STATEMENTS[fact].trials(abilities)]


def judge(wanted: Iterable[Trial], tried: Iterable[Tried], oracle: Oracle) -> list[Judged]:
    """Check the results of trials, those of `trials`, against every statement, in the order of the facts.

    After the third lost trial no more results of `tried` are read; statements that are not broken by then are untried.
    """
    judged_trials: list[JudgedTrial] = []
    lost = 0
    for trial, result in zip(wanted, tried, strict=False):
        judged_trials.append(JudgedTrial(trial, result, tuple(differing(oracle, trial, result))))
        lost += bool(result.lost)
        if lost == MOST_LOST:
            break
    return [_judged(fact, judged_trials, whole=lost < MOST_LOST) for fact in sorted(STATEMENTS)]


def _judged(fact: str, seen: list[JudgedTrial], *, whole: bool) -> Judged:
    statement = STATEMENTS[fact]
    if whole and statement.lacks and not any(trial.trial.fact == fact for trial in seen):
        return Judged(fact, State.ABSENT, lacks=statement.lacks)
    own = [trial for trial in seen if trial.trial.fact == fact]
    lost = [Broken(trial.tried.call, trial.tried.lost, "an answer") for trial in own if trial.tried.lost]
    broken = (*lost, *statement.check(seen), *(wrong for trial in own for wrong in trial.wrong))
    if broken:
        return Judged(fact, State.BROKEN, broken)
    return Judged(fact, State.HOLDS if whole else State.UNTRIED)
