"""The bugs of `mutants.numbers` in vectors: each function computes the right number unless its bug is chosen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cts.case.model import ComponentType, VectorOperation
from cts.drivers.emulator.mutants import numbers as s
from cts.drivers.emulator.numbers import DOWNWARD, FRACTION, NEAREST, TOWARDS_ZERO, TYPE_NUMBERS, UPWARD
from cts.drivers.emulator.vectors.registers import Floats, Ints, bits_of, floats_of, ints_of, wrapped_bits

_O = VectorOperation


def negated(values: Floats, bug: int) -> Floats:
    """The negation of each."""
    return 0.0 - values if bug == s.VECTOR_FNEGATE_FROM_ZERO else -values


def with_nan(chosen: Floats, x: Floats, y: Floats, bug: int) -> Floats:
    """What a minimum or maximum of x and y has `chosen`."""
    return np.where(np.isnan(x) | np.isnan(y), np.nan, chosen) if bug == s.VECTOR_NMAX_KEEPS_NAN else chosen


def results(
    operation: VectorOperation, given: Sequence[Floats], values: Floats, component: ComponentType, bug: int
) -> Floats:
    """The rounded `values` of an operation that rounds."""
    x, y = given[0], given[1] if len(given) > 1 else given[0]
    if operation in (_O.FAdd, _O.FSub):
        y = -y if operation is _O.FSub else y
        if bug == s.VECTOR_ZERO_ADDED_FOLDED:
            return np.where(y == 0, x, np.where(x == 0, y, values))
        if bug == s.VECTOR_EQUALS_SUBTRACTED_FOLDED:
            return np.where((x == -y) | (np.isnan(x) & np.isnan(y)), 0.0, values)
    elif operation is _O.FMul and bug == s.VECTOR_ZERO_PRODUCT_POSITIVE:
        return np.where(values == 0, 0.0, values)
    if bug == s.VECTOR_OVERFLOW_NAN and operation in (_O.FAdd, _O.FSub, _O.FMul, _O.Fma):
        finite = np.logical_and.reduce(np.broadcast_arrays(*(np.isfinite(v) for v in given)))
        return np.where(np.isinf(values) & finite, np.nan, values)
    return truncated(values, component) if bug == s.VECTOR_DENORMALS_TRUNCATED else values


def truncated(values: Floats, component: ComponentType) -> Floats:
    """The values; denormals of a float type without the lower half of their bits."""
    least = component.format.least
    place = least / (1 << (FRACTION[TYPE_NUMBERS[component]] // 2))
    cut = np.copysign(np.floor(np.abs(values) / place) * place, values)
    return np.where(np.abs(values) < least, cut, values)


def converted(given: Floats, values: Floats, source: ComponentType, target: ComponentType, bug: int) -> Floats:
    """The `values` that FConvert makes of those `given`."""
    if bug == s.VECTOR_FCONVERT_NAN_INFINITE and target.size < source.size:
        return np.where(np.isnan(given), np.inf, values)
    return values


def read_as_floats(ints: Ints, given: ComponentType, target: ComponentType, bug: int) -> Floats:
    """Integer inputs as floats of a type: to nearest, ties to even (CV-032)."""
    if bug == s.VECTOR_INPUT_INTEGERS_SIGNED:
        ints = ints_of(wrapped_bits(ints, given), given.size, signed=True)
    values = ints.astype(np.float64)
    if bug == s.VECTOR_INPUT_INTEGERS_TIES_AWAY:
        values = ties_away(values, target)
    rounding = TOWARDS_ZERO if bug == s.VECTOR_INPUT_INTEGERS_TRUNCATED else NEAREST
    return floats_of(bits_of(values, target, rounding), target)


def saturating(values: Floats, bug: int) -> Floats:
    """Float inputs that are read as integers (CV-031)."""
    return np.where(np.isinf(values), 0.0, values) if bug == s.VECTOR_INPUT_INFINITY_ZERO else values


def ties_away(values: Floats, target: ComponentType) -> Floats:
    """Values halfway between two of a narrower type become the one away from zero, others stay."""
    up, down = (floats_of(bits_of(values, target, r), target) for r in (UPWARD, DOWNWARD))
    away = np.where(values > 0, up, down)
    return np.where(np.abs(values - up) == np.abs(values - down), away, values)


def moved(values: Floats, target: ComponentType, bug: int) -> Floats:
    """Numbers of a matrix on the way to another type."""
    if bug == s.CONVERSION_DENORMALS_TRUNCATED:
        return truncated(values, target)
    return values
