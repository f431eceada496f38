"""Rules that parameter sets break: which sets, and what is wrong under each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from cts.case.oracle.expectation import Violation
from cts.reference.numeric.arrays import Mask

_T = TypeVar("_T", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Broken:
    """A rule (fact ID) that some sets break at a YAML path.

    `sets` is (sets,), or (1,) if it is the same under every set. `words` takes a set that breaks the rule and returns
    two texts, the wrong value and the right one; it is called only when somebody reads the texts.
    """

    rule: str
    path: str
    sets: Mask
    words: Callable[[int], tuple[str, str]]

    def under(self, number: int) -> Violation:
        """What the set with this number breaks."""
        return Violation(self.rule, self.path, *self.words(number))


def broken(rule: str, path: str, mask: npt.NDArray[Any], words: Callable[[int], tuple[str, str]]) -> Iterator[Broken]:
    """The rule, where any element of a mask (sets, ...) breaks it."""
    if mask.any():
        sets: Mask = np.logical_or.reduce(mask.reshape(len(mask), -1), axis=1)
        yield Broken(rule, path, sets, words)


def everywhere(violation: Violation) -> Broken:
    """A violation that depends on no operand: every set's."""
    return Broken(violation.rule, violation.path, np.ones(1, bool), lambda _: (violation.what, violation.remedy))


def of_set(values: npt.NDArray[_T], number: int) -> npt.NDArray[_T]:
    """What values (sets, ...) are under one set, (...)."""
    under: npt.NDArray[_T] = values[number if len(values) > 1 else 0]
    return under


def first_of(values: npt.NDArray[_T], mask: Mask, number: int) -> npt.NDArray[_T]:
    """The first of the values of a set where the mask is set; a mask of fewer axes chooses members of the last."""
    chosen: npt.NDArray[_T] = of_set(values, number)[of_set(mask, number)][0]
    return chosen


def violations_of(rules: Iterable[Broken], number: int = 0) -> list[Violation]:
    """What one set breaks, in order, each rule once for each path."""
    distinct: dict[tuple[str, str], Violation] = {}
    for rule in rules:
        if of_set(rule.sets, number) and (rule.rule, rule.path) not in distinct:
            distinct[rule.rule, rule.path] = rule.under(number)
    return list(distinct.values())
