"""Float arithmetic on values: the set of results that the rounding rules leave (NU-011..NU-022).

Strict arithmetic rounds every result to either neighbour, and a result remembers the place it was
rounded to, so that (x + c) - c is not x again. In undecorated programs a compiler may
drop roundings and rearrange as real algebra allows; values then carry a `History`, and every result
is widened by the bound on all rearrangements of what led to it, unless none of them rounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from cts.case.model import ComponentType
from cts.case.model.component import FloatFormat
from cts.case.oracle.expectation import Freedom
from cts.reference.numeric import intervals, specials
from cts.reference.numeric.arrays import Mask
from cts.reference.numeric.bounds import decided, error_bounds, exact_at, ordered
from cts.reference.numeric.formats import F64
from cts.reference.numeric.history import (
    DIVISION_ULP,
    Deferred,
    History,
    added,
    combined,
    divided,
    either,
    loaded,
    multiplied,
    negated,
    replaced_bounds,
)
from cts.reference.numeric.intervals import Interval
from cts.reference.numeric.modes import OPEN, Mode, Modes
from cts.reference.numeric.rounding import (
    NEIGHBOURS,
    binding,
    component_of,
    denormal,
    flushed,
    operand,
    parts,
    replaced,
    rounded,
    spanned,
)
from cts.reference.numeric.value import (
    Value,
    beside_free,
    history_of,
    loosened,
    merged,
    step_of,
    stepped,
    unrounded,
    unstepped,
    widened,
    with_freedom,
)
from cts.reference.numeric.zeros import apart, each_choice, equal_zeros, underflowed, with_equal_zeros

#: The divisors' exponents within which OpFDiv's accuracy holds (NU-011).
_DIVISORS = {ComponentType.float16: 14, ComponentType.float32: 126}
#: exp is accurate to so many ULP, and twice |x| more (NU-011).
_EXP_ULP = {ComponentType.float16: 1.0, ComponentType.float32: 3.0}

_REARRANGED = "undecorated: roundings may be dropped and terms rearranged (NU-017)"


class Floats:
    """Arithmetic of one program.

    `loose` if the program is undecorated. `ieee` if no fast math is allowed: then conversions round as well (NU-019),
    and infinities, NaNs and signs of zero follow IEEE 754 (NU-020). `modes` are execution modes, which programs that
    are not loose may have. `drops` if the operation may drop roundings that the operations of its operands may not drop
    (NU-049).
    """

    def __init__(self, loose: bool, ieee: bool = False, modes: Modes | None = None, *, drops: bool = False) -> None:
        self.drops = drops
        self.loose = loose
        self.ieee = ieee
        self.modes: Modes = {} if modes is None else modes

    @property
    def without_modes(self) -> Floats:
        """The same without what execution modes say: of operations inside instructions that they need not bind."""
        return Floats(self.loose, self.ieee, drops=self.drops) if self.modes else self

    def read(self, value: Value) -> Value:
        """An operand of an operation whose result the operand's history does not bound."""
        return unrounded(value) if self.drops else value

    def mode(self, component: ComponentType) -> Mode:
        """What binds operations on a type."""
        return OPEN if self.loose else self.modes.get(component, OPEN)

    def flushed(self, value: Value) -> Value:
        """The result of a function that is bound by no mode but DenormFlushToZero (NU-043)."""
        return flushed(value) if self.mode(component_of(value)).denormals == "flushed" else value

    def add(self, a: Value, b: Value) -> Value:
        return self._arithmetic(intervals.add, np.minimum, added, a, b, specials.add)

    def sub(self, a: Value, b: Value) -> Value:
        return self.add(a, _negated(b))

    def mul(self, a: Value, b: Value) -> Value:
        return self._arithmetic(intervals.mul, np.multiply, multiplied, a, b, specials.mul)

    def div(self, a: Value, b: Value) -> Value:
        """OpFDiv: 2.5 ULP for divisors of moderate size, anything else beyond."""
        component = component_of(a)
        ieee = self.ieee or self.mode(component).specials
        (x, zero, x_unbounded), (y, y_unbounded) = self._parts(a), operand(b)
        y_unbounded = y_unbounded | self._unknown(b)
        least, most = np.minimum(np.abs(y[0]), np.abs(y[1])), np.maximum(np.abs(y[0]), np.abs(y[1]))
        bound = 2.0 ** _DIVISORS[component]
        unbounded = x_unbounded | y_unbounded | (y[0] * y[1] <= 0) | (least < 1 / bound) | (most > bound)
        divisor = replaced(y, unbounded, 1.0)
        reasons = (*merged(a, b), f"OpFDiv is accurate to {DIVISION_ULP} ULP (NU-011)")
        if self.loose and (a.history is not None or b.history is not None):
            # The quotient of a sum may be that of each term, which errs by so much of the term.
            known = self._quotient(a, b, spanned(x, zero), divisor, unbounded)
            unknown = unbounded | known.overflows(component.format)
            result = rounded(component, known.bounds(component), unknown, (*reasons, _REARRANGED))
            return replace(result, history=Deferred(lambda: known))
        quotient = intervals.div(x, divisor)
        error_low, error_high = error_bounds(component, quotient, DIVISION_ULP)
        none = (x[0] == 0) & (x[1] == 0)
        # A zero divided by anything is a zero, whose sign float64 knows.
        zeros = x[0] / divisor[0], x[1] / divisor[0]
        negative, positive = (np.signbit(zeros[0]) == sign for sign in (True, False))
        if x[0] is not x[1]:
            negative, positive = negative | np.signbit(zeros[1]), positive | ~np.signbit(zeros[1])
        low = np.where(none, np.where(negative, -0.0, 0.0), quotient[0] - error_low)
        high = np.where(none, np.where(positive, 0.0, -0.0), quotient[1] + error_high)
        result = rounded(component, (low, high), unbounded, reasons, zero, ieee, within=True)
        if not self.loose:
            result = self.flushed(binding(result))
            if not ieee:
                return result
            ends = b.core
            point = (ends[0] == ends[1]) | np.isnan(ends[0])
            recomputed = specials.recomputed(result, specials.quotient(bound), (a, b), (y[0] <= 0) & (y[1] >= 0))
            # Divisors that are an interval may lie where nothing is known of the quotient.
            return self.flushed(loosened(recomputed, unbounded & ~point & ~np.isnan(x[0]), result.reasons))
        history = Deferred(lambda: self._quotient(a, b, spanned(x, zero), divisor, unbounded), a.history, b.history)
        return replace(result, history=history)

    def _quotient(self, a: Value, b: Value, dividend: Interval, divisor: Interval, unbounded: Mask) -> History:
        """The history of a quotient, whose value is that of any dividend and divisor that are allowed."""
        fmt = component_of(a).format
        first, second = _history(a, unbounded), _history(b, unbounded)
        first = combined([first], lambda arrays: np.broadcast_to(arrays[0], unbounded.shape))
        whole = replaced_bounds(first, dividend if a.history is None else (first.lo, first.hi))
        result = divided(whole, second, divisor)
        span = underflowed((result.lo, result.hi), fmt, DIVISION_ULP + 1, np.ones_like(unbounded))
        return replace(result, lo=span[0], hi=span[1])

    def neg(self, a: Value) -> Value:
        return self._moved(intervals.negate, a, specials.moved(intervals.negate))

    def abs(self, a: Value) -> Value:
        """FAbs: of either zero +0 (NU-020), of NaN anything (NU-022)."""
        return self._moved(intervals.absolute, a, specials.absolute, keeps_specials=False)

    def min(self, a: Value, b: Value, number_wins: bool = False) -> Value:
        """FMin, whose result is either operand where one is a NaN, or NMin, where it is the other one."""
        return self._chosen(intervals.signed_minimum if self.ieee else intervals.minimum, a, b, number_wins)

    def max(self, a: Value, b: Value, number_wins: bool = False) -> Value:
        """FMax or NMax."""
        return self._chosen(intervals.signed_maximum if self.ieee else intervals.maximum, a, b, number_wins)

    def fma(self, a: Value, b: Value, c: Value) -> Value:
        """GLSL.std.450 Fma: as accurate as a product and a sum, yet the product may stay unrounded (NU-011).

        Where one of these may be a NaN, or overflows, it may be anything.
        """
        component = component_of(a)
        # What is inherited is not correctly rounded (NU-044), nor bound to keep infinities and NaNs (NU-045).
        inherited_mode = replace(self.mode(component).unrounded, specials=False)
        # Denormals in between may be flushed or not where those of results must be (NU-043).
        between = replace(inherited_mode, denormals="kept") if inherited_mode.denormals == "kept" else OPEN
        product = unstepped(Floats(self.loose, self.ieee, {component: between}).mul(a, b))
        if self.loose and all(v.history is None for v in (a, b, c)):
            # Alone it is rounded as declared (NU-018).
            traced = self.add(product, c).history
            return replace(self.add(replace(product, history=None), c), history=traced)
        result = Floats(self.loose, self.ieee, {component: inherited_mode}).add(product, c)
        if not self.ieee:
            return result
        # Only an operand that is infinite for sure makes the result infinite without an overflow.
        infinite = np.zeros(result.shape, bool)
        for v in (a, b, c):
            low, high = v.core
            infinite = infinite | (np.isinf(low) & (low == high) & (v.flags == 0))
        overflows = np.zeros(result.shape, bool)
        for v in (product, result):
            overflows = overflows | np.isinf(v.core[0]) | np.isinf(v.core[1])
        unordered = (result.flags & Freedom.NAN != 0) | (product.flags & Freedom.NAN != 0)
        inherited = "Fma may be anything where a product and a sum may be NaN or overflow (NU-022)"
        return loosened(result, unordered | (overflows & ~infinite), (*result.reasons, inherited))

    def exp(self, a: Value) -> Value:
        """GLSL.std.450 Exp, by its ULP bound; what follows treats it as a fresh value."""
        component = component_of(a)
        (low, high), unbounded = operand(a)
        with np.errstate(over="ignore"):
            bottom, top = exact_at(low, 0.0, 1.0, np.exp)[0], exact_at(high, 0.0, 1.0, np.exp)[1]
        bottom, top = (np.minimum(v, 2 * component.format.greatest) for v in (bottom, top))
        bound = _EXP_ULP[component]
        down, up = error_bounds(component, (bottom, top), bound + 2 * np.maximum(np.abs(low), np.abs(high)))
        reasons = (*a.reasons, f"exp is accurate to {bound:g} + 2|x| ULP (NU-011)")
        result = rounded(component, (bottom - down, top + up), unbounded, reasons, None, self.ieee, within=True)
        return self.flushed(specials.recomputed(result, _exp_of_infinity, (a,)) if self.ieee else result)

    def compare(self, operation: str, a: Value, b: Value) -> Value:
        """A condition: unknown where the operands' intervals do not decide it."""
        mode = self.mode(component_of(a))
        (x, x_unbounded), (y, y_unbounded) = operand(a, mode), operand(b, mode)
        if not (self.ieee or mode.specials) or not (x_unbounded.any() or y_unbounded.any()):
            return decided(operation, x, y, x_unbounded | y_unbounded, merged(a, b))
        (x, x_nan, x_any), (y, y_nan, y_any) = ordered(a, x), ordered(b, y)
        condition = decided(operation, x, y, x_any | y_any, merged(a, b))
        # All comparisons are ordered, but that for inequality.
        nan = x_nan | y_nan
        bits = np.where(nan, np.uint8(operation == "ne"), condition.bits)
        flags = np.where(nan, np.uint8(0), condition.flags)
        number = bits.astype(np.float64)
        return with_freedom(None, bits, flags, (number, number), condition.reasons)

    def _arithmetic(
        self,
        exact: Callable[[Interval, Interval], Interval],
        quantum: Callable[[F64, F64], F64],
        traced: Callable[[History, History], History],
        a: Value,
        b: Value,
        special: specials.Function,
    ) -> Value:
        component = component_of(a)
        mode = self.mode(component)
        ieee = self.ieee or mode.specials
        (x, x_zero, x_unbounded), (y, y_zero, y_unbounded) = self._parts(a, mode), self._parts(b, mode)
        unbounded = x_unbounded | y_unbounded
        if not ieee:
            x_zero, y_zero = apart(x, x_zero), apart(y, y_zero)
        if not self.loose:
            bounds, zero = each_choice(exact, (x, x_zero), (y, y_zero))
            step = None
            if a.free is not None or b.free is not None or zero is not None:
                with np.errstate(invalid="ignore"):
                    step = quantum(step_of(a), step_of(b))
                # Of a set that has nothing but exact elements, results may be any that are rounded.
                # What overflows becomes the greatest number, which is no multiple of anything.
                greatest = component.format.greatest
                loose = np.isnan(step) | (bounds[0] < -greatest) | (bounds[1] > greatest)
                step = np.where(loose | ~beside_free((a, b), x_zero, y_zero), 0.0, step)
            reasons = (*merged(a, b), NEIGHBOURS)
            result = binding(rounded(component, bounds, unbounded, reasons, zero, ieee, mode), step)
            return specials.recomputed(result, special, (a, b), mode=mode) if ieee and unbounded.any() else result
        fmt = component.format
        history = Deferred(lambda: traced(_history(a, x_unbounded), _history(b, y_unbounded)), a.history, b.history)
        if a.history is None and b.history is None:
            # One operation alone is rounded as declared (NU-018).
            bounds, zero = each_choice(exact, (x, x_zero), (y, y_zero))
            result = rounded(component, bounds, unbounded, (*merged(a, b), NEIGHBOURS), zero)
        else:
            reasons = (*merged(a, b), _REARRANGED)
            known = history.known
            result = rounded(component, known.bounds(component), unbounded | known.overflows(fmt), reasons)
        return replace(result, history=history.then(lambda h: _rounded_history(h, fmt)))

    def _parts(self, value: Value, mode: Mode = OPEN) -> tuple[Interval, Mask | None, Mask]:
        """An operand by `parts`; elements that rearrangement makes unknown count as unbounded."""
        bounds, zero, unbounded = parts(value, mode)
        return bounds, zero, unbounded | self._unknown(value)

    def _unknown(self, value: Value) -> Mask:
        """Where a value that is bound may be anything once it is rearranged with what uses it."""
        if not self.loose or value.history is None:
            return np.zeros((), bool)
        return value.history.known.unknown

    def _moved(
        self, move: Callable[[Interval], Interval], a: Value, special: specials.Function, keeps_specials: bool = True
    ) -> Value:
        """What is moved with another sign."""
        mode = self.mode(component_of(a)).unrounded
        ieee = self.ieee or (mode.specials and keeps_specials)
        bounds, may_be_zero, unbounded = self._parts(a, mode)
        result = rounded(component_of(a), move(bounds), unbounded, a.reasons, may_be_zero, ieee, mode)
        if not self.loose:
            result = stepped(result, np.where(beside_free([a]), step_of(a), 0.0)) if a.free is not None else result
            return specials.recomputed(result, special, (a,), mode=mode) if ieee and unbounded.any() else result
        if a.history is None:
            return result
        if move is intervals.negate:
            return replace(result, history=a.history.then(negated))
        return replace(result, history=a.history.then(lambda h: replaced_bounds(h, move((h.lo, h.hi)))))

    def _chosen(self, choose: Callable[[Interval, Interval], Interval], a: Value, b: Value, number_wins: bool) -> Value:
        mode = self.mode(component_of(a)).unrounded
        (x, x_zero, x_unbounded), (y, y_zero, y_unbounded) = self._parts(a, mode), self._parts(b, mode)
        unbounded = x_unbounded | y_unbounded
        if not self.ieee:
            x_zero, y_zero = apart(x, x_zero), apart(y, y_zero)
        bounds, zero = each_choice(choose, (x, x_zero), (y, y_zero))
        if mode.denormals != "kept":
            bounds = with_equal_zeros(bounds, (x, x_zero), (y, y_zero), component_of(a).format.least)
        result = rounded(component_of(a), bounds, unbounded, merged(a, b), zero, self.ieee, mode)
        if not self.loose:
            result = stepped(result, np.minimum(step_of(a), step_of(b))) if result.free is not None else result
            if not (self.ieee and unbounded.any()):
                return result
            result = specials.recomputed(result, specials.chosen(choose, number_wins), (a, b), mode=mode)
            if mode.denormals == "kept":
                return result
            # What may be infinite may be a zero beside that.
            first, second = ((v.core, v.flags & np.uint8(Freedom.EITHER_ZERO) != 0) for v in (a, b))
            equal, near = equal_zeros(first, second, component_of(a).format.least)
            return widened(result, equal & unbounded, near)
        if a.history is None and b.history is None:
            return result

        def chosen() -> History:
            first, second = _history(a, x_unbounded), _history(b, y_unbounded)
            return either(first, second, choose((first.lo, first.hi), (second.lo, second.hi)))

        return replace(result, history=Deferred(chosen, a.history, b.history))


