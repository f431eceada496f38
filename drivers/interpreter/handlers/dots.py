"""Dot products: of floating-point vectors, of integer vectors, and of words that hold four bytes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.declare import Declarations
from cts.drivers.interpreter.handlers.arithmetic import signed
from cts.drivers.interpreter.parse import Instruction
from cts.drivers.interpreter.problems import Malformed
from cts.drivers.interpreter.registry import Pure, pure, typed
from cts.drivers.interpreter.values import Array

#: An integer operand read as its opcode says.
Read = Callable[[Array], Array]


@pure("OpDot")
def dot(a: Array, b: Array) -> Array:
    """Products added one by one in the components' precision; narrow types but float16 in float32, rounded once."""
    if a.dtype.itemsize <= 2 and a.dtype != np.float16:
        return dot(a.astype(np.float32), b.astype(np.float32)).astype(a.dtype)
    total = a[:, 0] * b[:, 0]
    for k in range(1, a.shape[1]):
        total = total + a[:, k] * b[:, k]
    return total


def _unsigned(a: Array) -> Array:
    return a


#: By instruction: how the first and the second vector are read, and whether the result is signed.
_READS: dict[str, tuple[Read, Read, bool]] = {
    "OpSDot": (signed, signed, True),
    "OpUDot": (_unsigned, _unsigned, False),
    "OpSUDot": (signed, _unsigned, True),
}


@typed(*_READS)
def integer_dot(d: Declarations, i: Instruction) -> Pure:
    """The low bits of the exact result."""
    return _product(d, i, *_READS[i.name])


@typed(*(f"{name}AccSat" for name in _READS))
def saturating_dot(d: Declarations, i: Instruction) -> Pure:
    """The accumulator is added with saturation; an overflow before that is undefined (here: it wraps)."""
    first, second, is_signed = _READS[i.name.removesuffix("AccSat")]
    product = _product(d, i, first, second, is_signed)
    saturating = _add_signed if is_signed else _add_unsigned
    return lambda a, b, accumulator: saturating(product(a, b), accumulator)


def _product(d: Declarations, i: Instruction, first: Read, second: Read, is_signed: bool) -> Pure:
    t = d.result_type(i)
    if not isinstance(t, ty.Int):
        raise Malformed("the result type must be an integer")
    is_packed = isinstance(d.type(i.id(0)), ty.Int)
    narrow = t.dtype
    # Sums and products mod 2^64 have the right low bits, whatever the sign.
    wide = np.dtype(np.int64 if is_signed else np.uint64)

    def product(a: Array, b: Array) -> Array:
        if is_packed:
            a, b = _bytes(a), _bytes(b)
        terms = first(a).astype(wide) * second(b).astype(wide)
        return np.asarray(terms.sum(axis=1, dtype=wide)).view(np.uint64).astype(narrow)

    return product


def _bytes(word: Array) -> Array:
    """PackedVectorFormat4x8Bit: (lanes,) to (lanes, 4), the least significant byte first."""
    return np.ascontiguousarray(word)[:, None].view(np.uint8)


def _add_unsigned(a: Array, b: Array) -> Array:
    total = a + b
    return np.where(total < a, ~a.dtype.type(0), total)


def _add_signed(a: Array, b: Array) -> Array:
    """Beyond the largest and the least number where both operands have the sign that the sum has not."""
    total = a + b
    overflowed = signed((a ^ total) & (b ^ total)) < 0
    limits = np.iinfo(signed(a).dtype)
    limit = np.where(signed(a) < 0, limits.min, limits.max).astype(limits.dtype)
    return np.where(overflowed, limit.view(a.dtype), total)
