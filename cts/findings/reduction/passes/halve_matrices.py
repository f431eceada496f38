"""Half as many rows and columns wherever there is the same even number of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import structs

from cts.case.model import Case, MatrixShape, constant_of, types_of
from cts.findings.reduction.candidates import with_extents


def propose(case: Case) -> Iterator[Case]:
    shapes = [t for t in types_of(case).values() if isinstance(t, MatrixShape)]
    for extent in sorted({n for t in shapes for n in (t.rows, t.cols) if n % 2 == 0}, reverse=True):
        yield _halved(case, extent)


def _halved(case: Case, extent: int) -> Case:
    def half(value: Any) -> Any:
        return extent // 2 if constant_of(value) == extent else value

    return with_extents(case, lambda t: structs.replace(t, rows=half(t.rows), cols=half(t.cols)))