def _exp_of_infinity(x: F64) -> list[Interval]:
    return specials.unless(np.isinf(x), np.exp(x))


def _history(value: Value, unbounded: Mask) -> History:
    known = history_of(value)
    tiny = denormal((known.lo, known.hi), component_of(value).format.least)
    if tiny.any():
        low, high = spanned((known.lo, known.hi), tiny)
        known = replace(known, lo=low, hi=high)
    if unbounded.any():
        nothing = loaded((np.zeros(unbounded.shape),) * 2, np.full(unbounded.shape, np.inf))
        known = replace(combined([nothing, known], lambda arrays: np.where(unbounded, *arrays)), addends=None)
    return known


def _rounded_history(known: History, fmt: FloatFormat) -> History:
    low, high = underflowed((known.lo, known.hi), fmt, 1.0, ~known.exact(fmt))
    return replace(known, lo=low, hi=high)


def _negated(value: Value) -> Value:
    """The value times -1, as an operand: nothing is rounded."""
    component = component_of(value)
    sign = component.bits_dtype.type(1 << (8 * component.size - 1))
    free = value.free
    if free is not None:
        free = replace(free, lo=-free.hi, hi=-free.lo)
    return Value(component, value.bits ^ sign, free, None if value.history is None else value.history.then(negated))
