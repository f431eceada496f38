"""A*B + C of whole cooperative matrices, for OpCooperativeMatrixMulAddKHR.

Matrices are (instances or 1, rows, cols). Integers are exact (NU-001, NU-002). Floating-point operands
are widened exactly to float64, products are summed and C is added in float64, and the sum is rounded
once to the result's type: exact wherever 53 bits hold every partial sum (NU-010 asks for no more).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cts.drivers.interpreter.rounding import exact, rounded
from cts.drivers.interpreter.types import DType
from cts.drivers.interpreter.values import Array


@dataclass(frozen=True)
class Signs:
    """Which matrices of integers are signed, by the operand mask, and whether adding C saturates (KM-002)."""

    a: bool = False
    b: bool = False
    c: bool = False
    result: bool = False
    saturating: bool = False


def multiply_add_floats(a: Array, b: Array, c: Array, dtype: DType) -> Array:
    """Floats of any types; the result in `dtype`."""
    return rounded(exact(a) @ exact(b) + exact(c), dtype)


def multiply_add_integers(a: Array, b: Array, c: Array, signs: Signs, dtype: DType) -> Array:
    """Unsigned arrays of bits, read by the signs; the low bits of the exact result in `dtype`, or saturated.

    When saturating, the sum over K must fit the result's type: otherwise undefined (NU-002).
    """
    product = _product(_read(a, signs.a), _read(b, signs.b))
    addend = _read(c, signs.c)
    if not signs.saturating:
        total: Array = product + addend.astype(np.uint64)
        return total.astype(dtype)
    limits = np.iinfo(f"i{dtype.itemsize}" if signs.result else dtype)
    if dtype.itemsize < 8:
        return np.clip(product.view(np.int64) + addend.astype(np.int64), limits.min, limits.max).astype(dtype)
    # Sums of 64-bit integers need one bit more than NumPy's integers have: Python's have it.
    exact_sum = product.view(limits.dtype).astype(object) + addend.astype(object)
    clipped: Array = np.clip(exact_sum, limits.min, limits.max)
    return clipped.astype(limits.dtype).view(dtype)


def _read(bits: Array, is_signed: bool) -> Array:
    return bits.view(f"i{bits.dtype.itemsize}") if is_signed else bits


def _product(a: Array, b: Array) -> Array:
    """The product mod 2^64.

    If floating point is exact, the product is computed in floating point, which is far faster.
    """
    bound = a.shape[-1] * _magnitude(a) * _magnitude(b)
    if bound > 1 << 53:
        wrapped: Array = a.astype(np.uint64) @ b.astype(np.uint64)
        return wrapped
    fast = np.dtype(np.float32 if bound <= 1 << 24 else np.float64)
    product: Array = a.astype(fast) @ b.astype(fast)
    return product.astype(np.int64).view(np.uint64)


def _magnitude(values: Array) -> int:
    return max(int(values.max()), -int(values.min()))
