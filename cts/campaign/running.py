"""A campaign from its first chunk, or the one after the last that is done, to its end."""

from __future__ import annotations

import time
from collections.abc import Callable

from cts.campaign.chunks import Answer, Chunk, Reduce, Report, Task, Waiting
from cts.campaign.folder import CampaignFolder
from cts.campaign.local import Executor
from cts.campaign.planning import Planner
from cts.deadline import Deadline
from cts.model.sweep import AREA
from cts.sweeps.selection import Chosen, opened, sweep_entry

#: Tasks that each process has: one that it works on, and the next.
QUEUED = 2

#: Seconds between two looks at the clock.
TICK = 0.5

#: Causes whose cases are made smaller when all is judged.
REDUCED = 20

#: The largest part of the time that is kept for them.
FOR_REDUCTIONS = 0.25

#: How many seconds after the time is up what processes are at is waited for.
OVERRUN = 20.0

Show = Callable[[CampaignFolder, Waiting], None]


class Campaign:
    """A campaign in an executor; `show` is told of it now and then, and of what it waits for."""

    def __init__(
        self, folder: CampaignFolder, executor: Executor, show: Show, time_is_up: Deadline, reduce_seconds: float
    ) -> None:
        self._folder = folder
        self._executor = executor
        self._show = show
        self._time_is_up = time_is_up
        self._whole = time_is_up.left
        self._reduce_seconds = reduce_seconds
        self._began = time.monotonic() - folder.seconds
        self._heard = time.monotonic()
        self._planner = Planner(folder.settings, sweeps_of(folder))
        for done in folder.answers:
            self._done(done)

    def run(self) -> int:
        """Do what there is to do until it is done or the time is up; returns the exit status.

        What has not come back `OVERRUN` seconds after that is not waited for, and done when the campaign is resumed.
        """
        self._perform(lambda: self._planner.next() if self._time_is_up.left > self._for_reductions() else None)
        causes = self._causes()
        self._perform(lambda: self._reduction(causes.pop(0)) if causes and not self._time_is_up() else None)
        self._show(self._folder, Waiting())
        return self._folder.totals.exit_status

    def _causes(self) -> list[str]:
        """The causes of which a case is to be made smaller, the most frequent ones first."""
        totals = self._folder.totals
        if self._reduce_seconds <= 0:
            return []
        return [cause for cause, _ in totals.causes.most_common(REDUCED) if cause not in totals.reduced]

    def _for_reductions(self) -> float:
        """Seconds that are kept for them, a part of the time at most."""
        if self._time_is_up.left == float("inf"):
            return 0.0
        rounds = -(-len(self._causes()) // max(1, self._executor.size))
        return min(rounds * self._reduce_seconds, FOR_REDUCTIONS * self._whole)

    def _reduction(self, cause: str) -> Reduce:
        seconds = min(self._reduce_seconds, max(1.0, self._time_is_up.left))
        return Reduce(cause, self._folder.totals.shortest(cause).case, seconds)

    def _perform(self, following: Callable[[], Task | None]) -> None:
        while True:
            room = QUEUED * max(1, self._executor.size)  # asked once: a cluster asks its scheduler
            while self._executor.flying < room:
                task = following()
                if task is None:
                    break
                self._executor.submit(task)
            if not self._executor.flying or self._time_is_up.left < -OVERRUN:
                return
            for task, answer in self._executor.answers(TICK):
                self._heard = time.monotonic()
                if not isinstance(task, Chunk) or self._done(answer):
                    self._folder.add(answer, time.monotonic() - self._began)
            silent = time.monotonic() - self._heard
            self._show(self._folder, Waiting(silent, self._executor.flying, tuple(self._executor.begun)))

    def _done(self, answer: Answer) -> bool:
        """Tell the planner of an answer; False where its chunk was done already."""
        if isinstance(answer, Report):
            return self._planner.done(answer.chunk, answer)
        if isinstance(answer.task, Chunk):
            return self._planner.done(answer.task, None)
        return True


def sweeps_of(folder: CampaignFolder) -> dict[str, int]:
    """How many parameter sets there are of each universe."""
    found = {}
    for entry in map(sweep_entry, folder.settings.sweeps):
        found[f"{AREA}.{entry.name}"] = Chosen(opened(entry.path).size, entry.max_sets, folder.settings.seed).count
    return found
