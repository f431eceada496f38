"""Limits of time: `--max-time`."""

from __future__ import annotations

import time

from cts.judging.events import Result

#: How the reason begins why a run does not go on whose time is up.
TIME_IS_UP = "the time of the run was up"


class Deadline:
    """So many seconds from now, or no limit. `option` is what set it."""

    def __init__(self, seconds: float | None, option: str = "--max-time") -> None:
        self._start = time.perf_counter()
        self._seconds = seconds
        self._option = option

    def __call__(self) -> str:
        """Why nothing more is begun, "" while there is time."""
        if self._seconds is None or time.perf_counter() - self._start < self._seconds:
            return ""
        return f"{TIME_IS_UP} ({self._option} {self._seconds:g})"


NO_DEADLINE = Deadline(None)


def lacks_time(result: Result) -> bool:
    """Whether a case, or a part of an area, was not run because the time of the run was up."""
    return not result.verdict.is_finding and any(why.startswith(TIME_IS_UP) for why in result.not_run)
