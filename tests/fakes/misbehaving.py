"""Drivers that do at one call what no driver should: `misbehaving:CALL-WAY`. Otherwise they are right."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from cts.device.capabilities import Capabilities, everything
from cts.device.driver import Job, Outcome, Status

CONTROLS = "\x1b[2J\x00::error::forged\n::error::forged"


class Unknown(BaseException):
    """Nobody expects it."""


def _raise(error: BaseException) -> None:
    raise error


def _prints() -> None:
    """To standard output, as a person who debugs a driver does; in the form of an event, too."""
    print('{"event":"run-finished","exit_status":0}', flush=True)
    os.write(1, b"::error::forged\n\x1b[2J\n")


def _floods() -> None:
    for _ in range(200):
        os.write(1, b"x" * (1 << 16))
        os.write(2, b"y" * (1 << 16))


def _sleeps() -> None:
    time.sleep(10_000)


def _leaves_a_thread() -> None:
    threading.Thread(target=_sleeps).start()


def _leaves_a_process() -> None:
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(10_000)"])


def _loses_its_folder() -> None:
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    shutil.rmtree(folder)


def _closes_its_streams() -> None:
    for number in (0, 1, 2):
        with contextlib.suppress(OSError):
            os.close(number)


def _ignores_signals() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _sleeps()


#: What can be done at any call. Those that are harmless come back, and the call is right.
WAYS: dict[str, Callable[[], object]] = {
    "exit": lambda: sys.exit(0),
    "end": lambda: os._exit(0),
    "status": lambda: os._exit(7),
    "abort": os.abort,
    "segfault": lambda: ctypes.string_at(0),
    "raise": lambda: _raise(RuntimeError("the driver has a bug")),
    "unknown": lambda: _raise(Unknown("never heard of")),
    "interrupt": lambda: _raise(KeyboardInterrupt()),
    "surrogate": lambda: _raise(RuntimeError("a half \ud800 of a pair")),
    "controls": lambda: _raise(RuntimeError(CONTROLS)),
    "recursion": lambda: _recursion(),
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "hang": _sleeps,
    "deaf": _ignores_signals,
    "print": _prints,
    "flood": _floods,
    "thread": _leaves_a_thread,
    "process": _leaves_a_process,
    "folder": _loses_its_folder,
    "streams": _closes_its_streams,
}


def _recursion() -> object:
    return _recursion()


#: Ways after which the driver is right.
HARMLESS = ("print", "flood", "thread", "process", "folder", "streams")


class Unsendable(Outcome):
    """An outcome that cannot be sent to another process."""

    def __reduce__(self) -> Any:
        raise TypeError("this is not to be pickled")


def _changed(memory: dict[str, Any], change: Callable[[Any], Any]) -> Outcome:
    return Outcome(Status.DONE, {name: change(data) for name, data in memory.items()})


#: What `run` may return.
RETURNED: dict[str, Callable[[dict[str, Any]], Any]] = {
    "nothing": lambda memory: None,
    "text": lambda memory: "done",
    "nan": lambda memory: _changed(memory, lambda data: np.full(data.shape, np.nan)),
    "short": lambda memory: _changed(memory, lambda data: data[:-1]),
    "unsendable": lambda memory: Unsendable(Status.DONE, memory),
    "long-text": lambda memory: Outcome(Status.CRASH, detail="x" * (1 << 24)),
    "control-text": lambda memory: Outcome(Status.CRASH, detail=CONTROLS),
    "half-text": lambda memory: Outcome(Status.CRASH, detail="a half \ud800 of a pair"),
    "number-text": lambda memory: Outcome(Status.CRASH, detail=3),  # type: ignore[arg-type]
}

#: Every way, and what becomes of each case: a verdict, or "" where the driver cannot be used at all.
EXPECTED = {
    **{f"factory-{way}": "" for way in ("exit", "end", "abort", "raise", "unknown", "interrupt", "surrogate", "hang")},
    **{f"capabilities-{way}": "" for way in ("exit", "end", "status", "segfault", "controls", "deaf", "kill")},
    **{f"run-{way}": "error" for way in ("exit", "raise", "unknown", "interrupt", "surrogate", "controls")},
    **{
        f"run-{way}": "error"
        for way in ("recursion", "kill", "nothing", "text", "nan", "short", "unsendable", "number-text")
    },
    **{f"run-{way}": "crash" for way in ("end", "status", "abort", "segfault")},
    **{f"run-{way}": "crash" for way in ("long-text", "control-text", "half-text")},
    **{f"run-{way}": "timeout" for way in ("hang", "deaf")},
    **{f"{call}-{way}": "pass" for call in ("factory", "run", "close") for way in HARMLESS},
    **{f"close-{way}": "pass" for way in ("exit", "end", "abort", "raise", "hang", "interrupt")},
}


class Misbehaving:
    """Does one thing at one call."""

    def __init__(self, kind: str) -> None:
        self.name = f"misbehaving:{kind}"
        self.call, _, self.way = kind.partition("-")
        self._at("factory")

    def capabilities(self) -> Capabilities:
        self._at("capabilities")
        return everything()

    def run(self, job: Job) -> Outcome:
        self._at("run")
        right = importlib.import_module("fake_drivers").right(job)
        returned = RETURNED.get(self.way) if self.call == "run" else None
        outcome: Outcome = returned(right) if returned else Outcome(Status.DONE, right)
        return outcome

    def close(self) -> None:
        self._at("close")

    def _at(self, call: str) -> None:
        if call == self.call and self.way in WAYS:
            WAYS[self.way]()


def create(options: dict[str, str]) -> Misbehaving:
    return Misbehaving(options[""])
