"""Events as JSON lines, each written when it happens."""

from __future__ import annotations

from typing import BinaryIO

from cts.events import Event, Progress, encode


class JsonLines:
    """Consumes events. Progress is left out: it is for watching, not for keeping."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream

    def __call__(self, event: Event) -> None:
        if not isinstance(event, Progress):
            self.stream.write(encode(event) + b"\n")
            self.stream.flush()
