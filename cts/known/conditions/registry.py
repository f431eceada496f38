"""The conditions by name: functions of a case, each with one sentence that describes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cts.errors import BadInput, did_you_mean
from cts.model import Case, dynamics
from cts.model.sweep import Sweep

Mask = npt.NDArray[np.bool_]

#: What conditions have said of parameter sets of one template, by their names and the words that they look at.
Answers = dict[str, dict[bytes, bool]]


@dataclass(frozen=True)
class Condition:
    """A predicate of cases.

    `operands` are the fields of instructions whose values read at run time it looks at, where it looks at no buffer's
    data either; None: it may look at anything.
    """

    name: str
    predicate: Callable[[Case], bool]
    operands: frozenset[str] | None

    def __call__(self, case: Case) -> bool:
        return self.predicate(case)

    @property
    def sentence(self) -> str:
        """What it is about."""
        return self.predicate.__doc__ or ""

    def of_sets(self, sweep: Sweep, answers: Answers) -> Mask:
        """Of which sets of a sweep it holds, (n,): it is asked once for all sets that are alike to it.

        `answers` keeps what it has said of other sets of the template.
        """
        if self.operands is None:
            return np.array([self.predicate(sweep.case(i)) for i in range(len(sweep))], bool)
        looked_at = [path.partition("[")[0] in self.operands for _, path, _ in dynamics(sweep.template)]
        rows = sweep.sets[:, looked_at]
        first, alike = _alike(rows)
        known = answers.setdefault(self.name, {})
        for i, row in zip(first.tolist(), rows[first], strict=True):
            if row.tobytes() not in known:
                known[row.tobytes()] = self.predicate(sweep.case(i))
        return np.array([known[row.tobytes()] for row in rows[first]], bool)[alike]


def _alike(rows: npt.NDArray[np.uint32]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """The first row of each kind, and each row's kind."""
    kinds = np.zeros(len(rows), np.int64)
    for column in rows.T:
        values, places = np.unique(column, return_inverse=True)
        kinds = kinds * len(values) + places
    _, first, alike = np.unique(kinds, return_index=True, return_inverse=True)
    return first, alike


CONDITIONS: dict[str, Condition] = {}


def condition(
    name: str, operands: tuple[str, ...] | None = None
) -> Callable[[Callable[[Case], bool]], Callable[[Case], bool]]:
    """Register a predicate of cases under a name; `operands` as `Condition` has them."""

    def register(predicate: Callable[[Case], bool]) -> Callable[[Case], bool]:
        assert name not in CONDITIONS, name
        CONDITIONS[name] = Condition(name, predicate, None if operands is None else frozenset(operands))
        return predicate

    return register


def find(name: str, where: str = "") -> Condition:
    """The condition of that name. Raises BadInput."""
    if name not in CONDITIONS:
        remedy = did_you_mean(name, CONDITIONS)
        raise BadInput("unknown-condition", f"no condition named {name!r}", where, remedy)
    return CONDITIONS[name]
