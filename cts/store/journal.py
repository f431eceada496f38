"""The events of a run as they happen, in a file that only grows: `results.jsonl`.

Each line is handed to the operating system before the next case begins, so that a run that is
killed has lost nothing but the case in flight. A line that was cut is no line.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from cts.errors import BadInput, HarnessTrouble
from cts.judging.events import Event, NotValidated, Passing, Rejected, Result, RunStarted, Trouble, decode, encode
from cts.running.deadline import lacks_time

NAME = "results.jsonl"

#: The largest offset that Windows' C library can lock.
_LOCKED_BYTE = 0x7FFFFFFE


class Journal:
    """Consumes events and appends them to a file. A result, error or header that is in it already is not written again.

    Raises BadInput where another process is at it, HarnessTrouble where the file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with _trouble(path):
            self._file = path.open("ab+")
        try:
            _lock(self._file, path)
            self._seen = {key for event in self._repaired() if (key := _key(event)) is not None}
        except BaseException:
            self._file.close()
            raise

    def __call__(self, event: Event) -> None:
        key = _key(event)
        if isinstance(event, Passing) or (key is not None and key in self._seen):
            return
        if key is not None:
            self._seen.add(key)
        with _trouble(self.path):
            self._file.write(encode(event) + b"\n")
            self._file.flush()
            if isinstance(event, Result) and event.finding is not None:
                os.fsync(self._file.fileno())  # a device that is lost may crash the machine

    def close(self) -> None:
        """Close the file and let others at it."""
        if sys.platform == "win32" and not self._file.closed:
            import msvcrt

            # Windows may take its time to release what is locked when a file is closed.
            self._file.flush()
            os.lseek(self._file.fileno(), _LOCKED_BYTE, os.SEEK_SET)
            msvcrt.locking(self._file.fileno(), msvcrt.LK_UNLCK, 1)
        self._file.close()

    def _repaired(self) -> list[Event]:
        """The events so far; what is left of a line that was cut is removed."""
        self._file.seek(0)
        text = self._file.read()
        whole = text.rfind(b"\n") + 1
        if whole < len(text):
            self._file.truncate(whole)
        return list(_events(text[:whole], str(self.path)))


def read(path: Path, decoder: Callable[[bytes], Event] = decode) -> list[Event]:
    """The events of a run, ended or not, by the decoder of its format. Raises BadInput for a file that no run wrote."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return []
    except OSError as e:
        raise BadInput("run-unreadable", e.strerror or str(e), str(path), "a file that can be read") from e
    return list(_events(text[: text.rfind(b"\n") + 1], str(path), decoder))


def _events(text: bytes, where: str, decoder: Callable[[bytes], Event] = decode) -> Iterator[Event]:
    for number, line in enumerate(text.splitlines(), 1):
        try:
            yield decoder(line)
        except (msgspec.DecodeError, RecursionError) as e:
            raise BadInput("run-events", str(e), f"{where}:{number}", "a line that `cts run` wrote") from e


def _key(event: Event) -> object:
    """The key of an event that a resumed run emits again; None for those that it does not."""
    match event:
        case Result():
            return event.driver, event.name, lacks_time(event)
        case Rejected() | Trouble() | NotValidated():
            return event
        case RunStarted():
            return RunStarted
        case _:
            return None


def _lock(file: BinaryIO, path: Path) -> None:
    """Keep others from writing until the file is closed. Raises BadInput where one does."""
    try:
        if sys.platform == "win32":
            import msvcrt

            # Windows keeps others from reading what is locked: this byte is behind all that is written.
            os.lseek(file.fileno(), _LOCKED_BYTE, os.SEEK_SET)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise BadInput("run-busy", "another process writes this run", str(path), "the end of that process") from None


@contextlib.contextmanager
def _trouble(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as e:
        raise HarnessTrouble("run-unwritable", e.strerror or str(e), str(path), "a folder that can be written") from e
