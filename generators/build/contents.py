"""Contents of source buffers: the numbers in them, and what is known of these.

By default numbers identify their position (ramps with a prime period, so that neighbouring rows differ) and are
small whole numbers or halves, so that floating-point sums of them are exact in any order (NU-010).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from cts.base.choices import Choices
from cts.case.model import ComponentType, Data, Iota, Random, RandomBits
from cts.case.model.component import Number
from cts.generators.build.value_ranges import Known, anything, limits

#: Prime periods of ramps, by which their magnitude is chosen, too.
PERIODS = (7, 13, 3, 31, 5, 61, 127, 2, 251, 509, 1021, 2039, 4093, 16381, 65521)


@dataclass(frozen=True)
class Contents:
    """What a buffer holds, and what is known of it."""

    known: Known
    data: Data


@dataclass(frozen=True)
class Wanted:
    """What a source's numbers are for.

    `size` bounds their magnitude. `sign`: "any", "positive", "negative", "nonnegative"; positive and
    negative numbers exclude 0. `exact`: floats are few bits wide, so that sums of them are exact;
    `halves`: they may be multiples of 1/2. `full`: integers may use the whole of their type.
    """

    size: float = 1 << 11
    sign: str = "any"
    exact: bool = False
    halves: bool = True
    full: bool = True


def draw_contents(choices: Choices, component: ComponentType, wanted: Wanted) -> Contents:
    """Contents as wanted: ramps first, then scattered numbers, then what only this kind of type has."""
    kind, number, seed = choices.record(9, len(PERIODS) - 1, 15)
    period = _period(component, wanted, number)
    if component.is_float:
        if kind in (8, 9) and not wanted.exact:
            return realistic(component, seed, wanted.sign)
        if kind in (4, 5) and wanted.halves and component.size > 1:
            return scattered(component, period, wanted.sign, seed, halvings=1)
    elif kind >= 5 and wanted.full:
        if kind >= 7:
            return extremes(component, wanted.sign)
        if wanted.sign == "any":
            return random_integers(component, seed)
    if kind in (3, 4):
        return scattered(component, period, wanted.sign, seed)
    return ramp(component, period, wanted.sign)


def _period(component: ComponentType, wanted: Wanted, number: int) -> int:
    """A period with which no number is larger than wanted, or than the type holds."""
    most = min(wanted.size, 1 << component.format.precision if component.is_float else limits(component)[1])
    fitting = [p for p in PERIODS if lowest(component, p, wanted.sign).size <= most]
    return fitting[number % len(fitting)] if fitting else 1


def lowest(component: ComponentType, period: int, sign: str) -> Known:
    """Where the numbers of a ramp of this period and sign lie."""
    unsigned = not component.is_float and not component.is_signed
    if sign == "positive":
        low = 1
    elif sign == "negative":
        low = -period
    elif sign == "nonnegative" or unsigned:
        low = 0
    else:
        low = -(period // 2)
    return Known(low, low + period - 1)


def ramp(component: ComponentType, period: int, sign: str = "any") -> Contents:
    """Consecutive whole numbers, over and over."""
    return consecutive(int(lowest(component, period, sign).low), period)


def consecutive(start: int, period: int) -> Contents:
    """`period` whole numbers from `start` on, over and over."""
    return Contents(Known(start, start + period - 1), Data(iota=Iota(start=start, modulo=period)))


def scattered(component: ComponentType, period: int, sign: str, seed: int, halvings: int = 0) -> Contents:
    """The numbers of a ramp in no order, over 2^halvings."""
    return random_numbers(lowest(component, period, sign), seed, halvings)


def random_numbers(whole: Known, seed: int, halvings: int) -> Contents:
    """Whole numbers of a range in no order, over 2^halvings."""
    low, high = int(whole.low), int(whole.high)
    known = Known(low / 2**halvings, high / 2**halvings, -halvings)
    return Contents(known, Data(random=Random(seed=seed, low=low, high=high, halvings=halvings)))


def realistic(component: ComponentType, seed: int, sign: str = "any") -> Contents:
    """Random numbers up to 2 with all the bits that the type has: sums of them are not exact."""
    bits = component.format.precision
    most = 1 << bits
    low = {"any": -most, "negative": -most}.get(sign, most // 4)
    high = -(most // 4) if sign == "negative" else most
    return random_numbers(Known(low, high), seed, bits - 1)


def random_integers(component: ComponentType, seed: int) -> Contents:
    """Any bits."""
    return Contents(anything(component), Data(random_bits=RandomBits(seed=seed)))


def extremes(component: ComponentType, sign: str) -> Contents:
    """The ends of an integer type and what is next to them and to 0; a prime number of them."""
    least, greatest = limits(component)
    ends = [greatest, 1, greatest - 1, 2, greatest // 3]
    if sign == "negative":
        ends = [least, -1, least + 1, -2, least // 3]
    elif sign == "any" and least:
        ends += [least, -1, least + 1, -2, 0, least // 3]
    elif sign != "positive":
        ends += [greatest // 2 + 1, 0]
    return cycle(ends)


def cycle(numbers: Sequence[Number]) -> Contents:
    """These numbers, over and over: whole, or multiples of 1/8, or as if they had any bits."""
    plain = [float(n) for n in numbers]
    grain = next((g for g in (0, -3) if all((n * 2**-g).is_integer() for n in plain)), None)
    return Contents(Known(min(plain), max(plain), grain), Data(cycle=tuple(numbers)))


def shifted(contents: Contents, by: int) -> Contents:
    """The same numbers in another order, so that a place mostly has another one; those that are all alike stay."""
    data = contents.data
    if data.random is not None:
        return Contents(contents.known, Data(random=replace(data.random, seed=data.random.seed + 1 + by)))
    if data.random_bits is not None:
        return Contents(contents.known, Data(random_bits=RandomBits(seed=data.random_bits.seed + 1 + by)))
    if data.cycle is not None:
        at = 1 + by % max(len(data.cycle) - 1, 1)
        return Contents(contents.known, Data(cycle=data.cycle[at:] + data.cycle[:at]))
    if data.iota is not None and data.iota.modulo is not None:
        start, step, modulo = data.iota.start, data.iota.step, data.iota.modulo
        at = 1 + by % max(modulo - 1, 1)
        if modulo > 4096:
            return contents
        numbers = tuple(start + step * ((at + n) % modulo) for n in range(modulo))
        return Contents(contents.known, Data(cycle=numbers))
    return contents


def near_an_end(component: ComponentType, period: int, *, top: bool) -> Contents:
    """A ramp up to the greatest value of an integer type, or from the least one."""
    least, greatest = limits(component)
    return consecutive(greatest - period + 1 if top else least, period)
