"""Rounding to the floating-point types of NumPy and ml_dtypes: always once, from the exact value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from cts.drivers.interpreter.types import DType
from cts.drivers.interpreter.values import Array

#: ml_dtypes' finfo, which knows NumPy's types as well but is not annotated.
_finfo: Callable[[DType], Any] = ml_dtypes.finfo

_NATIVE = frozenset(map(np.dtype, (np.float16, np.float32, np.float64)))


def exact(values: Array) -> Array:
    """Floats of any type as float64, which holds all of them."""
    return values.astype(np.float64)


def rounded(values: Array, dtype: DType, mode: str = "RTE", *, saturate: bool = False) -> Array:
    """Floats of any type in `dtype`, rounded by an FPRoundingMode: RTE, RTZ, RTP or RTN.

    What is out of range becomes what IEEE 754 says for the mode, and NaN in float8_e4m3fn, which has
    no infinity; where `saturate`, the largest finite value of its sign. NaN stays NaN (NU-033).
    """
    if saturate:
        largest = float(_finfo(dtype).max)
        values = np.clip(exact(values), -largest, largest)
    return _nearest(values, dtype) if mode == "RTE" else _directed(exact(values), dtype, mode)


def _nearest(values: Array, dtype: DType) -> Array:
    """To nearest, ties to even."""
    if values.dtype not in _NATIVE:
        values = values.astype(np.float32)  # exact: no narrow type has more bits
    if values.dtype == np.float64 and dtype not in _NATIVE:
        values = _to_odd(values)  # ml_dtypes would round to float32 first, and then again
    return values.astype(dtype)


def _to_odd(values: Array) -> Array:
    """float64 as float32, inexact values as the neighbour whose last bit is one.

    Rounding that to nearest in a type with at least two bits less gives what rounding the exact value
    would have given (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums").
    """
    near = values.astype(np.float32)
    even = near.view(np.uint32) & np.uint32(1) == 0
    wrong = even & (near != values) & ~np.isnan(values)
    return np.where(wrong, np.nextafter(near, np.where(near < values, np.inf, -np.inf).astype(np.float32)), near)


def _directed(values: Array, dtype: DType, mode: str) -> Array:
    """The nearest value, moved to its neighbour where it lies on the wrong side."""
    largest = float(_finfo(dtype).max)
    near = _nearest(values, dtype)
    overflowed = np.isnan(exact(near)) & ~np.isnan(values)
    near = np.where(overflowed, np.copysign(largest, values).astype(dtype), near)
    back = exact(near)
    above, below = back > values, back < values
    down = {"RTZ": above & (values > 0), "RTN": above, "RTP": np.zeros_like(above)}[mode]
    up = {"RTZ": below & (values < 0), "RTP": below, "RTN": np.zeros_like(above)}[mode]
    bits = near.view(f"u{dtype.itemsize}")
    ulp = bits.dtype.type(1)
    # Bit patterns of one sign are ordered by magnitude. A value that rounded to zero kept its sign.
    negative = np.signbit(back)
    bits = np.where(np.where(negative, up, down), bits - ulp, bits)
    bits = np.where(np.where(negative, down, up), bits + ulp, bits)
    return bits.view(dtype)


def from_integers(values: Array) -> Array:
    """Integers as float64. Those from 2^53 on keep their bits from 2^12 on, and one for all that are lost.

    Rounding the result to a type of at most 32 bits gives what rounding the integer itself would.
    """
    if values.dtype.itemsize < 8:
        return values.astype(np.float64)
    high, low = values >> values.dtype.type(32), values & values.dtype.type(0xFFFFFFFF)
    kept = low & ~low.dtype.type(0xFFF)
    sticky = np.where(low != kept, low.dtype.type(0x800), low.dtype.type(0))
    large = high.astype(np.float64) * 2.0**32 + (kept | sticky).astype(np.float64)
    near = values.astype(np.float64)
    return np.where(np.abs(near) < 2.0**53, near, large)
