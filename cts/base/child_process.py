"""A process that works for this one, and the threads that read and write its streams.

Nothing that it does can block or break this process. What it says are messages of any protocol, which its maker writes
as bytes and reads from them.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO, Generic, Literal, TypeVar

_Reply = TypeVar("_Reply")

#: Lines of stderr that are kept of a process, and shown when it ends; bytes of a line. The last lines name the problem;
#: a bound is needed because a driver may print without an end. Round numbers.
_STDERR_LINES = 200
_SHOWN_LINES = 12
_LINE_BYTES = 500

#: Messages that wait to be taken. A process that sends more is not read until they are. Round number.
_AHEAD = 64

if sys.platform == "win32":
    _CREATION_FLAGS = subprocess.CREATE_NEW_PROCESS_GROUP
else:
    _CREATION_FLAGS = 0


#: Windows' status codes of processes that an exception has ended begin here.
_EXCEPTION = 0xC0000000

#: Signals that no program gets by a mistake of its own: a person, a system that lacks memory or a machine that is shut
#: down has sent them.
_FROM_OUTSIDE = ("SIGKILL", "SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT", "SIGXCPU")


def crash(code: int) -> str:
    """What ended a process with this status, "" where it ended by itself.

    >>> crash(-11), crash(0xC0000005), crash(1)
    ('signal 11', 'exception 0xc0000005', '')
    """
    if code < 0:
        return f"signal {-code}"
    return f"exception {code:#x}" if code >= _EXCEPTION else ""


def killed_from_outside(code: int) -> bool:
    """Whether a process with this status was ended by something else than what it did itself.

    A shell, or a program that starts others, adds 128 to the number of a signal.

    >>> killed_from_outside(-9), killed_from_outside(137), killed_from_outside(-11)
    (True, True, False)
    """
    numbers = [getattr(signal, name) for name in _FROM_OUTSIDE if hasattr(signal, name)]
    return -code in numbers or code - 128 in numbers


@dataclass(frozen=True)
class Ended:
    """The process's output is over.

    `how` it ended: by what it did, killed from outside, or with bytes that are no message. `detail` says so in words.
    """

    how: Literal["died", "killed", "garbage"]
    detail: str


class ChildProcess(Generic[_Reply]):
    """A started process. Messages go through threads, so one that stalls does not block this process.

    `read` takes the next message from its output, and returns None at the end. It may raise anything for malformed
    output. `noun` is the name of the process in messages.
    """

    def __init__(
        self,
        argv: list[str],
        read: Callable[[BinaryIO], _Reply | None],
        preamble: bytes = b"",
        noun: str = "the worker",
    ) -> None:
        """Raises OSError if the command cannot be started."""
        self._read_message = read
        self._noun = noun
        self._process = subprocess.Popen(  # noqa: S603 - the command is the user's own
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # Out of reach of the user's ^C; where there are process groups, one to be killed whole.
            start_new_session=sys.platform != "win32",
            creationflags=_CREATION_FLAGS,
        )
        self._outgoing: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._incoming: queue.Queue[_Reply | Ended] = queue.Queue(_AHEAD)
        self._stderr: deque[str] = deque(maxlen=_STDERR_LINES)
        self._threads = [
            threading.Thread(target=target, name=f"child-{target.__name__}", daemon=True)
            for target in (self._write, self._read, self._listen)
        ]
        self._outgoing.put(preamble)
        for thread in self._threads:
            thread.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, message: bytes) -> None:
        """Queue the bytes of a message. Where the process does not read them, `receive` shows that."""
        self._outgoing.put(message)

    def receive(self, timeout: float) -> _Reply | Ended | None:
        """The next reply, or how the process ended; None when nothing came within `timeout` seconds."""
        with contextlib.suppress(queue.Empty):
            return self._incoming.get(timeout=max(0.0, timeout))
        return None

    def last_words(self) -> str:
        """The end of what the process wrote to stderr."""
        if self._process.poll() is not None:
            self._threads[2].join(timeout=1)
        return "\n".join(list(self._stderr)[-_SHOWN_LINES:])

    def heard(self, line: str) -> None:
        """Called for each line of its stderr, in a thread of its own."""

    def kill(self) -> None:
        """End the process and everything that it started, at once."""
        if sys.platform == "win32":
            # The children of a process are only known while it lives.
            command = ["taskkill", "/T", "/F", "/PID", str(self._process.pid)]
            with contextlib.suppress(OSError):
                subprocess.run(command, capture_output=True, check=False)  # noqa: S603 - Windows' own program
        else:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._finish()

    def close(self) -> None:
        """Ask the process to leave by closing its input; kill it if it does not."""
        self._outgoing.put(None)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=2)
        self.kill()

    def _finish(self) -> None:
        self._process.wait()
        self._outgoing.put(None)
        with self._incoming.mutex:  # nobody takes the rest, which must stop no thread
            self._incoming.maxsize = sys.maxsize
            self._incoming.not_full.notify_all()
        for thread in self._threads:
            thread.join(timeout=2)
        for stream in (self._process.stdout, self._process.stderr):
            assert stream is not None
            stream.close()

    def _write(self) -> None:
        stream = self._process.stdin
        assert stream is not None
        with contextlib.suppress(OSError):
            while (data := self._outgoing.get()) is not None:
                stream.write(data)
                if self._outgoing.empty():
                    stream.flush()
        with contextlib.suppress(OSError):
            stream.close()

    def _read(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        try:
            while (reply := self._read_message(stream)) is not None:  # type: ignore[arg-type]
                self._incoming.put(reply)
        except Exception as e:  # noqa: BLE001 - whatever it sends, somebody waits for an answer
            # A message that is cut off by the end of the process is no garbage: the end says why, as it does where the
            # stream is closed.
            if not stream.closed and not (isinstance(e, EOFError) and self._crashed()):
                self._incoming.put(Ended("garbage", str(e)))
                return
        self._incoming.put(self._how_it_ended())

    def _crashed(self) -> bool:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return bool(crash(self._process.wait(timeout=1)))
        return False

    def _how_it_ended(self) -> Ended:
        try:
            code = self._process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            return Ended("died", f"{self._noun} closed its output without ending")
        how = "killed" if killed_from_outside(code) else "died"
        by = crash(code)
        if not by:
            return Ended(how, f"{self._noun} exited with status {code}")  # type: ignore[arg-type]
        with contextlib.suppress(ValueError):
            by = signal.Signals(-code).name
        return Ended(how, f"{self._noun} was killed by {by}")  # type: ignore[arg-type]

    def _listen(self) -> None:
        stream = self._process.stderr
        assert stream is not None
        with contextlib.suppress(OSError, ValueError):
            while line := stream.readline(_LINE_BYTES):
                self._stderr.append(line.decode(errors="replace").rstrip())
                self.heard(self._stderr[-1])
