"""Factors of products that use the whole range of their type, while every sum of them is exact (NU-001, NU-010).

Integers are the ends of their type, in runs: neighbours along K then make the largest products that there are, and the
largest sums of two and of four. Floats are as large as their type and the sums allow, with few significant bits.
"""

from __future__ import annotations

import math

from cts.case.model import ComponentType, Data, Iota
from cts.generators.build.contents import Contents, cycle, lowest
from cts.generators.build.value_ranges import Known, limits, reach

#: How long runs of the end with the largest magnitude are, and those of the other end: their sum is 1 or a prime.
_RUNS = ((1, 0), (5, 2), (11, 8), (4, 1), (2, 3))

#: Periods of ramps, simplest first; the smaller their numbers, the further powers of two may carry these.
_PERIODS = (3, 7, 13, 61)


def ends(component: ComponentType, which: int, *, nonnegative: bool = False) -> Contents:
    """Runs of the ends of an integer type: of the one with the larger magnitude, and mostly of the other, too."""
    least, greatest = limits(component)
    first, second = (least, greatest) if least and not nonnegative else (greatest, 0 if nonnegative else least)
    long, short = _RUNS[which % len(_RUNS)]
    return cycle((first,) * long + (second,) * short)


def large(component: ComponentType, most: float = math.inf) -> list[Contents]:
    """Floats of one type that reach far, simplest first: ramps times powers of two, and the greatest number itself."""
    greatest, exponent = greatest_of(component)
    contents = []
    for period in _periods(component):
        size = lowest(component, period, "any").size
        room = math.floor(math.log2(min(greatest, most) / size))
        contents += [raised(component, period, room * quarter // 4) for quarter in (4, 3, 2, 1) if room > 0]
    if greatest <= most:
        known = Known(-greatest, greatest, exponent)
        contents.append(Contents(known, Data(cycle=(greatest, -greatest, 0))))
    return contents


def is_greatest(component: ComponentType, contents: Contents) -> bool:
    """Whether these have the greatest number of a type."""
    return contents.known.size == greatest_of(component)[0]


def greatest_of(component: ComponentType) -> tuple[int, int]:
    """The greatest number that is drawn, and the exponent of its last significant bit.

    Of float16 and float8 types the greatest that there is; the wider ones would leave no room for sums.
    """
    number = min(int(component.format.greatest), 1 << 24)
    return number, (number & -number).bit_length() - 1


def _periods(component: ComponentType) -> list[int]:
    """Of ramps whose every number a type has."""
    return [p for p in _PERIODS if lowest(component, p, "any").size <= 1 << component.format.precision]


def raised(component: ComponentType, period: int, exponent: int) -> Contents:
    """A ramp times a power of two."""
    whole, step = lowest(component, period, "any"), 1 << exponent
    low, high = int(whole.low) * step, int(whole.high) * step
    return Contents(Known(low, high, exponent), Data(iota=Iota(start=low, step=step, modulo=period)))


def adds_up(a: Known, b: Known, terms: int, result: ComponentType, bits: int) -> bool:
    """Whether `terms` products, and as much again, are exact in any order with `bits` significant bits of a type."""
    if a.grain is None or b.grain is None:
        return False
    size = 2 * terms * a.size * b.size
    return size <= reach(result) and size <= math.ldexp(1, bits + a.grain + b.grain)


def addends(component: ComponentType, grain: int, result: ComponentType, bits: int) -> list[Contents]:
    """What may be added to products that are multiples of 2^grain and add up: numbers as coarse as these."""
    room = min(reach(result) / 2, reach(component), math.ldexp(1, bits - 1 + grain))
    fitting = [p for p in _periods(component) if math.ldexp(lowest(component, p, "any").size, grain) <= room]
    return [raised(component, period, grain) for period in fitting]
