"""What failing parameter sets have in common: conditions on axes that hold of them and of no set that passes.

Conditions are looked for in a sample and checked on all sets; where some set that passes meets them, it joins the
sample and the search begins anew.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import numpy.typing as npt

Column = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

#: Sets of a sample, failing and passing: all conditions are tried on it, so the search takes time in proportion. Round
#: number.
SAMPLE = 8_000

#: Values of an axis that become thresholds of conditions, evenly spread if the axis has more. Round number.
VALUES = 24

#: The most conditions of a region, and the most regions: readers do not understand longer ones.
CONDITIONS, REGIONS = 5, 8

#: How often a sample grows by sets that contradict a region: a bound, as each round searches again.
ROUNDS = 6

UNEXPLAINED = "no simple condition"


@dataclass(frozen=True, eq=False)
class Condition:
    """A condition on axes, in words and as a function of their columns."""

    text: str
    holds: Callable[[Mapping[str, Column]], Mask]
    #: It is not about axes.
    further: bool = False


@dataclass(frozen=True, eq=False)
class Region:
    """Sets that fail, (m,) numbers; each of them meets the conditions of `text`, and no set that passes does.

    Where that is not so, `text` begins with UNEXPLAINED, and says what they have in common with sets that pass.
    """

    text: str
    sets: Column

    @property
    def unexplained(self) -> bool:
        """Whether sets that pass meet the conditions, too."""
        return self.text.startswith(UNEXPLAINED)


def regions(
    columns: Mapping[str, Column],
    labels: Mapping[str, tuple[str, ...]],
    fails: Mask,
    further: Callable[[Column], Mapping[str, Column]] | None = None,
) -> list[Region]:
    """The regions of the sets that fail, the largest first, each set in one.

    `columns` are the values of all axes for every judged set, (n,); those of an axis in `labels` stand for texts.
    `further` gives, for some sets by their numbers, numbers that follow from axes in ways that conditions cannot say.
    They are compared with values alone, and asked for only where the axes do not make one region.
    """
    conditions = list(_conditions(columns, labels))
    simplest = _Search(columns, conditions, fails).regions()
    if further is not None and (len(simplest) > 1 or any(region.unexplained for region in simplest)):
        simplest = min(simplest, _Search(columns, conditions, fails, further).regions(), key=_untidiness)
    return sorted(simplest, key=lambda r: -len(r.sets))


def _untidiness(found: list[Region]) -> tuple[int, int]:
    """Sets without a region, and regions."""
    return sum(len(region.sets) for region in found if region.unexplained), len(found)


class _Search:
    def __init__(
        self,
        columns: Mapping[str, Column],
        conditions: Iterable[Condition],
        fails: Mask,
        further: Callable[[Column], Mapping[str, Column]] | None = None,
    ) -> None:
        self.fails = fails
        self.left = np.flatnonzero(fails)
        self.passing = _evenly(np.flatnonzero(~fails))
        self.columns = dict(columns)
        self.further = None if further is None else _Further(further, len(fails))
        self.conditions = list(conditions)
        if self.further is not None:
            sample = self.further.columns_of(np.concatenate([_evenly(self.left), self.passing]))
            self.conditions += _compared_with_values(sample)

    def regions(self) -> list[Region]:
        regions: list[Region] = []
        while self.left.size and len(regions) < REGIONS:
            conditions = self._next()
            if conditions is None:
                break
            inside = self._inside(conditions, self.left)
            text = " and ".join(c.text for c in conditions) or "everywhere"
            regions.append(Region(text, self.left[inside]))
            self.left = self.left[~inside]
        if self.left.size:
            common = " and ".join(c.text for c in self._in_common())
            regions.append(Region(f"{UNEXPLAINED}; all have {common}" if common else UNEXPLAINED, self.left))
        return regions

    def _in_common(self) -> list[Condition]:
        """Conditions that all failing sets meet, and fewer and fewer of the passing ones."""
        everywhere = [c for c in self.conditions if self._inside([c], self.left).all()]
        columns = self._columns_of(self.passing)
        masks = [(c, c.holds(columns)) for c in everywhere]
        good = np.ones(len(self.passing), bool)
        chosen: list[Condition] = []
        while masks and len(chosen) < CONDITIONS:
            condition, mask = min(masks, key=lambda pair: int((good & pair[1]).sum()))
            if (good & mask).sum() > 0.95 * good.sum():
                break
            chosen.append(condition)
            good &= mask
        return chosen

    def _next(self) -> list[Condition] | None:
        """Conditions that no passing set meets, but many of the failing ones that are left."""
        for _ in range(ROUNDS):
            conditions = self._conjunction(_evenly(self.left))
            if conditions is None:
                return None
            wrong = np.flatnonzero(~self.fails)
            wrong = wrong[self._inside(conditions, wrong)]
            if not wrong.size:
                return self._without_needless(conditions)
            self.passing = np.union1d(self.passing, _evenly(wrong))
        return None

    def _conjunction(self, failing: Column) -> list[Condition] | None:
        """Conditions that leave no passing set of the sample, chosen one by one by what they tell."""
        of_failing, of_passing = self._columns_of(failing), self._columns_of(self.passing)
        masks = [(c, c.holds(of_failing), c.holds(of_passing)) for c in self.conditions]
        bad, good = np.ones(len(failing), bool), np.ones(len(self.passing), bool)
        chosen: list[Condition] = []
        while good.any():
            best, gain = None, 1e-9
            f0, p0 = int(bad.sum()), int(good.sum())
            before = np.log2(f0 / (f0 + p0))
            for condition, on_failing, on_passing in masks:
                f1, p1 = int((bad & on_failing).sum()), int((good & on_passing).sum())
                if f1:
                    # The information gain, a little higher for conditions that all failing sets meet.
                    told = f1 * (np.log2(f1 / (f1 + p1)) - before) * (1.05 if f1 == f0 else 1.0)
                    if told > gain:
                        best, gain = (condition, on_failing, on_passing), told
            if best is None or len(chosen) == CONDITIONS:
                return None
            chosen.append(best[0])
            bad, good = bad & best[1], good & best[2]
        return chosen

    def _without_needless(self, conditions: list[Condition]) -> list[Condition]:
        """Those that are needed to leave out every passing set."""
        passing = np.flatnonzero(~self.fails)
        needed = list(conditions)
        for condition in conditions:
            fewer = [c for c in needed if c is not condition]
            # The sample says at once what most conditions are needed for.
            if not self._inside(fewer, self.passing).any() and not self._inside(fewer, passing).any():
                needed = fewer
        return needed

    def _inside(self, conditions: list[Condition], sets: Column) -> Mask:
        inside = np.ones(len(sets), bool)
        # What follows from axes is worked out for the sets alone that meet the conditions on axes.
        for condition in sorted(conditions, key=lambda c: c.further):
            inside[inside] = condition.holds(self._columns_of(sets[inside]))
        return inside

    def _columns_of(self, sets: Column) -> Mapping[str, Column]:
        """The columns of some sets, each made when a condition first looks at it."""
        return _Columns(self.columns, self.further, sets)


class _Further:
    """Columns that follow from axes, worked out for each set once, when it is first asked for."""

    def __init__(self, further: Callable[[Column], Mapping[str, Column]], count: int) -> None:
        self._further = further
        self._known = np.zeros(count, bool)
        self._columns: dict[str, Column] = {}

    def columns_of(self, sets: Column) -> Mapping[str, Column]:
        """The columns of some sets."""
        new = np.unique(sets[~self._known[sets]])
        if new.size:
            for name, column in self._further(new).items():
                self._columns.setdefault(name, np.full(len(self._known), -1))[new] = column
            self._known[new] = True
        return {name: column[sets] for name, column in self._columns.items()}


class _Columns(dict[str, Column]):
    def __init__(self, columns: Mapping[str, Column], further: _Further | None, sets: Column) -> None:
        self._columns = columns
        self._further = further
        self._sets = sets

    def __missing__(self, name: str) -> Column:
        if name in self._columns:
            self[name] = self._columns[name][self._sets]
        else:
            assert self._further is not None
            self.update(self._further.columns_of(self._sets))
        return self[name]


def _evenly(sets: Column) -> Column:
    """At most SAMPLE of these, evenly spread."""
    if len(sets) <= SAMPLE:
        return sets
    return sets[np.linspace(0, len(sets) - 1, SAMPLE).astype(np.int64)]


def _conditions(columns: Mapping[str, Column], labels: Mapping[str, tuple[str, ...]]) -> Iterator[Condition]:
    """Conditions, simple ones first."""
    numeric = [name for name in columns if name not in labels]
    for name, column in columns.items():
        distinct = np.unique(column)
        if len(distinct) < 2:
            continue
        if name in labels:
            for value in distinct.tolist():
                yield _compared(name, "=", value, labels[name][value])
            if len(distinct) > 2:
                for value in distinct.tolist():
                    yield _compared(name, "!=", value, labels[name][value])
            continue
        yield from _compared_with_values({name: distinct}, further=False)
        for divisor in (2, 4, 8, 16):
            if len(np.unique(distinct % divisor)) > 1:
                yield _divided(name, divisor)
    for a, b in permutations(numeric, 2):
        yield from _related(a, b, bool((columns[b] > 0).all()))
    for a, b, c in permutations(numeric, 3):
        # Offset, span and dimension of one dimension, say.
        if a < b and _number(a) == _number(b) == _number(c):
            yield _summed(a, b, c)


def _compared_with_values(columns: Mapping[str, Column], further: bool = True) -> Iterator[Condition]:
    for name, column in columns.items():
        distinct = np.unique(column)
        some = distinct[np.linspace(0, len(distinct) - 1, min(VALUES, len(distinct))).astype(np.int64)].tolist()
        for value in some if len(distinct) > 1 else ():
            for sign in ("=", "!=") if len(distinct) > 2 else ("=",):
                yield _compared(name, sign, value, further=further)
        for value in some[1:]:
            yield _compared(name, ">=", value, further=further)
        for value in some[:-1]:
            yield _compared(name, "<=", value, further=further)


def _compared(name: str, sign: str, value: int, label: str | None = None, further: bool = False) -> Condition:
    operation = {"=": np.equal, "!=": np.not_equal, ">=": np.greater_equal, "<=": np.less_equal}[sign]
    return Condition(f"{name} {sign} {value if label is None else label}", lambda c: operation(c[name], value), further)


def _divided(name: str, divisor: int) -> Condition:
    return Condition(f"{name} % {divisor} != 0", lambda c: c[name] % divisor != 0)


def _related(a: str, b: str, positive: bool) -> Iterator[Condition]:
    yield Condition(f"{a} < {b}", lambda c: c[a] < c[b])
    yield Condition(f"{a} <= {b}", lambda c: c[a] <= c[b])
    if a < b:
        yield Condition(f"{a} = {b}", lambda c: c[a] == c[b])
        yield Condition(f"{a} != {b}", lambda c: c[a] != c[b])
    if positive:
        yield Condition(f"{a} % {b} = 0", lambda c: c[a] % c[b] == 0)
        yield Condition(f"{a} % {b} != 0", lambda c: c[a] % c[b] != 0)


def _summed(a: str, b: str, c: str) -> Condition:
    return Condition(f"{a} + {b} > {c}", lambda columns: columns[a] + columns[b] > columns[c])


def _number(name: str) -> str:
    """The number at the end of a name, or nothing: axes of one dimension have the same."""
    match = re.search(r"\d+$", name)
    return "" if match is None else match[0]
