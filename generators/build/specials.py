"""Numbers that are hard to get right: zeros of both signs, denormals, the greatest, infinities and NaNs.

They come as cycles of a prime length, among numbers that identify their position, so that most of a case stays
ordinary. Infinities and NaNs belong in modules that make IEEE 754 binding, where they are judged (NU-013).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from cts.base.choices import Choices
from cts.case.model import ComponentType, Data, FloatControls
from cts.case.model.component import Number
from cts.generators.build.contents import Contents, Wanted, draw_contents
from cts.generators.build.value_ranges import UNBOUNDED, Known
from cts.generators.policy.cases import FloatDraws

#: Kinds of special numbers, by what becomes of them: these stay bounded, ...
BOUNDED = ("zeros", "denormals")
#: ... these may become infinite or NaN, ...
UNBOUNDING = ("infinities", "greatest", "nans")
#: ... and the first kind among these is the simplest.
KINDS = (*BOUNDED, *UNBOUNDING)

#: Lengths of cycles, prime: rows begin with different numbers.
_LENGTHS = (7, 13, 31)

#: Ordinary numbers beside special ones, exact in every type.
_ORDINARY: tuple[Number, ...] = (1, -2, 3, -1, 2, 0.5, -3, 4, 5, -6, 7, -0.5, 1.5)


@lru_cache(maxsize=64)
def specials(component: ComponentType, kind: str) -> tuple[Number, ...]:
    """The special numbers of a kind that a float type has, as bit patterns: none where it has none of them."""
    fraction, width = component.format.fraction_bits, 8 * component.size
    sign, normal, ones = 1 << (width - 1), 1 << fraction, (1 << fraction) - 1
    infinity = (sign - 1) ^ ones
    if kind == "zeros":
        codes = [0]
    elif kind == "denormals":
        # The least and the greatest, and odd ones, of which each bit counts; and what is just no denormal.
        codes = [1, ones, 1 << (fraction - 1), 3, ones & ~1, 0x2AAAAB & ones, 0x155555 & ones, normal, normal | 1]
    elif not component.format.infinities:
        last = component.format.last
        codes = {"infinities": [], "greatest": [last, last - 1, last - normal], "nans": [last + 1]}[kind]
    elif kind == "infinities":
        codes = [infinity]
    elif kind == "greatest":
        codes = [infinity - 1, infinity - 2, infinity - normal, infinity - 1 - normal]
    else:
        # Quiet ones and signalling ones, with payloads in the high bits or in the low ones alone.
        payloads = {1 << (fraction - 1), 1, ones, 1 << max(fraction - 2, 0), ones >> 1}
        codes = [infinity | payload for payload in sorted(payloads)]
    codes = list(dict.fromkeys(f for f in codes if f or kind == "zeros"))
    return tuple(f"0x{code | s:0{width // 4}x}" for code in codes for s in (0, sign))


def draw_ieee(choices: Choices, controls: FloatControls, component: ComponentType) -> bool:
    """Whether a case has special numbers: most of those that make IEEE 754 binding, and compute with floats."""
    return controls is FloatControls.FastMathNone and component.is_float and choices.chance(FloatDraws.SPECIAL)


def draw_numbers(choices: Choices, component: ComponentType, wanted: Wanted, *, ieee: bool) -> Contents:
    """Contents as wanted; in cases with special numbers, mostly these, where any sign will do."""
    if ieee and component.is_float and wanted.sign == "any" and choices.chance(FloatDraws.SPECIAL_CONTENTS):
        return draw_special(choices, component)
    return draw_contents(choices, component, wanted)


def draw_special(
    choices: Choices,
    component: ComponentType,
    kinds: Sequence[str] = KINDS,
    *,
    among: Sequence[Number] = _ORDINARY,
    one_in: int = 2,
    sign: str = "any",
) -> Contents:
    """Special numbers of a kind, or of all `kinds`, one in `one_in`, among ordinary ones; `sign` as in Wanted."""
    fitting = tuple(k for k in kinds if specials(component, k))
    which, seed, length = choices.record(2 * len(fitting) - 1, 30, len(_LENGTHS) - 1)
    chosen = fitting[which : which + 1] or fitting
    numbers = _mixed(component, chosen, tuple(among), one_in, sign, seed, _LENGTHS[length])
    known = known_of(component, chosen, among)
    return Contents(known if sign != "nonnegative" or not known.bounded else replace(known, low=0), Data(cycle=numbers))


def known_of(component: ComponentType, kinds: Sequence[str], among: Sequence[Number]) -> Known:
    """What is known of numbers among which there are special ones of these kinds."""
    if not set(kinds) <= set(BOUNDED):
        return UNBOUNDED
    plain = [float(n) for n in among]
    least = 2.0 ** (component.format.least_exponent + 1)
    whole = all(n.is_integer() for n in plain)
    grain = None if "denormals" in kinds else 0 if whole else -1 if all((2 * n).is_integer() for n in plain) else None
    return Known(min(-least, *plain), max(least, *plain), grain)


@lru_cache(maxsize=4096)
def _mixed(
    component: ComponentType,
    kinds: tuple[str, ...],
    among: tuple[Number, ...],
    one_in: int,
    sign: str,
    seed: int,
    length: int,
) -> tuple[Number, ...]:
    """`length` numbers in an order by `seed`; one in `one_in` is special."""
    rng = random.Random(seed)
    count = max(-(-length // one_in), 1)
    # Patterns alternate: positive, negative.
    of_sign = {"any": slice(None), "nonnegative": slice(0, None, 2), "negative": slice(1, None, 2)}[sign]
    special = [rng.choice(specials(component, kinds[n % len(kinds)])[of_sign]) for n in range(count)]
    ordinary = [among[(seed + n) % len(among)] for n in range(length - count)]
    numbers = [*special, *ordinary]
    rng.shuffle(numbers)
    return tuple(numbers)


def some_specials(component: ComponentType) -> tuple[Number, ...]:
    """One or two special numbers of each kind, for a constant."""
    return tuple(n for kind in KINDS for n in specials(component, kind)[:2])


def draw_special_number(choices: Choices, component: ComponentType, kinds: Sequence[str] = KINDS) -> Number:
    """One special number."""
    numbers = [n for kind in kinds for n in specials(component, kind)]
    return choices.pick(numbers)
