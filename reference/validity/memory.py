"""Rules on the locations that loads and stores access (TA-042, TA-060, TA-063, TA-069)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cts.model import ClampMode
from cts.oracle.expectation import Violation
from cts.reference.addressing.accesses import Access, Grid
from cts.reference.addressing.coordinates import Status
from cts.reference.execution.program import Evaluation
from cts.reference.numeric.arrays import Mask

#: Where an index times the component's size must stay below (TA-042), in bytes.
_LIMIT = 1 << 32


def of_access(evaluation: Evaluation, access: Access, taken: Access) -> Iterator[Violation]:
    """Rules on the locations of one load or store; `taken` has the operands of the instances that take it."""
    yield from _undefined(access)
    yield from _bounds(evaluation, access, taken)


def _undefined(access: Access) -> Iterator[Violation]:
    """TA-060, and the part of TA-063 that only matters out of bounds."""
    undefined = access.status == Status.UNDEFINED
    if not undefined.any():
        return
    assert access.layout is not None
    where = f"element {_element(undefined)} is out of bounds"
    if access.layout.type.clamp is ClampMode.Undefined:
        yield Violation(
            "TA-060",
            f"program[{access.instruction}].layout",
            f"{where} with clamp mode Undefined",
            "coordinates within layoutDimension, or another clamp mode",
        )
    else:
        yield Violation(
            "TA-063",
            f"program[{access.instruction}].layout",
            f"{where} in a mirrored dimension of 1",
            "at least 2 in mirrored dimensions that are left",
        )


def _bounds(evaluation: Evaluation, access: Access, taken: Access) -> Iterator[Violation]:
    """TA-069 and TA-042; also a pointer outside the buffer (CM-010: it points into the array)."""
    size = access.extent
    path = f"program[{access.instruction}]"
    part = "the" if size == evaluation.case.buffers[access.buffer].size else "a workgroup's"
    remedy = f"locations within {part} {size} bytes of {access.buffer!r}"
    if (taken.pointer >= size).any():
        yield Violation(
            "TA-069", f"{path}.{access.field}", f"the pointer is {int(taken.pointer.max())} bytes in", remedy
        )
        return
    accessed = access.status == Status.OK
    start = access.byte - access.origin[..., None, None]
    outside = accessed & ((start < 0) | (start + access.size > size))
    if not outside.any():
        return
    byte = int(np.broadcast_to(start, outside.shape)[outside][0])
    far = access.layout is not None and bool((access.byte - access.pointer[..., None, None] >= _LIMIT)[outside].any())
    yield Violation(
        "TA-042" if far else "TA-069",
        f"{path}.{_blamed(access)}",
        f"element {_element(outside)} is at byte {byte} of {access.buffer!r}",
        remedy,
    )


def _blamed(access: Access) -> str:
    """The operand that decides where the elements after the first are."""
    if access.layout is not None:
        return "layout"
    return access.field if isinstance(access.shape, Grid) else "stride"


def _element(mask: Mask) -> str:
    """The first element of a mask (sets, instances, rows, cols), in words."""
    _, instance, row, col = np.argwhere(mask)[0]
    return f"({row}, {col}) of instance {instance}"
