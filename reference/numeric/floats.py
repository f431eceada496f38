"""Float arithmetic on values: the set of results that the rounding rules leave (NU-011..NU-019).

Strict arithmetic rounds every result to either neighbour, and a result remembers the place it was
rounded to, so that (x + c) - c is not x again. In undecorated programs a compiler may
drop roundings and rearrange as real algebra allows; values then carry a `History`, and every result
is widened by the bound on all rearrangements of what led to it, unless none of them rounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from cts.expectation import Freedom
from cts.model import ComponentType
from cts.reference.arrays import U8, Mask
from cts.reference.numeric import intervals
from cts.reference.numeric.formats import F64, FORMATS, above, below, nearest, ulp
from cts.reference.numeric.intervals import Interval
from cts.reference.numeric.value import FREE, History, Value, history_of, merged, step_of, stepped, with_freedom

#: OpFDiv's accuracy in ULP, and the divisors' exponents within which it holds (NU-011).
_DIVISION_ULP = 2.5
_DIVISORS = {ComponentType.float16: 14, ComponentType.float32: 126}
#: exp is accurate to so many ULP, and twice |x| more (NU-011).
_EXP_ULP = {ComponentType.float16: 1.0, ComponentType.float32: 3.0}

_NEIGHBOURS = "either neighbour of the exact result (NU-012)"
_REARRANGED = "undecorated: roundings may be dropped and terms rearranged (NU-017)"
_NOT_PORTABLE = "no portable result: NaN, infinity or overflow (NU-013)"
_ZERO = "either zero (NU-013)"
_FLUSHED = "denormals may be flushed (NU-013)"


class Floats:
    """Arithmetic of one program: `loose` where it is undecorated, `conversions_bind` where conversions round, too."""

    def __init__(self, loose: bool, conversions_bind: bool = False) -> None:
        self.loose = loose
        self.conversions_bind = conversions_bind

    def add(self, a: Value, b: Value) -> Value:
        return self._arithmetic(intervals.add, lambda x, y: x + y, np.minimum, a, b)

    def sub(self, a: Value, b: Value) -> Value:
        return self.add(a, _negated(b))

    def mul(self, a: Value, b: Value) -> Value:
        return self._arithmetic(intervals.mul, lambda x, y: x * y, lambda x, y: x * y, a, b)

    def div(self, a: Value, b: Value) -> Value:
        """OpFDiv: 2.5 ULP for divisors of moderate size, anything else beyond."""
        component = _component(a)
        (x, x_wild), (y, y_wild) = operand(a), operand(b)
        least, most = np.minimum(np.abs(y[0]), np.abs(y[1])), np.maximum(np.abs(y[0]), np.abs(y[1]))
        bound = 2.0 ** _DIVISORS[component]
        wild = x_wild | y_wild | (y[0] * y[1] <= 0) | (least < 1 / bound) | (most > bound)
        quotient = intervals.div(x, _replaced(y, wild, 1.0))
        # At a power of two the wider of its two ULP: definitions differ.
        error = _DIVISION_ULP * ulp(component, np.maximum(np.abs(quotient[0]), np.abs(quotient[1])))
        none = (x[0] == 0) & (x[1] == 0)
        low = np.where(none, 0.0, below(component, quotient[0] - error))
        high = np.where(none, 0.0, above(component, quotient[1] + error))
        reasons = (*merged(a, b), f"OpFDiv is accurate to {_DIVISION_ULP} ULP (NU-011)")
        result = rounded(component, (low, high), wild, reasons)
        if not self.loose:
            return binding(result)
        first, second = _history(a), _history(b)
        magnitude = first.magnitude / np.where(wild, 1.0, least)
        unit = first.unit + second.unit + (_DIVISION_ULP + 1) * FORMATS[component].unit
        return replace(result, history=History(*quotient, magnitude, np.zeros_like(magnitude), unit))

    def neg(self, a: Value) -> Value:
        return self._moved(intervals.negate, a)

    def abs(self, a: Value) -> Value:
        return self._moved(intervals.absolute, a)

    def min(self, a: Value, b: Value) -> Value:
        return self._chosen(intervals.minimum, a, b)

    def max(self, a: Value, b: Value) -> Value:
        return self._chosen(intervals.maximum, a, b)

    def exp(self, a: Value) -> Value:
        """GLSL.std.450 Exp, by its ULP bound; what follows treats it as a fresh value."""
        component = _component(a)
        (low, high), wild = operand(a)
        with np.errstate(over="ignore"):
            bottom, top = intervals.below(np.exp(low)), intervals.above(np.exp(high))
        wild = wild | ~np.isfinite(top)
        bottom, top = (np.where(wild, 0.0, v) for v in (bottom, top))
        bottom = bottom - (_EXP_ULP[component] + 2 * np.abs(low)) * ulp(component, bottom)
        top = top + (_EXP_ULP[component] + 2 * np.abs(high)) * ulp(component, top)
        base = f"{_EXP_ULP[component]:g} + 2|x|"
        return rounded(component, (bottom, top), wild, (*a.reasons, f"exp is accurate to {base} ULP (NU-011)"))

    def compare(self, operation: str, a: Value, b: Value) -> Value:
        """A condition: unknown where the operands' intervals do not decide it."""
        (x, x_wild), (y, y_wild) = operand(a), operand(b)
        return decided(operation, x, y, x_wild | y_wild, merged(a, b))

    def _arithmetic(
        self,
        exact: Callable[[Interval, Interval], Interval],
        magnitude: Callable[[F64, F64], F64],
        quantum: Callable[[F64, F64], F64],
        a: Value,
        b: Value,
    ) -> Value:
        component = _component(a)
        (x, x_wild), (y, y_wild) = operand(a), operand(b)
        wild = x_wild | y_wild
        if not self.loose:
            step = None
            if a.free is not None or b.free is not None:
                with np.errstate(invalid="ignore"):
                    step = quantum(step_of(a), step_of(b))
                step = np.where(np.isnan(step), 0.0, step)
            return binding(rounded(component, exact(x, y), wild, (*merged(a, b), _NEIGHBOURS)), step)
        fmt = FORMATS[component]
        first, second = _history(a), _history(b)
        value = exact((first.lo, first.hi), (second.lo, second.hi))
        with np.errstate(invalid="ignore"):
            terms = quantum(first.quantum, second.quantum)
            total = magnitude(first.magnitude, second.magnitude)
            fits = (total <= terms * 2.0**fmt.precision) & (terms >= fmt.least)
        unit = first.unit + second.unit + np.where(fits, 0.0, fmt.unit)
        if a.history is None and b.history is None:
            # One operation alone is rounded as declared (NU-018).
            result = rounded(component, exact(x, y), wild, (*merged(a, b), _NEIGHBOURS))
        else:
            slack = unit * total * (1 + 2 * unit) + np.where((unit > 0) & ~(terms >= fmt.least), fmt.least, 0.0)
            reasons = (*merged(a, b), _REARRANGED)
            result = rounded(component, (value[0] - slack, value[1] + slack), wild, reasons)
        return replace(result, history=History(*value, total, terms, unit))

    def _moved(self, move: Callable[[Interval], Interval], a: Value) -> Value:
        bounds, wild = operand(a)
        result = rounded(_component(a), move(bounds), wild, a.reasons)
        if not self.loose:
            return stepped(result, step_of(a)) if a.free is not None else result
        if a.history is not None:
            h = a.history
            return replace(result, history=replace(h, **_bounds(move((h.lo, h.hi)))))
        return result

    def _chosen(self, choose: Callable[[Interval, Interval], Interval], a: Value, b: Value) -> Value:
        (x, x_wild), (y, y_wild) = operand(a), operand(b)
        result = rounded(_component(a), choose(x, y), x_wild | y_wild, merged(a, b))
        if not self.loose:
            return stepped(result, np.minimum(step_of(a), step_of(b))) if result.free is not None else result
        if a.history is None and b.history is None:
            return result
        first, second = _history(a), _history(b)
        value = choose((first.lo, first.hi), (second.lo, second.hi))
        magnitude = np.maximum(first.magnitude, second.magnitude)
        quantum = np.minimum(first.quantum, second.quantum)
        return replace(result, history=History(*value, magnitude, quantum, first.unit + second.unit))


