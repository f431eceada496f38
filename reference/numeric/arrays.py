"""Array types of the oracle, and the 32-bit arithmetic of the specifications on them.

Unsigned 32-bit NumPy arithmetic wraps mod 2^32, which is exactly what the specified functions ask
for (TA-030); signed arithmetic on the same bits is a view as int32.
"""

from __future__ import annotations

from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

U32: TypeAlias = npt.NDArray[np.uint32]
I32: TypeAlias = npt.NDArray[np.int32]
I64: TypeAlias = npt.NDArray[np.int64]
U64: TypeAlias = npt.NDArray[np.uint64]
U8: TypeAlias = npt.NDArray[np.uint8]
Mask: TypeAlias = npt.NDArray[np.bool_]
Bits: TypeAlias = npt.NDArray[np.unsignedinteger[Any]]

#: The bound below which float32 division of integers returns the right quotients.
_SMALL = 1 << 22
#: The number of quotients below which the way to compute them does not matter.
_FEW = 1 << 12

_T = TypeVar("_T", bound=np.generic)


def some_sets(values: npt.NDArray[_T], which: npt.NDArray[np.intp]) -> npt.NDArray[_T]:
    """Values (sets, ...) of some sets, by their numbers; those that are the same under every set, (1, ...), stay."""
    if len(values) == 1:
        return values
    # What repeats one row needs no copy.
    return values[which] if values.strides[0] else values[: len(which)]


def divide(a: U32, b: U32) -> tuple[U32, U32]:
    """Quotient and remainder, b > 0. NumPy's own divmod and % are several times slower."""
    quotient = quotients(a, b)
    return quotient, a - quotient * b


def quotients(a: U32, b: U32) -> U32:
    """Quotients rounded down, b > 0."""
    if a.size * b.size < _FEW or a.max() > _SMALL:
        return a // b
    # Views: conversions between float32 and uint32 are slower than those of int32.
    return _small_quotients(a.view(np.int32), np.minimum(b, np.uint32(_SMALL + 1)).view(np.int32)).view(np.uint32)


def floor_mod(a: I32, b: I32) -> I32:
    """OpSMod, b > 0: the remainder is never negative (AM-39)."""
    small = a.size * b.size >= _FEW and a.max() <= _SMALL and a.min() >= -_SMALL
    quotient = _small_quotients(a, np.minimum(b, np.int32(_SMALL + 1))) if small else a // b
    remainder: I32 = a - quotient * b
    return remainder


def _small_quotients(a: I32, b: I32) -> I32:
    """Quotients rounded down, by way of floats: several times as fast as integers, which NumPy divides one by one.

    Of |a| up to 2^22 and b up to one more (any larger b gives the same), a quotient that is no integer is 1/b or more
    from the next, which is more than float32 rounds it by.
    """
    quotient = a.astype(np.float32) / b.astype(np.float32)
    return np.floor(quotient, out=quotient).astype(np.int32)


def ceil_div(a: U32, b: U32) -> U32:
    """The smallest integer not below a / b, without the overflow of a + b - 1 (AM-37)."""
    quotient, remainder = divide(a, b)
    rounded_up: U32 = quotient + (remainder != 0)
    return rounded_up


def divisor(values: U32) -> U32:
    """Values fit to divide by: a 0, which makes the program undefined (TA-061, TA-062), counts as 1."""
    at_least_one: U32 = np.maximum(values, np.uint32(1))
    return at_least_one
