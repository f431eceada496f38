"""What operations do with numbers: floats in float64, integers in 64 bits, unrounded and unwrapped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cts.case.model import ComponentType, VectorOperation
from cts.drivers.emulator.mutants import vectors as v
from cts.drivers.emulator.vectors.number_bugs import negated, with_nan
from cts.drivers.emulator.vectors.registers import Floats, Ints, bits_of, floats_of

_O = VectorOperation
_Numbers = npt.NDArray[Any]


def exact(operation: VectorOperation, given: Sequence[Floats], bug: int) -> Floats:
    """Operations that never round: selections among their operands, and step."""
    x, *rest = given
    if operation is _O.FNegate:
        return negated(x, bug)
    if operation is _O.Step:
        return step(x, rest[0], bug)
    number = operation in (_O.NMin, _O.NMax, _O.NClamp)
    if operation in (_O.NMin, _O.FMin):
        return with_nan(lesser(x, rest[0], number), x, rest[0], bug)
    if operation in (_O.NMax, _O.FMax):
        return with_nan(greater(x, rest[0], number), x, rest[0], bug)
    return clamp(x, rest[0], rest[1], bug, number)


def lesser(x: _Numbers, y: _Numbers, number: bool = False) -> _Numbers:
    """The second where it is less, else the first; with `number` the second also where the first is a NaN."""
    return np.where(_is_less(y, x) | (number & (x != x)), y, x)


def greater(x: _Numbers, y: _Numbers, number: bool = False) -> _Numbers:
    """The second where the first is less, else the first; with `number` the second also where the first is a NaN."""
    return np.where(_is_less(x, y) | (number & (x != x)), y, x)


def _is_less(x: _Numbers, y: _Numbers) -> npt.NDArray[np.bool_]:
    """Of zeros -0 is less than +0 (NU-025)."""
    is_less: npt.NDArray[np.bool_] = x < y
    if x.dtype.kind == "f":
        is_less = is_less | ((x == 0) & (y == 0) & np.signbit(x) & ~np.signbit(y))
    return is_less


def clamp(x: _Numbers, low: _Numbers, high: _Numbers, bug: int, number: bool = False) -> _Numbers:
    """Not less than `low`, then not greater than `high`."""
    if bug == v.VECTOR_CLAMP_BOUNDS_SWAPPED:
        low, high = high, low
    raised = greater(x, low, number)
    return raised if bug == v.VECTOR_CLAMP_LOW_ONLY else lesser(raised, high, number)


def step(edge: Floats, x: Floats, bug: int) -> Floats:
    """0 below the edge, else 1."""
    if bug == v.VECTOR_STEP_SWAPPED:
        edge, x = x, edge
    below = x <= edge if bug == v.VECTOR_STEP_EDGE else x < edge
    return np.where(below, 0.0, 1.0)


def result(operation: VectorOperation, given: Sequence[Floats], component: ComponentType, bug: int) -> Floats:
    """Results of operations that round (NU-011), not yet rounded."""
    x, *rest = given
    match operation:
        case _O.FAdd:
            return x + rest[0]
        case _O.FSub:
            return x - rest[0]
        case _O.FMul:
            return x * rest[0]
        case _O.FDiv:
            return x / rest[0]
        case _O.Fma:
            return x + rest[0] * rest[1] if bug == v.VECTOR_FMA_ROTATED else x * rest[0] + rest[1]
        case _O.Exp if bug == v.VECTOR_EXP_IN_FLOAT16 and component is ComponentType.float32:
            return np.exp(x.astype(np.float16)).astype(x.dtype)
        case _O.Exp:
            return np.exp2(x) if bug == v.VECTOR_EXP_BASE_TWO else np.exp(x)
        case _O.Log:
            return np.log2(x) if bug == v.VECTOR_LOG_BASE_TWO else np.log(x)
        case _O.Tanh:
            return tanh(x, component, bug)
        case _O.Atan:
            beyond = (bug == v.VECTOR_ATAN_NOT_REFLECTED) & (np.abs(x) > 1)
            return np.arctan(np.where(beyond, 1 / x, x))
    raise AssertionError(f"the emulator does not know {operation.value} of floats")


def tanh(x: Floats, component: ComponentType, bug: int) -> Floats:
    """The hyperbolic tangent."""
    if bug == v.VECTOR_TANH_NEGATIVE:
        return np.tanh(np.abs(x))
    if bug == v.VECTOR_TANH_OVERFLOWS:
        squared = floats_of(bits_of(np.exp(2 * x), component, 0), component)
        return np.where(np.isinf(squared), np.nan, np.tanh(x))
    return np.tanh(x)


def integers(operation: VectorOperation, given: Sequence[Ints], bug: int) -> Ints:
    """Operations on integers, read as the operation asks (NU-004)."""
    x, *rest = given
    match operation:
        case _O.SNegate:
            return -x
        case _O.Not:
            return (x == 0).astype(np.int64) if bug == v.VECTOR_NOT_LOGICAL else ~x
        case _O.IAdd:
            return x + rest[0]
        case _O.ISub:
            return x - rest[0]
        case _O.IMul:
            return x * rest[0]
        case _O.SDiv | _O.UDiv:
            return quotient(x, rest[0], bug)
        case _O.ShiftLeftLogical:
            return x << (rest[0] & 31)
        case _O.ShiftRightLogical | _O.ShiftRightArithmetic:
            return x >> (rest[0] & 31)
        case _O.BitwiseAnd:
            return x & rest[0]
        case _O.BitwiseOr:
            return x | rest[0]
        case _O.BitwiseXor:
            return x ^ rest[0]
        case _O.SMin | _O.UMin:
            return lesser(x, rest[0])
        case _O.SMax | _O.UMax:
            return greater(x, rest[0])
        case _O.SClamp | _O.UClamp:
            return clamp(x, rest[0], rest[1], bug)
    raise AssertionError(f"the emulator does not know {operation.value} of integers")


def quotient(x: Ints, y: Ints, bug: int) -> Ints:
    """Rounded towards zero; 0 where it is undefined."""
    divisor = np.where(y == 0, 1, y)
    if bug == v.VECTOR_SDIV_FLOOR:
        rounded = x // divisor
    else:
        rounded = np.abs(x) // np.abs(divisor) * np.where((x < 0) == (divisor < 0), 1, -1)
    return np.where(y == 0, 0, rounded)
