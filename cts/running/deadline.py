"""Reasons why a run did not start some of its work for lack of time."""

from __future__ import annotations

from cts.base.deadline import TIME_IS_UP
from cts.judging.events import Result


def lacks_time(result: Result) -> bool:
    """Whether a case, or a part of an area, was not run because the time of the run was up."""
    return not result.verdict.is_finding and any(why.startswith(TIME_IS_UP) for why in result.not_run)
