"""Judging a device's conversions: each statement holds, is broken, or is about something that the device has not."""

from __future__ import annotations

from collections.abc import Iterable

from cts.device_queries.judge import Judged, State
from cts.device_queries.statement import Broken
from cts.driver import ConvertingDriver
from cts.layout_conversions import contents, effects, sizes
from cts.layout_conversions.abilities import Abilities
from cts.layout_conversions.calls import Trial, Tried
from cts.layout_conversions.expected import differing
from cts.layout_conversions.statement import STATEMENTS, Seen
from cts.oracle.expectation import Oracle

#: The modules that make the statements.
MODULES = (sizes, effects, contents)


def trials(abilities: Abilities) -> list[Trial]:
    """The trials of all statements, in the order of the facts."""
    return [trial for fact in sorted(STATEMENTS) for trial in STATEMENTS[fact].trials(abilities)]


def judge(driver: ConvertingDriver, abilities: Abilities, oracle: Oracle) -> list[Judged]:
    """Run the trials of all statements and hold what comes of them against each. Raises what the driver does."""
    wanted = trials(abilities)
    return judged(wanted, driver.convert(wanted), oracle)


def judged(wanted: Iterable[Trial], tried: Iterable[Tried], oracle: Oracle) -> list[Judged]:
    """The judgement of what came of trials."""
    seen = [Seen(t, found, tuple(differing(oracle, t, found))) for t, found in zip(wanted, tried, strict=True)]
    return [_judged(fact, seen) for fact in sorted(STATEMENTS)]


def _judged(fact: str, seen: list[Seen]) -> Judged:
    statement = STATEMENTS[fact]
    lacking = statement.lacks and not any(one.trial.fact == fact for one in seen)
    if lacking:
        return Judged(fact, State.ABSENT, lacks=statement.lacks)
    lost = (one.tried.lost.partition(": ") for one in seen if one.trial.fact == fact and one.tried.lost)
    broken = (*(Broken(call, what, "an answer") for call, _, what in lost), *statement.check(seen))
    return Judged(fact, State.BROKEN if broken else State.HOLDS, broken)
