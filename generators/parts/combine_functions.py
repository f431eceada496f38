"""Combine functions of reductions (CM-023): commutative and associative on the data they are given."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cts.base.choices import Choices
from cts.case.model import ComponentType, Helper, Parameter
from cts.case.model.component import Number
from cts.generators.build.contents import Contents, Wanted, cycle, draw_contents, realistic
from cts.generators.build.kernels import Kernel
from cts.generators.build.specials import draw_special
from cts.generators.build.value_ranges import UNBOUNDED, Known, anything, settled
from cts.generators.policy.matrices import ComputationDraws

_C = ComponentType

#: What is known of `count` combined values, of which each is known alone.
Combined = Callable[[ComponentType, Known, int], Known]


@dataclass(frozen=True)
class Combining:
    """A body, what it makes of values, and contents that all orders combine alike, the kinds of special ones too."""

    body: str
    combined: Combined
    contents: Callable[[Choices, ComponentType, int], Contents]
    special: tuple[str, ...] = ()

    @property
    def picks(self) -> bool:
        """Whether the result is one of the values: of zeros of both signs, another one in another order."""
        return self.combined is _one_of

    def fits(self, component: ComponentType, known: Known, count: int) -> bool:
        """Whether values that were computed, not loaded, can be combined in any order alike."""
        if not component.is_float or (self.combined is _one_of and known.bounded):
            return True
        return self.combined is _sum and known.grain is not None and _sum(component, known, count).grain is not None


def _one_of(component: ComponentType, known: Known, count: int) -> Known:
    return known


def _magnitude(component: ComponentType, known: Known, count: int) -> Known:
    return known.union(Known(0, known.size, known.grain)) if component.is_float else anything(component)


def _capped(component: ComponentType, known: Known, count: int) -> Known:
    return known.union(Known(100, 100))


def _sum(component: ComponentType, known: Known, count: int) -> Known:
    return settled(component, min(known.low, known.low * count), max(known.high, known.high * count), known.grain)


def _anything(component: ComponentType, known: Known, count: int) -> Known:
    if not known.bounded:
        return UNBOUNDED
    return Known(-(2.0**20), 2.0**20, None) if component.is_float else anything(component)


def _draw_any(choices: Choices, component: ComponentType, count: int) -> Contents:
    """Numbers of either sign, or all on one side of 0: what is combined by mistake then shows."""
    sign = choices.pick(("any", "negative", "positive"))
    unsigned = not component.is_float and not component.is_signed
    return draw_contents(
        choices, component, Wanted(size=1 << 16, sign="positive" if unsigned and sign != "any" else sign)
    )


def _draw_terms(choices: Choices, component: ComponentType, count: int) -> Contents:
    """Numbers whose sums are exact, and sometimes, in float16 and float32, numbers whose sums are not."""
    inexact, seed = choices.record(9, 9)
    if component.is_float and inexact >= 6 and component.is_ieee:
        return cycle(_CANCELLING[component]) if inexact == 9 else realistic(component, seed)
    size = 2.0 ** (component.format.precision - 1) / count if component.is_float else 1 << 16
    return draw_contents(choices, component, Wanted(size=max(size, 1), exact=True))


#: Large numbers that cancel, and small ones that are lost beside them, in each order differently.
_CANCELLING = {
    _C.float32: (2.0**24, 1, -(2.0**24), 3, 0.5, -7, 2.0**23, -1, -(2.0**23), 5, 2.0**-3),
    _C.float16: (2048, 1, -2048, 3, 0.5, -7, 1024, -1, -1024, 5, 2.0**-3),
}


def _draw_factors(choices: Choices, component: ComponentType, count: int) -> Contents:
    """Powers of two whose products are exact and in range, mostly 1 and -1."""
    if not component.is_float:
        return draw_contents(choices, component, Wanted())
    seldom = 2 if count <= 300 else -1
    return cycle((1, -1, 1, 1, -1, seldom, -1, 1, 1, -1, -1, 1, -1, *(1,) * 16))


_ADD = Combining("x + y", _sum, _draw_terms, ("infinities", "zeros", "nans"))
_MAX = Combining("max(x, y)", _one_of, _draw_any, ("infinities", "greatest", "denormals"))
_MIN = Combining("min(x, y)", _one_of, _draw_any, ("infinities", "greatest", "denormals"))
_FLOATS = (
    _ADD,
    _MAX,
    _MIN,
    Combining("x * y", _anything, _draw_factors, ("infinities", "zeros", "nans")),
    Combining("max(abs(x), abs(y))", _magnitude, _draw_any, ("infinities", "greatest")),
    Combining("x if x > y else y", _one_of, _draw_any, ("infinities", "greatest")),
    Combining("min(max(x, y), 100)", _capped, _draw_any, ("infinities", "greatest")),
    Combining("r = y\nif x > y:\n    r = x\nr", _one_of, _draw_any, ("infinities", "greatest")),
)
_UNSIGNED = (
    _ADD,
    _MAX,
    _MIN,
    *(
        Combining(body, _anything, _draw_any)
        for body in (
            "x * y",
            "x & y",
            "x | y",
            "x ^ y",
            "x + y + x * y",
            "x * y * 3",
            "x + y + 5",
            "~(~x & ~y)",
            "x ^ y ^ 90",
            "x if x < y else y",
            "r = x\nif y < x:\n    r = y\nr",
        )
    ),
)
_SIGNED = (
    *_UNSIGNED,
    Combining("max(abs(x), abs(y))", _anything, _draw_any),
    Combining("-max(-x, -y)", _anything, _draw_any),
)


def draw_special_terms(choices: Choices, component: ComponentType, combining: Combining, count: int) -> Contents:
    """Special numbers that a function combines in any order alike: a few among ordinary ones, or nothing else.

    The ordinary ones are factors of products, or all on one side of 0: what is combined by mistake then shows. Where
    there are no others, the special ones are negative for maxima and positive for minima.
    """
    sign, only = choices.record(3, 3)
    if only == 3 and combining.combined is _one_of:
        end = "nonnegative" if "min(" in combining.body else "negative"
        return draw_special(choices, component, combining.special, one_in=1, sign=end)
    product = combining.combined is _anything
    among: tuple[Number, ...] = (1, -1, 1, 1, -1) if product else ((1, -2, 3), (-1, -2, -5), (1, 2, 3, 4), (0, 1))[sign]
    return draw_special(choices, component, combining.special, among=among, one_in=(count + 1, 16, 31, 1)[only])


def combinings(component: ComponentType) -> Sequence[Combining]:
    """Functions for matrices of a component type, the simplest first."""
    if component.is_ieee:
        return _FLOATS
    if component.is_float:
        # NU-034: computed in float32.
        return tuple(
            Combining(f"{component.value}({f}(float32(x), float32(y)))", _one_of, _draw_any, ("infinities", "greatest"))
            for f in ("max", "min")
        ) + (() if component.size == 1 else (Combining("bfloat16(float32(x) + float32(y))", _sum, _draw_exact_terms),))
    return _SIGNED if component.is_signed else _UNSIGNED


def combinable(component: ComponentType, known: Known, count: int, *, zeros: bool) -> Sequence[Combining]:
    """Those for which computed values are defined; `zeros`: their signs are judged, and both may be among them."""
    fitting = [c for c in combinings(component) if c.fits(component, known, count)]
    return [c for c in fitting if not c.picks] if zeros and component.is_float else fitting


def draw_combining(choices: Choices, options: Sequence[Combining]) -> Combining:
    """One of them: the first, as a rule a sum, more often than others."""
    return choices.pick(options) if choices.chance(ComputationDraws.ANY_COMBINE) else options[0]


#: What a body makes of one of its parameters alone, first of x.
_OF_ONE = re.compile(r"(?:abs|float32)\([xy]\)|[-~][xy]\b")


def draw_body_with_helpers(choices: Choices, kernel: Kernel, component: ComponentType, combining: Combining) -> str:
    """The body, of which helpers do all or a part in three of ten functions (CM-033): the result stays what it is.

    A helper takes each parameter alone, where the body does the same to both, or both; or both, and calls that of one.
    """
    body = combining.body
    if not choices.chance(ComputationDraws.COMBINE_HELPERS):
        return body
    of_one, of_both = choices.pick(((True, False), (False, True), (True, True)))
    alone = _OF_ONE.search(body)
    if of_one and alone:
        returns = _C.float32 if alone[0].startswith("float32") else component
        helper = Helper(parameters=(Parameter(name="x", type=component),), returns=returns, body=alone[0])
        name = kernel.function("h", helper)
        body = _OF_ONE.sub(lambda found: f"{name}({found[0].strip(')')[-1]})", body)
    if of_both or not alone:
        parameters = tuple(Parameter(name=name, type=component) for name in "xy")
        body = f"{kernel.function('h', Helper(parameters=parameters, returns=component, body=body))}(x, y)"
    return body


def _draw_exact_terms(choices: Choices, component: ComponentType, count: int) -> Contents:
    return draw_contents(
        choices, component, Wanted(size=max((1 << component.format.precision - 1) / count, 1), exact=True, halves=False)
    )
