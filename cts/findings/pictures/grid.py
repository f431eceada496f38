"""What pictures are made of, as data: grids of cells, each a whole array, and which part of them is drawn."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from cts.case.model import ComponentType, decode

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Texts = npt.NDArray[np.str_]

#: How many colours there are: rows of a matrix take them in turn.
HUES = 16

#: The most characters of a number in a cell, where fewer digits can make it so short.
LONGEST = 7

#: A cell of no row.
NO_HUE = -1


class Texture(enum.IntEnum):
    """The kind of a cell, visible without colour."""

    PLAIN = 0
    #: Outside the clip: nothing is loaded or stored.
    CLIPPED = 1
    #: Out of bounds: a load gives the clamp value, a store does nothing.
    OUTSIDE = 2
    #: Out of bounds, and moved into the tensor by the clamp mode.
    MOVED = 3
    #: Memory between the elements of a tensor.
    PADDING = 4
    #: Of an instance that does not come here.
    UNKNOWN = 5


class Mark(enum.IntEnum):
    """What a cell's frame says."""

    NONE = 0
    #: Not what it may be.
    WRONG = 1
    #: The driver took its value for another element.
    READ_INSTEAD = 2
    #: The driver should have read it, and did not.
    MISSED = 3
    #: Takes part in the element that is looked at.
    FOCUS = 4
    #: Wrong: holds its old value.
    UNTOUCHED = 5


@dataclass(frozen=True)
class Limits:
    """The most rows and columns of a grid that are drawn, and the most cells that have address steps in their title.

    Where not `all_titles`, only framed cells have a title.
    """

    rows: int = 32
    cols: int = 32
    steps: int = 24
    all_titles: bool = True


def _nothing(_row: int, _col: int) -> str:
    return ""


def _no_data(_row: int, _col: int) -> Mapping[str, str]:
    return {}


@dataclass(frozen=True, eq=False)
class Grid:
    """A panel of a picture. All arrays are (rows, cols).

    `key` names it (`source`, `expected`, `actual`, ...), `hue` is a colour or NO_HUE, `texture` a `Texture`, `mark` a
    `Mark`. `title_of` is the hover text of a cell, `data_of` what its data attributes say. Rows are drawn in bands of
    `band` rows (0: one).
    """

    key: str
    title: str
    text: Texts
    hue: Ints
    texture: Ints
    mark: Ints
    row_names: Sequence[str]
    col_names: Sequence[str]
    title_of: Callable[[int, int], str] = _nothing
    data_of: Callable[[int, int], Mapping[str, str]] = _no_data
    band: int = 0

    @property
    def telling(self) -> Mask:
        """The cells that say more than a value."""
        told: Mask = (self.hue != NO_HUE) | (self.texture != Texture.PLAIN) | (self.mark != Mark.NONE)
        return told


@dataclass(frozen=True, eq=False)
class Scene:
    """A picture: its panels in reading order, and its description.

    `op` and `index` are those of the instruction, "" and None of memory alone. `notes` say what is left out or not
    known.
    """

    title: str
    description: str
    grids: tuple[Grid, ...]
    op: str
    index: int | None
    notes: tuple[str, ...] = ()
    legend: Mapping[str, str] = field(default_factory=dict)


def drawn_part(grid: Grid, limits: Limits) -> tuple[Ints, Ints, str]:
    """The rows and columns to draw, ascending, and a sentence on those that are left out."""
    rows = _most_telling(grid.mark, grid.telling, 1, limits.rows)
    cols = _most_telling(grid.mark, grid.telling, 0, limits.cols)
    left = []
    for noun, shown, every in (("rows", rows, grid.text.shape[0]), ("columns", cols, grid.text.shape[1])):
        if len(shown) < every:
            left.append(f"{len(shown)} of {every} {noun}")
    if not left:
        return rows, cols, ""
    marked = grid.mark != Mark.NONE
    hidden = int(marked.sum()) - int(marked[np.ix_(rows, cols)].sum())
    more = f"; {hidden} more framed cells are in the rest" if hidden else ""
    return rows, cols, f"{' and '.join(left)} are drawn{more}"


def _most_telling(mark: Ints, telling: Mask, axis: int, most: int) -> Ints:
    """Those with marks first, then those that say something, then the first; at most `most`, ascending."""
    other = 1 if axis == 1 else 0
    score = 2 * (mark != Mark.NONE).any(axis=other) + telling.any(axis=other)
    order = np.lexsort((np.arange(len(score)), -score.astype(np.int64)))
    chosen: Ints = np.sort(order[:most]).astype(np.int64)
    return chosen


def short(component: ComponentType, bits: npt.NDArray[np.unsignedinteger]) -> Texts:
    """Values as short texts, for cells: floats to four digits."""
    values = decode(component, bits)
    if not component.is_float:
        return values.astype(str)
    with np.errstate(invalid="ignore"):
        numbers = values.astype(np.float64)
    unique, inverse = np.unique(numbers.view(np.uint64), return_inverse=True)
    texts = np.array([_float(n) for n in unique.view(np.float64).tolist()], dtype=np.str_)
    return texts[inverse].reshape(bits.shape)


def _float(number: float) -> str:
    for digits in (4, 3, 2):
        text = f"{number:.{digits}g}"
        if "e" in text:
            mantissa, _, exponent = text.partition("e")
            text = f"{mantissa}e{int(exponent)}"
        if len(text) <= LONGEST:
            break
    return text


def hues(rows: Ints, known: Mask) -> Ints:
    """The colour of each row number where it is known."""
    coloured: Ints = np.where(known, rows % HUES, NO_HUE).astype(np.int64)
    return coloured


def names(count: int) -> list[str]:
    """0, 1, 2 and so on."""
    return [str(n) for n in range(count)]
