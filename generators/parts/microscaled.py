"""Numbers of microscaling types, for bodies: bits of integers that a body reads (MT-010, MT-023, MT-024)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from cts.base.choices import Choices
from cts.case.model import ComponentType, Data, Helper, Microscaling, Parameter
from cts.generators.build.contents import Contents
from cts.generators.build.kernels import Kernel
from cts.generators.build.value_ranges import Known
from cts.generators.parts.expressions import Term, bare
from cts.generators.parts.formats import FORMATTED
from cts.generators.parts.helpers import Helpers
from cts.generators.policy.cases import CallbackDraws

#: What patterns are, and the bits that make one of an integer: scales of few exponents, and no MXINT8 of 0x80 (MT-030).
_PATTERNS = {
    Microscaling.float4_e2m1: (Known(-6, 6, -1), ""),
    Microscaling.float6_e2m3: (Known(-7.5, 7.5, -3), ""),
    Microscaling.float6_e3m2: (Known(-28, 28, -4), ""),
    Microscaling.float8_e8m0: (Known(0.125, 16, -3), "({} & 7) + 124"),
    Microscaling.mxint8: (Known(-127 / 64, 127 / 64, -6), "{} | 1"),
}

#: What members of blocks and tables may declare: types of whole bytes (MT-003).
Declared: TypeAlias = Literal["float8_e8m0", "mxint8"]

#: Patterns of members and tables that are declared so: scales of few exponents, and no MXINT8 of 0x80 (MT-030).
DECLARED: Mapping[Declared, Sequence[int]] = {
    "float8_e8m0": range(124, 131),
    "mxint8": tuple(n for n in range(256) if n != 128),
}


def draw_microscaled(
    choices: Choices, kernel: Kernel, returns: ComponentType, terms: Sequence[Term], helpers: Helpers
) -> None:
    """In three of ten bodies two numbers of integers among `terms`, to be used or not; helpers convert a quarter."""
    types = [t for t in Microscaling if t.feature in kernel.features]
    integers = [t for t in terms if not t.type.is_float]
    if not types or not integers or not choices.chance(CallbackDraws.MICROSCALED):
        return
    working = converted_to(returns)
    for name in ("u", "v"):
        type_, a, b = choices.pick(types), choices.pick(integers), choices.pick(integers)
        known, byte = _PATTERNS[type_]
        places, form = 8 * a.type.size - type_.width + 1, choices.pick(CallbackDraws.MICROSCALED_FORMS)
        at, call = str(choices.between(0, places - 1)), working.value
        if "moving" in form:
            # A remainder of a negative number would be negative: its low bits are not.
            at = f"{b.text} & {2 ** (places.bit_length() - 1) - 1}" if b.type.is_signed else f"{b.text} % {places}"
        if "passed" in form:
            call = f"{name}{len(kernel.functions)}"
            x = Parameter("x", type_.carrier, type_.value)
            helpers.functions[call] = Helper((x,), working, f"{working.value}(x)")
        bits = f"uint8({byte.format(a.text)})" if byte else f"{bare(a.text)}, {at}"
        helpers.calls.append(Term(f"{call}(as_{type_.value}({bits}))", working, known))


def converted_to(returns: ComponentType) -> ComponentType:
    """The type to which a body of these results converts numbers of microscaling types."""
    return returns if returns is FORMATTED[0] else FORMATTED[1]


def draw_declared(
    choices: Choices, kernel: Kernel, components: Sequence[ComponentType]
) -> tuple[Declared, Contents] | None:
    """The type that a table of bytes declares, and patterns of few exponents and none without a meaning (MT-030)."""
    allowed = [t.value for t in Microscaling if t.feature in kernel.features and t.carrier in components]
    names = [name for name in DECLARED if name in allowed]
    if not names or not choices.chance(CallbackDraws.DECLARED_TABLES):
        return None
    name, first = choices.pick(names), choices.pick(CallbackDraws.FIRST_PATTERNS)
    patterns = DECLARED[name]
    # Neighbours are far apart, and a table repeats after a prime number of elements.
    numbers = tuple(patterns[(37 * n + first) % len(patterns)] for n in CallbackDraws.FIRST_PATTERNS)
    return name, Contents(_PATTERNS[Microscaling(name)][0], Data(cycle=numbers))
