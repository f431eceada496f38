"""Random well-typed expressions of callbacks in which nothing is undefined (docs/expressions.md).

Ranges are followed through every operation: shifts stay below the width, divisors away from 0,
conversions in range, array indices inside. Floats stay exact but for one last operation, so that no
comparison hangs on a rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cts.base.choices import Choices
from cts.case.model import ComponentType
from cts.generators.build import value_ranges
from cts.generators.policy.cases import CallbackDraws

_C = ComponentType

_NUMBERS = (1, 2, 3, 5, 7, 4, 10, 0, 13, 100, 6)
_FRACTIONS = ((0.5, -1), (0.25, -2), (1.5, -1), (-0.5, -1))


@dataclass(frozen=True)
class Term:
    """Part of a body: its text (in parentheses where it is an operation), type, and what is known of it."""

    text: str
    type: ComponentType
    known: value_ranges.Known
    number: bool = False


def bare(text: str) -> str:
    """Without the parentheses around the whole, where they are a pair."""
    if not text.startswith("("):
        return text
    depth = 0
    for i, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth == 0:
            return text[1:-1] if i == len(text) - 1 else text
    return text


class Trees:
    """Draws trees of operations over terms."""

    def __init__(self, choices: Choices, terms: Sequence[Term]) -> None:
        self.choices = choices
        self.terms = terms

    def draw(self, component: ComponentType, depth: int) -> Term:
        """An operation of at most so many levels, or a leaf."""
        if depth == 0:
            return self.leaf(component)
        kind = self.choices.pick(CallbackDraws.EXPRESSIONS)
        if kind == 11:
            return self._select(component, depth)
        if kind >= 9:
            return self._unary(component, depth)
        if kind == 8 and not component.is_float:
            return self._by_number(component, depth)
        return self._binary(component, depth, kind)

    def leaf(self, component: ComponentType) -> Term:
        """One of the terms, converted if its type is another; now and then a number."""
        which, fraction, sign = self.choices.record(2 * len(self.terms), 9, 2)
        if which == 2 * len(self.terms):
            return self._number(component)
        term = self.terms[which // 2]
        if term.type is not component and not term.type.is_float and fraction >= 6:
            # Before the conversion, so that negative numbers are converted too.
            term = combined(
                term, Term(str(3 + sign), term.type, value_ranges.Known(3 + sign, 3 + sign), number=True), "-"
            )
        return converted(term, component) or self._number(component)

    def _number(self, component: ComponentType) -> Term:
        which, fraction = self.choices.record(len(_NUMBERS) - 1, 9)
        if component.is_float and fraction >= 7:
            value, grain = _FRACTIONS[which % len(_FRACTIONS)]
            return Term(repr(value), component, value_ranges.Known(value, value, grain), number=True)
        number = _NUMBERS[which]
        return Term(str(number), component, value_ranges.Known(number, number), number=True)

    def operand(self, component: ComponentType, depth: int) -> Term:
        """An operand that has a type of its own: a plain number gets it by a conversion."""
        term = self.choices.group(lambda c: Trees(c, self.terms).draw(component, depth))
        return Term(f"{component.value}({term.text})", component, term.known) if term.number else term

    def _binary(self, component: ComponentType, depth: int, kind: int) -> Term:
        a = self.operand(component, depth - 1)
        b = self.choices.group(lambda c: Trees(c, self.terms).draw(component, self.choices.between(0, depth - 1)))
        operations = (
            ("+", "-", "*", "min", "max") if component.is_float else ("+", "-", "*", "min", "max", "&", "|", "^", "+")
        )
        operation = operations[(kind * 5 + self.choices.pick(CallbackDraws.OPERATIONS)) % len(operations)]
        if component.is_float and operation in "+-*":
            known = combined(a, b, operation).known
            if known.bounded and (known.grain is None or known.size > 1 << 20):
                operation = "min"
        elif component.is_float and not (a.known.bounded and b.known.bounded) and operation != "max":
            # Of NaN and a number either is the minimum.
            operation = "+"
        if self.choices.chance(CallbackDraws.SWAPPED) and not b.number:
            a, b = b, a
        return combined(a, b, operation)

    def _unary(self, component: ComponentType, depth: int) -> Term:
        a = self.operand(component, depth - 1)
        unsigned = not component.is_float and not component.is_signed
        operation = self.choices.pick(("-", "~", "abs"))
        if operation == "~" and not component.is_float:
            return Term(f"(~{a.text})", component, value_ranges.anything(component))
        if operation == "abs" and not unsigned:
            low, high = 0.0, a.known.size
            return Term(f"abs({bare(a.text)})", component, value_ranges.settled(component, low, high, a.known.grain))
        return Term(f"(-{a.text})", component, value_ranges.negated(component, a.known))

    def _by_number(self, component: ComponentType, depth: int) -> Term:
        """A shift by less than the width, or a division or remainder by a number that is not 0."""
        a = self.operand(component, depth - 1)
        width = 8 * component.size
        kind, amount = self.choices.record(4, width - 1)
        if kind >= 3 and not component.is_signed:
            divisor = 1 + amount % 11
            high = a.known.high // divisor if kind == 3 else min(a.known.high, divisor - 1)
            return Term(f"({a.text} {'//' if kind == 3 else '%'} {divisor})", component, value_ranges.Known(0, high))
        if kind == 1:
            return Term(f"({a.text} << {amount})", component, value_ranges.anything(component))
        low, high = int(a.known.low) >> amount, int(a.known.high) >> amount
        return Term(f"({a.text} >> {amount})", component, value_ranges.Known(low, high))

    def _select(self, component: ComponentType, depth: int) -> Term:
        condition = self.choices.group(lambda c: Trees(c, self.terms).condition(1))
        a = self.operand(component, depth - 1)
        b = self.operand(component, 0)
        return Term(f"({a.text} if {condition} else {b.text})", component, a.known.union(b.known))

    def condition(self, depth: int) -> str:
        kind, order = self.choices.record(5, 5)
        if depth and kind >= 3:
            parts = [self.choices.group(lambda c: Trees(c, self.terms).condition(0)) for _ in range(2)]
            return (f"({parts[0]} and {parts[1]})", f"({parts[0]} or {parts[1]})", f"(not {parts[0]})")[kind - 3]
        exact = [
            t for t in self.terms if (t.known.grain is not None or not t.known.bounded) and not t.type.storage_only
        ]
        # Of terms that are all inexact nothing can be compared: then numbers are.
        exact = exact or [Term("uint32(1)", _C.uint32, value_ranges.Known(1, 1))]
        a = self.choices.pick(exact)
        b = self.choices.group(lambda c: Trees(c, exact).leaf(a.type))
        return f"({a.text} {('<', '<=', '>', '>=', '==', '!=')[order]} {b.text})"


def counted(name: str, count: int) -> Term:
    """A name for numbers from 0 on, `count` of them."""
    return Term(name, _C.uint32, value_ranges.Known(0, count - 1))


def combined(a: Term, b: Term, operation: str) -> Term:
    """Two operands of one type by an operator, `min` or `max`, in parentheses where it is an operation."""
    component = a.type
    if operation in ("min", "max"):
        pick = min if operation == "min" else max
        known = replace(
            a.known.union(b.known), low=pick(a.known.low, b.known.low), high=pick(a.known.high, b.known.high)
        )
        if not (a.known.bounded and b.known.bounded):
            known = value_ranges.UNBOUNDED
        return Term(f"{operation}({bare(a.text)}, {bare(b.text)})", component, known)
    if operation in ("&", "|", "^"):
        known = value_ranges.anything(component)
        if operation == "&" and min(a.known.low, b.known.low) >= 0:
            known = value_ranges.Known(0, min(a.known.high, b.known.high))
        return Term(f"({a.text} {operation} {b.text})", component, known)
    compute = {"+": value_ranges.added, "-": value_ranges.subtracted, "*": value_ranges.multiplied}[operation]
    return Term(f"({a.text} {operation} {b.text})", component, compute(component, a.known, b.known))


def converted(a: Term, target: ComponentType) -> Term | None:
    """A term as another type; None if the conversion is inexact or useless."""
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
        fits = value_ranges.settled(target, a.known.low, a.known.high, a.known.grain)
        return None if fits.grain is None else Term(f"{target.value}({bare(a.text)})", target, fits)
    least = -100 if target.is_signed else 0
    text = f"clamp({bare(a.text)}, {least}, 100)"
    low, high = max(a.known.low, least), min(a.known.high, 100)
    return Term(f"{target.value}({text})", target, value_ranges.Known(int(min(low, 100)), int(max(high, least))))


def _from_integer(a: Term, target: ComponentType) -> Term:
    """Extended or truncated, or as a float; what that would round is masked first."""
    if target.is_float:
        if a.known.size > 1 << target.format.precision:
            a = Term(f"({a.text} & 127)", a.type, value_ranges.Known(0, 127))
        return Term(f"{target.value}({bare(a.text)})", target, a.known)
    least, most = value_ranges.limits(target)
    known = a.known if least <= a.known.low and a.known.high <= most else value_ranges.anything(target)
    return Term(f"{target.value}({bare(a.text)})", target, known)
