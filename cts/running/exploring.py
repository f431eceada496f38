"""Areas explored together: which examples are next, which findings are made smaller, and when an area has ended."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence, Set

from cts.base.deadline import NO_DEADLINE, TIME_IS_UP, Deadline
from cts.case.oracle.expectation import Oracle
from cts.judging.batch import block_size
from cts.judging.events import Emit, ExamplesJudged, ignore
from cts.judging.judge import OpenDriver
from cts.judging.reruns import RERUNS
from cts.running.areas import AreaRun, Ran
from cts.running.planning import Planner
from cts.running.policy import FIRST_FINDING, Policy, chunk_size
from cts.running.profiles import Profile
from cts.running.slowest import SLOW
from cts.running.survey import AreaResult
from cts.running.tasks import Answer, Examples, Reduction, Task, TaskRunner

#: Causes whose cases are reduced after all cases are judged: a reader rarely looks at more. Round number.
REDUCED = 20

#: The largest part of the run's time that reductions take while cases are judged, and that is reserved for them at the
#: end. Round number.
FOR_REDUCTIONS = 0.25

#: The part of the processes and of their time that slow cases get beside others, if the run ends with its time: all
#: others may never be done. The promise is that slow cases cost less than 3 %.
FOR_SLOW = 0.025

#: How often a reduction goes on that had no more time.
TIMES = 5


class Exploration:
    """Areas on drivers: a source of tasks (`tasks`) and a receiver of their answers (`take`).

    `ended` is called with each area when its last task has ended; if the run goes on after findings, when the last task
    of all areas has ended. `stopped` says why no more tasks are started, "" while the run goes on.
    """

    def __init__(
        self,
        runs: Sequence[AreaRun],
        profile: Profile,
        policy: Policy,
        size: int,
        processes: int,
        ended: Callable[[AreaRun], None],
        time_is_up: Deadline = NO_DEADLINE,
        stopped: Callable[[], str] = lambda: "",
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._runs = {run.area: run for run in runs}
        self._of_stream = {stream: run for run in runs for stream in run.streams}
        self._profile = profile
        self._policy = policy
        self._processes = processes
        self._ended = ended
        self._time_is_up = time_is_up
        self._stopped = stopped
        self._planner = Planner(
            list(self._of_stream), size, profile.max_examples, policy.budget, by_novelty=policy.by_novelty
        )
        #: Tasks that are under way, by area; and causes that are being made smaller, or were.
        self._flying: Counter[str] = Counter()
        self._judging = 0
        self._reducing: set[tuple[str, str, str]] = set()
        #: How often reductions of a cause began; when those under way began; and the seconds of all that have ended.
        self._times: Counter[tuple[str, str, str]] = Counter()
        self._clock, self._since = clock, clock()
        self._reductions: dict[int, float] = {}
        self._reduced = 0.0
        #: When cases that were set aside began again, and the seconds of all that have ended.
        self._slow: dict[int, float] = {}
        self._finished = 0.0
        self._whole = time_is_up.left

    def resume(self, judged: Iterable[ExamplesJudged]) -> None:
        """Take over examples that an interrupted run has judged."""
        for chunk in judged:
            if (run := self._runs.get(chunk.area)) is not None and chunk.driver in run.specs:
                run.count(chunk)
                if not chunk.last:
                    self._planner.done(run.stream_of(chunk), chunk.start, chunk.count, chunk)

    def tasks(self) -> Iterator[Task | None]:
        """The next tasks; None while they depend on answers to come."""
        self._end_areas()
        while self._runs:
            task = self._next()
            if task is None and not self._flying.total():
                break
            if task is not None:
                self._flying[task.area] += 1
                self._judging += isinstance(task, Examples)
                if isinstance(task, Reduction) or task.last:
                    (self._reductions if isinstance(task, Reduction) else self._slow)[id(task)] = self._clock()
            yield task
        for run in list(self._runs.values()):
            self._end(run)

    def is_stale(self, task: Task) -> bool:
        """Whether nothing is asked of a task any more."""
        return isinstance(task, Examples) and not (task.area in self._runs and self._runs[task.area].wants(task))

    def take(self, task: Task, answer: Answer) -> None:
        """Take the answer to a task."""
        assert isinstance(task, Examples | Reduction)
        self._flying[task.area] -= 1
        self._judging -= isinstance(task, Examples)
        if isinstance(task, Reduction):
            self._reduced += self._clock() - self._reductions.pop(id(task))
            if answer.found is not None:  # else it is not tried again
                self._reducing.discard((task.area, task.spec, task.kept.cause))
        elif task.last:
            self._finished += self._clock() - self._slow.pop(id(task))
        run = self._runs[task.area]
        if answer.why.startswith(TIME_IS_UP) and isinstance(task, Examples):
            answer.judged.clear()  # a resumed run judges what this run does not wait for
        run.take(task, answer)
        if isinstance(task, Examples) and not task.last:
            for judged in answer.judged[:1]:  # the same examples on all of its drivers
                if judged.count:
                    self._planner.done(run.stream_of(judged), judged.start, judged.count, judged)
        self._end_areas()

    def _next(self) -> Examples | Reduction | None:
        if self._stopped():
            if self._time_is_up():
                self._leave(self._time_is_up.why)
            return None
        if (not self._policy.keep or self._may_reduce()) and (reduction := self._due()) is not None:
            return reduction
        if self._time_is_up.left > self._for_reductions():
            if self._may_finish() and (slow := self._next_slow()) is not None:
                return slow
            while (chunk := self._planner.next()) is not None:
                examples = self._of_stream[chunk.stream].examples(chunk, self._planner.sizes(chunk))
                if examples is not None:
                    return examples
            for run in self._runs.values():
                if not self._flying[run.area] and not self._goes_on(run) and (last := run.for_last()) is not None:
                    return last
            if not any(map(self._goes_on, self._runs.values())) and (slow := self._next_slow()) is not None:
                return slow  # there is nothing else to judge
        else:
            self._leave(self._time_is_up.why)
        return (self._due() or self._going_on()) if self._policy.keep else None

    def _next_slow(self) -> Examples | None:
        """The next case that was set aside."""
        return next(filter(None, (run.set_aside() for run in self._runs.values())), None)

    def _may_finish(self) -> bool:
        """Whether a case that was set aside is finished now, beside others."""
        if self._whole == float("inf") or len(self._slow) >= max(1, int(FOR_SLOW * self._processes)):
            return False
        return self._finished + SLOW <= FOR_SLOW * self._processes * (self._clock() - self._since)

    def _due(self) -> Reduction | None:
        """The next finding to make smaller, each once."""
        for run, spec, cause in self._findings():
            return self._reduction(run, spec, cause)
        return None

    def _reduction(self, run: AreaRun, spec: str, cause: str) -> Reduction:
        self._reducing.add((run.area, spec, cause))
        self._times[run.area, spec, cause] += 1
        return run.reduction(spec, cause, self._seconds())

    def _may_reduce(self) -> bool:
        """Whether a finding is reduced at once: such reductions have a part of the time, beside judging."""
        if len(self._reductions) >= max(1, int(FOR_REDUCTIONS * self._processes)):
            return False
        elapsed = self._processes * (self._clock() - self._since)
        return self._reduced <= FOR_REDUCTIONS * elapsed + self._profile.reduce_seconds

    def _going_on(self) -> Reduction | None:
        """A reduction that had no more time, while this process has nothing else to do, and others have."""
        if self._judging and self._profile.reduce_seconds > 0:
            for run in self._runs.values():
                for spec, explored in run.explored():
                    for cause, found in explored.reduced.items():
                        key = run.area, spec, cause
                        if found.ran_out and key not in self._reducing and 0 < self._times[key] < TIMES:
                            return self._reduction(run, spec, cause)
        return None

    def _findings(self) -> list[tuple[AreaRun, str, str]]:
        """The findings to reduce: the first of each area and driver, or for each driver the causes with most cases."""
        if self._policy.keep:
            return self._most_frequent() if self._profile.reduce_seconds > 0 else []
        return [
            (run, spec, cause)
            for run in self._runs.values()
            for spec, explored in run.explored()
            for cause in explored.causes
            if not self._is_settled(run, spec, cause, explored)
        ]

    def _most_frequent(self) -> list[tuple[AreaRun, str, str]]:
        """The causes of most cases that are left; of one that several areas have, that with the shortest case."""
        counts: Counter[tuple[str, str]] = Counter()
        shortest: dict[tuple[str, str], tuple[int, AreaRun]] = {}
        settled: set[tuple[str, str]] = set()
        for run in self._runs.values():
            for spec, explored in run.explored():
                for cause in explored.causes:
                    key, size = (spec, cause), explored.shortest(cause).size
                    counts[key] += len(explored.failing[cause])
                    if key not in shortest or size < shortest[key][0]:
                        shortest[key] = size, run
                    if self._is_settled(run, spec, cause, explored):
                        settled.add(key)
        return [(shortest[key][1], *key) for key, _ in counts.most_common(REDUCED) if key not in settled]

    def _is_settled(self, run: AreaRun, spec: str, cause: str, explored: AreaResult) -> bool:
        return cause in explored.reduced or (run.area, spec, cause) in self._reducing

    def _seconds(self) -> float:
        """How long a finding may be made smaller."""
        if self._policy.keep:
            return min(self._profile.reduce_seconds, max(1.0, self._time_is_up.left))
        return self._profile.reduce_seconds

    def _for_reductions(self) -> float:
        """Seconds that are kept for the findings of a run that goes on after them, a part of the time at most."""
        if not self._policy.keep or self._time_is_up.left == float("inf"):
            return 0.0
        rounds = -(-len(self._findings()) // max(1, self._processes))
        return min(rounds * self._profile.reduce_seconds, FOR_REDUCTIONS * self._whole)

    def _leave(self, why: str) -> None:
        """Start no more tasks: count the planned rest as left by its areas, and that of the budget by all equally."""
        if self._judging:
            return
        left = self._planner.budget_left if self._policy.budget else 0
        undone = self._planner.undone()
        for place, run in enumerate(self._runs.values()):
            run.leave(why, (int(left) + place) // len(self._runs), undone)

    def _goes_on(self, run: AreaRun) -> bool:
        """Whether examples of an area are still to be planned or judged."""
        return any(run.goes_on(stream) and self._planner.has_more(stream) for stream in run.streams)

    def _end_areas(self) -> None:
        if self._policy.keep:
            return
        reducing = {run.area for run, _, _ in self._findings()}
        for run in list(self._runs.values()):
            waiting = self._flying[run.area] or run.has_last or run.area in reducing
            if not waiting and not self._goes_on(run):
                self._end(run)

    def _end(self, run: AreaRun) -> None:
        del self._runs[run.area]
        self._ended(run)


def run_area(
    area: str,
    drivers: Sequence[OpenDriver],
    oracle: Oracle,
    profile: Profile,
    emit: Emit = ignore,
    reruns: int = RERUNS,
    known: Set[str] = frozenset(),
    time_is_up: Deadline = NO_DEADLINE,
    policy: Policy = FIRST_FINDING,
) -> Ran:
    """Generated cases of one area on several drivers, those of equal capabilities together, in this process.

    Faults of the generator whose kind is `known` are not reported again. No example is started once
    `time_is_up` says why.
    """
    run = AreaRun(area, drivers, oracle, profile, policy, emit, known)
    executor = TaskRunner(drivers, oracle, profile, policy, emit, reruns, time_is_up)
    ran: list[Ran] = []
    size = chunk_size(policy, profile.max_examples, 1, block_size(drivers))
    exploration = Exploration([run], profile, policy, size, 1, lambda run: ran.append(run.ran()), time_is_up)
    for task, answer in executor.perform(exploration.tasks(), exploration.is_stale):
        exploration.take(task, answer)
    (result,) = ran
    return result
