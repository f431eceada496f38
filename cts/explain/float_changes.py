"""Simplifications of float programs that modules forbid: results not rounded, sums distributed, constants folded.

Each changed case computes what the compiler would have. The oracle judges it as strictly as the case itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from msgspec import structs

from cts.explain.change import Change, with_instruction
from cts.model import (
    AnyInstruction,
    Arithmetic,
    BlockStart,
    Case,
    Component,
    ComponentType,
    Conversion,
    CopyPath,
    FastMath,
    FloatControls,
    FloatMode,
    MatrixArithmetic,
    MatrixComponents,
    MatrixConstant,
    MatrixConvert,
    MatrixCopy,
    MatrixMulAdd,
    MatrixNull,
    MatrixShape,
    MatrixTimesScalar,
    MatrixType,
    encode,
    number_of,
    references,
    types_of,
)
from cts.model.instructions import defined_ids

_SUMS = (Arithmetic.FAdd, Arithmetic.FSub)
_FLOATS = (*_SUMS, Arithmetic.FMul, Arithmetic.FDiv, Arithmetic.FNegate)
_ZERO, _ONE = 0, 1


class _Term(NamedTuple):
    """A matrix that is added, or subtracted."""

    name: str
    negative: bool


class Simplifier:
    """The program up to an instruction, whose last value every name has."""

    def __init__(self, case: Case, index: int) -> None:
        self.case, self.index = case, index
        self.types = types_of(case)
        self.instruction: Any = case.program[index]
        ids = defined_ids(case.program)[:index]
        count = Counter(name for names in ids for name in names)
        self.makers = {name: n for n, names in enumerate(ids) for name in names if count[name] == 1}

    def maker(self, name: str) -> Any:
        """The instruction that makes a matrix; None if several do, as in loops."""
        made = None if name not in self.makers else self.case.program[self.makers[name]]
        return None if isinstance(made, BlockStart) else made

    def component(self, name: str) -> ComponentType | None:
        shape = self.types.get(name)
        return shape.component if isinstance(shape, MatrixShape) else None

    def declared(self, name: str) -> MatrixType:
        shape = self.types[name]
        assert isinstance(shape, MatrixShape)
        return shape.declared

    def fresh(self, name: str) -> str:
        while name in self.types:
            name += "_"
        return name

    def at(self, name: str) -> str:
        """A matrix's instruction, in words."""
        return f"program[{self.makers[name]}] {_kind(self.maker(name))}"

    @property
    def here(self) -> str:
        return f"program[{self.index}] {_kind(self.instruction)}"

    def instead(self, what: str, facts: tuple[str, ...], *instructions: AnyInstruction, **fields: Any) -> Change:
        """The case with other instructions in the place of this one."""
        program = (*self.case.program[: self.index], *instructions, *self.case.program[self.index + 1 :])
        return Change(what, facts, structs.replace(self.case, program=program, **fields), simplified=True)

    def constant(self, name: str) -> float | None:
        """The number that every element of a constant is; None for other matrices and for NaN."""
        made = self.maker(name)
        if isinstance(made, MatrixNull):
            return 0.0
        return self.number(self.component(name), made.value) if isinstance(made, MatrixConstant) else None

    def number(self, component: ComponentType | None, value: Any) -> float | None:
        """The number of a component value; None of a type without arithmetic."""
        if component not in (ComponentType.float16, ComponentType.float32):
            return None
        return float(encode(component, [number_of(value)]).view(component.dtype)[0])


def _kind(instruction: Any) -> str:
    operation = getattr(instruction, "operation", None)
    return type(instruction).__name__ if operation is None else str(operation.value)


def of_floats(case: Case, index: int) -> Iterator[Change]:
    """What a compiler may make of program[index] only in a module that does not bind its roundings and zeros."""
    if case.float_controls is FloatControls.Undecorated:
        return
    s = Simplifier(case, index)
    match s.instruction:
        case MatrixArithmetic(operation=operation) if operation in _FLOATS:
            yield from _folded(s)
            yield from _cancelled(s)
            yield from _distributed(s)
            yield from _among_products(s)
            yield from _unrounded(s)
        case MatrixTimesScalar():
            yield from _scaled(s)
            yield from _distributed(s)
            yield from _unrounded(s)
        case MatrixConvert():
            yield from _converted(s)
        case _:
            pass
    yield from _modes(case)


