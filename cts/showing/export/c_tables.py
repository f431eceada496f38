"""Arrays and tables of a C program: how numbers, text and data are written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

#: Characters that a line of a table takes, without its indentation.
WIDTH = 128

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
    """Part of a C identifier that names a buffer; the caller makes it unique.

    >>> identifier("my buffer-1")
    'my_buffer_1'
    """
    return re.sub(r"[^A-Za-z0-9]", "_", name)


def words(name: str, kind: str, values: npt.NDArray[Any], row: int = 1) -> str:
    """A static array of unsigned integers, in hexadecimal; `row` of them belong together, on one line if they fit."""
    digits = 2 * values.dtype.itemsize
    per_line = _per_line(row, WIDTH // (digits + 4))
    items = [f"0x{int(v):0{digits}x}," for v in values]
    lines = (" ".join(items[start : start + per_line]) for start in range(0, len(items), per_line))
    return f"static const {kind} {name}[] = {{\n" + "\n".join(f"    {line}" for line in lines) + "\n};"


def _per_line(row: int, most: int) -> int:
    """Elements on a line, at most `most`: a whole row, or a part of it that divides it, unless lines get too short.

    >>> [_per_line(row, 14) for row in (1, 9, 16, 17)]
    [14, 9, 8, 14]
    """
    parts = [n for n in range(1, most + 1) if row % n == 0]
    return parts[-1] if 2 * parts[-1] >= most else most


def table(name: str, kind: str, rows: Iterable[str]) -> str:
    """A static array of structures, one a line."""
    return f"static const {kind} {name}[] = {{\n" + "\n".join(f"    {{{row}}}," for row in rows) + "\n};"


def data(name: str, bits: npt.NDArray[Any], row: int = 1) -> tuple[str, str]:
    """The declaration of an array of elements in rows of `row`, and a `struct data` initialiser that refers to it."""
    starts = np.flatnonzero(np.concatenate([[True], bits[1:] != bits[:-1]]))
    if len(starts) * _RUNS <= max(len(bits), 2 * _RUNS):
        lengths = np.diff(np.append(starts, len(bits)))
        runs = [f"{n}, 0x{int(bits[start]):x}" for start, n in zip(starts, lengths, strict=True)]
        return table(f"{name}_runs", "struct run", [*runs, "0, 0"]), f"{{{len(bits)}, NULL, {name}_runs}}"
    return words(name, f"uint{8 * bits.dtype.itemsize}_t", bits, row), f"{{{len(bits)}, {name}, NULL}}"


def codes(values: Sequence[int]) -> str:
    """One or two component types in an array of two.

    >>> codes((3,))
    '{3, 3}'
    """
    return f"{{{values[0]}, {values[-1]}}}"
