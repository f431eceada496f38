"""Products of matrices (KM-014, CV-018): exact for integers, a set where order and precision are free (NU-010)."""

from __future__ import annotations

import numpy as np

from cts.case.model import ComponentType
from cts.case.model.component import FloatFormat
from cts.case.oracle.expectation import Policy
from cts.reference.numeric import integers, sums
from cts.reference.numeric.arrays import I64, Mask
from cts.reference.numeric.formats import F64, fits, lowest_bit
from cts.reference.numeric.integers import whole
from cts.reference.numeric.intervals import Interval
from cts.reference.numeric.rounding import operand, rounded
from cts.reference.numeric.undefined import Watch
from cts.reference.numeric.value import Value, loosened, merged

#: Significand bits that float8 products are sure to be accumulated with: tensor cores keep fewer than float32 has.
FLOAT8_PRECISION = 13


def multiplied_floats(a: Value, b: Value, c: Value, result: ComponentType | None = None, ieee: bool = False) -> Value:
    """A (..., M, K) times B (..., K, N) plus C (..., M, N), of floats, as a type (None: C's).

    Exact where every partial sum in any order is: all terms are multiples of a quantum, and the sum of
    their magnitudes is no more than 2^precision quanta. Else the exact result, give or take
    gamma_(K+1) times that sum. With `ieee`, infinities and NaNs among the operands go through (NU-023).
    """
    assert a.component is not None and b.component is not None and c.component is not None
    ((a_lo, a_hi), a_unbounded), ((b_lo, b_hi), b_unbounded), ((c_lo, c_hi), c_unbounded) = (
        operand(v) for v in (a, b, c)
    )
    a_mid, a_radius = _middle(a_lo, a_hi)
    b_mid, b_radius = _middle(b_lo, b_hi)
    size_a, size_b = np.maximum(np.abs(a_lo), np.abs(a_hi)), np.maximum(np.abs(b_lo), np.abs(b_hi))
    of_products = size_a @ size_b
    magnitude = of_products + np.maximum(np.abs(c_lo), np.abs(c_hi))
    terms = a_mid @ b_mid
    low, high = terms + c_lo, terms + c_hi
    component = result or c.component
    fmt = component.format
    precision = fmt.precision
    if a.component.is_float8 or b.component.is_float8:
        precision = min(precision, FLOAT8_PRECISION)
    special = _any_along(a_unbounded, -1)[..., :, None] | _any_along(b_unbounded, -2)[..., None, :] | c_unbounded
    overflows = magnitude > fmt.greatest
    unbounded = special | overflows
    if a_radius is not None:
        low, high = low - a_radius @ size_b, high + a_radius @ size_b
    if b_radius is not None:
        low, high = low - size_a @ b_radius, high + size_a @ b_radius
    rows, cols = _quantum(a).min(axis=-1), _quantum(b).min(axis=-2)
    with np.errstate(invalid="ignore"):
        quantum = rows[..., :, None] * cols[..., None, :]
        exact = fits(magnitude, np.minimum(quantum, _quantum(c)), fmt, precision)
        exact |= (of_products == 0) & (precision == fmt.precision)  # nothing but C is added up
    if exact.all():
        point = a_radius is None and b_radius is None and c_lo is c_hi
        product = rounded(component, (low, low if point else high), unbounded, merged(a, b, c))
        return _with_specials(product, (a, b, c), overflows) if ieee and special.any() else product
    count = a.shape[-1] + 1
    low, high = around((low, high), magnitude, count, precision, fmt, exact)
    name = f"{component.value}" if precision == fmt.precision else f"{precision} bits"
    reason = Policy(f"order and precision are free (NU-010), gamma_{count} at {name}")
    product = rounded(component, (low, high), unbounded, (*merged(a, b, c), reason))
    return _with_specials(product, (a, b, c), overflows) if ieee and special.any() else product


def _with_specials(result: Value, operands: tuple[Value, Value, Value], overflows: Mask) -> Value:
    """The result, but NaN or infinity where the operands are."""
    (a, b, c) = (sums.kinds(v) for v in operands)
    certain, possible = (sums.products(a[n], b[n]) | sums.each(c[n]) for n in (0, 1))
    return sums.resolved(result, certain, possible, overflows)