def operand(value: Value) -> tuple[Interval, Mask]:
    """What an operation may see of a float operand: denormals may be flushed; and which elements are wild (as 0)."""
    lo, hi = value.interval
    wild = value.wild
    if wild.any():
        lo, hi = _replaced((lo, hi), wild, 0.0)
    elif value.free is None:
        hi = lo
    return _flushable((lo, hi), FORMATS[_component(value)].least), wild


def rounded(component: ComponentType, exact: Interval, wild: Mask, reasons: tuple[str, ...]) -> Value:
    """Results that are correctly rounded, whose exact values lie in an interval; `wild` ones may be anything."""
    fmt = FORMATS[component]
    lo, hi = exact
    low = below(component, lo)
    high = low if lo is hi and np.array_equal(low, lo) else above(component, hi)
    inexact = low is not high
    flushed_low, flushed_high = _flushable((low, high), fmt.least)
    unknown = wild | (hi > fmt.greatest) | (lo < -fmt.greatest)
    bits = nearest(component, np.where(unknown, 0.0, lo if lo is hi else lo / 2 + hi / 2))
    flags = _flags(flushed_low, flushed_high, unknown)
    if not flags.any():
        return Value(component, bits)
    some = reasons
    if not inexact:
        some = tuple(r for r in reasons if r != _NEIGHBOURS)
    if flushed_low is not low or flushed_high is not high:
        some += (_FLUSHED,)
    if unknown.any():
        some += (_NOT_PORTABLE,)
    if (flags & Freedom.EITHER_ZERO).any():
        some += (_ZERO,)
    return with_freedom(component, bits, flags, (flushed_low, flushed_high), tuple(dict.fromkeys(some)))


