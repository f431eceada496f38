"""Bit instructions: on unsigned arrays; shift amounts may have another width than what they shift."""

from __future__ import annotations

import numpy as np

from cts.drivers.interpreter.handlers.arithmetic import signed, unsigned
from cts.drivers.interpreter.registry import pure
from cts.drivers.interpreter.values import Array


@pure("OpBitwiseOr")
def bitwise_or(a: Array, b: Array) -> Array:
    return a | b


@pure("OpBitwiseXor")
def bitwise_xor(a: Array, b: Array) -> Array:
    return a ^ b


@pure("OpBitwiseAnd")
def bitwise_and(a: Array, b: Array) -> Array:
    return a & b


@pure("OpNot")
def bitwise_not(a: Array) -> Array:
    return ~a


@pure("OpShiftLeftLogical")
def shift_left(a: Array, amount: Array) -> Array:
    return np.asarray(np.left_shift(a, amount.astype(a.dtype)))


@pure("OpShiftRightLogical")
def shift_right_logical(a: Array, amount: Array) -> Array:
    return np.asarray(np.right_shift(a, amount.astype(a.dtype)))


@pure("OpShiftRightArithmetic")
def shift_right_arithmetic(a: Array, amount: Array) -> Array:
    return unsigned(signed(a) >> signed(amount.astype(a.dtype)))


@pure("OpBitCount")
def bit_count(a: Array) -> Array:
    return np.bitwise_count(a).astype(a.dtype)


@pure("OpBitReverse")
def bit_reverse(a: Array) -> Array:
    """Swap neighbouring groups of 1, 2, 4, ... bits."""
    width = a.dtype.itemsize * 8
    shift = 1
    while shift < width:
        group = (1 << shift) - 1
        mask = a.dtype.type(sum(group << position for position in range(0, width, 2 * shift)))
        n = a.dtype.type(shift)
        a = (a >> n) & mask | (a & mask) << n
        shift *= 2
    return a


def _ones(count: Array, dtype: np.dtype[np.generic]) -> Array:
    """`count` low one bits; also right where count is the whole width."""
    width = dtype.itemsize * 8
    n = count.astype(np.int64)
    full = np.array((1 << width) - 1, np.uint64)
    ones = full >> np.clip(width - n, 0, width - 1).astype(np.uint64)
    return np.where(n > 0, ones, np.uint64(0)).astype(dtype)


def _scalar_operand(a: Array, base: Array) -> Array:
    """A scalar operand against a base that may be a vector."""
    return a[:, None] if base.ndim > a.ndim else a


@pure("OpBitFieldInsert")
def bit_field_insert(base: Array, insert: Array, offset: Array, count: Array) -> Array:
    offset, count = _scalar_operand(offset, base), _scalar_operand(count, base)
    shift = offset.astype(base.dtype)
    mask = _ones(count, base.dtype) << shift
    inserted: Array = base & ~mask | insert << shift & mask
    return inserted


@pure("OpBitFieldUExtract")
def bit_field_u_extract(base: Array, offset: Array, count: Array) -> Array:
    offset, count = _scalar_operand(offset, base), _scalar_operand(count, base)
    field: Array = base >> offset.astype(base.dtype) & _ones(count, base.dtype)
    return field


@pure("OpBitFieldSExtract")
def bit_field_s_extract(base: Array, offset: Array, count: Array) -> Array:
    """The field moved to the top, then down again with its sign; a field of no bits is 0."""
    offset, count = _scalar_operand(offset, base), _scalar_operand(count, base)
    width, dtype = base.dtype.itemsize * 8, base.dtype
    n = count.astype(np.int64)
    up = (width - n - offset.astype(np.int64)).clip(0, width - 1).astype(dtype)
    down = (width - n).clip(0, width - 1).astype(dtype)
    return np.where(n > 0, unsigned(signed(base << up) >> signed(down)), dtype.type(0))