def of_freedoms(case: Case, index: int) -> Iterator[Change]:
    """Program[index] with the liberties of fast math, which its module does not give it (NU-017, NU-049, NU-050)."""
    i: Any = case.program[index]
    given = case.fast_math or any(getattr(x, "fast_math", None) is not None for x in case.program)
    if case.float_controls is FloatControls.NoContraction:
        what = "the module had left its roundings free, without NoContraction"
        changed = structs.replace(case, float_controls=FloatControls.Undecorated)
        yield Change(what, ("NU-019",), changed)
    if case.float_controls is FloatControls.FastMathNone and hasattr(i, "fast_math"):
        for fact, own, what, bits in _LIBERTIES:
            changed = with_instruction(case, index, structs.replace(i, fast_math=bits))
            facts = (fact, "NU-048") if given else (own,)
            yield Change(f"program[{index}] {what}", facts, changed)


#: The fact that gives a liberty, the fact against it in modules without any fast math, its words, and its bits.
_LIBERTIES: tuple[tuple[str, str, str, tuple[FastMath, ...]], ...] = (
    ("NU-049", "NU-019", "might be rearranged with its operands", (FastMath.AllowContract, FastMath.AllowReassoc)),
    ("NU-050", "NU-020", "had NSZ", (FastMath.NSZ,)),
)

#: Of each execution mode the fact, and the mode that a driver may take for it.
_MODES = {
    FloatMode.DenormPreserve: ("NU-042", FloatMode.DenormFlushToZero),
    FloatMode.DenormFlushToZero: ("NU-043", FloatMode.DenormPreserve),
    FloatMode.RoundingModeRTE: ("NU-044", FloatMode.RoundingModeRTZ),
    FloatMode.RoundingModeRTZ: ("NU-044", FloatMode.RoundingModeRTE),
    FloatMode.SignedZeroInfNanPreserve: ("NU-045", None),
}


def _modes(case: Case) -> Iterator[Change]:
    """An execution mode of floats that had no effect, or that of its opposite."""
    for width, modes in case.float_modes.items():
        for mode in modes:
            fact, opposite = _MODES[mode]
            others = tuple(m for m in (opposite if m is mode else m for m in modes) if m is not None)
            changed = {w: m for w, m in {**case.float_modes, width: others}.items() if m}
            what = f"{mode.value} of {width.value} were {'missing' if opposite is None else opposite.value}"
            yield Change(what, (fact,), structs.replace(case, float_modes=changed), simplified=True)


def _copy(name: str, source: str) -> MatrixCopy:
    return MatrixCopy(name, source, CopyPath.CopyObject)


_FOLDED = ("NU-020",)


def _folded(s: Simplifier) -> Iterator[Change]:
    """A constant 0 or 1, or equal operands, that decide the result."""
    i = s.instruction
    a, b = (None if name is None else s.constant(name) for name in (i.a, i.b))
    null, negated = MatrixNull(i.id, s.declared(i.id)), MatrixArithmetic(i.id, Arithmetic.FNegate, i.b or i.a)
    match i.operation:
        case Arithmetic.FAdd | Arithmetic.FSub if b == _ZERO:
            yield s.instead(f"{s.here} of a constant 0 gave {i.a!r} as it was", _FOLDED, _copy(i.id, i.a))
        case Arithmetic.FAdd if a == _ZERO:
            yield s.instead(f"{s.here} of a constant 0 gave {i.b!r} as it was", _FOLDED, _copy(i.id, i.b))
        case Arithmetic.FSub if a == _ZERO:
            yield s.instead(f"{s.here} from a constant 0 was the negation of {i.b!r}", _FOLDED, negated)
        case Arithmetic.FSub if i.a == i.b:
            yield s.instead(f"{s.here} of {i.a!r} from itself gave 0, also of infinities and NaNs", _FOLDED, null)
        case Arithmetic.FMul if _ZERO in (a, b):
            yield s.instead(f"{s.here} of a constant 0 gave 0, whatever the other factor", _FOLDED, null)
        case Arithmetic.FDiv if a == _ZERO:
            yield s.instead(f"{s.here} of a constant 0 gave 0, whatever the divisor", _FOLDED, null)
        case Arithmetic.FMul | Arithmetic.FDiv if b == _ONE:
            yield s.instead(f"{s.here} by a constant 1 gave {i.a!r} as it was", _FOLDED, _copy(i.id, i.a))
        case Arithmetic.FDiv if i.a == i.b:
            one = MatrixConstant(i.id, s.declared(i.id), _ONE)
            yield s.instead(f"{s.here} of {i.a!r} by itself gave 1, also of zeros and NaNs", _FOLDED, one)
        case _:
            pass


def _scaled(s: Simplifier) -> Iterator[Change]:
    i = s.instruction
    scalar = s.number(s.component(i.matrix), i.scalar)
    if scalar == _ZERO:
        null = MatrixNull(i.id, s.declared(i.id))
        yield s.instead(f"{s.here} by 0 gave 0, whatever the matrix", _FOLDED, null)
    elif scalar == _ONE:
        yield s.instead(f"{s.here} by 1 gave {i.matrix!r} as it was", _FOLDED, _copy(i.id, i.matrix))


