"""The worker's end of the stream, which uses its standard input and output."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from typing import BinaryIO

from .frames import frame, read_request
from .protocol import Reply, Request


class Wire:
    """The worker's end of the stream. Safe to send from several threads."""

    def __init__(self, source: BinaryIO, sink: BinaryIO) -> None:
        self._source = source
        self._sink = sink
        self._lock = threading.Lock()

    def send(self, reply: Reply) -> None:
        data = frame(reply)
        with self._lock:
            self._sink.write(data)
            self._sink.flush()

    def requests(self) -> Iterator[Request]:
        """What arrives, until the input ends. Raises ProtocolError."""
        while (request := read_request(self._source)) is not None:
            yield request


def claim_standard_streams() -> Wire:
    """Take stdin and stdout for the protocol alone: whatever a driver prints goes to stderr."""
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    return Wire(source, sink)
