"""A shorter buffer, of scalars, in one dimension; its values are the first that it had."""

from __future__ import annotations

import math
from collections.abc import Iterator

from msgspec import structs

from cts.case.model import Case, StorageClass
from cts.findings.reduction.candidates import cropped, smaller_numbers, with_buffer


def propose(case: Case) -> Iterator[Case]:
    for name, buffer in case.buffers.items():
        if buffer.components > 1:
            flat = structs.replace(
                buffer, components=1, shape=(*buffer.shape[:-1], buffer.shape[-1] * buffer.components)
            )
            yield with_buffer(case, name, flat)
        for n, extent in enumerate(buffer.shape):
            if n == 0 and buffer.storage is StorageClass.Workgroup:
                continue
            for smaller in smaller_numbers(extent):
                if smaller:
                    shape = (*buffer.shape[:n], smaller, *buffer.shape[n + 1 :])
                    yield with_buffer(case, name, cropped(buffer, shape))
        if len(buffer.shape) > 1 and buffer.storage is not StorageClass.Workgroup:
            yield with_buffer(case, name, structs.replace(buffer, shape=(math.prod(buffer.shape),)))