def _signed(operation: Arithmetic, a: str, b: str) -> tuple[_Term, _Term]:
    return _Term(a, False), _Term(b, operation is Arithmetic.FSub)


def _cancelled(s: Simplifier) -> Iterator[Change]:
    """Make x of x + c - c, whatever is added and subtracted again."""
    i = s.instruction
    if i.operation not in _SUMS:
        return
    for place, inner in enumerate((i.a, i.b)):
        made = s.maker(inner)
        if not isinstance(made, MatrixArithmetic) or made.operation not in _SUMS or made.b is None:
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
                    MatrixArithmetic(i.id, Arithmetic.FNegate, left.name) if left.negative else _copy(i.id, left.name)
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
    given, more, left = constants[n], s.constant(other.name), terms[1 - n]
    assert given is not None and more is not None
    number = (-given if terms[n].negative else given) + (-more if other.negative else more)
    if left.negative or number == _ZERO:
        return
    name = s.fresh("joined")
    constant = MatrixConstant(name, s.declared(i.id), number)
    what = f"{s.at(inner)} and {s.here} were one sum with the constant {number:g}"
    yield s.instead(what, ("NU-019", "NU-011"), constant, MatrixArithmetic(i.id, Arithmetic.FAdd, left.name, name))


def _same(s: Simplifier, a: str, b: str) -> bool:
    return a == b or (s.constant(a) is not None and s.constant(a) == s.constant(b))


def _distributed(s: Simplifier) -> Iterator[Change]:
    """-(x + y) as -x - y, and (x + y) * z as x * z + y * z, or these taken together."""
    i = s.instruction
    first, second = s.fresh(f"{i.id}_a"), s.fresh(f"{i.id}_b")
    if isinstance(i, MatrixTimesScalar):
        made = s.maker(i.matrix)
        if _is_sum(made):
            parts = [structs.replace(i, id=n, matrix=m) for n, m in ((first, made.a), (second, made.b))]
            what = f"{s.here} was distributed over {s.at(i.matrix)}"
            yield s.instead(what, ("NU-019",), *parts, structs.replace(made, id=i.id, a=first, b=second))
        return
    made = s.maker(i.a)
    if i.operation is Arithmetic.FNegate and _is_sum(made):
        what = f"{s.here} was moved into {s.at(i.a)}"
        if made.operation is Arithmetic.FSub:
            yield s.instead(what, ("NU-020", "NU-019"), structs.replace(made, id=i.id, a=made.b, b=made.a))
        else:
            minus = MatrixArithmetic(first, Arithmetic.FNegate, made.a)
            yield s.instead(what, ("NU-020", "NU-019"), minus, MatrixArithmetic(i.id, Arithmetic.FSub, first, made.b))
    if i.operation in (Arithmetic.FMul, Arithmetic.FDiv):
        for field in ("a", "b") if i.operation is Arithmetic.FMul else ("a",):
            inner = getattr(i, field)
            made = s.maker(inner)
            if _is_sum(made):
                parts = [structs.replace(i, id=n, **{field: m}) for n, m in ((first, made.a), (second, made.b))]
                what = f"{s.here} was distributed over {s.at(inner)}"
                yield s.instead(what, ("NU-019",), *parts, structs.replace(made, id=i.id, a=first, b=second))
    if i.operation in _SUMS:
        left, right = s.maker(i.a), s.maker(i.b)
        if all(isinstance(m, MatrixArithmetic) and m.operation is Arithmetic.FMul for m in (left, right)):
            for common in sorted({left.a, left.b} & {right.a, right.b}):
                rest = [m.b if m.a == common else m.a for m in (left, right)]
                what = f"{s.here} took the factor {common!r} out of its products"
                factor = MatrixArithmetic(first, i.operation, *rest)
                yield s.instead(what, ("NU-019",), factor, MatrixArithmetic(i.id, Arithmetic.FMul, common, first))


def _is_sum(made: Any) -> bool:
    return isinstance(made, MatrixArithmetic) and made.operation in _SUMS


def _among_products(s: Simplifier) -> Iterator[Change]:
    """What is added to a product of matrices, added to its C."""
    i = s.instruction
    if i.operation not in _SUMS:
        return
    for name, other in ((i.a, i.b), (i.b, i.a)):
        made = s.maker(name)
        if not isinstance(made, MatrixMulAdd) or (i.operation is Arithmetic.FSub and name == i.b):
            continue
        c = s.fresh(f"{i.id}_c")
        what = f"{s.here} added {other!r} among the products of {s.at(name)}"
        total = MatrixArithmetic(c, i.operation, made.c, other)
        yield s.instead(what, ("NU-019",), total, structs.replace(made, id=i.id, c=c))


