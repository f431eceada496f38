"""Comparisons, logic on bools, and selection."""

from __future__ import annotations

import numpy as np

from cts.drivers.interpreter.handlers.arithmetic import signed
from cts.drivers.interpreter.registry import pure
from cts.drivers.interpreter.values import Array, Value, select


@pure("OpIEqual", "OpFOrdEqual", "OpLogicalEqual", "OpPtrEqual")
def equal(a: Array, b: Array) -> Array:
    return np.equal(a, b)


@pure("OpINotEqual", "OpFUnordNotEqual", "OpLogicalNotEqual", "OpPtrNotEqual")
def not_equal(a: Array, b: Array) -> Array:
    return np.not_equal(a, b)


@pure("OpULessThan", "OpFOrdLessThan")
def less(a: Array, b: Array) -> Array:
    return a < b


@pure("OpULessThanEqual", "OpFOrdLessThanEqual")
def less_equal(a: Array, b: Array) -> Array:
    return a <= b


@pure("OpUGreaterThan", "OpFOrdGreaterThan")
def greater(a: Array, b: Array) -> Array:
    return a > b


@pure("OpUGreaterThanEqual", "OpFOrdGreaterThanEqual")
def greater_equal(a: Array, b: Array) -> Array:
    return a >= b


@pure("OpSLessThan")
def s_less(a: Array, b: Array) -> Array:
    return signed(a) < signed(b)


@pure("OpSLessThanEqual")
def s_less_equal(a: Array, b: Array) -> Array:
    return signed(a) <= signed(b)


@pure("OpSGreaterThan")
def s_greater(a: Array, b: Array) -> Array:
    return signed(a) > signed(b)


@pure("OpSGreaterThanEqual")
def s_greater_equal(a: Array, b: Array) -> Array:
    return signed(a) >= signed(b)


# An unordered comparison is true where an operand is NaN: the opposite of the opposite ordered one.


@pure("OpFUnordLessThan")
def unordered_less(a: Array, b: Array) -> Array:
    return ~(a >= b)


@pure("OpFUnordLessThanEqual")
def unordered_less_equal(a: Array, b: Array) -> Array:
    return ~(a > b)


@pure("OpFUnordGreaterThan")
def unordered_greater(a: Array, b: Array) -> Array:
    return ~(a <= b)


@pure("OpFUnordGreaterThanEqual")
def unordered_greater_equal(a: Array, b: Array) -> Array:
    return ~(a < b)


@pure("OpFUnordEqual")
def unordered_equal(a: Array, b: Array) -> Array:
    return ~((a < b) | (a > b))


@pure("OpFOrdNotEqual")
def ordered_not_equal(a: Array, b: Array) -> Array:
    return (a < b) | (a > b)


@pure("OpOrdered")
def ordered(a: Array, b: Array) -> Array:
    return np.equal(a, a) & np.equal(b, b)


@pure("OpUnordered")
def unordered(a: Array, b: Array) -> Array:
    return np.not_equal(a, a) | np.not_equal(b, b)


@pure("OpIsNan")
def is_nan(a: Array) -> Array:
    return np.not_equal(a, a)


@pure("OpIsInf")
def is_inf(a: Array) -> Array:
    return np.isinf(a)


@pure("OpLogicalOr")
def logical_or(a: Array, b: Array) -> Array:
    return a | b


@pure("OpLogicalAnd")
def logical_and(a: Array, b: Array) -> Array:
    return a & b


@pure("OpLogicalNot")
def logical_not(a: Array) -> Array:
    return ~a


@pure("OpAny")
def any_(a: Array) -> Array:
    return np.asarray(a.any(axis=1))


@pure("OpAll")
def all_(a: Array) -> Array:
    return np.asarray(a.all(axis=1))


@pure("OpSelect")
def select_(condition: Array, yes: Value, no: Value) -> Value:
    return select(condition, yes, no)
