"""Standard output and standard error of the command: text in which nothing can pass for something else.

Whatever drivers and files put into it, a terminal gets no control character, and a log of a CI service no command.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Mapping
from typing import IO, Any, BinaryIO, cast

from cts.heartbeat import heartbeat
from cts.printable import printable

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

    def write_command(self, text: str) -> int:
        """Write a command of the suite itself to the service, a line."""
        return super().write(("" if self._at_line_start else "\n") + text)


class _Styled:
    """A `Printed` stream for a console."""

    def __init__(self, stream: Printed) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write_styled(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def replace_standard_streams(environment: Mapping[str, str] = os.environ) -> None:
    """Have stdout and stderr be `Printed`. What a library writes to stdout past Python goes to stderr."""
    in_log = any(name in environment for name in _SERVICES)
    out, error = sys.stdout, sys.stderr
    if isinstance(error, io.TextIOWrapper):
        sys.stderr = Printed(_binary(error), error.encoding, in_log=in_log, line_buffering=True)
    if isinstance(out, io.TextIOWrapper):
        stream = _binary(out)
        if stream.fileno() == 1 and sys.stderr is not None and sys.stderr.fileno() == 2:
            stream = os.fdopen(os.dup(1), "wb")
            os.dup2(2, 1)
        sys.stdout = Printed(stream, out.encoding, in_log=in_log, line_buffering=stream.isatty())


def _binary(stream: io.TextIOWrapper) -> BinaryIO:
    stream.flush()
    return cast("BinaryIO", stream.detach())


def _first_line(text: str) -> tuple[str, str]:
    line, end, rest = text.partition("\n")
    return line + end, rest


def _defused(found: re.Match[str]) -> str:
    space = found["space"]
    return r"\x23" if space is None else f"{space}\\x3a"
