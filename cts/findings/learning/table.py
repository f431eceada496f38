"""The attributes of all sites of a kind, as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from cts.features.attributes import NUMBER, OPERAND, TRUTH, WORD
from cts.features.instructions import attributes_of
from cts.features.language import Get, getter
from cts.features.sites import Site

Numbers = npt.NDArray[np.float64]

#: Of an attribute that is of another kind, what may be said of that: all, if it is not listed.
_SAID: dict[str, tuple[str, ...]] = {
    "Instruction": ("op",),
    "Block": ("op",),
    "Layout": (
        "dim", "clamp", "has_dimensions", "permutation", "dims", "strides", "block", "span", "offset", "clamp_value",
        "clip",
    ),
    "Value": (
        "component", "rows", "cols", "length", "size", "float", "signed", "use", "scope", "specialized", "uses",
        "origin", "memory", "has",
    ),
    "Memory": ("component", "size", "storage", "data", "has", "pointer", "opaque"),
    "Expression": ("operation", "type"),
    "Function": (
        "kind", "returns", "coords", "lanes", "extras", "reads", "writes", "loops", "text", "operations", "names",
    ),
}  # fmt: skip

#: Attributes that repeat others, or say what no two cases share.
_LEFT_OUT = frozenset({"numbers", "inputs", "around", "made", "within"})

#: Attributes with more values than this are reduced to their least and largest values: bugs begin at extremes, and a
#: column is as wide as the longest site.
MOST_VALUES = 16

#: Indices of a list of numbers that get an attribute each: tensors have at most five dimensions.
_PLACES = 5


@dataclass(frozen=True)
class Path:
    """A path of attributes from a site, and what is at its end: NUMBER, WORD or TRUTH; `steps` are its attributes."""

    text: str
    kind: str
    steps: int


@cache
def paths_of(kind: str) -> tuple[Path, ...]:
    """What can be said of a site of a kind, and of the case that it is in."""
    own = tuple(_paths(kind, "", 0, frozenset()))
    return own if kind == "Case" else (*own, *_paths("Case", "case.", 1, frozenset()))


def _paths(kind: str, before: str, steps: int, seen: frozenset[str]) -> Iterator[Path]:
    listed = _SAID.get(kind) if steps else None
    for name, attribute in attributes_of(kind).items() if kind not in _FAMILIES else ():
        if name in _LEFT_OUT or (listed is not None and name not in listed):
            continue
        yield from _paths_of_kind(attribute.kind, before + name, steps + 1, seen | {kind})
    if kind in _FAMILIES:
        yield Path(f"{before}op", WORD, steps + 1)


#: Kinds of instructions of which only the name is asked.
_FAMILIES = frozenset({"Instruction", "Block"})


def _paths_of_kind(kind: str, text: str, steps: int, seen: frozenset[str]) -> Iterator[Path]:
    if kind in (NUMBER, WORD, TRUTH):
        yield Path(text, kind, steps)
    elif kind == OPERAND:
        yield Path(text, NUMBER, steps)
        yield Path(f"{text}.by", WORD, steps + 1)
        yield Path(f"{text}.varies", WORD, steps + 1)
    elif steps < 3 and kind not in seen:
        yield from _paths(kind, f"{text}.", steps, seen)


@dataclass(frozen=True)
class Column:
    """A path and its values at each site: of numbers (sites, values) with NaN where there are fewer, else as sets."""

    path: Path
    numbers: Numbers | None
    words: tuple[frozenset[Any], ...]
    given: npt.NDArray[np.bool_]


#: The values of all paths of the sites of a kind in a case, site by site: they are asked for again in each round.
Known = dict[tuple[Site, str], list[list[tuple[Any, ...]]]]


class Table:
    """All sites of a kind in cases: `of[i]` is the case that site i is in, and sites of one case stand together."""

    def __init__(self, kind: str, cases: Sequence[Site], known: Known) -> None:
        self.kind = kind
        paths = list(_with_places(kind))
        rows, of = [], []
        for n, case in enumerate(cases):
            if (case, kind) not in known:
                known[case, kind] = [[_extremes(get(site), path) for path, get in paths] for site in _sites(case, kind)]
            rows += known[case, kind]
            of += [n] * len(known[case, kind])
        self.sites = len(rows)
        self.of = np.array(of, np.intp)
        values = ((path, [row[n] for row in rows]) for n, (path, _) in enumerate(paths))
        self.columns = [_column(path, column) for path, column in values if any(column)]


@cache
def _with_places(kind: str) -> tuple[tuple[Path, Get], ...]:
    """The paths of a kind, those of lists also at each of their first places and at the last, and what gets them."""
    with_places = []
    for path in paths_of(kind):
        with_places.append(path)
        if path.kind == NUMBER and _is_list(path):
            places = (*range(_PLACES), -1)
            with_places += [Path(f"{path.text}[{place}]", NUMBER, path.steps + 1) for place in places]
    return tuple((path, getter(path.text, kind)) for path in with_places)


def _sites(case: Site, kind: str) -> Iterator[Site]:
    return iter((case,)) if kind == "Case" else case.sites(kind)


def _extremes(values: tuple[Any, ...], path: Path) -> tuple[Any, ...]:
    if len(values) <= MOST_VALUES or path.kind != NUMBER:
        return values
    ordered = sorted(v for v in values if v is not None)
    return (*ordered[: MOST_VALUES // 2], *ordered[-MOST_VALUES // 2 :])


def _is_list(path: Path) -> bool:
    """Whether the places of its values mean something, as those of dimensions do."""
    return path.text.rpartition(".")[2] in _LISTS


_LISTS = frozenset({"dims", "strides", "block", "block_size", "span", "offset", "permutation"})


def _column(path: Path, values: Sequence[tuple[Any, ...]]) -> Column:
    present = np.array([bool(v) for v in values], bool)
    if path.kind != NUMBER:
        return Column(path, None, tuple(map(frozenset, values)), present)
    numbers = np.full((len(values), max(1, max(map(len, values)))), np.nan)
    for row, v in zip(numbers, values, strict=True):
        row[: len(v)] = [np.nan if n is None else n for n in v]
    return Column(path, numbers, (), present)
