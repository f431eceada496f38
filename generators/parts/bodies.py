"""Random bodies of callbacks in which nothing is undefined: a line or two, branches and loops, and the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cts.base.choices import Choices
from cts.case.model import ComponentType
from cts.generators.build.value_ranges import CONVERTED, UNBOUNDED, Known, settled
from cts.generators.parts.body_flow import draw_flow
from cts.generators.parts.expressions import Term, Trees, bare, converted
from cts.generators.policy.cases import CallbackDraws

_C = ComponentType


def draw_body(choices: Choices, returns: ComponentType, terms: Sequence[Term], *, inexact: bool = True) -> Term:
    """A body with a result of type `returns` over `terms`, parameters and fields; some lines at most."""
    lines = []
    known = list(terms)
    depth = choices.pick(CallbackDraws.DEPTHS)
    working = _C.float32 if returns.storage_only else returns
    if choices.chance(CallbackDraws.NAMED_LINE):
        line = choices.group(lambda c: Trees(c, known).draw(working, 1))
        if not line.number:
            lines.append(f"t = {bare(line.text)}")
            known.append(Term("t", line.type, line.known))
    result = choices.group(lambda c: Trees(c, known).draw(working, depth))
    special = [wide for t in terms if not t.known.bounded and (wide := converted(t, working)) is not None]
    if special and not result.number and choices.chance(CallbackDraws.COMPARED):
        result = _draw_compared(choices, result, special)
    if not result.number and choices.chance(CallbackDraws.FLOW):
        more, result = choices.group(lambda c: draw_flow(c, result, known))
        lines += more
    if inexact and working.is_float:
        result = _draw_last(choices, result)
    if working is not returns:
        result = narrowed(returns, result)
    return replace(result, text="\n".join([*lines, bare(result.text)]))


def _draw_compared(choices: Choices, a: Term, special: Sequence[Term]) -> Term:
    """`a` where a comparison of a number that may be infinite or NaN holds, else another number; or a magnitude."""
    which, order, other = choices.record(len(special) - 1, 8, 2)
    if order > 5:
        text = bare(special[which].text)
        return Term(f"abs({text})", a.type, UNBOUNDED)
    operation = ("<", "<=", ">", ">=", "==", "!=")[order]
    value, number = special[which], (2, 0, -1)[other]
    form = choices.pick(CallbackDraws.COMPARISONS)
    if "value" in form:
        condition = f"{value.text} {operation} {special[(which + other) % len(special)].text}"
    elif form == "number first":
        condition = f"{value.type.value}({number}) {operation} {value.text}"
    else:
        condition = f"{value.text} {operation} {number}"
    if "negated" in form:
        condition = f"not ({condition})"
    return Term(f"({a.text} if {condition} else {a.type.value}(7))", a.type, a.known.union(Known(7, 7)))


def _draw_last(choices: Choices, a: Term) -> Term:
    """Mostly `a` itself; sometimes an operation whose result is rounded."""
    kind = choices.pick(CallbackDraws.LAST)
    if a.number or kind == "itself" or (kind in ("exponential", "sigmoid") and not a.known.bounded):
        # No clamp has a result of NaN.
        return a
    if kind == "there and back":
        # The type has no odd numbers next to this one: there a strict program must round (NU-019).
        coarse = 1 << a.type.format.precision if a.type.is_ieee else 0
        if a.known.size > coarse:
            return a
        return Term(f"(({a.text} + {coarse}) - {coarse})", a.type, Known(-a.known.size - 2, a.known.size + 2, None))
    if kind == "third":
        return Term(f"({a.text} / 3)", a.type, Known(a.known.low, a.known.high, None))
    if kind == "exponential":
        return Term(f"exp(clamp({a.text}, -3, 4))", a.type, Known(0, 60, None))
    if kind == "reciprocal":
        return Term(f"(1 / (abs({a.text}) + 3))", a.type, Known(0, 1, None) if a.known.bounded else UNBOUNDED)
    return Term(f"({a.text} * exp(clamp({a.text}, -2, 1)))", a.type, Known(-3 * a.known.size, 3 * a.known.size, None))


def narrowed(target: ComponentType, a: Term) -> Term:
    """A float32 result as one of a type without arithmetic."""
    most = CONVERTED[target]
    if a.number:
        a = replace(a, text=f"float32({a.text})", number=False)
    if not a.known.bounded:
        return Term(f"{target.value}({bare(a.text)})", target, UNBOUNDED)
    text = a.text if a.known.size <= most else f"clamp({bare(a.text)}, {-most}, {most})"
    size = min(a.known.size, most)
    return Term(f"{target.value}({bare(text)})", target, settled(target, -size, size, a.known.grain))
