"""One workgroup of one subgroup, or of as many invocations; memory of workgroups has one part."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from cts.case.model import Case, StorageClass
from cts.findings.reduction.candidates import with_members


def propose(case: Case) -> Iterator[Case]:
    buffers = {
        name: structs.replace(b, shape=(1, *b.shape[1:])) if b.storage is StorageClass.Workgroup else b
        for name, b in case.buffers.items()
    }
    dispatch = structs.replace(with_members(case.dispatch, subgroups=1), workgroups=(1, 1, 1))
    yield structs.replace(case, buffers=buffers, dispatch=dispatch)
