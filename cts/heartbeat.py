"""A sign of life: a command prints a line if it has printed nothing for long."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: Seconds of silence after which a sign of life is printed.
SILENCE = 30.0


class Heartbeat:
    """Notes when something was last printed, and what is being done. `clock` gives seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._started = self._heard = clock()
        #: What is being done, in words; "" where nobody says.
        self.doing = ""

    def heard(self) -> None:
        """Something was printed."""
        self._heard = self._clock()

    @property
    def wait(self) -> float:
        """Seconds until there is a reason for a word."""
        return self._heard + SILENCE - self._clock()

    def word(self) -> str:
        """What is to be said where nothing was for long, else ""."""
        if self.wait > 0:
            return ""
        self.heard()
        doing = f": {self.doing}" if self.doing else ""
        return f"still at work after {self._clock() - self._started:.0f} s{doing}"

    @contextmanager
    def watching(self, say: Callable[[str], None]) -> Iterator[None]:
        """Within, say so when it is time, from a thread."""
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


#: That of the command.
heartbeat = Heartbeat()
