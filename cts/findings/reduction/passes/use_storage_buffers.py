"""Storage buffers in place of physical storage buffers."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from cts.case.model import Buffer, Case, StorageClass


def propose(case: Case) -> Iterator[Case]:
    yield structs.replace(case, buffers={name: _descriptor_bound(buffer) for name, buffer in case.buffers.items()})


def _descriptor_bound(buffer: Buffer) -> Buffer:
    if buffer.storage is StorageClass.PhysicalStorageBuffer:
        return structs.replace(buffer, storage=StorageClass.StorageBuffer)
    return buffer
