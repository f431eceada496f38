"""An opaque matrix at offset 0 of a storage buffer; one that is in memory of its own."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from cts.case.model import Case, StorageClass


def propose(case: Case) -> Iterator[Case]:
    for name, matrix in case.opaque.items():
        plain = structs.replace(matrix, offset=0, storage=StorageClass.StorageBuffer)
        yield structs.replace(case, opaque={**case.opaque, name: plain})
        if matrix.within is not None:
            alone = structs.replace(matrix, within=None)
            yield structs.replace(case, opaque={**case.opaque, name: alone})
