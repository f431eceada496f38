"""Functions of GLSL.std.450 by the accuracy that Vulkan asks of them (NU-011), always of the magnitude.

What follows treats their results as fresh values: no bound on rearrangements goes through them.
"""

from __future__ import annotations

import numpy as np

from cts.model import ComponentType
from cts.reference.numeric import intervals
from cts.reference.numeric.floats import decided, operand, rounded
from cts.reference.numeric.formats import F64, FORMATS, ulp
from cts.reference.numeric.intervals import Interval
from cts.reference.numeric.value import Value, merged

#: log is accurate to so many ULP, but from 1/2 to 2 to an absolute error.
_LOG_ULP = 3.0
_LOG_ABSOLUTE = {ComponentType.float16: 2.0**-7, ComponentType.float32: 2.0**-21}
#: What tanh inherits from exp: so many ULP and twice |x| more.
_EXP_ULP = {ComponentType.float16: 1.0, ComponentType.float32: 3.0}
_ATAN_ULP = {ComponentType.float16: 5.0, ComponentType.float32: 4096.0}


def log(a: Value) -> Value:
    """GLSL.std.450 Log, of what is positive; anything else is not portable."""
    component = _component(a)
    (low, high), wild = operand(a)
    wild = wild | (low <= 0)
    low, high = (np.where(wild, 1.0, bound) for bound in (low, high))
    bottom, top = intervals.below(np.log(low)), intervals.above(np.log(high))
    near = (high >= 0.5) & (low <= 2.0)
    outside = (low < 0.5) | (high > 2.0)

    def error(number: F64) -> F64:
        relative = _LOG_ULP * ulp(component, number)
        absolute = _LOG_ABSOLUTE[component]
        found: F64 = np.where(near, np.where(outside, np.maximum(relative, absolute), absolute), relative)
        return found

    name = f"log is accurate to {_LOG_ULP:g} ULP, from 1/2 to 2 to {_LOG_ABSOLUTE[component]:g} (NU-011)"
    return rounded(component, (bottom - error(bottom), top + error(top)), wild, (*a.reasons, name))


def tanh(a: Value) -> Value:
    """GLSL.std.450 Tanh, as accurate as sinh/cosh by two calls of exp; not portable where exp overflows."""
    component = _component(a)
    (low, high), wild = operand(a)
    fmt, most = FORMATS[component], np.maximum(np.abs(low), np.abs(high))
    with np.errstate(over="ignore"):
        wild = wild | (np.exp(most) > fmt.greatest / 2)
    # Both terms err by so many ULP, at most a unit each. Errors r relative to the terms move their
    # difference by r cosh and their sum as much; these round once each, the quotient by 2.5 ULP.
    relative = (_EXP_ULP[component] + 2 * np.where(wild, 0.0, most)) * fmt.unit
    usable = relative < 0.5
    relative = np.where(usable, relative, 0.0)
    bound = np.where(usable, (2 * relative + 4.5 * fmt.unit) / (1 - relative), 2.0)
    bounds = np.tanh(low) - bound, np.tanh(high) + bound
    return rounded(component, bounds, wild, (*a.reasons, "tanh is as accurate as (e^x - e^-x) / (e^x + e^-x) (NU-011)"))


def atan(a: Value) -> Value:
    """GLSL.std.450 Atan."""
    component = _component(a)
    (low, high), wild = operand(a)
    bottom, top = intervals.below(np.arctan(low)), intervals.above(np.arctan(high))
    error = _ATAN_ULP[component]
    bottom, top = bottom - error * ulp(component, bottom), top + error * ulp(component, top)
    name = f"atan is accurate to {error:g} ULP (NU-011)"
    return rounded(component, (bottom, top), wild, (*a.reasons, name))


def step(edge: Value, x: Value) -> Value:
    """GLSL.std.450 Step: 0 where x < edge, else 1."""
    component = _component(x)
    (edges, edge_wild), (values, wild) = operand(edge), operand(x)
    less = decided("lt", values, edges, edge_wild | wild, ())
    low = np.where((less.bits == 0) & (less.flags == 0), 1.0, 0.0)
    high = np.where((less.bits == 1) & (less.flags == 0), 0.0, 1.0)
    bounds: Interval = (low, low) if np.array_equal(low, high) else (low, high)
    return rounded(component, bounds, edge_wild | wild, merged(edge, x))


def _component(value: Value) -> ComponentType:
    assert value.component is not None
    return value.component
