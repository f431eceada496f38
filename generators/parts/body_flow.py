"""Branches and loops of callback bodies (CM-034), in which the ways that are not taken may be undefined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cts.base.choices import Choices
from cts.case.model import ComponentType
from cts.generators.build.value_ranges import Known
from cts.generators.parts.expressions import Term, Trees, bare, combined, counted
from cts.generators.policy.cases import CallbackDraws

#: The name that branches and loops assign, and that of a loop's index.
_RESULT, _INDEX = "r", "i"

_INDICES = (ComponentType.uint32, ComponentType.int32)


def draw_flow(choices: Choices, a: Term, terms: Sequence[Term]) -> tuple[list[str], Term]:
    """Lines that make something of `a`, by the ways that elements take, and what that is."""
    kind = choices.pick(CallbackDraws.BODY_FLOW)
    if kind in ("branch", "two branches"):
        return _draw_branch(choices, a, terms, has_else=kind == "two branches")
    if kind == "division" and not a.type.is_float and not a.type.is_signed:
        return _draw_guarded_division(choices, a, terms)
    indices = [t for t in terms if t.type in _INDICES and not t.number]
    if kind in ("division", "lookup") and indices:
        return _draw_guarded_lookup(choices, a, choices.pick(indices))
    return _draw_loop(choices, a, terms, branches=kind == "branching loop")


def indented(lines: Sequence[str]) -> list[str]:
    """Lines of a body one level further in."""
    return [f"    {line}" for line in lines]


def _result(like: Term, known: Known) -> Term:
    return replace(like, text=_RESULT, known=known)


def _draw_branch(choices: Choices, a: Term, terms: Sequence[Term], *, has_else: bool) -> tuple[list[str], Term]:
    """Another value where a condition holds; with an else, a name that both ways make."""
    condition = choices.group(lambda c: Trees(c, terms).condition(1))
    other = choices.group(lambda c: Trees(c, terms).operand(a.type, 1))
    first, known = f"{_RESULT} = {bare(a.text)}", a.known.union(other.known)
    branch = [f"if {bare(condition)}:", *indented([f"{_RESULT} = {bare(other.text)}"])]
    lines = [*branch, "else:", *indented([first])] if has_else else [first, *branch]
    return lines, _result(a, known)


def _draw_guarded_division(choices: Choices, a: Term, terms: Sequence[Term]) -> tuple[list[str], Term]:
    """A quotient or remainder where the divisor is not 0 (NU-004)."""
    divisor = choices.group(lambda c: Trees(c, terms).operand(a.type, 1))
    operator = choices.pick(("//", "%"))
    divided = [f"n = {bare(divisor.text)}", f"{_RESULT} = {bare(a.text)}"]
    # Both are no greater than what is divided.
    guard = ["if n != 0:", *indented([f"{_RESULT} = {_RESULT} {operator} n"])]
    return [*divided, *guard], _result(a, Known(0, a.known.high))


def _draw_guarded_lookup(choices: Choices, a: Term, index: Term) -> tuple[list[str], Term]:
    """An element of an array of constants where the index is inside (TA-073)."""
    numbers = [choices.pick(CallbackDraws.LOOKED_UP) for _ in range(choices.pick(CallbackDraws.LOOKUPS))]
    typed = (f"{a.type.value}({n})" for n in numbers)
    condition = f"{index.text} < {len(numbers)}"
    if index.type is ComponentType.int32:
        condition = f"{index.text} >= 0 and {condition}"
    looked_up = f"{_RESULT} = lookup({bare(index.text)}, {', '.join(typed)})"
    lines = [f"{_RESULT} = {bare(a.text)}", f"if {condition}:", *indented([looked_up])]
    return lines, _result(a, a.known.union(Known(min(numbers), max(numbers))))


def _draw_loop(choices: Choices, a: Term, terms: Sequence[Term], *, branches: bool) -> tuple[list[str], Term]:
    """Something combined with `a` in every iteration, or where a condition holds; it may depend on the index."""
    count = choices.pick(CallbackDraws.BODY_COUNTS)
    index = counted(_INDEX, count)
    inside = [*terms, index, index]
    term = choices.group(lambda c: Trees(c, inside).operand(a.type, 1))
    operators = ("+", "-", "max", "min") if a.type.is_float else ("+", "-", "^", "max")
    operator = choices.pick(operators)
    result = _result(a, a.known)
    if operator in "+-" and a.type.is_float and not _stays_exact(result, term, operator, count):
        operator = "max"
    for _ in range(count):
        updated = combined(result, term, operator)
        result = _result(a, updated.known.union(result.known) if branches else updated.known)
    update = f"{_RESULT} = {bare(updated.text)}"
    condition = choices.group(lambda c: Trees(c, inside).condition(0)) if branches else ""
    body = [f"if {bare(condition)}:", *indented([update])] if branches else [update]
    lines = [f"{_RESULT} = {bare(a.text)}", f"for {_INDEX} in range({count}):", *indented(body)]
    return lines, result


def _stays_exact(result: Term, term: Term, operator: str, count: int) -> bool:
    """Whether floats stay exact and small however often a term is added or subtracted."""
    for _ in range(count):
        known = combined(result, term, operator).known
        if not known.bounded or known.grain is None or known.size > 1 << 20:
            return False
        result = replace(result, known=known)
    return True
