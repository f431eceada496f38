"""JSON, which has no infinities and no NaN: a float of these is the text that a case file may write for it, too."""

from __future__ import annotations

import math
from typing import Any

import msgspec


def encode(value: Any) -> bytes:
    """A line of JSON.

    >>> encode({"cycle": [1.5, float("-inf")]})
    b'{"cycle":[1.5,"-inf"]}'
    """
    text = msgspec.json.encode(value)
    return msgspec.json.encode(_worded(msgspec.to_builtins(value))) if b"null" in text else text


def pretty(value: Any) -> bytes:
    """JSON of several lines, with the end of the last one."""
    return msgspec.json.format(encode(value), indent=2) + b"\n"


def _worded(value: Any) -> Any:
    match value:
        case float() if not math.isfinite(value):
            return str(value)
        case dict():
            return {key: _worded(item) for key, item in value.items()}
        case list() | tuple():
            return [_worded(item) for item in value]
    return value
