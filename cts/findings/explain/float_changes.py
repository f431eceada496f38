"""Simplifications of float programs that modules forbid: results not rounded, sums distributed, constants folded.

Each changed case computes what the compiler would have. The oracle judges it as strictly as the case itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from msgspec import structs

from cts.case import model
from cts.findings.explain.change import Change
from cts.findings.explain.conversion_changes import of_conversions
from cts.findings.explain.float_environment import of_modes
from cts.findings.explain.simplifier import Simplifier, copy_of

_SUMS = (model.Arithmetic.FAdd, model.Arithmetic.FSub)
_FLOATS = (*_SUMS, model.Arithmetic.FMul, model.Arithmetic.FDiv, model.Arithmetic.FNegate)
_ZERO, _ONE = 0, 1


class _Term(NamedTuple):
    """A matrix that is added, or subtracted."""

    name: str
    negative: bool


def of_floats(case: model.Case, index: int) -> Iterator[Change]:
    """Cases that compute program[index] as compilers may only in modules that do not bind roundings and zeros."""
    if case.float_controls is model.FloatControls.Undecorated:
        return
    s = Simplifier(case, index)
    match s.instruction:
        case model.MatrixArithmetic(operation=operation) if operation in _FLOATS:
            yield from _folded(s)
            yield from _cancelled(s)
            yield from _distributed(s)
            yield from _among_products(s)
            yield from _unrounded(s)
        case model.MatrixTimesScalar():
            yield from _scaled(s)
            yield from _distributed(s)
            yield from _unrounded(s)
        case model.MatrixConvert():
            yield from of_conversions(s)
        case _:
            pass
    yield from of_modes(case)


_FOLDED = ("NU-020",)


def _folded(s: Simplifier) -> Iterator[Change]:
    """A constant 0 or 1, or equal operands, that decide the result."""
    i = s.instruction
    a, b = (None if name is None else s.constant(name) for name in (i.a, i.b))
    null, negated = (
        model.MatrixNull(i.id, s.declared(i.id)),
        model.MatrixArithmetic(i.id, model.Arithmetic.FNegate, i.b or i.a),
    )
    match i.operation:
        case model.Arithmetic.FAdd | model.Arithmetic.FSub if b == _ZERO:
            yield s.instead(f"{s.here} of a constant 0 gave {i.a!r} as it was", _FOLDED, copy_of(i.id, i.a))
        case model.Arithmetic.FAdd if a == _ZERO:
            yield s.instead(f"{s.here} of a constant 0 gave {i.b!r} as it was", _FOLDED, copy_of(i.id, i.b))
        case model.Arithmetic.FSub if a == _ZERO:
            yield s.instead(f"{s.here} from a constant 0 was the negation of {i.b!r}", _FOLDED, negated)
        case model.Arithmetic.FSub if i.a == i.b:
            yield s.instead(f"{s.here} of {i.a!r} from itself gave 0, also of infinities and NaNs", _FOLDED, null)
        case model.Arithmetic.FMul if _ZERO in (a, b):
            yield s.instead(f"{s.here} of a constant 0 gave 0, whatever the other factor", _FOLDED, null)
        case model.Arithmetic.FDiv if a == _ZERO:
            yield s.instead(f"{s.here} of a constant 0 gave 0, whatever the divisor", _FOLDED, null)
        case model.Arithmetic.FMul | model.Arithmetic.FDiv if b == _ONE:
            yield s.instead(f"{s.here} by a constant 1 gave {i.a!r} as it was", _FOLDED, copy_of(i.id, i.a))
        case model.Arithmetic.FDiv if i.a == i.b:
            ones = model.MatrixConstant(i.id, s.declared(i.id), _ONE)
            yield s.instead(f"{s.here} of {i.a!r} by itself gave 1, also of zeros and NaNs", _FOLDED, ones)
        case _:
            pass


def _scaled(s: Simplifier) -> Iterator[Change]:
    i = s.instruction
    scalar = s.number(s.component(i.matrix), i.scalar)
    if scalar == _ZERO:
        null = model.MatrixNull(i.id, s.declared(i.id))
        yield s.instead(f"{s.here} by 0 gave 0, whatever the matrix", _FOLDED, null)
    elif scalar == _ONE:
        yield s.instead(f"{s.here} by 1 gave {i.matrix!r} as it was", _FOLDED, copy_of(i.id, i.matrix))


def _signed(operation: model.Arithmetic, a: str, b: str) -> tuple[_Term, _Term]:
    return _Term(a, False), _Term(b, operation is model.Arithmetic.FSub)


def _cancelled(s: Simplifier) -> Iterator[Change]:
    """Make x of x + c - c, whatever is added and subtracted again."""
    i = s.instruction
    if i.operation not in _SUMS:
        return
    for place, inner in enumerate((i.a, i.b)):
        made = s.maker(inner)
        if not isinstance(made, model.MatrixArithmetic) or made.operation not in _SUMS or made.b is None:
            continue
        outer = _signed(i.operation, i.a, i.b)
        terms = [
            t._replace(negative=t.negative ^ outer[place].negative) for t in _signed(made.operation, made.a, made.b)
        ]
        other = outer[1 - place]
        for n, term in enumerate(terms):
            if _same(s, term.name, other.name) and term.negative != other.negative:
                left = terms[1 - n]
                what = f"{s.at(inner)} and {s.here} cancelled {other.name!r} out"
                made_of = (
                    model.MatrixArithmetic(i.id, model.Arithmetic.FNegate, left.name)
                    if left.negative
                    else copy_of(i.id, left.name)
                )
                yield s.instead(what, ("NU-019", "NU-011"), made_of)
        constants = [s.constant(t.name) for t in terms]
        if s.constant(other.name) is not None and any(c is not None for c in constants):
            yield from _joined(s, inner, terms, constants, other)


def _joined(
    s: Simplifier, inner: str, terms: Sequence[_Term], constants: Sequence[float | None], other: _Term
) -> Iterator[Change]:
    """Make x + (c + d) of x + c + d, if c and d are constants."""
    i = s.instruction
    n = next(n for n, c in enumerate(constants) if c is not None)
    number_here, number_there, left = constants[n], s.constant(other.name), terms[1 - n]
    assert number_here is not None and number_there is not None
    number = (-number_here if terms[n].negative else number_here) + (-number_there if other.negative else number_there)
    if left.negative or number == _ZERO:
        return
    name = s.fresh("joined")
    constant = model.MatrixConstant(name, s.declared(i.id), number)
    what = f"{s.at(inner)} and {s.here} were one sum with the constant {number:g}"
    yield s.instead(
        what, ("NU-019", "NU-011"), constant, model.MatrixArithmetic(i.id, model.Arithmetic.FAdd, left.name, name)
    )


def _same(s: Simplifier, a: str, b: str) -> bool:
    return a == b or (s.constant(a) is not None and s.constant(a) == s.constant(b))


def _distributed(s: Simplifier) -> Iterator[Change]:
    """-(x + y) as -x - y, and (x + y) * z as x * z + y * z, or these taken together."""
    i = s.instruction
    first, second = s.fresh(f"{i.id}_a"), s.fresh(f"{i.id}_b")
    if isinstance(i, model.MatrixTimesScalar):
        made = s.maker(i.matrix)
        if _is_sum(made):
            parts = [structs.replace(i, id=n, matrix=m) for n, m in ((first, made.a), (second, made.b))]
            what = f"{s.here} was distributed over {s.at(i.matrix)}"
            yield s.instead(what, ("NU-019",), *parts, structs.replace(made, id=i.id, a=first, b=second))
        return
    made = s.maker(i.a)
    if i.operation is model.Arithmetic.FNegate and _is_sum(made):
        what = f"{s.here} was moved into {s.at(i.a)}"
        if made.operation is model.Arithmetic.FSub:
            yield s.instead(what, ("NU-020", "NU-019"), structs.replace(made, id=i.id, a=made.b, b=made.a))
        else:
            minus = model.MatrixArithmetic(first, model.Arithmetic.FNegate, made.a)
            yield s.instead(
                what, ("NU-020", "NU-019"), minus, model.MatrixArithmetic(i.id, model.Arithmetic.FSub, first, made.b)
            )
    if i.operation in (model.Arithmetic.FMul, model.Arithmetic.FDiv):
        for field in ("a", "b") if i.operation is model.Arithmetic.FMul else ("a",):
            inner = getattr(i, field)
            made = s.maker(inner)
            if _is_sum(made):
                parts = [structs.replace(i, id=n, **{field: m}) for n, m in ((first, made.a), (second, made.b))]
                what = f"{s.here} was distributed over {s.at(inner)}"
                yield s.instead(what, ("NU-019",), *parts, structs.replace(made, id=i.id, a=first, b=second))
    if i.operation in _SUMS:
        left, right = s.maker(i.a), s.maker(i.b)
        if all(isinstance(m, model.MatrixArithmetic) and m.operation is model.Arithmetic.FMul for m in (left, right)):
            for common in sorted({left.a, left.b} & {right.a, right.b}):
                rest = [m.b if m.a == common else m.a for m in (left, right)]
                what = f"{s.here} took the factor {common!r} out of its products"
                factor = model.MatrixArithmetic(first, i.operation, *rest)
                yield s.instead(
                    what, ("NU-019",), factor, model.MatrixArithmetic(i.id, model.Arithmetic.FMul, common, first)
                )


def _is_sum(made: Any) -> bool:
    return isinstance(made, model.MatrixArithmetic) and made.operation in _SUMS


def _among_products(s: Simplifier) -> Iterator[Change]:
    """A matrix that is added to a product of matrices, added to the product's C."""
    i = s.instruction
    if i.operation not in _SUMS:
        return
    for name, other in ((i.a, i.b), (i.b, i.a)):
        made = s.maker(name)
        if not isinstance(made, model.MatrixMulAdd) or (i.operation is model.Arithmetic.FSub and name == i.b):
            continue
        c = s.fresh(f"{i.id}_c")
        what = f"{s.here} added {other!r} among the products of {s.at(name)}"
        total = model.MatrixArithmetic(c, i.operation, made.c, other)
        yield s.instead(what, ("NU-019",), total, structs.replace(made, id=i.id, c=c))


