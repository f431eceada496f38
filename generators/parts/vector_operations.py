"""Operations on the components of vectors (CV-012): operands for which they are defined, what is known of results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from cts.base.choices import Choices
from cts.case.model import ComponentType, VectorArithmetic, VectorOperation
from cts.case.model.component import Number
from cts.device.capabilities import Capabilities, Feature
from cts.generators.build import value_ranges
from cts.generators.build.contents import Contents, Wanted, consecutive, draw_contents
from cts.generators.build.specials import draw_numbers, some_specials
from cts.generators.build.supports import VECTOR_ARITHMETIC
from cts.generators.build.value_ranges import within as holds
from cts.generators.build.vector_kernels import Vector, VectorKernel
from cts.generators.policy.vectors import VectorDraws

_C = ComponentType
_O = VectorOperation


_INTEGER = (
    _O.IAdd, _O.ISub, _O.IMul, _O.SNegate, _O.BitwiseAnd, _O.BitwiseOr, _O.BitwiseXor, _O.Not, _O.SMax, _O.SMin,
    _O.UMax, _O.UMin, _O.ShiftLeftLogical, _O.ShiftRightLogical, _O.ShiftRightArithmetic, _O.SClamp, _O.UClamp,
    _O.SDiv, _O.UDiv,
)  # fmt: skip
#: Listed twice: what every implementation computes in its own way, and the one whose third operand may be any vector.
_FLOAT = (
    _O.FAdd, _O.FSub, _O.FMul, _O.FNegate, _O.FMax, _O.FMin, _O.NMax, _O.NMin, _O.FClamp, _O.NClamp, _O.Step, _O.Fma,
    _O.Fma, _O.FDiv, *2 * (_O.Tanh, _O.Exp, _O.Log, _O.Atan),
)  # fmt: skip
#: In cases with special numbers, of which those four take none: once, and rather sums and signs.
_IEEE = (*_FLOAT[:-4], _O.FAdd, _O.FSub, _O.FAdd, _O.FNegate)

#: Beyond these exp overflows, and with it tanh, or its precision is of no use.
EXPONENTS = {_C.float16: 8.0, _C.float32: 60.0}

_NUMBERS: tuple[Number, ...] = (2, -1, 3, 0.5, -2, 5, 4097, 300, 100, -0.25, 0, 65537, 1)


#: Another vector of a vector's type, within its numbers.
Alike = Callable[[Choices, Vector], Vector]


def draw_operation(
    choices: Choices,
    kernel: VectorKernel,
    a: Vector,
    *,
    exact: bool,
    others: Sequence[Vector] = (),
    third: Alike | None = None,
) -> Vector:
    """An operation on `a` and perhaps vectors of its type: `others`, loaded ones, constants, or `a` itself.

    `third` makes third operands that may be any vector.
    """
    operation = choices.pick(_operations(a.component, ieee=kernel.ieee))
    operands = VectorOperands(choices, kernel, a, exact=exact, others=others)
    operands.make_third = third
    for candidate in (operation, _O.FNegate):
        known = _RULES[candidate](operands)
        if known is not None:
            return operands.emit(candidate, known)
    raise AssertionError("FNegate is always defined")


def _operations(component: ComponentType, *, ieee: bool) -> Sequence[VectorOperation]:
    """CV-012, and SPIR-V's own rule that OpUDiv is of unsigned types."""
    if component.is_float:
        return _IEEE if ieee else _FLOAT
    return _INTEGER[:-1] if component.is_signed else _INTEGER


