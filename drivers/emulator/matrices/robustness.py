"""Bounds checks of plain loads and stores of matrices, in cases with robustness (VK-060 to VK-064)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cts.case.model import Buffer, Robustness
from cts.drivers.emulator.matrices.state import DISCARD, TAKE_CLAMP_VALUE, Addresses, Ints, Work
from cts.drivers.emulator.mutants import matrices as m
from cts.drivers.emulator.options import Options

#: Bytes that an implementation may check as one.
_TOGETHER = 16


def checked(
    addresses: Addresses,
    work: Work,
    buffer: Buffer,
    window: Ints,
    size: int,
    *,
    is_load: bool,
    column_major: bool,
    robustness: Robustness,
    options: Options,
) -> Addresses:
    """The same where elements of `size` bytes outside the buffer load zero, and are not stored.

    `window` (instances,) is where the buffer begins in the bytes of addresses, which its range is counted from.
    """
    bug = options.bug
    if bug == (m.ROBUST_LOAD_UNCHECKED if is_load else m.ROBUST_STORE_UNCHECKED):
        return addresses
    first, end = window[:, None], window[:, None] + buffer.reach
    if bug == m.ROBUST_RANGE_WITHOUT_OFFSET:
        end = end - first
    elif bug == m.ROBUST_RANGE_ROUNDED_UP:
        end = first + -(-buffer.reach // _TOGETHER) * _TOGETHER
    outside = addresses.byte + size > end
    line = work[:, 3] if column_major else work[:, 2]
    if bug == m.ROBUST_LINE_AT_ONCE:
        outside = _any_of_line(outside, line)
    elif bug == m.ROBUST_LINE_BY_ITS_START:
        outside = ~_any_of_line(~outside, line)
    elif bug == m.ROBUST_MATRIX_AT_ONCE and is_load:
        outside = np.broadcast_to(outside.any(axis=1, keepdims=True), outside.shape)
    loose = options.robust == "block"
    if loose and is_load:
        # Of a matrix that goes outside, what is not checked alone is left out with its whole block of 16 bytes.
        blocks = (addresses.byte - first) // _TOGETHER * _TOGETHER
        outside = outside | (outside.any(axis=1, keepdims=True) & (blocks + _TOGETHER > buffer.reach))
    last = bug == m.ROBUST_LOAD_LAST_ELEMENT or (loose and robustness is Robustness.ROBUST_BUFFER_ACCESS)
    if is_load and last:
        return replace(addresses, byte=np.where(outside, end - size, addresses.byte))
    action = addresses.action.copy()
    action[outside] = TAKE_CLAMP_VALUE if is_load else DISCARD
    return replace(addresses, action=action)


def _any_of_line(mask: npt.NDArray[Any], line: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Elements (instances, n) of whose lines, (n,), any is in the mask."""
    of_line = np.zeros((len(mask), int(line.max()) + 1), bool)
    for instance, of_instance in enumerate(mask):
        of_line[instance, line[of_instance]] = True
    return of_line[:, line]
