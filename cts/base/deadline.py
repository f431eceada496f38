"""Limits of time: of a whole command (`--max-time`), and of parts of it."""

from __future__ import annotations

import time

#: How the reason begins why a run does not go on whose time is up.
TIME_IS_UP = "the time of the run was up"


class Deadline:
    """So many seconds from now, or no limit; the same moment in all processes of a machine. `option` is what set it."""

    def __init__(self, seconds: float | None, option: str = "--max-time") -> None:
        self._until = float("inf") if seconds is None else time.monotonic() + seconds
        #: What it says when it is up.
        self.why = "" if seconds is None else f"{TIME_IS_UP} ({option} {seconds:g})"

    def __call__(self) -> str:
        """Why nothing more is begun, "" while there is time."""
        return self.why if self.left <= 0 else ""

    def elsewhere(self) -> Deadline:
        """The same for a machine with another clock: no limit, until `not_after` says how many seconds are left."""
        there = Deadline(None)
        there.why = self.why
        return there

    def not_after(self, seconds: float) -> None:
        """Let it be so many seconds from now, unless it is sooner."""
        self._until = min(self._until, time.monotonic() + seconds)

    @property
    def left(self) -> float:
        """Seconds until then, infinity where there is no limit."""
        return self._until - time.monotonic()

    def within(self, seconds: float | None) -> Deadline:
        """The sooner of this one and so many seconds from now."""
        sooner = Deadline(seconds)
        return sooner if sooner._until < self._until else self


NO_DEADLINE = Deadline(None)