def _unrounded(s: Simplifier) -> Iterator[Change]:
    """The instruction and those that make its operands in float32, so that only the last result is rounded.

    Products of float16 numbers are exact there. No type of matrices holds those of float32.
    """
    i = s.instruction
    if s.component(i.id) is not ComponentType.float16:
        return
    chosen = [(name,) for name in dict.fromkeys(references(i)) if _computed(s.maker(name))]
    for names in (*chosen, *([tuple(n for (n,) in chosen)] if len(chosen) > 1 else [])):
        wide = _Wide(s, frozenset(s.makers[n] for n in names))
        result = wide.computed(i)
        back = MatrixConvert(i.id, result, Conversion.FConvert, ComponentType.float16)
        made = " and ".join(map(s.at, names))
        yield s.instead(f"{made} was not rounded before {s.here}", ("NU-019", "NU-011"), *wide.instructions, back)


def _computed(made: Any) -> bool:
    return isinstance(made, MatrixTimesScalar) or (isinstance(made, MatrixArithmetic) and made.operation in _FLOATS)


class _Wide:
    """Instructions that compute in float32 what some places of a program compute in float16."""

    def __init__(self, s: Simplifier, places: frozenset[int]) -> None:
        self.s, self.places = s, places
        self.instructions: list[AnyInstruction] = []
        self.names: dict[str, str] = {}

    def name(self, name: str) -> str:
        if name not in self.names:
            self.names[name] = wide = self.s.fresh(f"{name}_wide")
            if self.s.makers.get(name) in self.places:
                self.computed(self.s.maker(name))
            else:
                self.instructions.append(MatrixConvert(wide, name, Conversion.FConvert, ComponentType.float32))
        return self.names[name]

    def computed(self, i: Any) -> str:
        fields = {f: self.name(v) for f in ("a", "b", "matrix") if (v := getattr(i, f, None)) is not None}
        wide = self.names.setdefault(i.id, self.s.fresh(f"{i.id}_wide"))
        self.instructions.append(structs.replace(i, id=wide, **fields))
        return wide


_TO_INTEGERS = (Conversion.ConvertFToS, Conversion.ConvertFToU)
_TO_FLOATS = (Conversion.ConvertSToF, Conversion.ConvertUToF)


def _converted(s: Simplifier) -> Iterator[Change]:
    """Two conversions as one."""
    i = s.instruction
    made = s.maker(i.matrix)
    if not isinstance(made, MatrixConvert) or made.use is not None or made.transpose:
        return
    source = s.component(made.matrix)
    both = f"{s.at(i.matrix)} and {s.here}"
    if made.operation is Conversion.FConvert or i.operation is Conversion.FConvert:
        operation = made.operation if made.operation is not Conversion.FConvert else i.operation
        what = f"{both} were one conversion of {made.matrix!r}, without the rounding to {made.component.value}"
        one = structs.replace(i, matrix=made.matrix, operation=operation)
        unchanged = source is i.component and i.use is None and not i.transpose
        yield s.instead(what, ("NU-019", "NU-012"), _copy(i.id, made.matrix) if unchanged else one)
    if made.operation in _TO_INTEGERS and i.operation in _TO_FLOATS:
        yield from _truncated(s, made)


#: One truncation of a float: by way of integers, but a zero keeps its sign.
_TRUNCATED = "t = {float}({integer}(value))\nt if t != 0 else value * 0"


def _truncated(s: Simplifier, made: MatrixConvert) -> Iterator[Change]:
    """Integers between floats as one truncation, which gives back the sign of zero."""
    i = s.instruction
    before = s.maker(made.matrix)
    sources = [made.matrix]
    if isinstance(before, MatrixConvert) and before.operation is Conversion.FConvert and before.use is None:
        sources.append(before.matrix)
    for source in sources:
        component = s.component(source)
        if component not in (ComponentType.float16, ComponentType.float32):
            continue
        body = _TRUNCATED.format(float=component.value, integer=made.component.value)
        name = "truncated"
        while name in s.case.functions:
            name += "_"
        functions = {**s.case.functions, name: Component(component, body)}
        what = f"{s.at(made.id)} and {s.here} were one truncation of {source!r}, which keeps the sign of zero"
        if component is i.component and i.use is None and not i.transpose:
            steps: list[AnyInstruction] = [MatrixComponents(i.id, source, name)]
        else:
            between = s.fresh(f"{i.id}_truncated")
            convert = structs.replace(i, matrix=between, operation=Conversion.FConvert)
            steps = [MatrixComponents(between, source, name), convert]
        yield s.instead(what, ("NU-020", "NU-016"), *steps, functions=functions)
