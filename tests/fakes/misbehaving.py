"""Drivers that do at one call what no driver should: `misbehaving:CALL-WAY`. Otherwise they are right."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec
import numpy as np

from cts.device.capabilities import Capabilities, everything
from cts.device.driver import Job, Outcome, Status

CONTROLS = "\x1b[2J\x00::error::forged\n::error::forged"


class Unknown(BaseException):
    """Nobody expects it."""


class Silent(Exception):
    """Its text cannot be had."""

    def __str__(self) -> str:
        raise ValueError("no text")


class Bomb:
    """Ends the process that unpickles it."""

    def __reduce__(self) -> Any:
        return os._exit, (0,)


class Odd(Mapping[str, Any]):
    """Buffers that cannot be listed."""

    def __getitem__(self, name: str) -> Any:
        raise ZeroDivisionError(name)

    def __iter__(self) -> Iterator[str]:
        raise ZeroDivisionError("no names")

    def __len__(self) -> int:
        return 2


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


def _forks() -> None:
    """And returns twice."""
    os.fork()


def _says_and_ends(data: bytes) -> None:
    _says(data)
    os._exit(0)


def _says(data: bytes) -> None:
    """To the suite, in the place of an answer: on each pipe that can be written to, but standard streams."""
    for number in range(3, 64):
        with contextlib.suppress(OSError):
            if stat.S_ISFIFO(os.fstat(number).st_mode):
                os.write(number, data)


def _frame(number: int, *parts: Any) -> bytes:
    """A message of the wire, made without it."""
    body = msgspec.msgpack.encode(["returned", number, *parts])
    return len(body).to_bytes(4, "little") + body


def _closes_everything() -> None:
    os.closerange(0, 256)
    _sleeps()


def _stops() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


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
    "silent": lambda: _raise(Silent()),
    "group": lambda: _raise(ExceptionGroup("several", [RuntimeError("one"), ValueError("two")])),
    "stale": lambda: _says(_frame(1, None)),
    "future": lambda: _says(_frame(1 << 40, None)),
    "negative": lambda: _says(_frame(-1, None)),
    "parts": lambda: _says(_frame(1, None, None, None)),
    "garbage": lambda: _says(b"\x05\x00\x00\x00\xff\xff\xff\xff\xff"),
    "huge": lambda: _says(b"\xff\xff\xff\xff"),
    "nested": lambda: _says((4096).to_bytes(4, "little") + b"\x91" * 4096),
    "cut": lambda: _says_and_ends(b"\x10\x00\x00\x00\xff"),
    "fork": _forks,
    "everything": _closes_everything,
    "stop": _stops,
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
HARMLESS = ("print", "flood", "thread", "process", "folder", "streams", "fork")


class Unsendable(Outcome):
    """An outcome that cannot be pickled, which nobody does."""

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
    "bomb": lambda memory: Bomb(),
    "bomb-inside": lambda memory: Outcome(Status.DONE, memory, trace=(Bomb(),)),  # type: ignore[arg-type]
    "bad-status": lambda memory: Outcome("well", memory),  # type: ignore[arg-type]
    "no-status": lambda memory: Outcome(None, memory),  # type: ignore[arg-type]
    "odd-memory": lambda memory: Outcome(Status.DONE, Odd()),  # type: ignore[arg-type]
    "list-memory": lambda memory: Outcome(Status.DONE, list(memory)),  # type: ignore[arg-type]
    "number-names": lambda memory: Outcome(Status.DONE, dict(enumerate(memory.values()))),  # type: ignore[arg-type]
    "objects": lambda memory: _changed(memory, lambda data: np.array([Bomb()])),
    "floats": lambda memory: Outcome(Status.DONE, memory, matrices={"m": np.array([Bomb()])}),
    "statistics": lambda memory: Outcome(Status.DONE, memory, statistics={"registers": "many"}),  # type: ignore[dict-item]
    "fault": lambda memory: Outcome(Status.CRASH, fault="no fault"),  # type: ignore[arg-type]
    "class": lambda memory: Outcome,
    "generator": lambda memory: (outcome for outcome in [Outcome(Status.DONE, memory)]),
    "tuple": lambda memory: (Status.DONE, memory),
}

#: Texts of any kind that are right.
TEXTS = ("long-text", "control-text", "half-text")

#: Every way, and what becomes of each case: a verdict, or "" where the driver cannot be used at all.
EXPECTED = {
    **{f"factory-{way}": "" for way in ("exit", "end", "abort", "raise", "unknown", "interrupt", "surrogate", "hang")},
    **{f"capabilities-{way}": "" for way in ("exit", "end", "status", "segfault", "controls", "deaf", "kill")},
    **{f"run-{way}": "error" for way in ("exit", "raise", "unknown", "interrupt", "surrogate", "controls")},
    **{f"run-{way}": "error" for way in ("recursion", "kill", "silent", "group")},
    **{f"run-{way}": "error" for way in ("stale", "future", "negative", "parts", "garbage", "huge", "nested", "cut")},
    **{f"run-{way}": "error" for way in RETURNED if way not in ("unsendable", *TEXTS)},
    "run-unsendable": "pass",
    "run-everything": "crash",
    "run-stop": "timeout",
    "capabilities-stale": "",
    "capabilities-garbage": "",
    "factory-huge": "",
    **{f"run-{way}": "crash" for way in ("end", "status", "abort", "segfault")},
    **{f"run-{way}": "crash" for way in TEXTS},
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
