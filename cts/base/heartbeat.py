"""A sign of life: a command prints a line if it has printed nothing for long."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

#: Seconds of silence after which a sign of life is printed: a user who waits longer asks whether the command hangs.
SILENCE = 30.0


class Heartbeat:
    """Remembers when a line was last printed, and what the command does now. `clock` returns seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._started = self._heard = clock()
        #: What the command does now, in words; "" if nobody says.
        self.doing = ""
        #: The cases that a driver has, by name, in the order in which it returns them.
        self._cases: deque[str] = deque()
        self._driver = ""
        self._case_started = 0.0

    def heard(self) -> None:
        """Something was printed."""
        self._heard = self._clock()

    def started(self, driver: str, cases: Iterable[str]) -> None:
        """A driver gets cases, by their names; it runs the first one now."""
        self._driver, self._cases, self._case_started = driver, deque(cases), self._clock()

    def returned(self) -> None:
        """The driver has returned the first of its cases."""
        if self._cases:
            self._cases.popleft()
        self._case_started = self._clock()

    @property
    def _running(self) -> str:
        """The case that a driver runs now, in words."""
        try:
            name = self._cases[0]
        except IndexError:  # from another thread than the cases'
            return ""
        queued = f" ({queue} queued)" if (queue := len(self._cases) - 1) > 0 else ""
        return f"{self._driver}: running {name} for {self._clock() - self._case_started:.0f} s{queued}"

    @property
    def wait(self) -> float:
        """Seconds until there is a reason for a word."""
        return self._heard + SILENCE - self._clock()

    def word(self) -> str:
        """The line to print if nothing was printed for long, else ""."""
        if self.wait > 0:
            return ""
        self.heard()
        doing = "; ".join(filter(None, (self.doing, self._running)))
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


#: The heartbeat of the command.
heartbeat = Heartbeat()
