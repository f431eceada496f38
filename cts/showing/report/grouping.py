"""Which failures have one cause, by what their cases have in common and what passing cases have.

The shortest description wins (Rissanen 1978). Failures are described group by group: a group costs what names it,
traits of its cases, and then what says which of all cases with these traits fail. One group of everything costs little
to name, and much to tell its cases from passing ones; a group for each failure the other way round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import lgamma, log, log2

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.int64]

#: What it costs that there is one group more, in bits: as much as some three traits.
GROUP_BITS = 30.0

#: The most groups, and of each the most traits.
GROUPS, TRAITS = 12, 4

#: How many traits are tried where failures are divided: those that cost the least for each failure.
TRIED = 3


@dataclass(frozen=True)
class Alike:
    """Failures by their places, what all of their cases have in common, and how many passing cases have it, too."""

    places: tuple[int, ...]
    traits: tuple[str, ...]
    passing: int


def alike(failing: Sequence[frozenset[str]], passing: Sequence[frozenset[str]]) -> list[Alike]:
    """The groups of failures, the largest first, by the traits of their cases and of cases that pass."""
    return _Grouping(failing, passing).groups()


class _Grouping:
    def __init__(self, failing: Sequence[frozenset[str]], passing: Sequence[frozenset[str]]) -> None:
        # Of traits that tell the same, the first is named: one of an instruction, and the shortest.
        self.traits = sorted(set[str]().union(*failing), key=lambda t: (not t[0].isupper(), len(t), t))
        column = {trait: n for n, trait in enumerate(self.traits)}
        self.failing, self.passing = (_table(cases, column) for cases in (failing, passing))
        self.passing_with = self.passing.sum(axis=0)
        self.name_bits = log2(max(2, len(self.traits)))

    def groups(self) -> list[Alike]:
        _, groups = self._divided(np.arange(len(self.failing)), GROUPS)
        alike = [
            Alike(tuple(rows.tolist()), tuple(self.traits[n] for n in chosen), self._passing(chosen))
            for chosen, rows in groups
        ]
        return sorted(alike, key=lambda group: -len(group.places))

    def _passing(self, chosen: Sequence[int]) -> int:
        return int(self.passing[:, list(chosen)].all(axis=1).sum())

    def _divided(self, rows: Rows, most: int) -> tuple[float, list[tuple[list[int], Rows]]]:
        """Failures as one group, or as one group and the groups of the rest: the cheaper one, with its cost."""
        cost, chosen = self._together(rows)
        best = cost, [(chosen, rows)]
        if most == 1 or len(rows) == 1:
            return best
        failing_with = self.failing[rows].sum(axis=0)
        some = np.flatnonzero((failing_with > 0) & (failing_with < len(rows)))
        each = {n: self._bits(int(failing_with[n]), int(self.passing_with[n])) / failing_with[n] for n in some.tolist()}
        for n in sorted(each, key=lambda n: each[n])[:TRIED]:
            inside = self.failing[rows, n]
            cost, chosen = self._together(rows[inside])
            others, groups = self._divided(rows[~inside], most - 1)
            if cost + others < best[0]:
                best = cost + others, [(chosen, rows[inside]), *groups]
        return best

    def _together(self, rows: Rows) -> tuple[float, list[int]]:
        """The cost of a group of failures, and traits that all of them have: those that tell most of which they are."""
        common = np.flatnonzero(self.failing[rows].all(axis=0))
        inside = np.ones(len(self.passing), bool)
        chosen: list[int] = []
        which = _choice_bits(len(self.passing) + len(rows), len(rows))
        while len(chosen) < TRAITS and common.size:
            left = self.passing[inside][:, common].sum(axis=0)
            k = int(left.argmin())
            bits = _choice_bits(int(left[k]) + len(rows), len(rows))
            if bits + self.name_bits >= which:
                break
            which = bits
            chosen.append(int(common[k]))
            inside &= self.passing[:, common[k]]
        return GROUP_BITS + which + self.name_bits * len(chosen), chosen

    def _bits(self, failing: int, passing: int) -> float:
        return GROUP_BITS + self.name_bits + _choice_bits(failing + passing, failing)


def _table(cases: Sequence[frozenset[str]], column: Mapping[str, int]) -> npt.NDArray[np.bool_]:
    """Which cases have which traits, (cases, traits)."""
    table = np.zeros((len(cases), len(column)), bool)
    for row, case in enumerate(cases):
        table[row, [column[trait] for trait in case if trait in column]] = True
    return table


def _choice_bits(of: int, chosen: int) -> float:
    """Bits that say which so many of all are meant."""
    return (lgamma(of + 1) - lgamma(chosen + 1) - lgamma(of - chosen + 1)) / log(2)
