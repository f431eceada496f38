"""Products whose C and result are of different types, as bugs have them."""

from __future__ import annotations

import numpy as np

from cts.drivers.emulator import numbers as n
from cts.drivers.emulator.matrices.registers import Registers
from cts.drivers.emulator.mutants import apart as bugs

BUGS = frozenset(value for value in vars(bugs).values() if isinstance(value, int))


def operands(
    c: Registers, types: tuple[int, ...], bug: int, *, saturating: bool
) -> tuple[Registers, tuple[int, ...], bool]:
    """C (instances, rows, cols), the types of A, B, C and result, and whether sums saturate."""
    *factors, of_c, of_result = types
    integers, narrow = of_result >= n.UINT8, _width(of_c) < _width(of_result)
    if of_c == of_result:
        return c, types, saturating
    match bug:
        case bugs.APART_C_AS_RESULT:
            c, of_c = c & np.uint32((1 << _width(of_result)) - 1), of_result
        case bugs.APART_RESULT_AS_C:
            of_result = of_c
        case bugs.APART_C_SIGN_OF_RESULT if integers:
            of_c = (of_c & ~1) | (of_result & 1)
        case bugs.APART_SATURATES_BY_C if integers:
            of_result = (of_result & ~1) | (of_c & 1)
        case bugs.APART_SATURATES_TO_C if integers and narrow and saturating:
            of_result = of_c
        case bugs.APART_NOT_SATURATING:
            saturating = False
        case bugs.APART_C_ZERO_EXTENDED if integers and narrow:
            of_c &= ~1
        case bugs.APART_C_SIGN_EXTENDED if integers and narrow:
            of_c |= 1
        case bugs.APART_C_DROPPED:
            c = np.zeros_like(c)
        case bugs.APART_C_IN_PAIRS if narrow:
            c, of_c = c | (np.roll(c, -1, axis=2) << np.uint32(_width(of_c))), of_result
        case bugs.APART_C_EVERY_SECOND if narrow:
            c = c[:, :, np.arange(c.shape[2]) * 2 % c.shape[2]]
    return np.ascontiguousarray(c), (*factors, of_c, of_result), saturating


def _width(t: int) -> int:
    return 8 << ((t - n.UINT8) >> 1) if t >= n.UINT8 else n.BITS[t]
