"""Contents of buffers: periods are primes, so that neither rows nor tiles begin with the same numbers."""

from __future__ import annotations

from collections.abc import Sequence

from cts.model import ComponentType, Counter, Data, Iota
from cts.model.component import Number

_C = ComponentType

#: Bit patterns of finite numbers from 0 on: how many there are of a type, or the next smaller prime.
_PATTERNS = {
    _C.float8_e4m3fn: 127,
    _C.float8_e5m2: 113,
    _C.float16: 31741,
    _C.bfloat16: 32633,
    _C.float32: 2139095039,
    _C.int8: 251,
    _C.uint8: 251,
    _C.int16: 65521,
    _C.uint16: 65521,
}

#: Integers from 0 on that a type represents without a gap: so many of them, or the next smaller prime.
_NUMBERS = {
    _C.float8_e4m3fn: 17,
    _C.float8_e5m2: 7,
    _C.bfloat16: 257,
    _C.float16: 2039,
    _C.int8: 127,
    _C.uint8: 251,
    _C.int16: 32749,
    _C.uint16: 65521,
}
_MANY = 1048573
_READ_SIGNED = {_C.uint8: _C.int8, _C.uint16: _C.int16}

#: Factors and addends of products, small and with many zeros: so sums of a thousand of them are exact in every type.
A: tuple[int, ...] = (1, 0, 0, -1, 0, 0, 2, 0, 0, 0, 1, 0, 0)
B: tuple[int, ...] = (1, 0, 2, -1, 0, 1, 0, 0, -1, 0, 1)
C: tuple[int, ...] = (3, -2, 0, 1, -3, 2, 0)


def patterns(component: ComponentType) -> Data:
    """Bits that loads and stores preserve (NU-014)."""
    return Data(counter=Counter(step=1, modulo=_PATTERNS.get(component)))


def numbers(*components: ComponentType, signed: bool = False) -> Data:
    """Numbers that all these types represent; `signed`: also where integers are read as signed ones."""
    types = [_READ_SIGNED.get(c, c) if signed else c for c in components]
    return Data(iota=Iota(modulo=min(_NUMBERS.get(c, _MANY) for c in types)))


def factors(component: ComponentType, cycle: Sequence[int], *, nonnegative: bool = False) -> Data:
    """A cycle of numbers, without their signs where the type or the caller has none."""
    signed = (component.is_float or component.is_signed) and not nonnegative
    values: tuple[Number, ...] = tuple(n if signed else abs(n) for n in cycle)
    return Data(cycle=values)
