"""Fewer rows, fewer columns, or fewer of both, wherever there is the same number of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import structs

from cts.case.model import Case, MatrixShape, constant_of, types_of
from cts.findings.reduction.candidates import smaller_numbers, with_extents


def propose(case: Case) -> Iterator[Case]:
    shapes = [t for t in types_of(case).values() if isinstance(t, MatrixShape)]
    for fields in (("rows", "cols"), ("rows",), ("cols",)):
        for extent in sorted({getattr(t, f) for t in shapes for f in fields}, reverse=True):
            for smaller in filter(None, smaller_numbers(extent)):
                yield _shrunk(case, fields, extent, smaller)


def _shrunk(case: Case, fields: tuple[str, ...], extent: int, smaller: int) -> Case:
    def shrunk(value: Any) -> Any:
        return structs.replace(value, **{f: smaller for f in fields if constant_of(getattr(value, f)) == extent})

    return with_extents(case, shrunk)
