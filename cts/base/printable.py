"""Text of drivers, devices and files, fit for terminals, logs, JSON and XML: what none of them may get is escaped."""

from __future__ import annotations

import hashlib
import re
from typing import Any

#: How many characters of a driver's messages on one case are kept: enough for a validation layer's text, and a bound
#: for a driver that prints in a loop.
KEPT = 20_000

#: Control characters but tabulators and line ends; halves of surrogate pairs, which no UTF-8 has; what reverses the
#: direction of writing, or ends lines for some readers alone; and what XML does not allow.
_UNFIT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u2028-\u202e\u2066-\u2069\ufffe\uffff]")

#: Two names, of a case and of a driver, stand in one name of a file, of which file systems take 255 bytes.
_LONGEST = 80


def printable(text: str) -> str:
    r"""The text with escapes in the place of what a terminal, a log or a file of text must not get.

    >>> print(printable("a\x1b[2J\ud800\r\nb"))
    a\x1b[2J\ud800
    b
    """
    if _UNFIT.search(text) is None:
        return text
    return _UNFIT.sub(_escape, text.replace("\r\n", "\n"))


def said(text: object) -> str:
    """What a driver says, as text that can be kept: printable, and not longer than `KEPT` characters."""
    whole = text if isinstance(text, str) else str(text)
    fit = printable(whole if len(whole) <= KEPT else whole[:KEPT])
    more = len(whole) - KEPT
    return f"{fit}\n... and {more} more characters" if more > 0 else fit


def printable_data(value: Any) -> Any:
    """Plain data, with every text in it printable."""
    match value:
        case str():
            return printable(value)
        case dict():
            return {printable_data(key): printable_data(item) for key, item in value.items()}
        case list() | tuple():
            return [printable_data(item) for item in value]
        case _:
            return value


def _escape(found: re.Match[str]) -> str:
    number = ord(found[0])
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"


def shortened(plain: str, name: str) -> str:
    """The plain form of a name; a long name is cut, and gets a hash to tell it from names that begin alike."""
    if len(plain) <= _LONGEST:
        return plain
    return f"{plain[:70]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"
