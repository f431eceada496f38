"""A sign of life: whoever waits for a command hears of it, though nothing happens that would be told anyway."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

#: Seconds without a word after which there is one.
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

    def watch(self, say: Callable[[str], None]) -> None:
        """Say so from now on, in a thread that ends with the process."""

        def run() -> None:
            while True:
                time.sleep(max(self.wait, 0.1))
                if word := self.word():
                    say(word)

        threading.Thread(target=run, name="heartbeat", daemon=True).start()


#: That of the command.
heartbeat = Heartbeat()
