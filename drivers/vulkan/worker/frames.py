"""How messages travel: a frame is the length of its body as 4 bytes, little-endian, and the body as msgpack."""

from __future__ import annotations

from typing import Literal, Protocol, TypeVar

import msgspec
from msgspec import Struct

from .protocol import VERSION, Reply, Request

#: A longer frame is taken for garbage.
MAX_FRAME_BYTES = 1 << 30


class ProtocolError(Exception):
    """Bytes that are no frame of the protocol."""


class Truncated(ProtocolError, EOFError):
    """Bytes that end within a frame."""


_M = TypeVar("_M")


_encoder = msgspec.msgpack.Encoder()


_requests: msgspec.msgpack.Decoder[Request] = msgspec.msgpack.Decoder(Request)


_replies: msgspec.msgpack.Decoder[Reply] = msgspec.msgpack.Decoder(Reply)


class Readable(Protocol):
    """A binary stream to read frames from."""

    def read(self, size: int, /) -> bytes: ...


def frame(message: Request | Reply) -> bytes:
    """A message as it travels."""
    body = _encoder.encode(message)
    return len(body).to_bytes(4, "little") + body


def read_request(stream: Readable) -> Request | None:
    """The next message to the worker; None at the end. Raises ProtocolError."""
    return _read(stream, _requests)


def read_reply(stream: Readable) -> Reply | None:
    """The next message from the worker; None at the end. Raises ProtocolError."""
    return _read(stream, _replies)


def _read(stream: Readable, decoder: msgspec.msgpack.Decoder[_M]) -> _M | None:
    head = stream.read(4)
    if not head:
        return None
    length = int.from_bytes(head, "little")
    if len(head) == 4 and length > MAX_FRAME_BYTES:
        raise ProtocolError(f"a frame of {length} bytes (at most {MAX_FRAME_BYTES}); it starts with {head!r}")
    body = stream.read(length) if len(head) == 4 else b""
    if len(head) < 4 or len(body) < length:
        raise Truncated(f"truncated frame: {len(head) + len(body)} of {4 + length} bytes")
    try:
        return decoder.decode(body)
    except (ValueError, RecursionError, MemoryError) as e:  # ValueError: msgspec's errors, and text that is not UTF-8
        theirs = _version(body)
        version = f", but of version {theirs}" if theirs not in (None, VERSION) else ""
        raise ProtocolError(
            f"no message of protocol version {VERSION}{version}: {e}; it starts with {body[:40]!r}"
        ) from e


class _Greeting(Struct):
    """What greetings of all versions have."""

    type: Literal["hello", "devices"]
    version: int


def _version(body: bytes) -> int | None:
    """The version of the protocol that a message names which may be of any; None where it names none."""
    try:
        return msgspec.msgpack.decode(body, type=_Greeting).version
    except (ValueError, RecursionError, MemoryError):
        return None