def _unrounded(s: Simplifier) -> Iterator[Change]:
    """The instruction and those that make its operands in float32, so that only the last result is rounded.

    Products of float16 numbers are exact there. No type of matrices holds those of float32.
    """
    i = s.instruction
    if s.component(i.id) is not model.ComponentType.float16:
        return
    chosen = [(name,) for name in dict.fromkeys(model.references(i)) if _computed(s.maker(name))]
    for names in (*chosen, *([tuple(n for (n,) in chosen)] if len(chosen) > 1 else [])):
        wide = _Wide(s, frozenset(s.makers[n] for n in names))
        result = wide.computed(i)
        back = model.MatrixConvert(i.id, result, model.Conversion.FConvert, model.ComponentType.float16)
        made = " and ".join(map(s.at, names))
        yield s.instead(f"{made} was not rounded before {s.here}", ("NU-019", "NU-011"), *wide.instructions, back)


def _computed(made: Any) -> bool:
    return isinstance(made, model.MatrixTimesScalar) or (
        isinstance(made, model.MatrixArithmetic) and made.operation in _FLOATS
    )


class _Wide:
    """Instructions that compute in float32 what some places of a program compute in float16."""

    def __init__(self, s: Simplifier, places: frozenset[int]) -> None:
        self.s, self.places = s, places
        self.instructions: list[model.AnyInstruction] = []
        self.names: dict[str, str] = {}

    def name(self, name: str) -> str:
        if name not in self.names:
            self.names[name] = wide = self.s.fresh(f"{name}_wide")
            if self.s.makers.get(name) in self.places:
                self.computed(self.s.maker(name))
            else:
                self.instructions.append(
                    model.MatrixConvert(wide, name, model.Conversion.FConvert, model.ComponentType.float32)
                )
        return self.names[name]

    def computed(self, i: Any) -> str:
        fields = {f: self.name(v) for f in ("a", "b", "matrix") if (v := getattr(i, f, None)) is not None}
        wide = self.names.setdefault(i.id, self.s.fresh(f"{i.id}_wide"))
        self.instructions.append(structs.replace(i, id=wide, **fields))
        return wide
