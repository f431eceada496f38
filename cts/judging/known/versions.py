"""Ranges of versions, and the version in a driver's reported identity."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from itertools import zip_longest

_OPERATORS: dict[str, Callable[[tuple[int, ...], tuple[int, ...]], bool]] = {
    "<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">=": operator.ge, ">": operator.gt,
}  # fmt: skip

_COMPARISON = re.compile(r"\s*(<=|>=|==|!=|<|>)\s*(\d+(?:\.\d+)*)\s*")
#: Not behind a letter: the tools of transforms write v2026.4, and stand behind the device.
_VERSION = re.compile(r"(?<![\w.])\d+(?:\.\d+)+")

Comparison = tuple[str, tuple[int, ...]]


def comparisons(text: str) -> tuple[Comparison, ...]:
    """The parts of a range, all of which must hold; none in an empty one. Raises ValueError.

    >>> comparisons(">=580, <590.1")
    (('>=', (580,)), ('<', (590, 1)))
    """
    parts = []
    for part in text.split(",") if text else ():
        match = _COMPARISON.fullmatch(part)
        if match is None:
            raise ValueError(f'{text!r} is no range of versions such as ">=580, <590"')
        parts.append((match[1], _numbers(match[2])))
    return tuple(parts)


def holds(text: str, identity: str) -> bool:
    """Whether the last dotted number of an identity, not behind a letter, is within a range; False where it has none.

    >>> holds(">=580, <590", "NVIDIA H200, NVIDIA 580.159.04, spirv-opt:-O (SPIRV-Tools v2026.4)")
    True
    """
    versions = _VERSION.findall(identity)
    if not versions:
        return False
    pairs = [(op, *_same_length(_numbers(versions[-1]), limit)) for op, limit in comparisons(text)]
    return all(_OPERATORS[op](version, limit) for op, version, limit in pairs)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


def _same_length(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Both with zeros at the end: 580 is 580.0."""
    pairs = list(zip_longest(a, b, fillvalue=0))
    return tuple(p[0] for p in pairs), tuple(p[1] for p in pairs)
