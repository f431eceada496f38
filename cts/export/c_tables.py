"""Arrays and tables of a C program: how numbers, text and data are written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

#: Characters that a line of a table takes, without its indentation.
WIDTH = 112

#: An array in runs of equal elements is written as runs where that takes less than one in so many lines.
_RUNS = 4


def string(text: str) -> str:
    """A string literal. Question marks are escaped, for three characters may stand for another (trigraphs).

    >>> string("what?") == '"what' + chr(92) + '?"'
    True
    """
    escaped = {ord("\\"): "\\\\", ord('"'): '\\"', ord("?"): "\\?", ord("\n"): "\\n"}
    data = text.translate(escaped).encode()
    return '"' + "".join(chr(b) if 32 <= b < 127 else f"\\{b:03o}" for b in data) + '"'


def comment(text: str) -> str:
    """Lines inside a block comment: nothing in them ends it, or begins another.

    >>> comment("a */ b")
    ' * a * / b'
    """
    harmless = text.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?")
    return "\n".join(f" * {line}".rstrip() for line in harmless.splitlines())


def identifier(name: str) -> str:
    """Part of a C identifier that tells a buffer; the caller makes it unique.

    >>> identifier("my buffer-1")
    'my_buffer_1'
    """
    return re.sub(r"[^A-Za-z0-9]", "_", name)


def words(name: str, kind: str, values: npt.NDArray[Any]) -> str:
    """An array of unsigned integers, in hexadecimal."""
    digits = 2 * values.dtype.itemsize
    return array(name, kind, (f"0x{int(v):0{digits}x}" for v in values))


def array(name: str, kind: str, items: Iterable[str]) -> str:
    """A static array of several items a line."""
    return f"static const {kind} {name}[] = {{\n" + "\n".join(_wrapped(items)) + "\n};"


def table(name: str, kind: str, rows: Iterable[str]) -> str:
    """A static array of structures, one a line."""
    return f"static const {kind} {name}[] = {{\n" + "\n".join(f"    {{{row}}}," for row in rows) + "\n};"


def data(name: str, bits: npt.NDArray[Any]) -> tuple[str, str]:
    """The declaration of an array of elements, and a `struct data` initialiser that refers to it."""
    starts = np.flatnonzero(np.concatenate([[True], bits[1:] != bits[:-1]]))
    if len(starts) * _RUNS <= max(len(bits), 2 * _RUNS):
        lengths = np.diff(np.append(starts, len(bits)))
        runs = [f"{n}, 0x{int(bits[at]):x}" for at, n in zip(starts, lengths, strict=True)]
        return table(f"{name}_runs", "struct run", [*runs, "0, 0"]), f"{{{len(bits)}, NULL, {name}_runs}}"
    return words(name, f"uint{8 * bits.dtype.itemsize}_t", bits), f"{{{len(bits)}, {name}, NULL}}"


def codes(values: Sequence[int]) -> str:
    """One or two component types in an array of two.

    >>> codes((3,))
    '{3, 3}'
    """
    return f"{{{values[0]}, {values[-1]}}}"


def _wrapped(items: Iterable[str]) -> Iterator[str]:
    line = "   "
    for item in items:
        if len(line) + len(item) + 2 > WIDTH:
            yield line
            line = "   "
        line += f" {item},"
    yield line
