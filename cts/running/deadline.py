"""Reasons why a run did not do some of its work: its time was up, or what should have done it is gone."""

from __future__ import annotations

from cts.base.deadline import TIME_IS_UP, Deadline
from cts.judging.events import Event, Result, Trouble
from cts.running.slowest import SLOW

#: The error of a process or worker that does not answer long after the time of the run.
NO_ANSWER = "no-answer"

#: Errors after which the same command, resumed, does the rest.
_LOST = frozenset({NO_ANSWER, "no-scheduler", "scheduler-lost", "no-workers"})


def is_lost(event: Event) -> bool:
    """Whether an event says that answers are missing for no fault of a driver or a case."""
    return isinstance(event, Trouble) and event.code in _LOST


def lacks_time(result: Result) -> bool:
    """Whether a case, or a part of an area, was not run because the time of the run was up."""
    return not result.verdict.is_finding and any(why.startswith(TIME_IS_UP) for why in result.not_run)


#: How the reason ends why a slow case was not finished.
SET_ASIDE = f": set aside after {SLOW:g} s"


def patience(time_is_up: Deadline, *, last: bool) -> float | None:
    """Seconds after which a driver may set a case aside: those that are left, if it was left for last; None: never."""
    if not last:
        return SLOW
    return None if time_is_up.left == float("inf") else max(SLOW, time_is_up.left)
