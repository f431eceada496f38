"""A sign of life: a command prints a line if it has printed nothing for long."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from cts.base.processor_time import is_busy

#: Seconds of silence after which a sign of life is printed: a user who waits longer asks whether the command hangs.
SILENCE = 30.0

#: Seconds after which a case is named, whatever else is printed.
SLOW = 30.0

#: Cases that a line names: more do not fit on it.
NAMED = 4


@dataclass(eq=False)
class _Running:
    """The cases that a driver has, by name, in the order in which it returns them; and since when it has the first.

    `phase` is what it does with that, "" if it does not say.
    """

    driver: str
    names: deque[str]
    since: float
    pid: int
    told: bool = field(default=False)
    phase: str = ""


class Heartbeat:
    """Remembers when a line was last printed, and what the command does now.

    `clock` returns seconds. `busy` is asked whether a process computes, None if that is unknown.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, busy: Callable[[int], bool | None] = is_busy
    ) -> None:
        self._clock, self._busy = clock, busy
        self._started = self._heard = clock()
        #: What the command does now, in words, or what says so at its time; "" if nobody says.
        self.doing: str | Callable[[], str] = ""
        #: By process, "" for this one: what its driver runs.
        self._running: dict[object, _Running] = {}
        #: Called with each phase that this process's driver enters: in a process of a run, to tell the first process.
        self.on_phase: Callable[[str], None] = lambda phase: None

    def heard(self) -> None:
        """Something was printed."""
        self._heard = self._clock()

    def started(self, driver: str, cases: Iterable[str], process: object = "", pid: int | None = None) -> None:
        """A driver gets cases, by their names; it runs the first one now, in another process if that has a `pid`."""
        self._running[process] = _Running(driver, deque(cases), self._clock(), pid or os.getpid())

    def returned(self) -> None:
        """The driver of this process has returned the first of its cases."""
        if (running := self._running.get("")) is not None:
            if running.names:
                running.names.popleft()
            running.since, running.told, running.phase = self._clock(), False, ""

    def entered(self, phase: str, process: object = "") -> None:
        """A driver has entered a phase of its first case: "compiling", or "running"."""
        if (running := self._running.get(process)) is not None:
            running.phase = phase
        if not process:
            self.on_phase(phase)

    def ended(self, process: object) -> None:
        """Another process has returned all that it had, or has ended."""
        self._running.pop(process, None)

    @property
    def cases(self) -> tuple[str, ...]:
        """The names of the cases that this process's driver has."""
        running = self._running.get("")
        return tuple(running.names) if running is not None else ()

    def _words(self, running: _Running) -> str:
        """The case that a driver runs now, in words."""
        try:
            name = running.names[0]
        except IndexError:  # from another thread than the cases'
            return ""
        queue, seconds = len(running.names) - 1, self._clock() - running.since
        running.told = seconds >= SLOW
        queued = [f"{queue} queued"] if queue > 0 else []
        if seconds < SLOW:
            return f"{running.driver}: running {name} for {seconds:.0f} s{_in_brackets(queued)}"
        busy = self._busy(running.pid)
        state = [running.phase] * bool(running.phase)
        state += [] if busy is None or (busy and state) else ["computing" if busy else "waiting"]
        return f"SLOW {seconds:.0f} s {name} on {running.driver}{_in_brackets(state + queued)}"

    @property
    def wait(self) -> float:
        """Seconds until there is a reason for a word."""
        return min([self._heard + SILENCE, *(r.since + SLOW for r in self._untold)]) - self._clock()

    @property
    def _untold(self) -> list[_Running]:
        """What runs, and was not named."""
        return [running for running in list(self._running.values()) if running.names and not running.told]

    def word(self) -> str:
        """The line to print if nothing was printed for long, or if a case has become slow, else ""."""
        now = self._clock()
        if self._heard + SILENCE > now:
            slow = [running for running in self._untold if running.since + SLOW <= now]
            return "; ".join(filter(None, map(self._words, slow)))
        self.heard()
        said = self.doing if isinstance(self.doing, str) else self.doing()
        running = list(self._running.values())  # at once: others change it meanwhile
        running = sorted(running, key=lambda one: one.since)[:NAMED]
        doing = "; ".join(filter(None, (said, *map(self._words, running))))
        return f"still at work after {self._clock() - self._started:.0f} s{': ' if doing else ''}{doing}"

    @contextmanager
    def watching(self, say: Callable[[str], None]) -> Iterator[None]:
        """Within, print a line when it is time, from a thread."""
        self._started = self._heard = self._clock()
        ended = threading.Event()

        def run() -> None:
            while not ended.wait(max(self.wait, 0.1)):
                if word := self.word():
                    say(word)

        thread = threading.Thread(target=run, name="heartbeat", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
            self.doing = ""
            self._running.clear()


def _in_brackets(remarks: list[str]) -> str:
    return f" ({', '.join(remarks)})" if remarks else ""


#: The heartbeat of the command.
heartbeat = Heartbeat()
