"""Conditions of parameter sets of one template."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from cts.case.model import case_dynamic_operands
from cts.case.model.sweep import Sweep
from cts.features.language import Condition

Mask: TypeAlias = npt.NDArray[np.bool_]

#: What conditions have said of parameter sets of one template, by their texts and the words that they depend on.
Answers: TypeAlias = dict[str, dict[bytes, bool]]


def of_sets(condition: Condition, sweep: Sweep, answers: Answers) -> Mask:
    """Of which sets of a sweep a condition holds, (n,): it is asked once for all sets that are alike to it.

    `answers` keeps what it has said of other sets of the template.
    """
    if condition.reads is None:
        return np.array([condition(sweep.case(i)) for i in range(len(sweep))], bool)
    looked_at = [path.partition("[")[0] in condition.reads for _, path, _ in case_dynamic_operands(sweep.template)]
    rows = sweep.sets[:, looked_at]
    first, alike = _alike(rows)
    by_row = answers.setdefault(condition.text, {})
    for i, row in zip(first.tolist(), rows[first], strict=True):
        if row.tobytes() not in by_row:
            by_row[row.tobytes()] = condition(sweep.case(i))
    return np.array([by_row[row.tobytes()] for row in rows[first]], bool)[alike]


def _alike(rows: npt.NDArray[np.uint32]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """The first row of each kind, and each row's kind."""
    kinds = np.zeros(len(rows), np.int64)
    for column in rows.T:
        values, places = np.unique(column, return_inverse=True)
        kinds = kinds * len(values) + places
    _, first, alike = np.unique(kinds, return_index=True, return_inverse=True)
    return first, alike
