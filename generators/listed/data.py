"""Contents of buffers: periods are primes, so that neither rows nor tiles begin with the same numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

from cts.case.model import ComponentType, Counter, Data, Iota
from cts.case.model.component import Number

#: Counts end here, which is longer than any listed buffer.
_MANY = 1 << 20

#: Factors and addends of products, small and with many zeros: so sums of a thousand of them are exact in every type.
A: tuple[int, ...] = (1, 0, 0, -1, 0, 0, 2, 0, 0, 0, 1, 0, 0)
B: tuple[int, ...] = (1, 0, 2, -1, 0, 1, 0, 0, -1, 0, 1)
C: tuple[int, ...] = (3, -2, 0, 1, -3, 2, 0)


@cache
def _prime(most: int) -> int:
    """The greatest prime up to a number."""
    return next(n for n in range(most, 1, -1) if all(n % divisor for divisor in range(2, math.isqrt(n) + 1)))


def _finite(component: ComponentType) -> int:
    """The number of bit patterns of finite numbers from 0 on."""
    if not component.is_float:
        return int(1 << 8 * component.size)
    return component.format.last + (0 if component.format.infinities else 1)


def patterns(component: ComponentType) -> Data:
    """Bits that loads and stores preserve (NU-014)."""
    if component.size < 4:
        return Data(counter=Counter(step=1, modulo=_prime(_finite(component))))
    # No buffer counts so far: the period of floats only keeps infinities out.
    return Data(counter=Counter(step=1, modulo=_finite(component) - 1 if component.is_float else None))


def _represented(component: ComponentType, *, signed: bool) -> int:
    """The number of integers from 0 on that a type represents without a gap."""
    if component.is_float:
        return (1 << component.format.precision) + 1
    return int(1 << 8 * component.size - (1 if signed or component.is_signed else 0))


def numbers(*components: ComponentType, signed: bool = False) -> Data:
    """Numbers that all these types represent; `signed`: also where integers are read as signed ones."""
    most = min(_represented(component, signed=signed) for component in components)
    return Data(iota=Iota(modulo=_prime(min(most, _MANY))))


def factors(component: ComponentType, cycle: Sequence[int], *, nonnegative: bool = False) -> Data:
    """A cycle of numbers, without their signs where the type or the caller has none."""
    signed = (component.is_float or component.is_signed) and not nonnegative
    values: tuple[Number, ...] = tuple(n if signed else abs(n) for n in cycle)
    return Data(cycle=values)
