"""Rounding, signs, minima and maxima, interpolation. Component by component, in the components' own precision."""

from __future__ import annotations

import numpy as np

from cts.drivers.interpreter.handlers.arithmetic import signed, unsigned
from cts.drivers.interpreter.registry import glsl, pure
from cts.drivers.interpreter.values import Array


@glsl("Round", "RoundEven")
def round_even(x: Array) -> Array:
    """Round may take halves either way."""
    return np.rint(x)


@glsl("Trunc")
def trunc(x: Array) -> Array:
    return np.trunc(x)


@glsl("Floor")
def floor(x: Array) -> Array:
    return np.floor(x)


@glsl("Ceil")
def ceil(x: Array) -> Array:
    return np.ceil(x)


@glsl("Fract")
def fract(x: Array) -> Array:
    return x - np.floor(x)


@glsl("FAbs")
def f_abs(x: Array) -> Array:
    return np.abs(x)


@glsl("SAbs")
def s_abs(x: Array) -> Array:
    """The least integer stays the same."""
    return unsigned(np.abs(signed(x)))


@glsl("FSign")
def f_sign(x: Array) -> Array:
    return np.sign(x)


@glsl("SSign")
def s_sign(x: Array) -> Array:
    return unsigned(np.sign(signed(x)))


@glsl("UMin")
def u_min(x: Array, y: Array) -> Array:
    return np.minimum(x, y)


@glsl("UMax")
def u_max(x: Array, y: Array) -> Array:
    return np.maximum(x, y)


@glsl("UClamp")
def u_clamp(x: Array, low: Array, high: Array) -> Array:
    return np.minimum(np.maximum(x, low), high)


@glsl("SMin")
def s_min(x: Array, y: Array) -> Array:
    return unsigned(np.minimum(signed(x), signed(y)))


@glsl("SMax")
def s_max(x: Array, y: Array) -> Array:
    return unsigned(np.maximum(signed(x), signed(y)))


@glsl("SClamp")
def s_clamp(x: Array, low: Array, high: Array) -> Array:
    return unsigned(np.minimum(np.maximum(signed(x), signed(low)), signed(high)))


# Not NumPy's own minima: which zero and which NaN those return depends on the machine.


def _below(x: Array, y: Array) -> Array:
    """Whether x < y; of zeros, -0 < +0."""
    is_below: Array = (x < y) | ((x == y) & (np.signbit(x) > np.signbit(y)))
    return is_below


@glsl("FMin")
def f_min(x: Array, y: Array) -> Array:
    """Either operand may be the result where one is NaN."""
    return np.where(_below(y, x), y, x)


@glsl("FMax")
def f_max(x: Array, y: Array) -> Array:
    """Either operand may be the result where one is NaN."""
    return np.where(_below(x, y), y, x)


@glsl("FClamp")
def f_clamp(x: Array, low: Array, high: Array) -> Array:
    return f_min(f_max(x, low), high)


@glsl("NMin")
def n_min(x: Array, y: Array) -> Array:
    """The number where one operand is NaN."""
    return np.where(_below(y, x) | np.not_equal(x, x), y, x)


@glsl("NMax")
def n_max(x: Array, y: Array) -> Array:
    """The number where one operand is NaN."""
    return np.where(_below(x, y) | np.not_equal(x, x), y, x)


@glsl("NClamp")
def n_clamp(x: Array, low: Array, high: Array) -> Array:
    return n_min(n_max(x, low), high)


@glsl("FMix")
def f_mix(x: Array, y: Array, a: Array) -> Array:
    mixed: Array = x * (a.dtype.type(1) - a) + y * a
    return mixed


@glsl("Step")
def step(edge: Array, x: Array) -> Array:
    return np.asarray(np.where(x < edge, x.dtype.type(0), x.dtype.type(1)))


@glsl("SmoothStep")
def smooth_step(low: Array, high: Array, x: Array) -> Array:
    number = x.dtype.type
    t = f_clamp((x - low) / (high - low), number(0), number(1))
    smooth: Array = t * t * (number(3) - number(2) * t)
    return smooth


@glsl("Fma")
def fma(a: Array, b: Array, c: Array) -> Array:
    """Rounded once, for components of up to 32 bits; 64-bit ones round product and sum, as Vulkan allows."""
    if a.dtype.itemsize > 4:
        return np.asarray(a * b + c)
    # Products of narrow numbers are exact in float64; only their sums are not.
    product, addend = a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)
    total = product + addend
    virtual = total - product
    error = (product - (total - virtual)) + (addend - virtual)
    if error.any():
        total = _to_odd(total, error)
    return total.astype(a.dtype)


def _to_odd(total: Array, error: Array) -> Array:
    """Sums rounded to odd instead of to even, so that rounding them again rounds what they stand for."""
    bits = np.atleast_1d(total).view(np.int64)
    inexact = (error != 0) & np.isfinite(total) & (bits & 1 == 0)
    toward_zero = (error < 0) != (total < 0)
    nudged = bits + np.where(inexact, np.where(toward_zero, -1, 1), 0)
    return nudged.view(np.float64).reshape(total.shape)


pure("OpFmaKHR")(fma)
