"""A file of lines that only grows, and that one process writes.

Each line is handed to the operating system before anything else happens, so that a process that is killed has lost
nothing but what it was at. A line that was cut is no line.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from cts.base.errors import BadInput, HarnessTrouble
from cts.base.input_files import Kind, read_bytes

_FILE = Kind("run", "a file that can be read")

#: The largest offset that Windows' C library can lock.
_LOCKED_BYTE = 0x7FFFFFFE


class Lines:
    """The file, locked; `before` are the lines that it had, and what is left of one that was cut is removed.

    Raises BadInput where another process is at it, HarnessTrouble where the file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with _trouble(path):
            self._file = path.open("ab+")
        try:
            if not stat.S_ISREG(os.fstat(self._file.fileno()).st_mode):
                raise BadInput("run-unreadable", "it is no file", str(path), "the file that a run has written")
            _lock(self._file, path)
            self.before = self._repaired()
        except BaseException:
            self._file.close()
            raise

    def append(self, line: bytes, *, durable: bool = False) -> None:
        """Write a line; a `durable` one is on the disk afterwards."""
        with _trouble(self.path):
            self._file.write(line + b"\n")
            self._file.flush()
            if durable:
                os.fsync(self._file.fileno())  # a device that is lost may crash the machine

    def close(self) -> None:
        """Close the file and let others at it."""
        if sys.platform == "win32" and not self._file.closed:
            import msvcrt

            # Windows may take its time to release what is locked when a file is closed.
            self._file.flush()
            os.lseek(self._file.fileno(), _LOCKED_BYTE, os.SEEK_SET)
            msvcrt.locking(self._file.fileno(), msvcrt.LK_UNLCK, 1)
        with _trouble(self.path):
            self._file.close()

    def _repaired(self) -> list[bytes]:
        self._file.seek(0)
        text = self._file.read()
        whole = text.rfind(b"\n") + 1
        if whole < len(text):
            self._file.truncate(whole)
        return text[:whole].splitlines()


def read(path: Path) -> list[bytes]:
    """The whole lines of a file, none where there is no file. Raises BadInput where it cannot be read."""
    text = read_bytes(path, _FILE) if os.path.lexists(path) else b""
    return text[: text.rfind(b"\n") + 1].splitlines()


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
        remedy = "room there: what is written is kept, and --resume goes on with it"
        raise HarnessTrouble("run-unwritable", e.strerror or str(e), str(path), remedy) from e
