"""Events as JSON lines, each written when it happens."""

from __future__ import annotations

from typing import BinaryIO

from cts.base.errors import OutputClosed
from cts.judging.events import CaseJudged, CasesStarted, Event, Passing, encode


class JsonLines:
    """Consumes events. Those that are for watching, or for the journal of a run, are left out.

    Raises OutputClosed where nobody reads the lines any more.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream

    def __call__(self, event: Event) -> None:
        if not isinstance(event, Passing | CasesStarted | CaseJudged):
            try:
                self.stream.write(encode(event) + b"\n")
                self.stream.flush()
            except BrokenPipeError as e:
                raise OutputClosed from e
