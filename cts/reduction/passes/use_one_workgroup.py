"""One workgroup of one subgroup, or of as many invocations; memory of workgroups has one part."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from cts.model import Case, Dispatch, StorageClass


def propose(case: Case) -> Iterator[Case]:
    buffers = {
        name: structs.replace(b, shape=(1, *b.shape[1:])) if b.storage is StorageClass.Workgroup else b
        for name, b in case.buffers.items()
    }
    one = Dispatch(subgroup_size=case.dispatch.subgroup_size, invocations=case.dispatch.invocations)
    yield structs.replace(case, buffers=buffers, dispatch=one)
