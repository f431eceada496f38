"""Functions of GLSL.std.450 by the accuracy that Vulkan asks of them (NU-011), always of the magnitude.

What follows treats their results as fresh values: no bound on rearrangements goes through them.
"""

from __future__ import annotations

import numpy as np

from cts.case.model import ComponentType
from cts.reference.numeric import intervals, specials
from cts.reference.numeric.bounds import decided, error_bounds, exact_at
from cts.reference.numeric.formats import F64, ulp
from cts.reference.numeric.intervals import Interval
from cts.reference.numeric.rounding import component_of, operand, rounded
from cts.reference.numeric.value import Value, merged

#: log is accurate to so many ULP, but from 1/2 to 2 to an absolute error.
_LOG_ULP = 3.0
_LOG_ABSOLUTE = {ComponentType.float16: 2.0**-7, ComponentType.float32: 2.0**-21}
#: What tanh inherits from exp: so many ULP and twice |x| more.
_EXP_ULP = {ComponentType.float16: 1.0, ComponentType.float32: 3.0}
_ATAN_ULP = {ComponentType.float16: 5.0, ComponentType.float32: 4096.0}


def log(a: Value, ieee: bool = False) -> Value:
    """GLSL.std.450 Log, of what is positive; of anything else only with `ieee` (NU-022)."""
    component = component_of(a)
    (low, high), unbounded = operand(a)
    outside = unbounded | (low <= 0)
    low, high = (np.where(outside, 1.0, bound) for bound in (low, high))
    bottom, top = intervals.below(np.log(low)), intervals.above(np.log(high))
    near = (high >= 0.5) & (low <= 2.0)
    beyond = (low < 0.5) | (high > 2.0)

    def error(spacing: F64) -> F64:
        absolute = _LOG_ABSOLUTE[component]
        errors: F64 = np.where(near, np.where(beyond, np.maximum(spacing, absolute), absolute), spacing)
        return errors

    down, up = (error(spacing) for spacing in error_bounds(component, (bottom, top), _LOG_ULP))
    name = f"log is accurate to {_LOG_ULP:g} ULP, from 1/2 to 2 to {_LOG_ABSOLUTE[component]:g} (NU-011)"
    result = rounded(component, (bottom - down, top + up), outside, (*a.reasons, name), None, ieee, within=True)
    return specials.recomputed(result, _special_log(component), (a,), outside) if ieee else result


def _special_log(component: ComponentType) -> specials.Function:
    """log(0) is -infinity, log(infinity) that, log of what is negative NaN (NU-022); of others as accurate as ever."""

    def bounds(x: F64) -> list[Interval]:
        known = (x <= 0) | np.isposinf(x)
        value = np.log(np.where(np.isnan(x), 1.0, x))
        size = np.where(known, 1.0, value)
        error = np.where(known, 0.0, np.maximum(_LOG_ULP * ulp(component, size), _LOG_ABSOLUTE[component]))
        low, high = (
            np.where(known, value, end) for end in (intervals.below(size) - error, intervals.above(size) + error)
        )
        nothing = np.isnan(x)
        return [(np.where(nothing, lo, low), np.where(nothing, hi, high)) for lo, hi in specials.ANYTHING]

    return bounds


def tanh(a: Value, ieee: bool = False) -> Value:
    """GLSL.std.450 Tanh, as accurate as sinh/cosh by two calls of exp; not portable where exp overflows."""
    component = component_of(a)
    (low, high), unbounded = operand(a)
    fmt, most = component.format, np.maximum(np.abs(low), np.abs(high))
    with np.errstate(over="ignore"):
        unbounded = unbounded | (np.exp(most) > fmt.greatest / 2)
    # Both terms err by so many ULP, at most a unit each. Errors r relative to the terms move their
    # difference by r cosh and their sum as much; these round once each, the quotient by 2.5 ULP.
    relative = (_EXP_ULP[component] + 2 * np.where(unbounded, 0.0, most)) * fmt.unit
    usable = relative < 0.5
    relative = np.where(usable, relative, 0.0)
    bound = np.where(usable, (2 * relative + 4.5 * fmt.unit) / (1 - relative), 2.0)
    bounds = np.tanh(low) - bound, np.tanh(high) + bound
    name = "tanh is as accurate as (e^x - e^-x) / (e^x + e^-x) (NU-011)"
    result = rounded(component, bounds, unbounded, (*a.reasons, name), None, ieee)
    return specials.recomputed(result, _special_tanh, (a,)) if ieee and unbounded.any() else result


def _special_tanh(x: F64) -> list[Interval]:
    """1 of the sign of infinity (NU-022)."""
    return specials.unless(np.isinf(x), np.tanh(x))


def atan(a: Value, ieee: bool = False) -> Value:
    """GLSL.std.450 Atan; nothing says what that of infinity is."""
    component = component_of(a)
    (low, high), unbounded = operand(a)
    bottom, top = exact_at(low, 0.0, 0.0, np.arctan)[0], exact_at(high, 0.0, 0.0, np.arctan)[1]
    error = _ATAN_ULP[component]
    down, up = error_bounds(component, (bottom, top), error)
    name = f"atan is accurate to {error:g} ULP (NU-011)"
    return rounded(component, (bottom - down, top + up), unbounded, (*a.reasons, name), None, ieee, within=True)


def step(edge: Value, x: Value, ieee: bool = False) -> Value:
    """GLSL.std.450 Step: 0 where x < edge, else 1."""
    component = component_of(x)
    (edges, edge_unbounded), (values, unbounded) = operand(edge), operand(x)
    less = decided("lt", values, edges, edge_unbounded | unbounded, ())
    zero_or_one = np.where((less.bits == 1) & (less.flags == 0), 0.0, 1.0)
    bounds: Interval = (zero_or_one, zero_or_one)
    unbounded = edge_unbounded | unbounded
    # Nothing lies between 0 and 1: what is undecided is either.
    undecided = less.flags != 0
    result = rounded(component, bounds, unbounded, merged(edge, x), undecided if undecided.any() else None, ieee)
    return specials.recomputed(result, _special_step, (edge, x)) if ieee and unbounded.any() else result


def _special_step(edge: F64, x: F64) -> list[Interval]:
    """1 unless x < edge, which no NaN is (NU-022)."""
    values = np.where(x < edge, 0.0, 1.0)
    return [(values, values)]
