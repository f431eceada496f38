"""A worker process and the threads that read and write its streams: nothing it does can block or break this process."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
from collections import deque
from dataclasses import dataclass
from typing import Literal

from cts.drivers.vulkan.worker.protocol import ProtocolError, Reply, Request, frame, read_reply
from cts.spirv.subprocess_tools import crash

_STDERR_LINES = 200
_SHOWN_LINES = 12
_LINE_BYTES = 500


if sys.platform == "win32":
    _CREATION_FLAGS = subprocess.CREATE_NEW_PROCESS_GROUP
else:
    _CREATION_FLAGS = 0


@dataclass(frozen=True)
class Ended:
    """The worker's output is over. `how` it ended: by itself or a signal, or with bytes that are no protocol."""

    how: Literal["died", "garbage"]
    detail: str


class WorkerProcess:
    """A started worker. Requests and replies go through threads, so a worker that stalls does not block the host."""

    def __init__(self, argv: list[str], preamble: bytes = b"") -> None:
        """Raises OSError where the command cannot be started."""
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
        self._incoming: queue.SimpleQueue[Reply | Ended] = queue.SimpleQueue()
        self._stderr: deque[str] = deque(maxlen=_STDERR_LINES)
        self._threads = [
            threading.Thread(target=target, name=f"worker-{target.__name__}", daemon=True)
            for target in (self._write, self._read, self._listen)
        ]
        self._outgoing.put(preamble)
        for thread in self._threads:
            thread.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, message: Request) -> None:
        """Queue a message. Where the worker does not read it, `receive` shows that."""
        self._outgoing.put(frame(message))

    def receive(self, timeout: float) -> Reply | Ended | None:
        """The next reply, or how the worker ended; None when nothing came within `timeout` seconds."""
        with contextlib.suppress(queue.Empty):
            return self._incoming.get(timeout=max(0.0, timeout))
        return None

    def last_words(self) -> str:
        """The end of what the worker wrote to stderr."""
        if self._process.poll() is not None:
            self._threads[2].join(timeout=1)
        return "\n".join(list(self._stderr)[-_SHOWN_LINES:])

    def kill(self) -> None:
        """End the worker and everything it started, at once."""
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
        """Ask the worker to leave by closing its input; kill it if it does not."""
        self._outgoing.put(None)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=2)
        self.kill()

    def _finish(self) -> None:
        self._process.wait()
        self._outgoing.put(None)
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
            while (reply := read_reply(stream)) is not None:
                self._incoming.put(reply)
        except ProtocolError as e:
            self._incoming.put(Ended("garbage", str(e)))
            return
        except (OSError, ValueError):  # read_reply makes ProtocolError of errors in what is read
            pass  # the stream was closed under us; the process's end says why
        self._incoming.put(Ended("died", self._how_it_ended()))

    def _how_it_ended(self) -> str:
        try:
            code = self._process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            return "the worker closed its output without ending"
        how = crash(code)
        if not how:
            return f"the worker exited with status {code}"
        with contextlib.suppress(ValueError):
            how = signal.Signals(-code).name
        return f"the worker was killed by {how}"

    def _listen(self) -> None:
        stream = self._process.stderr
        assert stream is not None
        with contextlib.suppress(OSError, ValueError):
            while line := stream.readline(_LINE_BYTES):
                self._stderr.append(line.decode(errors="replace").rstrip())
