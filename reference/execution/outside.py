"""What plain loads of matrices give outside the range of a storage buffer, and near its end (VK-060 to VK-064)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cts.case.model import Robustness
from cts.case.oracle.expectation import Policy
from cts.reference.addressing.accesses import Access
from cts.reference.addressing.coordinates import Status
from cts.reference.execution.program import Evaluation
from cts.reference.numeric.arrays import Mask
from cts.reference.numeric.value import Value, loosened, or_zero, where

#: Bytes: the widest access whose parts may be checked together, and how near to one outside another may count as such.
WIDEST = 16

_OUTSIDE = "what lies outside a buffer may read as anything (VK-063)"
_NEAR = "less than 16 bytes from the end of a buffer that is read outside (VK-064)"
_TOGETHER = Policy("accesses of up to 16 bytes may be checked as one (VK-064)")


def with_outside(evaluation: Evaluation, access: Access, loaded: Value) -> Value:
    """The elements of a load, those outside the range and those near its end as the case's robustness has them."""
    component = access.shape.component
    outside: Mask = access.status == Status.OUTSIDE
    near = _near(evaluation, access) & (access.status == Status.OK)
    loaded = loaded.broadcast(np.broadcast_shapes(loaded.shape, near.shape))
    if evaluation.case.robustness is Robustness.ROBUST_BUFFER_ACCESS:
        loaded = loosened(loaded, near, (_NEAR,))
        return loosened(loaded, np.broadcast_to(outside, loaded.shape), (_OUTSIDE,))
    if near.any():
        loaded = _or_zero(loaded, near)
    return where(outside, Value(component, np.zeros((1, 1, 1, 1), component.bits_dtype)), loaded)


def _or_zero(loaded: Value, mask: Mask) -> Value:
    """The value with elements of a mask that may also be zero: of integers, anything."""
    assert loaded.component is not None
    if not loaded.component.is_float:
        return loosened(loaded, mask, (_TOGETHER,))
    zeroed = or_zero(loaded, mask)
    assert zeroed.free is not None
    reasons = (*zeroed.free.reasons, _TOGETHER)
    return replace(zeroed, free=replace(zeroed.free, reasons=reasons))


def _near(evaluation: Evaluation, access: Access) -> Mask:
    """Elements inside the range that may count as outside of it."""
    end = evaluation.case.buffers[access.buffer].size
    if evaluation.case.robustness is Robustness.ROBUST_BUFFER_ACCESS:
        return access.byte + access.size > end - WIDEST
    # The first byte of the 16-byte block in which the range ends; the range's end if it ends between two blocks.
    return access.byte >= (access.extent // WIDEST * WIDEST - access.extent + end if access.extent % WIDEST else end)