def around(
    total: Interval, magnitude: F64, count: int, precision: int, fmt: FloatFormat, exact: Mask | bool = False
) -> Interval:
    """What sums in any order may be: as `total` without rounding where `exact`, else so much around it.

    Higham's gamma_count at the unit of `precision` bits, times the sum of the magnitudes of the terms. Rounding may go
    either way, so the unit is that of directed rounding. Where partial sums may be denormal each may also be flushed,
    which loses terms but makes up none: no sum is beyond that of all positive terms, or of all negative ones.
    """
    low, high = total
    unit = count * 2.0 ** (1 - precision)
    gamma = unit / (1 - unit) if unit < 0.5 else np.inf
    flushed = np.where(magnitude < fmt.least * 2.0**precision, count * fmt.least, 0.0)
    with np.errstate(invalid="ignore"):
        slack = np.where(exact | (magnitude == 0), 0.0, np.minimum(gamma * magnitude, 2 * fmt.greatest) + flushed)
        most, least = (_of_one_sign(magnitude, part, gamma, count, fmt) for part in (high, -low))
        return (
            np.where(slack > 0, np.maximum(low - slack, np.minimum(-least, low)), low),
            np.where(slack > 0, np.minimum(high + slack, np.maximum(most, high)), high),
        )


def _of_one_sign(magnitude: F64, total: F64, gamma: float, count: int, fmt: FloatFormat) -> F64:
    """The most that the sum of all terms of one sign may be, if terms of a sum of magnitudes add up to `total`.

    What underflows may be rounded to the least denormal.
    """
    part = (magnitude + total) / 2
    none = part <= magnitude * 2.0**-48
    return np.where(none, 0.0, part * (1 + gamma) + count * fmt.least * fmt.unit)


def multiplied_integers(
    a: Value,
    b: Value,
    c: Value,
    types: tuple[ComponentType, ...],
    saturating: bool,
    watch: Watch,
    declared: ComponentType | None = None,
) -> Value:
    """The same of integers, read by `types` (A, B, C, Result: NU-001); bits of the result's width (NU-002).

    The result is `declared` so; None: as C.
    """
    read = [whole(t, v.bits) for t, v in zip(types, (a, b, c), strict=False)]
    result = types[3]
    terms = exact_products(read[0], read[1], types[:2], saturating)
    component = declared or c.component
    assert component is not None
    if saturating:
        info = np.iinfo(result.dtype)
        outside = (terms < info.min) | (terms > info.max)
        watch.report("NU-002", outside, f"A * B alone overflows {result.value}", "products whose sum the result holds")
        if types[2].size > result.size:
            # No sentence says how a C of more bits than the result is narrowed before the addition saturates.
            beyond = (read[2] < info.min) | (read[2] > info.max)
            watch.report("NU-002", beyond, f"C is beyond {result.value}", "a C that the result's type holds")
        terms = np.clip(terms, info.min, info.max).astype(np.int64) + read[2]
        terms = np.clip(terms, info.min, info.max)
    else:
        terms = terms + read[2]
    product = Value(component, integers.truncated(component, terms))
    free = [v.flags != 0 for v in (a, b, c)]
    unknown = free[0].any(axis=-1)[..., :, None] | free[1].any(axis=-2)[..., None, :] | free[2]
    return loosened(product, np.broadcast_to(unknown, product.shape), merged(a, b, c))


def exact_products(a: I64, b: I64, types: tuple[ComponentType, ...], saturating: bool) -> I64:
    """The K-sums of integers of two types; mod 2^64 where they do not saturate and do not fit."""
    largest = float(np.abs(a.astype(np.float64)).max()) * float(np.abs(b.astype(np.float64)).max()) * a.shape[-1]
    if largest < 2.0**53:
        # Every partial sum is an integer that float64 holds, and its matrix product is far faster.
        return (a.astype(np.float64) @ b.astype(np.float64)).astype(np.int64)
    if largest < 2.0**62 or not saturating:
        return a @ b
    exact = a.astype(object) @ b.astype(object)
    clipped: I64 = np.clip(exact, -(1 << 62), 1 << 62).astype(np.int64)
    return clipped


def _middle(low: F64, high: F64) -> tuple[F64, F64 | None]:
    """Middle and radius of intervals; no radius where all are points."""
    if low is high:
        return low, None
    radius = (high - low) / 2
    if not radius.any():
        return low, None
    return low + radius, radius * (1 + 2.0**-50)


def _quantum(value: Value) -> F64:
    """The greatest power of two of which each element is a multiple, whatever it is; 0 where it is not certain."""
    low, high = value.core
    quantum = lowest_bit(low)
    if value.free is None:
        return quantum
    return np.where(low == high, quantum, 0.0 if value.free.step is None else value.free.step)


def _any_along(mask: Mask, axis: int) -> Mask:
    some: Mask = np.asarray(mask.any(axis=axis))
    return some
