"""Standard output and standard error of the command: text in which nothing can pass for something else.

Whatever drivers and files put into it, a terminal gets no control character, and a log of a CI service no command.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any, BinaryIO, cast

from cts.base.heartbeat import heartbeat
from cts.base.printable import printable

#: What CI services that read commands in logs set in the environment of a job.
_SERVICES = ("GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION")

#: Where a command begins: `::name` at the beginning of a line, and `##[name` and `##name[` anywhere.
_COMMAND = re.compile(r"^(?P<space>\s*):(?=:)|#(?=#\w*\[)", re.MULTILINE)


class Printed(io.TextIOWrapper):
    """A stream on which everything that is written is made fit for whoever reads it."""

    def __init__(self, stream: BinaryIO, encoding: str, *, in_log: bool, line_buffering: bool) -> None:
        super().__init__(stream, encoding, "backslashreplace", line_buffering=line_buffering)
        #: Whether it is the log of a service that reads commands in it.
        self._in_log = in_log
        self._at_line_start = True
        #: The same for a console, which makes its text fit and gives it colours.
        self.styled = cast("IO[str]", _Styled(self))

    def write(self, text: str, /) -> int:
        self.write_styled(printable(text))
        return len(text)

    def write_styled(self, text: str) -> int:
        """Write text with the control characters of its colours, which a console has made fit."""
        heartbeat.heard()
        if self._in_log and text:
            first, rest = ("", text) if self._at_line_start else _first_line(text)
            self._at_line_start = text.endswith("\n")
            text = first + _COMMAND.sub(_defused, rest)
        return super().write(text)

    def end(self) -> None:
        """Write what is left, and leave the stream behind it open."""
        try:
            self.flush()
        except OSError:
            # Nothing can be written any more, and whoever closes this is not to try again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
        self.detach()

    def write_command(self, text: str) -> int:
        """Write a command of the suite itself to the service, a line with its end."""
        start, self._at_line_start = "" if self._at_line_start else "\n", True
        return super().write(start + text)


class _Styled:
    """A `Printed` stream for a console."""

    def __init__(self, stream: Printed) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write_styled(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def printed_streams(environment: Mapping[str, str] = os.environ) -> Iterator[None]:
    """Within, stdout and stderr are `Printed`. What a library writes to stdout past Python goes to stderr."""
    in_log = any(name in environment for name in _SERVICES)
    before = sys.stdout, sys.stderr
    out, error = _number(sys.stdout), _number(sys.stderr)
    aside = os.dup(1) if (out, error) == (1, 2) else None
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr = _printed(sys.stderr, sys.stderr.buffer, in_log=in_log, line_buffering=True)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.flush()
        stream = sys.stdout.buffer if aside is None else os.fdopen(aside, "wb", closefd=False)
        sys.stdout = _printed(sys.stdout, stream, in_log=in_log, line_buffering=sys.stdout.isatty())
    if aside is not None:
        os.dup2(2, 1)
    try:
        yield
    finally:
        for stream_, old in zip((sys.stdout, sys.stderr), before, strict=True):
            if isinstance(stream_, Printed) and stream_ is not old:
                stream_.end()
        if aside is not None:
            os.dup2(aside, 1)
            os.close(aside)
        sys.stdout, sys.stderr = before


def _printed(stream: io.TextIOWrapper, buffer: Any, *, in_log: bool, line_buffering: bool) -> Printed:
    return Printed(buffer, stream.encoding, in_log=in_log, line_buffering=line_buffering)


def _number(stream: IO[str] | None) -> int | None:
    """The descriptor of a stream, None where it has none."""
    try:
        return None if stream is None else stream.fileno()
    except (OSError, ValueError):
        return None


def command_writer(stream: IO[str]) -> Callable[[str], None]:
    """What writes a command of the suite itself to the service that reads the log."""

    def write(line: str) -> None:
        (stream.write_command if isinstance(stream, Printed) else stream.write)(f"{line}\n")
        stream.flush()

    return write


def _first_line(text: str) -> tuple[str, str]:
    line, end, rest = text.partition("\n")
    return line + end, rest


def _defused(found: re.Match[str]) -> str:
    space = found["space"]
    return r"\x23" if space is None else f"{space}\\x3a"
