"""The bugs of `mutants.numbers`: each function computes the right number unless its bug is chosen."""

from __future__ import annotations

import math

from cts.drivers.emulator.jit import device
from cts.drivers.emulator.mutants import numbers as s
from cts.drivers.emulator.numbers import BITS, E4M3, FLOAT16, FRACTION, greatest, least_normal


@device
def sum_of(x: float, y: float, value: float, t: int, bug: int) -> float:
    """The sum `value` of x and y in the float type t."""
    if bug == s.ZERO_ADDED_FOLDED and (x == 0 or y == 0):
        return x if y == 0 else y
    if bug == s.EQUALS_SUBTRACTED_FOLDED and (x == -y or (math.isnan(x) and math.isnan(y))):
        return 0.0
    if bug == s.INFINITY_CLAMPED and math.isinf(value) and (math.isinf(x) or math.isinf(y)):
        return math.copysign(greatest(t), value)
    return result_of(x, y, value, t, bug)


@device
def product_of(x: float, y: float, value: float, t: int, bug: int) -> float:
    """The product `value` of x and y in the float type t."""
    if bug == s.ZERO_PRODUCT_POSITIVE and value == 0:
        return 0.0
    if (bug == s.ZERO_FACTOR_FOLDED or bug == s.DECODE_ZERO_SKIPS_SCALE) and (x == 0 or y == 0):
        return 0.0
    return result_of(x, y, value, t, bug)


@device
def result_of(x: float, y: float, value: float, t: int, bug: int) -> float:
    """The result `value` of an operation on x and y in the float type t."""
    if bug == s.OVERFLOW_NAN and math.isinf(value) and not (math.isinf(x) or math.isinf(y)):
        return math.nan
    return truncated(value, t) if bug == s.DENORMALS_TRUNCATED else value


@device
def truncated(value: float, t: int) -> float:
    """The value; a denormal of the float type t without the lower half of its bits."""
    least = least_normal(t)
    if not abs(value) < least:
        return value
    place = least / (1 << (FRACTION[t] // 2))
    return math.copysign(math.floor(abs(value) / place) * place, value)


@device
def negated(x: float, bug: int) -> float:
    """-x."""
    return 0.0 - x if bug == s.FNEGATE_FROM_ZERO or bug == s.CALLBACK_NEGATION_FROM_ZERO else -x


@device
def absolute(x: float, bug: int) -> float:
    """|x|."""
    if bug == s.CALLBACK_ABS_NEGATES_ZERO and x == 0:
        return -x
    return x if bug == s.CALLBACK_ABS_KEEPS_ZERO and x == 0 else abs(x)


@device
def inverted(holds: int, x: float, y: float, ordered: bool, bug: int) -> int:
    """The negation of a condition; `ordered` if that is a comparison of the order of x and y."""
    if bug == s.CALLBACK_NEGATED_COMPARISON_REVERSED and ordered and (math.isnan(x) or math.isnan(y)):
        return 0
    return 1 - holds


@device
def quotient_of(value: float, t: int, bug: int) -> float:
    """The quotient `value` in the float type t."""
    if bug != s.FDIV_THREE_ULP or value == 0 or not math.isfinite(value):
        return value
    _, exponent = math.frexp(value)
    return value + math.copysign(math.ldexp(3.0, exponent - 1 - FRACTION[t]), value)


@device
def term_of(x: float, y: float, bug: int) -> float:
    """One product of a multiply-add, unrounded."""
    if (bug == s.MUL_ADD_SKIPS_ZEROS or bug == s.VECTOR_MULTIPLY_SKIPS_ZEROS) and (x == 0 or y == 0):
        return 0.0
    if bug == s.MUL_ADD_SKIPS_INFINITIES or bug == s.VECTOR_MULTIPLY_SKIPS_INFINITIES:
        x, y = (0.0 if math.isinf(x) else x), (0.0 if math.isinf(y) else y)
    value = x * y
    return 0.0 if bug == s.MUL_ADD_NAN_DROPPED and math.isnan(value) else value


@device
def converted(x: float, value: float, t: int, source: int, saturate: bool, bug: int) -> float:
    """The number x of the type `source` in the float type t, which is `value`."""
    if bug == s.FCONVERT_NAN_INFINITE and math.isnan(x) and t != E4M3 and BITS[t] < BITS[source]:
        return math.inf
    if bug == s.FLOAT8_NAN_SATURATES and math.isnan(x) and saturate:
        return greatest(t)
    if math.isinf(x):
        if bug == s.FCONVERT_INFINITY_CLAMPED and t < E4M3:
            return math.copysign(greatest(t), x)
        if bug == s.FLOAT8_INFINITY_UNSATURATED and saturate:
            return math.nan if t == E4M3 else x
        if bug == s.FLOAT8_INFINITY_SATURATES and t >= E4M3:
            return math.copysign(greatest(t), x)
    if bug == s.FCONVERT_DENORMALS_TRUNCATED:
        return truncated(value, t)
    if bug == s.FLOAT16_DENORMALS_HALVED and source == FLOAT16 and abs(x) < least_normal(FLOAT16):
        return value / 2
    return 0.0 if bug == s.FCONVERT_ZERO_POSITIVE and value == 0 else value
