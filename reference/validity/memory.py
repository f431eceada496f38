"""Rules on the locations that loads and stores access (TA-042, TA-060, TA-063, TA-069, VK-066, AM-55, AM-57)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cts.case.model import ClampMode
from cts.reference.addressing.accesses import Access, Grid, checked
from cts.reference.addressing.coordinates import Status
from cts.reference.common.broken import Broken, broken, of_set
from cts.reference.execution.program import Evaluation
from cts.reference.numeric.arrays import Mask

#: Where an index times the component's size must stay below (TA-042), in bytes.
_LIMIT = 1 << 32

#: From which on an index of an access chain is negative (VK-066).
_NEGATIVE = 1 << 31


def of_access(evaluation: Evaluation, access: Access, taken: Access, addressable: Mask) -> Iterator[Broken]:
    """Rules on the locations of one load or store; `taken` has the operands of the instances that take it.

    Locations mean something under the sets of `addressable`, (sets,) or (1,), alone.
    """
    yield from _undefined(access, addressable)
    yield from _bounds(evaluation, access, taken, addressable)


def _undefined(access: Access, addressable: Mask) -> Iterator[Broken]:
    """TA-060, TA-063 and AM-57, all of which only matter out of bounds."""
    if not access.status.any():
        return
    path = f"program[{access.instruction}].layout"
    unclear = (access.status == Status.UNCLEAR) & addressable[:, None, None, None]
    if unclear.any():
        assert access.layout is not None
        mode = access.layout.type.clamp.value
        what = f"is out of bounds in a dimension of 0 or more than {mode} can compute with in signed arithmetic"
        right = "1 to 2^31 - 1 in dimensions that are left, at most 2^30 if mirrored"
        yield from broken("AM-57", path, unclear, lambda n: (f"element {_element(of_set(unclear, n))} {what}", right))
    undefined = access.status == Status.UNDEFINED
    if not undefined.any():
        return
    undefined = undefined & addressable[:, None, None, None]

    def described_element(number: int) -> str:
        return f"element {_element(of_set(undefined, number))} is out of bounds"

    if access.layout is not None and access.layout.type.clamp is ClampMode.Undefined:
        right = "coordinates within layoutDimension, or another clamp mode"
        yield from broken(
            "TA-060", path, undefined, lambda n: (f"{described_element(n)} with clamp mode Undefined", right)
        )
    else:
        right = "at least 1 in dimensions that are left, 2 if mirrored"
        where = "in a mirrored dimension of 1, or a repeated one of 0: the remainder divides by 0"
        yield from broken("TA-063", path, undefined, lambda n: (f"{described_element(n)} {where}", right))


def _bounds(evaluation: Evaluation, access: Access, taken: Access, addressable: Mask) -> Iterator[Broken]:
    """TA-069, AM-55 and TA-042; also a pointer outside the buffer (CM-010: it points into the array)."""
    size = access.extent
    path = f"program[{access.instruction}]"
    part = "the" if size == evaluation.case.buffers[access.buffer].size else "a workgroup's"
    remedy = f"locations within {part} {size} bytes of {access.buffer!r}"
    if begins_at := evaluation.case.buffers[access.buffer].begins_at:
        remedy = f"locations in bytes {begins_at} to {size - 1} of {access.buffer!r}, which has contents there alone"
    # Robustness names plain loads and stores alone, but speaks of every access by a descriptor.
    rule = "AM-55" if access.layout is not None and checked(evaluation.case, access.buffer) else "TA-069"
    past = taken.pointer >= size
    # A plain load or store that is checked may begin outside, too (VK-060).
    if past.any() and (access.stride is None or not checked(evaluation.case, access.buffer)):
        far_pointer = past.any(axis=1) & addressable
        yield from broken(
            rule,
            f"{path}.{access.field}",
            far_pointer,
            lambda n: (f"the pointer is {int(of_set(taken.pointer, n).max())} bytes in", remedy),
        )
        addressable = addressable & ~far_pointer
    if not isinstance(access.shape, Grid):
        index = taken.pointer // evaluation.case.buffers[access.buffer].element_size
        negative = index >= _NEGATIVE
        yield from broken(
            "VK-066",
            f"{path}.{access.field}",
            negative & addressable[:, None],
            lambda n: (f"the index {int(of_set(index, n).max())} is negative as a signed number", "one below 2^31"),
        )
    start = access.byte if not access.origin.any() else access.byte - access.origin[..., None, None]
    # As unsigned numbers, those below 0 are the greatest. No location fits into less than its size.
    outside = (
        start.view(np.uint64) > np.uint64(size - access.size) if access.size <= size else np.ones_like(start, bool)
    )
    outside = outside | (access.byte < 0)
    if not outside.any():
        return
    outside = outside & (access.status == Status.OK) & addressable[:, None, None, None]
    if not outside.any():
        return
    far = np.zeros((1, 1, 1, 1), bool)
    if access.layout is not None:
        far = access.byte - access.pointer[..., None, None] >= _LIMIT
    beyond = (outside & far).any(axis=(1, 2, 3))

    def words(number: int) -> tuple[str, str]:
        mask = of_set(outside, number)
        byte = int(np.broadcast_to(of_set(start, number), mask.shape)[mask][0])
        return f"element {_element(mask)} is at byte {byte} of {access.buffer!r}", remedy

    path = f"{path}.{access.places_decided_by}"
    yield from broken("TA-042", path, beyond, words)
    yield from broken(rule, path, outside.any(axis=(1, 2, 3)) & ~beyond, words)


def _element(mask: Mask) -> str:
    """The first element of a mask (instances, rows, cols), in words."""
    instance, row, col = np.argwhere(mask)[0]
    return f"({row}, {col}) of instance {instance}"
