"""A run in several processes: each has its own drivers and its own oracle, and carries out tasks of the first process.

A process that dies is replaced. If a driver may have killed it, its cases run again alone, and not more often than in a
run that ends with them and is resumed.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, TypeAlias

from cts.base.child_process import crash, killed_from_outside
from cts.base.deadline import NO_DEADLINE, Deadline
from cts.base.errors import BadInput, HarnessTrouble
from cts.base.heartbeat import heartbeat
from cts.device.driver import IN_PROCESSES
from cts.judging.events import CasesStarted, Event, ignore, problem
from cts.judging.judge import NO_RESUME_STATE, OpenDriver, ResumeState
from cts.judging.known.baseline import Baseline
from cts.judging.known.quarantine import Quarantine
from cts.plugins import registry
from cts.running.garbage import rarely_collected
from cts.running.opening import open_driver
from cts.running.policy import Policy
from cts.running.profiles import Profile
from cts.running.tasks import NAMED, Answer, Task, TaskRunner, described_task, not_done, takes_long, unanswered

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext, SpawnContext

#: Tasks that are given out before the answer of the first of them has been used: two for each of about thirty
#: processes, so that one slow task stops no process. It bounds the answers that wait in memory.
TASK_WINDOW = 64

#: Tasks that a process has at a time: one that it works on, and the next.
QUEUED = 2

#: A task with which so many processes have ended, none of which a driver is known to have ended, is given up.
TRIES = 3

#: Seconds that a run waits for its processes after its time is up: twice the default limit of a dispatch.
OVERRUN = 20.0

#: Seconds for a process to end by itself, closing its drivers, before it is killed.
GRACE = 5.0


#: In the spec of a driver: the device of the process that opens it.
DEVICE = "{device}"


@dataclass(frozen=True)
class ProcessConfig:
    """The shared configuration of a run's processes. `states` are by driver spec, and `own_processes` are the specs of
    drivers that run in processes of their own. `device` replaces `{device}` in specs.
    """

    specs: tuple[str, ...]
    profile: Profile
    policy: Policy
    quarantine: Quarantine
    baseline: Baseline
    reruns: int
    states: Mapping[str, ResumeState]
    own_processes: frozenset[str] = frozenset()
    time_is_up: Deadline = NO_DEADLINE
    device: str = ""


@dataclass(frozen=True)
class _Started:
    """Cases that are about to be given to a driver."""

    spec: str
    hashes: tuple[str, ...]
    names: tuple[str, ...]


@dataclass(frozen=True)
class _Done:
    number: int
    answer: Answer


#: A text is the phase that the process's driver has entered.
_Message: TypeAlias = "_Started | _Done | str | BadInput | HarnessTrouble"


@dataclass(eq=False)
class _Given:
    """A task that was taken, and how often a process ended with it for no reason that is known."""

    task: Task
    tries: int = 0


@dataclass(eq=False)
class _Process:
    """A process, the numbers of the tasks that it has, and the cases that its driver has."""

    process: multiprocessing.process.BaseProcess
    connection: Connection
    device: str
    numbers: deque[int] = field(default_factory=deque)
    spec: str = ""
    flying: tuple[str, ...] = ()


class Processes:
    """Processes that start with the first task and end with `close`, in turn on `devices` if there are any.

    Answers come as they are ready; if the run stops at its first finding, in the order of the tasks.
    """

    def __init__(
        self, count: int, config: ProcessConfig, *, ordered: bool = False, devices: Sequence[str] = ()
    ) -> None:
        self.size = count
        self._devices = list(devices) or [""]
        self._config = config
        self._ordered = ordered
        self._processes: list[_Process] = []
        self._taken = 0
        self._died: dict[str, Counter[str]] = {
            spec: Counter(config.states.get(spec, NO_RESUME_STATE).died) for spec in config.specs
        }

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def perform(
        self, tasks: Iterable[Task | None], stale: Callable[[Task], bool] = lambda task: False
    ) -> Iterator[tuple[Task, Answer]]:
        """Each task with its answer; an empty one for a task that is `stale` by the time it begins.

        After None the source of tasks is asked again as soon as there is an answer.

        Raises HarnessTrouble if a process cannot do its work.
        """
        source, exhausted = iter(tasks), False
        in_flight: dict[int, _Given] = {}
        answers: dict[int, Answer] = {}
        ready: deque[int] = deque()
        # Tasks of an earlier call that was not waited for have lower numbers.
        used = self._taken
        while True:
            while answers and (not self._ordered or used in answers):
                number = used if self._ordered else next(iter(answers))
                used += 1
                yield in_flight.pop(number).task, answers.pop(number)
            while not exhausted and (self._taken - used < TASK_WINDOW if self._ordered else not ready):
                try:
                    task = next(source)
                except StopIteration:
                    exhausted = True
                    break
                if task is None:
                    break
                in_flight[self._taken] = _Given(task)
                ready.append(self._taken)
                self._taken += 1
                if not self._ordered:
                    self._give(ready, in_flight, answers, stale)
            self._give(ready, in_flight, answers, stale)
            if answers and (not self._ordered or used in answers):
                continue
            if not in_flight:
                assert exhausted, "what no answer can decide is no reason to wait"
                return
            self._wait(ready, in_flight, answers)

    def close(self) -> None:
        """End all processes."""
        for process in self._processes:
            with contextlib.suppress(OSError):
                process.connection.send(None)
        for process in self._processes:
            if process.numbers:
                process.process.terminate()  # its answer is not wanted any more
            process.process.join(GRACE)
            if process.process.is_alive():
                process.process.kill()
                process.process.join()
            process.connection.close()
        self._processes.clear()

    def _give(
        self, ready: deque[int], given: Mapping[int, _Given], answers: dict[int, Answer], stale: Callable[[Task], bool]
    ) -> None:
        """Give out tasks that are ready, to the processes that have the fewest."""
        while ready:
            if stale(given[ready[0]].task):
                answers[ready.popleft()] = Answer()
                continue
            if len(self._processes) < self.size and all(one.numbers for one in self._processes):
                self._processes.append(self._begin())
            free = [one for one in self._processes if len(one.numbers) < QUEUED and not _is_long(one.numbers, given)]
            if not free:
                return
            idlest = min(free, key=lambda one: len(one.numbers))
            number = ready.popleft()
            idlest.numbers.append(number)
            # Its death shows in missing answers.
            with contextlib.suppress(OSError):
                idlest.connection.send((number, given[number].task))

    def _wait(self, ready: deque[int], given: Mapping[int, _Given], answers: dict[int, Answer]) -> None:
        """Take messages from processes, at least one, unless they overrun the time of the run."""
        by_connection = {process.connection: process for process in self._processes}
        begun = [
            given[process.numbers[0]].task
            for process in self._processes
            if process.numbers and process.numbers[0] in given
        ]
        heartbeat.doing = f"waiting for {'; '.join(map(described_task, begun[:NAMED]))}"
        left = self._config.time_is_up.left + OVERRUN
        sent = wait(list(by_connection), None if left == float("inf") else max(0.0, left))
        if not sent:
            self._give_up(ready, given, answers)
        for connection in sent:
            process = by_connection[connection]  # type: ignore[index]
            try:
                message: _Message = process.connection.recv()
            except (EOFError, OSError):
                self._buried(process, ready, given, answers)
                continue
            match message:
                case _Started():
                    process.spec, process.flying = message.spec, message.hashes
                    heartbeat.started(message.spec, message.names, process, process.process.pid)
                case str():
                    heartbeat.entered(message, process)
                case _Done():
                    process.numbers.remove(message.number)
                    process.flying = ()
                    heartbeat.ended(process)
                    if message.number in given:
                        answers[message.number] = message.answer
                case _:
                    raise message

    def _give_up(self, ready: deque[int], given: Mapping[int, _Given], answers: dict[int, Answer]) -> None:
        """Stop waiting for running tasks, long after the time is up: that they have no answer is an error."""
        why = self._config.time_is_up()
        waited_for = [p.numbers[0] for p in self._processes if p.numbers and p.numbers[0] in given]
        for process in self._processes:
            process.process.kill()
            process.process.join()
            process.connection.close()
            heartbeat.ended(process)
        self._processes.clear()
        ready.clear()
        for number, task in given.items():
            if number not in answers:
                answers[number] = not_done(task.task, why)
        if waited_for:
            trouble = unanswered([given[number].task for number in waited_for], OVERRUN)
            answers[waited_for[0]].events.append(problem(trouble))

    def _buried(
        self, dead: _Process, ready: deque[int], given: Mapping[int, _Given], answers: dict[int, Answer]
    ) -> None:
        """Handle the end of a process: its driver's cases may be the reason, and its tasks are given out again.

        The end says nothing about a driver in a process of its own, nor if the process was killed from outside. A task
        with which this happens repeatedly is given up.
        """
        dead.process.join()
        dead.connection.close()
        self._processes.remove(dead)
        heartbeat.ended(dead)
        numbers = [number for number in dead.numbers if number in given]
        ready.extendleft(reversed(numbers))
        status = dead.process.exitcode or 0
        if dead.flying and dead.spec not in self._config.own_processes and not killed_from_outside(status):
            self._died[dead.spec].update(dead.flying)
            return
        if not numbers:
            return
        first = given[numbers[0]]
        first.tries += 1
        if first.tries >= TRIES:
            how = crash(status) or f"status {status}"
            why = f"the process of the run that was at it ended {TRIES} times, with {how}: out of memory?"
            ready.remove(numbers[0])
            answers[numbers[0]] = not_done(first.task, why)
            trouble = HarnessTrouble("process-died", why, described_task(first.task), "the same run without -j")
            answers[numbers[0]].events.append(problem(trouble))

    def _begin(self) -> _Process:
        states = {
            spec: replace(self._config.states.get(spec, NO_RESUME_STATE), died=dict(died))
            for spec, died in self._died.items()
        }
        context = _context()
        ours, theirs = context.Pipe()
        used = Counter(other.device for other in self._processes)
        device = min(self._devices, key=lambda device: used[device])
        config = replace(self._config, states=states, device=device)
        environment = {IN_PROCESSES: str(self.size), **os.environ}
        process = context.Process(target=_serve, args=(theirs, config, environment), daemon=True)
        process.start()
        theirs.close()
        return _Process(process, ours, device)


def _is_long(numbers: Iterable[int], given: Mapping[int, _Given]) -> bool:
    """Whether one of these tasks may take so long that a plan would wait for what is behind it."""
    return any(number in given and takes_long(given[number].task) for number in numbers)


def _context() -> SpawnContext | ForkServerContext:
    """How processes start: on Linux forked from a server that has imported all that they need, else by themselves."""
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["cts.running.preloaded"])
    return context


class WorkerProcess:
    """Drivers, an oracle and judged cases in a process that carries out another process's tasks.

    Raises BadInput or HarnessTrouble if a driver does not open.
    """

    def __init__(self, config: ProcessConfig, on_start: Callable[[CasesStarted], None] = ignore) -> None:
        self._events: list[Event] = []
        self._on_start = on_start
        self.time_is_up = config.time_is_up
        self._drivers: list[OpenDriver] = []
        for spec in config.specs:
            opened = open_driver(spec.replace(DEVICE, config.device), config.quarantine, config.baseline)
            state = config.states.get(spec, NO_RESUME_STATE)
            self._drivers.append(replace(opened, spec=spec, resumed=state, emit=self._emit))
        self._runner = TaskRunner(
            self._drivers, registry.oracle(), config.profile, config.policy, self._emit, config.reruns,
            config.time_is_up,
        )  # fmt: skip

    def answer(self, task: Task) -> Answer:
        """Carry out a task."""
        with rarely_collected():
            answer = self._runner.answer(task)
        answer.events, self._events[:] = list(self._events), []
        return answer

    def close(self) -> None:
        """Close the drivers."""
        for driver in self._drivers:
            with contextlib.suppress(Exception):
                driver.driver.close()

    def _emit(self, event: Event) -> None:
        if isinstance(event, CasesStarted):
            self._on_start(event)
        else:
            self._events.append(event)


def _serve(connection: Connection, config: ProcessConfig, environment: Mapping[str, str]) -> None:
    """Carry out tasks until there are no more. Runs in a process of its own, which Ctrl-C does not concern."""
    os.environ.clear()  # that of the server is of the first run
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    worker = None
    try:
        worker = WorkerProcess(
            config, lambda event: connection.send(_Started(event.driver, event.hashes, heartbeat.cases))
        )
        heartbeat.on_phase = connection.send
        while (message := connection.recv()) is not None:
            number, task = message
            connection.send(_Done(number, worker.answer(task)))
    except (EOFError, BrokenPipeError):
        return  # the run has ended
    except (BadInput, HarnessTrouble) as e:
        connection.send(e)
    except Exception as e:  # noqa: BLE001 - the first process reports it, and ends the run
        what = f"a process of the run fails: {type(e).__name__}: {e}"
        connection.send(HarnessTrouble("process-failed", what, traceback.format_exc(), "the same run without -j"))
    finally:
        if worker is not None:
            worker.close()
