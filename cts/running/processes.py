"""A run in several processes: each has drivers and an oracle of its own, and carries out tasks of the first one.

Answers come back in the order of the tasks, whichever is ready first, so that a run says the same as in one process. A
process that dies is replaced; the cases that its driver had then run alone, and not more often than in a run that dies
with them and is resumed.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from typing import TypeAlias

from cts.driver import IN_PROCESSES
from cts.errors import BadInput, HarnessTrouble
from cts.judging.events import CasesStarted, Event
from cts.judging.judge import NO_RESUME_STATE, ResumeState
from cts.known.baseline import Baseline
from cts.known.quarantine import Quarantine
from cts.plugins import registry
from cts.running.garbage import rarely_collected
from cts.running.opening import open_driver
from cts.running.profiles import Profile
from cts.running.tasks import Answer, Task, TaskRunner

#: Tasks that are given out before the answer of the first of them has been used.
AHEAD = 64

#: Tasks that a process has at a time: one that it works on, and the next.
QUEUED = 2

#: How long a process may take to end by itself, in seconds.
GRACE = 5.0


@dataclass(frozen=True)
class Setting:
    """What the processes of a run have in common. `states` are by the spec of a driver."""

    specs: tuple[str, ...]
    profile: Profile
    quarantine: Quarantine
    baseline: Baseline
    reruns: int
    states: Mapping[str, ResumeState]


@dataclass(frozen=True)
class _Started:
    """Cases that are about to be given to a driver."""

    spec: str
    hashes: tuple[str, ...]


@dataclass(frozen=True)
class _Done:
    number: int
    answer: Answer


_Message: TypeAlias = "_Started | _Done | BadInput | HarnessTrouble"


@dataclass(eq=False)
class _Process:
    """A process, the numbers of the tasks that it has, and the cases that its driver has."""

    process: multiprocessing.process.BaseProcess
    connection: Connection
    numbers: deque[int] = field(default_factory=deque)
    spec: str = ""
    flying: tuple[str, ...] = ()


class Processes:
    """So many processes, which start with the first task and end with `close`."""

    def __init__(self, count: int, setting: Setting) -> None:
        self._count = count
        self._setting = setting
        self._processes: list[_Process] = []
        self._taken = 0
        self._died: dict[str, Counter[str]] = {
            spec: Counter(setting.states.get(spec, NO_RESUME_STATE).died) for spec in setting.specs
        }

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def perform(
        self, tasks: Iterable[Task], stale: Callable[[Task], bool] = lambda task: False
    ) -> Iterator[tuple[Task, Answer]]:
        """Each task with its answer, in their order; an empty one for a task that is `stale` by the time it begins.

        Raises HarnessTrouble where a process cannot do its work.
        """
        source, exhausted = iter(tasks), False
        given: dict[int, Task] = {}
        answers: dict[int, Answer] = {}
        ready: deque[int] = deque()
        # Tasks of an earlier call that was not waited for have lower numbers.
        used = self._taken
        while True:
            while used in answers:
                yield given.pop(used), answers.pop(used)
                used += 1
            while not exhausted and self._taken - used < AHEAD:
                task = next(source, None)
                if task is None:
                    exhausted = True
                else:
                    given[self._taken] = task
                    ready.append(self._taken)
                    self._taken += 1
            self._give(ready, given, answers, stale)
            if used in answers:
                continue
            if used == self._taken:
                return
            self._wait(ready, given, answers)

    def close(self) -> None:
        """End all processes."""
        for one in self._processes:
            with contextlib.suppress(OSError):
                one.connection.send(None)
        for one in self._processes:
            if one.numbers:
                one.process.terminate()  # what it does is not wanted any more
            one.process.join(GRACE)
            if one.process.is_alive():
                one.process.kill()
                one.process.join()
            one.connection.close()
        self._processes.clear()

    def _give(
        self, ready: deque[int], given: Mapping[int, Task], answers: dict[int, Answer], stale: Callable[[Task], bool]
    ) -> None:
        """Give tasks to the processes that have the fewest."""
        while ready:
            if stale(given[ready[0]]):
                answers[ready.popleft()] = Answer()
                continue
            if len(self._processes) < self._count and all(one.numbers for one in self._processes):
                self._processes.append(self._begin())
            idlest = min(self._processes, key=lambda one: len(one.numbers))
            if len(idlest.numbers) == QUEUED:
                return
            number = ready.popleft()
            idlest.numbers.append(number)
            # That it has died is noticed by what it does not answer.
            with contextlib.suppress(OSError):
                idlest.connection.send((number, given[number]))

    def _wait(self, ready: deque[int], given: Mapping[int, Task], answers: dict[int, Answer]) -> None:
        """Take what processes have sent, some of it at least."""
        by_connection = {one.connection: one for one in self._processes}
        for connection in wait(list(by_connection)):
            one = by_connection[connection]  # type: ignore[index]
            try:
                message: _Message = one.connection.recv()
            except (EOFError, OSError):
                ready.extendleft(number for number in reversed(self._buried(one)) if number in given)
                continue
            match message:
                case _Started():
                    one.spec, one.flying = message.spec, message.hashes
                case _Done():
                    one.numbers.remove(message.number)
                    one.flying = ()
                    if message.number in given:
                        answers[message.number] = message.answer
                case _:
                    raise message

    def _buried(self, dead: _Process) -> list[int]:
        """Note with which cases a process has died; returns the numbers of the tasks that it leaves."""
        dead.process.join()
        dead.connection.close()
        self._processes.remove(dead)
        if not dead.flying:
            what = f"a process of the run has ended with status {dead.process.exitcode} while no driver had a case"
            raise HarnessTrouble("process-died", what, "cts run -j", "the same run without -j shows more")
        self._died[dead.spec].update(dead.flying)
        return list(dead.numbers)

    def _begin(self) -> _Process:
        states = {
            spec: replace(self._setting.states.get(spec, NO_RESUME_STATE), died=dict(died))
            for spec, died in self._died.items()
        }
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs, replace(self._setting, states=states)), daemon=True)
        with _environment({IN_PROCESSES: str(self._count)}):
            process.start()
        theirs.close()
        return _Process(process, ours)


@contextlib.contextmanager
def _environment(defaults: Mapping[str, str]) -> Iterator[None]:
    """Within, environment variables that are not set have these values, for processes that are started."""
    missing = {name: value for name, value in defaults.items() if name not in os.environ}
    os.environ.update(missing)
    yield
    for name in missing:
        del os.environ[name]


def _serve(connection: Connection, setting: Setting) -> None:
    """Carry out tasks until there are no more. Runs in a process of its own, which Ctrl-C does not concern."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    events: list[Event] = []

    def emit(event: Event) -> None:
        if isinstance(event, CasesStarted):
            connection.send(_Started(event.driver, event.hashes))
        else:
            events.append(event)

    drivers = []
    try:
        for spec in setting.specs:
            opened = open_driver(spec, setting.quarantine, setting.baseline)
            drivers.append(replace(opened, resumed=setting.states[spec], emit=emit))
        runner = TaskRunner(drivers, registry.oracle(), setting.profile, emit, setting.reruns)
        with rarely_collected():
            while (message := connection.recv()) is not None:
                number, task = message
                answer = runner.answer(task)
                answer.events, events[:] = list(events), []
                connection.send(_Done(number, answer))
    except (EOFError, BrokenPipeError):
        return  # the run has ended
    except (BadInput, HarnessTrouble) as e:
        connection.send(e)
    except Exception as e:  # noqa: BLE001 - told by the first process, which ends the run
        what = f"a process of the run fails: {type(e).__name__}: {e}"
        connection.send(HarnessTrouble("process-failed", what, traceback.format_exc(), "the same run without -j"))
    finally:
        for driver in drivers:
            with contextlib.suppress(Exception):
                driver.driver.close()