class VectorOperands:
    """The operands of one operation, as its rule asks for them; the first is `a`."""

    def __init__(
        self, choices: Choices, kernel: VectorKernel, a: Vector, *, exact: bool, others: Sequence[Vector] = ()
    ) -> None:
        self.choices = choices
        self.kernel = kernel
        self.exact = exact
        self.operands = [a]
        self.make_third: Alike | None = None
        self.others = [o for o in others if (o.component, o.length) == (a.component, a.length) and o.known is not None]

    @property
    def component(self) -> ComponentType:
        return self.operands[0].component

    @property
    def a(self) -> value_ranges.Known:
        return self.operands[0].range

    def any(self, *, other: bool = False) -> value_ranges.Known:
        """One more operand; with `other` not the first one again, and no constant beyond its range."""
        a, kind = self.operands[0], self.choices.pick(VectorDraws.OPERANDS)
        if other and kind in ("same", "same of specials"):
            kind = "load"
        if kind == "same" or (kind == "same of specials" and self.kernel.ieee):
            self.operands.append(a)
        elif kind == "constant" or (kind == "constant of specials" and self.kernel.ieee):
            numbers: Sequence[Number] = [n for n in _NUMBERS if represents(a.component, n)]
            if other and a.known is not None:
                known = a.known
                numbers = [n for n in numbers if known.low < n < known.high] or numbers  # type: ignore[operator]
            if self.kernel.ieee and a.component.is_float and self.choices.chance(VectorDraws.SPECIAL_CONSTANT):
                numbers = (*some_specials(a.component), *numbers[:3])
            self.operands.append(self.kernel.constant(self.choices, a.component, a.length, numbers))
        elif kind == "other" and self.others:
            self.operands.append(self.others[-1 - self.choices.between(0, len(self.others) - 1)])
        else:
            wanted = Wanted(exact=self.exact)
            return self.load_operand(draw_numbers(self.choices, a.component, wanted, ieee=self.kernel.ieee))
        return self.operands[-1].range

    def third(self) -> value_ranges.Known:
        """One more operand, as what makes third ones gives it."""
        if self.make_third is None:
            return self.any()
        self.operands.append(self.make_third(self.choices, self.operands[0]))
        return self.operands[-1].range

    def load_operand(self, contents: Contents) -> value_ranges.Known:
        """One more operand, with these contents."""
        a = self.operands[0]
        self.operands.append(self.kernel.load(self.choices, a.component, a.length, contents))
        return self.operands[-1].range

    def wanted(self, wanted: Wanted) -> value_ranges.Known:
        """One more operand, with contents as wanted."""
        return self.load_operand(draw_contents(self.choices, self.component, wanted))

    def instead(self, wanted: Wanted) -> None:
        """Another first operand, with contents as wanted."""
        self.wanted(wanted)
        self.operands[:1] = [self.operands.pop()]

    def numbers(self, numbers: Sequence[Number]) -> value_ranges.Known:
        """One more operand: a constant of some of these."""
        a = self.operands[0]
        self.operands.append(self.kernel.constant(self.choices, a.component, a.length, numbers, null=False))
        return self.operands[-1].range

    def emit(self, operation: VectorOperation, known: value_ranges.Known) -> Vector:
        """The operation on the first operands."""
        a, b, c, *_ = *self.operands[: operation.form.operands], None, None
        assert a is not None
        name = self.kernel.name("v")
        self.kernel.program.emit(
            VectorArithmetic(
                id=name, operation=operation, a=a.id, b=None if b is None else b.id, c=None if c is None else c.id
            )
        )
        return replace(a, id=name, known=known, fresh=False)


def represents(component: ComponentType, value: Number) -> bool:
    """Whether a component type has a whole number, or a multiple of 1/4."""
    assert not isinstance(value, str)
    if component.is_float:
        return abs(value) * 4 <= 1 << component.format.precision
    least, greatest = value_ranges.limits(component)
    return value == int(value) and least <= value <= greatest


Rule = Callable[[VectorOperands], value_ranges.Known | None]


def _checked(o: VectorOperands, known: value_ranges.Known) -> value_ranges.Known | None:
    """The result's range; None where a float comes near its type's limits."""
    return known if holds(o.component, known) else None


def _binary(rule: Callable[[ComponentType, value_ranges.Known, value_ranges.Known], value_ranges.Known]) -> Rule:
    return lambda o: _checked(o, rule(o.component, o.a, o.any()))


def _bits(o: VectorOperands) -> value_ranges.Known:
    o.any(other=True)
    return value_ranges.anything(o.component)


def _shift(o: VectorOperands) -> value_ranges.Known:
    """By fewer bits than the components have: more is undefined (NU-004)."""
    o.load_operand(consecutive(0, 8 * o.component.size))
    return value_ranges.anything(o.component)


def _divide(o: VectorOperands) -> value_ranges.Known:
    """By numbers that are not 0, nor -1, read with either sign (NU-004)."""
    if o.component.is_signed and o.choices.chance(VectorDraws.NEGATIVE_DIVISOR):
        period = o.choices.pick(VectorDraws.NEGATIVE_PERIODS)
        o.load_operand(consecutive(-1 - period, period))
    else:
        size = min((1 << (8 * o.component.size - 1)) - 1, 4093)
        o.wanted(Wanted(size=size, sign="positive", full=False))
    return value_ranges.anything(o.component)


