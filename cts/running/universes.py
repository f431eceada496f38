"""Universes swept together: which sets are next, and what failing sets have in common."""

from __future__ import annotations

import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Sequence

from cts.judging.events import Result
from cts.running.sweeping import SweepRun
from cts.running.tasks import Answer, FindCauses, Sets


class Sweeps:
    """Universes: a source of tasks (`tasks`) and a receiver of their answers (`take`).

    The next sets are those of the universe that has had the least time, so that the first sets of all universes are
    judged before the last of any. `begin` opens a universe at its turn. `stopped` says why no more tasks are started,
    "" while the sweep goes on; `ended` is called with the results of each universe whose last task has ended.
    """

    def __init__(
        self,
        universes: Sequence[str],
        begin: Callable[[str], SweepRun],
        ended: Callable[[list[Result]], None],
        stopped: Callable[[], str],
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        #: Universes that have not begun.
        self.waiting = deque(universes)
        self.runs: dict[str, SweepRun] = {}
        self._begin, self._ended, self._stopped, self._clock = begin, ended, stopped, clock
        self._tasks: dict[str, Iterator[Sets]] = {}
        self._flying: Counter[str] = Counter()
        self._spent: defaultdict[str, float] = defaultdict(float)
        self._since: dict[int, float] = {}
        self._causes: deque[FindCauses] = deque()

    def tasks(self) -> Iterator[Sets | FindCauses | None]:
        """The next tasks; None while they depend on answers to come."""
        while self.runs or (self.waiting and not self._stopped()):
            task = self._causes.popleft() if self._causes else self._next()
            if task is None and not self._flying.total():
                continue  # a universe has ended without a task
            if task is not None:
                self._flying[task.entry.name] += 1
                self._since[id(task)] = self._clock()
            yield task

    def take(self, task: Sets | FindCauses, answer: Answer) -> None:
        """Take the answer to a task."""
        name = task.entry.name
        self._flying[name] -= 1
        self._spent[name] += self._clock() - self._since.pop(id(task))
        if isinstance(task, FindCauses):
            self.runs[name].take_causes(task, answer)
        else:
            self.runs[name].take(task, answer)
        self._end(name)

    def _next(self) -> Sets | None:
        """The next sets of the universe that has had the least time; None if none has any."""
        if self._stopped():
            for name in list(self._tasks):
                del self._tasks[name]
                self._end(name)
            return None
        while self.waiting:
            name = self.waiting.popleft()
            self.runs[name] = self._begin(name)
            self._tasks[name] = self.runs[name].tasks()
            if (task := self._of(name)) is not None:
                return task
        while self._tasks:
            name = min(self._tasks, key=lambda name: self._spent[name])
            if (task := self._of(name)) is not None:
                return task
        return None

    def _of(self, name: str) -> Sets | None:
        """The next sets of a universe. After its last ones it ends with their answers."""
        task = next(self._tasks[name], None)
        if task is None:
            del self._tasks[name]
            self._end(name)
        return task

    def _end(self, name: str) -> None:
        """End a universe that has no more tasks: look for causes first, once."""
        if self._flying[name] or name in self._tasks:
            return
        run = self.runs[name]
        causes = [] if run.has_causes else list(run.cause_tasks())
        self._causes.extend(causes)
        if not causes and not any(task.entry.name == name for task in self._causes):
            del self.runs[name]
            self._ended(list(run.finish(self._stopped())))
