"""Workgroups that extend in x alone, or less in y or z, and whose size is one of literals."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from cts.case.model import Case, Dispatch, WorkgroupShape, WorkgroupSizeMode
from cts.findings.reduction.candidates import smaller_numbers


def propose(case: Case) -> Iterator[Case]:
    for dispatch in _dispatches(case.dispatch):
        yield structs.replace(case, dispatch=dispatch)


def _dispatches(dispatch: Dispatch) -> Iterator[Dispatch]:
    yield structs.replace(dispatch, shape=WorkgroupShape(), size_by=WorkgroupSizeMode.LocalSize)
    yield structs.replace(dispatch, shape=WorkgroupShape())
    for by in (WorkgroupSizeMode.LocalSize, WorkgroupSizeMode.LocalSizeId):
        yield structs.replace(dispatch, size_by=by)
    for field in ("y", "z"):
        for extent in filter(None, smaller_numbers(getattr(dispatch.shape, field))):
            yield structs.replace(dispatch, shape=structs.replace(dispatch.shape, **{field: extent}))
