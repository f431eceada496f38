"""Fewer dispatches, workgroups, subgroups or invocations; no required subgroup size."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from msgspec import structs

from cts.case.model import Buffer, Case, Dispatch, StorageClass
from cts.findings.reduction.candidates import cropped, smaller_numbers, with_members


def propose(case: Case) -> Iterator[Case]:
    for dispatch in _dispatches(case.dispatch):
        buffers = {n: _parts(b, case.dispatch, dispatch) for n, b in case.buffers.items()}
        yield structs.replace(case, dispatch=dispatch, buffers=buffers)


def _dispatches(dispatch: Dispatch) -> Iterator[Dispatch]:
    for smaller in filter(None, smaller_numbers(dispatch.times)):
        yield structs.replace(dispatch, times=smaller)
    for n, count in enumerate(dispatch.workgroups):
        for smaller in filter(None, smaller_numbers(count)):
            groups: Any = (*dispatch.workgroups[:n], smaller, *dispatch.workgroups[n + 1 :])
            yield structs.replace(dispatch, workgroups=groups)
    for smaller in filter(None, smaller_numbers(dispatch.subgroups)):
        yield with_members(dispatch, subgroups=smaller)
    for smaller in filter(None, smaller_numbers(dispatch.invocations or 0)):
        yield with_members(dispatch, invocations=smaller)
    if dispatch.subgroup_size is not None:
        yield structs.replace(dispatch, subgroup_size=None)


def _parts(buffer: Buffer, before: Dispatch, now: Dispatch) -> Buffer:
    """A buffer of workgroup memory with as many parts as there are workgroups."""
    if buffer.storage is not StorageClass.Workgroup or buffer.shape[0] != math.prod(before.workgroups):
        return buffer
    return cropped(buffer, (math.prod(now.workgroups), *buffer.shape[1:]))
