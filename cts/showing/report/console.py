"""The console of everything that is printed in colours."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import IO, Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from cts.base.errors import OutputClosed
from cts.base.printable import printable


class ReportConsole(Console):
    """A console on stdout or stderr that makes all text fit for a terminal.

    It ends the command where nobody reads it any more: see `OutputClosed`.
    """

    def __init__(self, *, stderr: bool = False, file: IO[str] | None = None, **settings: Any) -> None:
        stream = file or (sys.stderr if stderr else sys.stdout)
        # Streams of the command have another way for text with colours.
        super().__init__(file=getattr(stream, "styled", stream), stderr=stderr, **settings)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)

    def on_broken_pipe(self) -> None:
        """Raise OutputClosed. rich would exit with status 1, which Hypothesis takes for a failing example."""
        raise OutputClosed