def _float_divide(o: VectorOperands) -> value_ranges.Known | None:
    o.wanted(Wanted(size=1 << 7, sign=o.choices.pick(("positive", "negative"))))
    largest = 4 * o.a.size
    return _checked(o, value_ranges.Known(-largest, largest, None))


def _clamp(*, signed: bool) -> Rule:
    """Between numbers of which the first is not the larger one, as the operation reads them."""

    def rule(o: VectorOperands) -> value_ranges.Known:
        negative = signed and (o.component.is_float or o.component.is_signed)
        low = o.numbers((-3, -100, -1, 0, -7) if negative else (0, 1, 2))
        high = o.numbers((3, 100, 5, 64, 31))
        if not o.component.is_float:
            return value_ranges.anything(o.component)
        return value_ranges.clamped(o.a, low, high) if o.a.bounded else value_ranges.UNBOUNDED

    return rule


def _finer(*known: value_ranges.Known) -> int | None:
    grains = [k.grain for k in known]
    return None if None in grains else min(g for g in grains if g is not None)


def _extreme(o: VectorOperands) -> value_ranges.Known:
    return o.a.union(o.any(other=True))


def _step(o: VectorOperands) -> value_ranges.Known:
    known = o.a.union(o.any())
    return value_ranges.Known(0, 1) if known.bounded else value_ranges.UNBOUNDED


def _fma(o: VectorOperands) -> value_ranges.Known | None:
    product = value_ranges.multiplied(o.component, o.a, o.any())
    if not holds(o.component, product):
        return None
    return _checked(o, value_ranges.added(o.component, product, o.third()))


def _exp(o: VectorOperands) -> value_ranges.Known:
    _portable_exp(o)
    return value_ranges.Known(0, 2.0 ** (1.5 * max(o.a.high, 0) + 1), None)


def _tanh(o: VectorOperands) -> value_ranges.Known:
    _portable_exp(o)
    return value_ranges.Known(-1, 1, None)


def _portable_exp(o: VectorOperands) -> None:
    most = EXPONENTS[o.component]
    if o.a.size > most:
        o.instead(Wanted(size=most))


def _log(o: VectorOperands) -> value_ranges.Known:
    if o.a.low <= 0:
        o.instead(Wanted(size=1 << 11, sign="positive", exact=o.exact))
    return value_ranges.Known(-100, 100, None)


def _atan(o: VectorOperands) -> value_ranges.Known:
    if not o.a.bounded:
        o.instead(Wanted(exact=o.exact))
    return value_ranges.Known(-1.75, 1.75, None)


_RULES: dict[VectorOperation, Rule] = {
    **dict.fromkeys((_O.IAdd, _O.FAdd), _binary(value_ranges.added)),
    **dict.fromkeys((_O.ISub, _O.FSub), _binary(value_ranges.subtracted)),
    **dict.fromkeys((_O.IMul, _O.FMul), _binary(value_ranges.multiplied)),
    **dict.fromkeys((_O.SNegate, _O.FNegate), lambda o: value_ranges.negated(o.component, o.a)),
    **dict.fromkeys((_O.BitwiseAnd, _O.BitwiseOr, _O.BitwiseXor), _bits),
    _O.Not: lambda o: value_ranges.anything(o.component),
    **dict.fromkeys((_O.SMax, _O.SMin, _O.UMax, _O.UMin), _bits),
    **dict.fromkeys((_O.ShiftLeftLogical, _O.ShiftRightLogical, _O.ShiftRightArithmetic), _shift),
    **dict.fromkeys((_O.SClamp, _O.FClamp, _O.NClamp), _clamp(signed=True)),
    _O.UClamp: _clamp(signed=False),
    **dict.fromkeys((_O.SDiv, _O.UDiv), _divide),
    **dict.fromkeys((_O.FMax, _O.FMin, _O.NMax, _O.NMin), _extreme),
    _O.Step: _step,
    _O.Fma: _fma,
    _O.FDiv: _float_divide,
    _O.Tanh: _tanh,
    _O.Exp: _exp,
    _O.Log: _log,
    _O.Atan: _atan,
}


def components_of(capabilities: Capabilities) -> list[ComponentType]:
    """The component types with arithmetic that vectors may have, simplest first."""
    if Feature.COOPERATIVE_VECTOR not in capabilities.features:
        return []
    return [c for c in VECTOR_ARITHMETIC if c in capabilities.vector_components]
