"""What is known of values before they exist: their range, and how fine floats are.

With these, generators avoid undefined behaviour (divisions by zero, conversions out of range,
overflowing sums) and know where floating-point results are exact in any order (NU-010).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cts.case.model import ComponentType
from cts.case.model.component import Number

_C = ComponentType

#: Results of arithmetic stay below this, well within the type, so that nothing overflows.
_LARGEST = {_C.float32: 2.0**100, _C.float16: 30000.0, _C.bfloat16: 2.0**100}

#: Magnitudes of results that become a type without arithmetic: half of the greatest number of a float8 type, away from
#: where AM-29 leaves a result open; for bfloat16 far beyond what it represents exactly.
CONVERTED = {_C.float8_e4m3fn: 240, _C.float8_e5m2: 30000, _C.bfloat16: 1 << 20}


def _largest(component: ComponentType) -> float:
    return int(component.format.greatest) if component.is_float8 else _LARGEST[component]


@dataclass(frozen=True)
class Known:
    """All values are within [low, high]; floats are multiples of 2^grain, where grain is not None."""

    low: float
    high: float
    grain: int | None = 0

    @property
    def size(self) -> float:
        """The largest magnitude."""
        return max(abs(self.low), abs(self.high))

    @property
    def bounded(self) -> bool:
        """Whether all values are finite numbers."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    def covers(self, other: Known) -> bool:
        """Whether what is known of a value holds of all of another one's."""
        coarse = self.grain is None or (other.grain is not None and other.grain >= self.grain)
        return self.low <= other.low and other.high <= self.high and coarse

    def union(self, other: Known) -> Known:
        """What is known of a value of either."""
        return Known(min(self.low, other.low), max(self.high, other.high), _finer(self.grain, other.grain))


#: All values are 0.
ZEROS = Known(0, 0)

#: Any floats, also infinities and NaNs, in modules that make IEEE 754 binding.
UNBOUNDED = Known(-math.inf, math.inf, None)


def known_number(value: Number) -> Known:
    """What is known of a number; of a float's bit pattern, nothing."""
    if isinstance(value, str):
        return UNBOUNDED
    return Known(value, value, 0 if value == int(value) else None)


def limits(component: ComponentType) -> tuple[int, int]:
    """The least and the largest value of an integer type."""
    info = np.iinfo(component.dtype)
    return int(info.min), int(info.max)


def reach(component: ComponentType) -> float:
    """The largest magnitude of results of a float type that stay away from its limits."""
    return _largest(component)


def anything(component: ComponentType) -> Known:
    """Any value of an integer type."""
    return Known(*limits(component))


def within(component: ComponentType, known: Known) -> bool:
    """Whether a float type holds such values without coming near its limits.

    Always for integers, which wrap, and where nothing is known anyway: that is so where overflow is judged.
    """
    return not component.is_float or not known.bounded or known.size <= _largest(component)


def settled(component: ComponentType, low: float, high: float, grain: int | None) -> Known:
    """A result with these real values, in its type: wrapped where an integer overflows, rounded where too fine."""
    if not component.is_float:
        least, most = limits(component)
        return Known(low, high) if least <= low and high <= most else anything(component)
    if not (math.isfinite(low) and math.isfinite(high)):
        return UNBOUNDED
    size = max(abs(low), abs(high))
    if grain is not None and (
        grain < component.format.least_exponent or size > math.ldexp(1, component.format.precision + grain)
    ):
        grain = None
    return Known(low, high, grain)


def rounded_sum(exact: Known, magnitude: float, terms: int, bits: int) -> Known:
    """What is known of a sum of so many terms that is made with `bits` significant bits in any order (NU-010).

    `exact` is what is known of the exact sum, `magnitude` the most that the magnitudes of the terms add up to. Where
    rounding may add as much again, nothing is known.
    """
    if exact.grain is not None or not exact.bounded:
        return exact
    unit = math.ldexp(terms, 1 - bits)
    if unit >= 0.5:
        return UNBOUNDED
    slack = magnitude * unit / (1 - unit)
    return Known(exact.low - slack, exact.high + slack, None)


def added(component: ComponentType, a: Known, b: Known) -> Known:
    """A + b."""
    return settled(component, a.low + b.low, a.high + b.high, _finer(a.grain, b.grain))


def subtracted(component: ComponentType, a: Known, b: Known) -> Known:
    """A - b."""
    return settled(component, a.low - b.high, a.high - b.low, _finer(a.grain, b.grain))


def multiplied(component: ComponentType, a: Known, b: Known) -> Known:
    """A * b."""
    if not (a.bounded and b.bounded):
        return UNBOUNDED
    grain = None if a.grain is None or b.grain is None else a.grain + b.grain
    ends = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    return settled(component, min(ends), max(ends), grain)


def negated(component: ComponentType, a: Known) -> Known:
    """-a."""
    return settled(component, -a.high, -a.low, a.grain)


def clamped(a: Known, low: Known, high: Known) -> Known:
    """A between `low` and `high`, which may be less fine than A."""
    bottom = max(low.low, min(a.low, high.low))
    grain = _finer(_finer(a.grain, low.grain), high.grain)
    return Known(bottom, max(bottom, min(high.high, max(a.high, low.high))), grain)


def _finer(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else min(a, b)


def reread(declared: ComponentType, read: ComponentType, known: Known) -> Known:
    """What is known of values of one type whose bits are read as another's of the same width."""
    if declared is read:
        return known
    least, most = limits(read)
    return known if least <= known.low and known.high <= most else anything(read)
