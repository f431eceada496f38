"""Heat maps: a matrix or a buffer as rectangles, one for each stretch of equal elements of a row."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from cts.judging.events import Finding
from cts.model import initial_bits

if TYPE_CHECKING:
    from cts.explain import Explanation

#: What the characters of a picture mean: those of `cts explain`, and elements that the run did not list.
MEANINGS = {
    "X": "wrong",
    "C": "wrong, and clipped",
    "K": "wrong, and out of bounds",
    "U": "wrong: it holds what was there before",
    "c": "clipped, and right",
    "k": "out of bounds, and right",
    "?": "not listed",
    ".": "right",
}

#: CSS classes, whose names distinguish upper and lower case.
CLASSES = {
    "X": "wrong",
    "C": "wrong-clipped",
    "K": "wrong-clamped",
    "U": "untouched",
    "c": "clipped",
    "k": "clamped",
    "?": "unlisted",
    ".": "right",
}

#: The most rows and columns of rectangles.
ROWS, COLS = 64, 64


@dataclass(frozen=True)
class Rectangle:
    """Equal elements beside each other, in units of elements or parts."""

    x: int
    y: int
    width: int
    kind: str


@dataclass(frozen=True)
class Picture:
    """What to draw.

    `scale` says how many rows and columns of elements are one unit; `legend` has class, meaning and count.
    """

    title: str
    rows: int
    cols: int
    rectangles: tuple[Rectangle, ...]
    legend: tuple[tuple[str, str, int], ...]
    scale: tuple[int, int]
    lines: tuple[str, ...]

    @property
    def unit(self) -> int:
        """The side of a square in pixels: larger where there are few."""
        return max(10, min(24, 384 // self.cols))

    @property
    def grid(self) -> str:
        """The lines between squares, as the path of an SVG."""
        across = (f"M0 {y}H{self.cols}" for y in range(1, self.rows))
        return "".join((*across, *(f"M{x} 0V{self.rows}" for x in range(1, self.cols))))


def of_explanation(explanation: Explanation) -> Picture | None:
    """The picture of the first result that differs, or None where there is none."""
    if not explanation.picture:
        return None
    title = ", ".join(part for part in (explanation.result, explanation.picture_of) if part)
    return _drawn(title, explanation.picture, explanation.scale)


def of_finding(finding: Finding) -> Picture | None:
    """The picture of the buffer with the first wrong element, or None where that is in a guard.

    A run lists some of the wrong elements; what comes after the last of them is then not known.
    """
    if not finding.listed or finding.listed[0].guard:
        return None
    name = finding.listed[0].buffer
    buffer = finding.case.buffers[name]
    listed = [m for m in finding.listed if m.buffer == name and not m.guard and m.element is not None]
    differing = next(c.differing for c in finding.counts if c.buffer == name and not c.guard)
    before = initial_bits(buffer).reshape(-1)
    kinds = np.full(before.size, ".", dtype="<U1")
    if differing > len(listed):
        kinds[(listed[-1].element or 0) + 1 :] = "?"
    for m in listed:
        assert m.element is not None
        same = m.component == buffer.type.value and m.bits == int(before[m.element])
        kinds[m.element] = "U" if same else "X"
    cols = buffer.shape[-1] * buffer.components
    grid = kinds.reshape(-1, cols)
    high, wide = -(-grid.shape[0] // ROWS), -(-cols // COLS)
    order = "".join(MEANINGS)
    lines = tuple(
        "".join(
            min(set(grid[r : r + high, c : c + wide].ravel().tolist()), key=order.index) for c in range(0, cols, wide)
        )
        for r in range(0, grid.shape[0], high)
    )
    return _drawn(f"buffer {name}", lines, (high, wide))


def _drawn(title: str, lines: tuple[str, ...], scale: tuple[int, int]) -> Picture:
    counts = Counter("".join(lines))
    rectangles: list[Rectangle] = []
    for y, line in enumerate(lines):
        x = 0
        for kind, group in groupby(line):
            width = len(list(group))
            rectangles.append(Rectangle(x, y, width, CLASSES.get(kind, "unlisted")))
            x += width
    legend = tuple((CLASSES[kind], MEANINGS[kind], counts[kind]) for kind in MEANINGS if counts[kind])
    return Picture(title, len(lines), max(map(len, lines)), tuple(rectangles), legend, scale, lines)
