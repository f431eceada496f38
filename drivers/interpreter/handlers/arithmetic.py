"""Integer and floating-point arithmetic. Integers arrive unsigned and wrap; signed opcodes reinterpret them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cts.drivers.interpreter.registry import pure
from cts.drivers.interpreter.values import Array


def signed(a: Array) -> Array:
    """The same bits as signed integers."""
    return a.view(f"i{a.dtype.itemsize}")


def unsigned(a: Array) -> Array:
    """The same bits as unsigned integers."""
    return a.view(f"u{a.dtype.itemsize}")


@pure("OpIAdd", "OpFAdd")
def add(a: Array, b: Array) -> Array:
    return a + b


@pure("OpISub", "OpFSub")
def subtract(a: Array, b: Array) -> Array:
    return a - b


@pure("OpIMul", "OpFMul")
def multiply(a: Array, b: Array) -> Array:
    return a * b


@pure("OpFDiv")
def f_div(a: Array, b: Array) -> Array:
    return a / b


@pure("OpUDiv")
def u_div(a: Array, b: Array) -> Array:
    return a // b


@pure("OpUMod")
def u_mod(a: Array, b: Array) -> Array:
    return a % b


@pure("OpSDiv")
def s_div(a: Array, b: Array) -> Array:
    """Rounds toward zero."""
    a, b = signed(a), signed(b)
    return unsigned((a - np.fmod(a, b)) // b)


@pure("OpSRem")
def s_rem(a: Array, b: Array) -> Array:
    """The sign of the dividend."""
    return unsigned(np.fmod(signed(a), signed(b)))


@pure("OpSMod")
def s_mod(a: Array, b: Array) -> Array:
    """The sign of the divisor."""
    return unsigned(np.mod(signed(a), signed(b)))


@pure("OpFRem")
def f_rem(a: Array, b: Array) -> Array:
    return np.fmod(a, b)


@pure("OpFMod")
def f_mod(a: Array, b: Array) -> Array:
    return np.mod(a, b)


@pure("OpSNegate", "OpFNegate")
def negate(a: Array) -> Array:
    return -a


@pure("OpVectorTimesScalar")
def vector_times_scalar(v: Array, s: Array) -> Array:
    return v * s[:, None]


@pure("OpMatrixTimesScalar")
def matrix_times_scalar(m: Array, s: Array) -> Array:
    return m * s[:, None, None]


@pure("OpMatrixTimesVector")
def matrix_times_vector(m: Array, v: Array) -> Array:
    return _sum(m.shape[1], lambda k: m[:, k] * v[:, k, None])


@pure("OpVectorTimesMatrix")
def vector_times_matrix(v: Array, m: Array) -> Array:
    return _sum(m.shape[2], lambda k: m[:, :, k] * v[:, k, None])


@pure("OpMatrixTimesMatrix")
def matrix_times_matrix(a: Array, b: Array) -> Array:
    return _sum(a.shape[1], lambda k: a[:, None, k, :] * b[:, :, k, None])


@pure("OpOuterProduct")
def outer_product(a: Array, b: Array) -> Array:
    return a[:, None, :] * b[:, :, None]


@pure("OpTranspose")
def transpose(m: Array) -> Array:
    return m.swapaxes(1, 2)


def _sum(count: int, term: Callable[[int], Array]) -> Array:
    """Terms added one by one in the components' own precision."""
    total = term(0)
    for k in range(1, count):
        total = total + term(k)
    return total


@pure("OpIAddCarry")
def i_add_carry(a: Array, b: Array) -> tuple[Array, Array]:
    total = a + b
    return total, (total < a).astype(a.dtype)


@pure("OpISubBorrow")
def i_sub_borrow(a: Array, b: Array) -> tuple[Array, Array]:
    return a - b, (a < b).astype(a.dtype)


@pure("OpUMulExtended")
def u_mul_extended(a: Array, b: Array) -> tuple[Array, Array]:
    """Low and high half of the product, from products of half-width digits."""
    half = a.dtype.type(a.dtype.itemsize * 4)
    low = a.dtype.type((1 << int(half)) - 1)
    a0, a1, b0, b1 = a & low, a >> half, b & low, b >> half
    middle = a1 * b0 + (a0 * b0 >> half)
    other = a0 * b1 + (middle & low)
    return a * b, a1 * b1 + (middle >> half) + (other >> half)


@pure("OpSMulExtended")
def s_mul_extended(a: Array, b: Array) -> tuple[Array, Array]:
    """The unsigned product, less what the sign bits contributed to its high half."""
    low, high = u_mul_extended(a, b)
    zero = a.dtype.type(0)
    return low, high - np.where(signed(a) < 0, b, zero) - np.where(signed(b) < 0, a, zero)