def binding(value: Value, step: F64 | None = None) -> Value:
    """Results that are sure to be rounded to their type (NU-019), and multiples of `step` where that is known.

    So they are multiples of the last place of the least of them; rounding keeps them multiples of `step`.
    """
    free = value.free
    if free is None:
        return value
    least = np.where((free.lo < 0) & (free.hi > 0), 0.0, np.minimum(np.abs(free.lo), np.abs(free.hi)))
    place = ulp(_component(value), least)
    return stepped(value, place if step is None else np.maximum(place, step))


def _flags(low: F64, high: F64, unknown: Mask) -> U8:
    zero = (low <= 0) & (high >= 0)
    flags: U8 = np.where(zero, np.uint8(FREE | Freedom.EITHER_ZERO), np.uint8(0))
    if low is not high:
        flags = flags | np.where(low != high, np.uint8(FREE), np.uint8(0))
    return np.where(unknown, np.uint8(FREE | Freedom.ANY), flags)


def decided(operation: str, x: Interval, y: Interval, unknown: Mask, reasons: tuple[str, ...]) -> Value:
    """The condition `x operation y` of intervals."""
    if operation in ("gt", "ge"):
        operation, x, y = {"gt": "lt", "ge": "le"}[operation], y, x
    if operation == "lt":
        yes, no = x[1] < y[0], x[0] >= y[1]
    elif operation == "le":
        yes, no = x[1] <= y[0], x[0] > y[1]
    else:
        yes = (x[0] == x[1]) & (y[0] == y[1]) & (x[0] == y[0])
        no = (x[1] < y[0]) | (y[1] < x[0])
        if operation == "ne":
            yes, no = no, yes
    unknown = unknown | ~(yes | no)
    flags = np.where(unknown, np.uint8(FREE), np.uint8(0))
    bits = yes.astype(np.uint8)
    number = bits.astype(np.float64)
    return with_freedom(None, bits, flags, (number, number), reasons)


def _component(value: Value) -> ComponentType:
    assert value.component is not None
    return value.component


def _flushable(bounds: Interval, least: float) -> Interval:
    """The interval with 0 in it wherever it holds a denormal: either may be seen (NU-013)."""
    lo, hi = bounds
    low, high = (lo > 0) & (lo < least), (hi < 0) & (hi > -least)
    if not low.any() and not high.any():
        return bounds
    return np.where(low, 0.0, lo), np.where(high, 0.0, hi)


def _replaced(bounds: Interval, mask: Mask, by: float) -> Interval:
    lo = np.where(mask, by, bounds[0])
    return (lo, lo) if bounds[0] is bounds[1] else (lo, np.where(mask, by, bounds[1]))


def _history(value: Value) -> History:
    history = history_of(value)
    bounds = _flushable((history.lo, history.hi), FORMATS[_component(value)].least)
    if value.wild.any():
        bounds = _replaced(bounds, value.wild, 0.0)
        return replace(history, **_bounds(bounds), magnitude=np.where(value.wild, 0.0, history.magnitude))
    return replace(history, **_bounds(bounds))


def _bounds(interval: Interval) -> dict[str, F64]:
    return {"lo": interval[0], "hi": interval[1]}


def _negated(value: Value) -> Value:
    """The value times -1, as an operand: nothing is rounded."""
    component = _component(value)
    sign = component.bits_dtype.type(1 << (8 * component.size - 1))
    free, history = value.free, value.history
    if free is not None:
        free = replace(free, lo=-free.hi, hi=-free.lo)
    if history is not None:
        history = replace(history, lo=-history.hi, hi=-history.lo)
    return Value(component, value.bits ^ sign, free, history)
