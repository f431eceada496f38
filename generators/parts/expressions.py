"""Random well-typed callback bodies in which nothing is undefined (docs/expressions.md).

Ranges are followed through every operation: shifts stay below the width, divisors away from 0,
conversions in range, array indices inside. Floats stay exact but for one last operation, so that no
comparison hangs on a rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cts.choices import Choices
from cts.generators.build.value_ranges import (
    UNBOUNDED,
    Known,
    added,
    anything,
    limits,
    multiplied,
    negated,
    settled,
    subtracted,
)
from cts.model import ComponentType

_C = ComponentType

_NUMBERS = (1, 2, 3, 5, 7, 4, 10, 0, 13, 100, 6)
_FRACTIONS = ((0.5, -1), (0.25, -2), (1.5, -1), (-0.5, -1))

#: Magnitudes of results that the float8 types hold, away from where AM-29 leaves the result open.
_CONVERTED = {_C.float8_e4m3fn: 240, _C.float8_e5m2: 30000, _C.bfloat16: 1 << 20}


@dataclass(frozen=True)
class Term:
    """Part of a body: its text (in parentheses where it is an operation), type, and what is known of it."""

    text: str
    type: ComponentType
    known: Known
    number: bool = False


def draw_body(choices: Choices, returns: ComponentType, terms: Sequence[Term], *, inexact: bool = True) -> Term:
    """A body with a result of type `returns` over `terms`, parameters and fields; some lines at most."""
    lines = []
    known = list(terms)
    depth = choices.pick((1, 1, 2, 2, 3, 0))
    working = _C.float32 if returns.storage_only else returns
    if choices.rarely(6):
        line = choices.group(lambda c: _Trees(c, known).draw(working, 1))
        if not line.number:
            lines.append(f"t = {_bare(line.text)}")
            known.append(Term("t", line.type, line.known))
    result = choices.group(lambda c: _Trees(c, known).draw(working, depth))
    special = [wide for t in terms if not t.known.bounded and (wide := converted(t, working)) is not None]
    if special and not result.number and choices.chance(4):
        result = _draw_compared(choices, result, special)
    if inexact and working.is_float:
        result = _draw_last(choices, result)
    if working is not returns:
        result = _narrowed(returns, result)
    return replace(result, text="\n".join([*lines, _bare(result.text)]))


def _draw_compared(choices: Choices, a: Term, special: Sequence[Term]) -> Term:
    """`a` where a comparison of a number that may be infinite or NaN holds, else another number; or a magnitude."""
    which, order, other = choices.record(len(special) - 1, 8, 2)
    if order > 5:
        text = _bare(special[which].text)
        return Term(f"abs({text})", a.type, UNBOUNDED)
    operation = ("<", "<=", ">", ">=", "==", "!=")[order]
    condition = f"{special[which].text} {operation} {(2, 0, -1)[other]}"
    return Term(f"({a.text} if {condition} else {a.type.value}(7))", a.type, a.known.union(Known(7, 7)))


def _bare(text: str) -> str:
    """Without the parentheses around the whole, where they are a pair."""
    if not text.startswith("("):
        return text
    depth = 0
    for i, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth == 0:
            return text[1:-1] if i == len(text) - 1 else text
    return text


def _draw_last(choices: Choices, a: Term) -> Term:
    """Mostly `a` itself; sometimes an operation whose result is rounded."""
    kind = choices.between(0, 15)
    if a.number or kind < 11 or (kind in (13, 15) and not a.known.bounded):
        # No clamp has a result of NaN.
        return a
    if kind == 11:
        # The type has no odd numbers next to this one: there a strict program must round (NU-019).
        coarse = 1 << a.type.format.precision if a.type.is_ieee else 0
        if a.known.size > coarse:
            return a
        return Term(f"(({a.text} + {coarse}) - {coarse})", a.type, Known(-a.known.size - 2, a.known.size + 2, None))
    if kind == 12:
        return Term(f"({a.text} / 3)", a.type, Known(a.known.low, a.known.high, None))
    if kind == 13:
        return Term(f"exp(clamp({a.text}, -3, 4))", a.type, Known(0, 60, None))
    if kind == 14:
        return Term(f"(1 / (abs({a.text}) + 3))", a.type, Known(0, 1, None) if a.known.bounded else UNBOUNDED)
    return Term(f"({a.text} * exp(clamp({a.text}, -2, 1)))", a.type, Known(-3 * a.known.size, 3 * a.known.size, None))


def _narrowed(target: ComponentType, a: Term) -> Term:
    """A float32 result as one of a type without arithmetic."""
    most = _CONVERTED[target]
    if a.number:
        a = replace(a, text=f"float32({a.text})", number=False)
    if not a.known.bounded:
        return Term(f"{target.value}({_bare(a.text)})", target, UNBOUNDED)
    text = a.text if a.known.size <= most else f"clamp({_bare(a.text)}, {-most}, {most})"
    size = min(a.known.size, most)
    return Term(f"{target.value}({_bare(text)})", target, settled(target, -size, size, a.known.grain))


class _Trees:
    """Draws trees of operations over terms."""

    def __init__(self, choices: Choices, terms: Sequence[Term]) -> None:
        self.choices = choices
        self.terms = terms

    def draw(self, component: ComponentType, depth: int) -> Term:
        """An operation of at most so many levels, or a leaf."""
        if depth == 0:
            return self._leaf(component)
        kind = self.choices.between(0, 11)
        if kind == 11:
            return self._select(component, depth)
        if kind >= 9:
            return self._unary(component, depth)
        if kind == 8 and not component.is_float:
            return self._by_number(component, depth)
        return self._binary(component, depth, kind)

    def _leaf(self, component: ComponentType) -> Term:
        """A term as it is or converted; now and then a number."""
        which, fraction, sign = self.choices.record(2 * len(self.terms), 9, 2)
        if which == 2 * len(self.terms):
            return self._number(component)
        term = self.terms[which // 2]
        if term.type is not component and not term.type.is_float and fraction >= 6:
            # Before the conversion, so that negative numbers are converted too.
            term = _operation(term, Term(str(3 + sign), term.type, Known(3 + sign, 3 + sign), number=True), "-")
        return converted(term, component) or self._number(component)

    def _number(self, component: ComponentType) -> Term:
        which, fraction = self.choices.record(len(_NUMBERS) - 1, 9)
        if component.is_float and fraction >= 7:
            value, grain = _FRACTIONS[which % len(_FRACTIONS)]
            return Term(repr(value), component, Known(value, value, grain), number=True)
        number = _NUMBERS[which]
        return Term(str(number), component, Known(number, number), number=True)

    def _operand(self, component: ComponentType, depth: int) -> Term:
        """An operand that has a type of its own: a plain number gets it by a conversion."""
        term = self.choices.group(lambda c: _Trees(c, self.terms).draw(component, depth))
        return Term(f"{component.value}({term.text})", component, term.known) if term.number else term

    def _binary(self, component: ComponentType, depth: int, kind: int) -> Term:
        a = self._operand(component, depth - 1)
        b = self.choices.group(lambda c: _Trees(c, self.terms).draw(component, self.choices.between(0, depth - 1)))
        operations = (
            ("+", "-", "*", "min", "max") if component.is_float else ("+", "-", "*", "min", "max", "&", "|", "^", "+")
        )
        operation = operations[(kind * 5 + self.choices.between(0, 4)) % len(operations)]
        if component.is_float and operation in "+-*":
            known = _operation(a, b, operation).known
            if known.bounded and (known.grain is None or known.size > 1 << 20):
                operation = "min"
        elif component.is_float and not (a.known.bounded and b.known.bounded) and operation != "max":
            # Of NaN and a number either is the minimum.
            operation = "+"
        if self.choices.rarely(4) and not b.number:
            a, b = b, a
        return _operation(a, b, operation)

    def _unary(self, component: ComponentType, depth: int) -> Term:
        a = self._operand(component, depth - 1)
        unsigned = not component.is_float and not component.is_signed
        operation = self.choices.pick(("-", "~", "abs"))
        if operation == "~" and not component.is_float:
            return Term(f"(~{a.text})", component, anything(component))
        if operation == "abs" and not unsigned:
            low, high = 0.0, a.known.size
            return Term(f"abs({_bare(a.text)})", component, settled(component, low, high, a.known.grain))
        return Term(f"(-{a.text})", component, negated(component, a.known))

    def _by_number(self, component: ComponentType, depth: int) -> Term:
        """A shift by less than the width, or a division or remainder by a number that is not 0."""
        a = self._operand(component, depth - 1)
        width = 8 * component.size
        kind, amount = self.choices.record(4, width - 1)
        if kind >= 3 and not component.is_signed:
            divisor = 1 + amount % 11
            high = a.known.high // divisor if kind == 3 else min(a.known.high, divisor - 1)
            return Term(f"({a.text} {'//' if kind == 3 else '%'} {divisor})", component, Known(0, high))
        if kind == 1:
            return Term(f"({a.text} << {amount})", component, anything(component))
        low, high = int(a.known.low) >> amount, int(a.known.high) >> amount
        return Term(f"({a.text} >> {amount})", component, Known(low, high))

    def _select(self, component: ComponentType, depth: int) -> Term:
        condition = self.choices.group(lambda c: _Trees(c, self.terms)._condition(1))
        a = self._operand(component, depth - 1)
        b = self._operand(component, 0)
        return Term(f"({a.text} if {condition} else {b.text})", component, a.known.union(b.known))

    def _condition(self, depth: int) -> str:
        kind, order = self.choices.record(5, 5)
        if depth and kind >= 3:
            parts = [self.choices.group(lambda c: _Trees(c, self.terms)._condition(0)) for _ in range(2)]
            return (f"({parts[0]} and {parts[1]})", f"({parts[0]} or {parts[1]})", f"(not {parts[0]})")[kind - 3]
        exact = [
            t for t in self.terms if (t.known.grain is not None or not t.known.bounded) and not t.type.storage_only
        ]
        a = self.choices.pick(exact)
        b = self.choices.group(lambda c: _Trees(c, exact)._leaf(a.type))
        return f"({a.text} {('<', '<=', '>', '>=', '==', '!=')[order]} {b.text})"


def _operation(a: Term, b: Term, operation: str) -> Term:
    component = a.type
    if operation in ("min", "max"):
        pick = min if operation == "min" else max
        known = replace(
            a.known.union(b.known), low=pick(a.known.low, b.known.low), high=pick(a.known.high, b.known.high)
        )
        if not (a.known.bounded and b.known.bounded):
            known = UNBOUNDED
        return Term(f"{operation}({_bare(a.text)}, {_bare(b.text)})", component, known)
    if operation in ("&", "|", "^"):
        known = anything(component)
        if operation == "&" and min(a.known.low, b.known.low) >= 0:
            known = Known(0, min(a.known.high, b.known.high))
        return Term(f"({a.text} {operation} {b.text})", component, known)
    compute = {"+": added, "-": subtracted, "*": multiplied}[operation]
    return Term(f"({a.text} {operation} {b.text})", component, compute(component, a.known, b.known))


def converted(a: Term, target: ComponentType) -> Term | None:
    """A term as another type; None where that is not exact, or no use."""
    if a.type is target:
        return a
    if a.type.storage_only:
        wide = Term(f"float32({a.text})", _C.float32, a.known)
        return wide if target is _C.float32 else converted(wide, target)
    if not a.type.is_float:
        return _from_integer(a, target)
    if a.known.grain is None:
        return None
    if target.is_float:
        fits = settled(target, a.known.low, a.known.high, a.known.grain)
        return None if fits.grain is None else Term(f"{target.value}({_bare(a.text)})", target, fits)
    least = -100 if target.is_signed else 0
    text = f"clamp({_bare(a.text)}, {least}, 100)"
    low, high = max(a.known.low, least), min(a.known.high, 100)
    return Term(f"{target.value}({text})", target, Known(int(min(low, 100)), int(max(high, least))))


def _from_integer(a: Term, target: ComponentType) -> Term:
    """Extended or truncated, or as a float; what that would round is masked first."""
    if target.is_float:
        if a.known.size > 1 << target.format.precision:
            a = Term(f"({a.text} & 127)", a.type, Known(0, 127))
        return Term(f"{target.value}({_bare(a.text)})", target, a.known)
    least, most = limits(target)
    known = a.known if least <= a.known.low and a.known.high <= most else anything(target)
    return Term(f"{target.value}({_bare(a.text)})", target, known)
