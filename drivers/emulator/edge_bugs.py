"""Results of operations on the edges of their types, as bugs have them: bit patterns, zero-extended to 32 bits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cts.case.model import ComponentType
from cts.drivers.emulator.mutants import edges as e

Bits = npt.NDArray[np.uint32]

BUGS = frozenset(value for value in vars(e).values() if isinstance(value, int))

_SHIFTS = ("ShiftLeftLogical", "ShiftRightLogical", "ShiftRightArithmetic")


def changed(operation: str, component: ComponentType, operands: Sequence[Bits], result: Bits, bug: int) -> Bits:
    """The result of an operation as a bug has it. All arrays have one shape."""
    width = 8 * component.size
    ones, top = np.uint32((1 << width) - 1), np.uint32(1 << (width - 1))
    a = operands[0]
    b = operands[1] if len(operands) > 1 else a
    if operation in _SHIFTS and bug == e.SHIFT_BY_ZERO:
        return np.where(b == 0, np.uint32(0), result)
    if operation in _SHIFTS and bug == e.SHIFT_BY_ALL_BUT_ONE:
        return np.where(b == width - 1, np.uint32(0), result)
    if operation == "ShiftRightArithmetic" and bug == e.ARITHMETIC_SHIFT_OF_LEAST:
        return np.where(a == top, a >> (b & np.uint32(width - 1)), result)
    if operation == "UMax" and bug == e.UMAX_OF_GREATEST:
        return np.where(a == ones, b, np.where(b == ones, a, result))
    if operation == "IAdd" and bug in (e.SUM_AT_TOP, e.VECTOR_SUM_AT_TOP):
        over = top if component.is_signed else np.uint32(0)
        beyond = (result == over) & (a != over) & (b != over) & ((a != 0) | (b != 0))
        carried = (a & top == 0) & (b & top == 0) if component.is_signed else beyond
        return np.where(beyond & carried, (top - np.uint32(1)) if component.is_signed else ones, result)
    if operation == "SNegate" and bug == e.NEGATION_OF_LEAST and component.is_signed:
        return np.where(a == top, top - np.uint32(1), result)
    if operation == "SDiv" and bug == e.QUOTIENT_OF_LEAST:
        return np.where(a == top, _divided(top + np.uint32(1), b, width), result)
    if component.is_float and bug == e.LEAST_NORMAL_FLUSHED and operation == "FMul":
        return np.where((result & ~top) == np.uint32(1 << component.format.fraction_bits), result & top, result)
    if component.is_float and bug == e.GREATEST_OVERFLOWS and operation in ("FAdd", "FSub"):
        infinity = np.uint32((1 << (width - 1)) - (1 << component.format.fraction_bits))
        return np.where((result & ~top) == infinity - 1, (result & top) | infinity, result)
    return result


def _divided(a: np.uint32, b: Bits, width: int) -> Bits:
    """A signed quotient, towards 0."""
    half = 1 << (width - 1)
    number = (int(a) ^ half) - half
    divisors = (b.astype(np.int64) ^ half) - half
    safe = np.where(divisors == 0, 1, divisors)
    quotient = np.sign(number) * np.sign(safe) * (abs(number) // np.abs(safe))
    bits: Bits = (quotient & ((1 << width) - 1)).astype(np.uint32)
    return bits
