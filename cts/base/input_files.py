"""Files that the suite reads: their bytes, their text, and the data of JSON in them.

Every problem with a file as such becomes a BadInput here, with the file, the line and a remedy.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from cts.base.errors import BadInput

_T = TypeVar("_T")

#: How much is read of a pipe or a device, if its kind of file has no limit, in bytes.
_MAX_STREAM_BYTES = 256 << 20

#: How msgspec and its parser of JSON name a place in a text.
_BYTE = re.compile(r" \(byte (\d+)\)$")


@dataclass(frozen=True)
class Kind:
    """A kind of file: how the codes of its errors begin, what would be right, and the most bytes that are read."""

    name: str
    remedy: str
    at_most: int | None = None

    def malformed(self, what: str, where: str) -> BadInput:
        """The error for contents that are not of this kind."""
        return BadInput(f"{self.name}-malformed", what, where, self.remedy)


def is_file(path: Path) -> bool:
    """Whether there is a plain file. Unlike pathlib's, this is never an error, whatever the path is."""
    return stat.S_ISREG(_mode(path))


def is_folder(path: Path) -> bool:
    """Whether there is a folder. Unlike pathlib's, this is never an error, whatever the path is."""
    return stat.S_ISDIR(_mode(path))


def read_bytes(path: Path, kind: Kind, where: str = "") -> bytes:
    """The bytes of a file, which errors call `where`. Raises BadInput.

    Pipes are read like files. A pipe that nobody writes to is an error: nothing waits for a writer.
    """
    where = where or str(path)
    try:
        status = path.stat()
        is_stream = not stat.S_ISREG(status.st_mode)
        at_most = _MAX_STREAM_BYTES if is_stream and kind.at_most is None else kind.at_most
        if at_most is not None and not is_stream and status.st_size > at_most:
            data, size = b"", status.st_size
        else:
            data = _stream(path, at_most) if is_stream and at_most is not None else path.read_bytes()
            size = len(data)
    except (OSError, ValueError) as e:  # ValueError: a NUL in the path
        raise BadInput(f"{kind.name}-unreadable", text_of(e), where, kind.remedy) from e
    if at_most is not None and size > at_most:
        what = f"the file is too large: {size} bytes{' or more' if is_stream else ''}"
        raise BadInput(f"{kind.name}-too-large", what, where, f"at most {at_most} bytes")
    return data


def utf8_text(path: Path, kind: Kind, where: str = "") -> str:
    """The text of a file in UTF-8, which errors call `where`. Raises BadInput."""
    return decoded_text(read_bytes(path, kind, where), kind, where or str(path))


def decoded_text(data: bytes, kind: Kind, where: str) -> str:
    """The text of bytes in UTF-8, with newlines as Python has them. Raises BadInput."""
    try:
        return data.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as e:
        place = f"{where}:{_line(data, e.start)}"
        raise BadInput(f"{kind.name}-not-utf8", f"not UTF-8: {e.reason}", place, kind.remedy) from e


def decoded(data: bytes, decode: Callable[[bytes], _T], kind: Kind, where: str) -> _T:
    """What `decode`, which is msgspec's, makes of JSON from a file. Raises BadInput for anything that it refuses."""
    try:
        return decode(data)
    except UnicodeDecodeError as e:
        raise kind.malformed(f"not UTF-8: {e.reason}", where) from e
    except RecursionError as e:
        raise kind.malformed("nested too deeply", where) from e
    except ValueError as e:  # also msgspec's errors
        named = _BYTE.search(str(e))
        is_whole = named is not None and b"\n" in data.rstrip()
        place = f"{where}:{_line(data, int(named[1]))}" if named is not None and is_whole else where
        raise kind.malformed(str(e), place) from e


def decoded_lines(lines: Iterable[bytes], decode: Callable[[bytes], _T], kind: Kind, where: str) -> Iterator[_T]:
    """What `decode` makes of each line of a file. Raises BadInput with the line's number."""
    for number, line in enumerate(lines, 1):
        yield decoded(line, decode, kind, f"{where}:{number}")


def require_format(data: bytes, newest: int, kind: Kind, where: str) -> None:
    """Raises BadInput for bytes that are no JSON, and for JSON whose `format` is newer than this suite reads."""
    head: Any = decoded(data, msgspec.json.decode, kind, where)
    if isinstance(head, dict) and isinstance(head.get("format"), int) and head["format"] > newest:
        what = f"format {head['format']} is newer than {newest}"
        raise BadInput(f"{kind.name}-format", what, where, "the suite that wrote it")


def _stream(path: Path, at_most: int) -> bytes:
    """The bytes of a folder, which raises OSError, or of a pipe or device, at most one more than `at_most`."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        first = file.read(1)  # None if a pipe has a writer that has not written yet
        if first == b"" and stat.S_ISFIFO(os.fstat(descriptor).st_mode):
            raise OSError("a pipe that nobody writes to")
        if hasattr(os, "O_NONBLOCK"):
            os.set_blocking(descriptor, True)
        parts, size = [first or b""], 1
        while size <= at_most and (part := file.read(min(1 << 20, at_most + 1 - size))):
            parts.append(part)
            size += len(part)
        return b"".join(parts)


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode
    except (OSError, ValueError):
        return 0


def text_of(error: OSError | ValueError) -> str:
    """The operating system's message about a path, without the path."""
    return (isinstance(error, OSError) and error.strerror) or str(error)


def _line(data: bytes, at: int) -> int:
    return data.count(b"\n", 0, at) + 1


def digest(path: Path) -> str:
    """The SHA-256 of a file's bytes, "" where it cannot be read."""
    try:
        return hashlib.sha256(read_bytes(path, Kind("file", "a file that can be read"))).hexdigest()
    except BadInput:
        return ""
