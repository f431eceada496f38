"""Known values that a wrong result equals: an operand, an earlier value, a value of another invocation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from cts.modules.dispatch.elements import Array
from cts.modules.locating.logs import First

#: A guess: the value that is actual if it is right, or None.
Guess = Callable[[First], Array | None]


def guesses(firsts: Sequence[First]) -> Iterator[str]:
    """What holds of the actual values of all firsts of one instruction."""
    told = [f for f in firsts if f.kept is not None and f.actual.size]
    if not told:
        return
    for words, guess in _GUESSES:
        values = [guess(f) for f in told]
        if all(v is not None and _same(v, f) for v, f in zip(values, told, strict=True)):
            yield f"the actual value is {words}"
            return
    for n in range(max(len(f.operands) for f in told)):
        if all(len(f.operands) > n and _same(_at(f, n), f) for f in told):
            yield f"the actual value is that of operand {n + 1}"
            return


def _same(value: Array | None, first: First) -> bool:
    if value is None or len(value) != 1:
        return False
    with np.errstate(all="ignore"):
        a, b = float(value[0]), float(first.actual[0])
    return a == b and a != float(first.expected[0])


def _at(first: First, n: int) -> Array | None:
    """The part of operand n that the wrong component is made of."""
    values = first.operands[n].expected
    return values[first.number : first.number + 1] if len(values) > first.number else values[:1]


def _zero(first: First) -> Array | None:
    return np.zeros(1) if first.element is not None else None


def _negative(first: First) -> Array | None:
    if first.element is None or first.element.value.startswith("uint"):
        return None
    return -first.expected.astype(np.float64)


def _plus(amount: int) -> Guess:
    def guess(first: First) -> Array | None:
        if first.element is None or first.element.is_float:
            return None
        return first.expected.astype(np.float64) + amount

    return guess


def _narrow(bits: int, *, signed: bool) -> Guess:
    def guess(first: First) -> Array | None:
        if first.element is None or first.element.is_float or 8 * first.element.size <= bits:
            return None
        low = int(first.expected.view(first.element.bits)[0]) & ((1 << bits) - 1)
        if signed and low >> (bits - 1):
            low -= 1 << bits
        return np.array([low & ((1 << 8 * first.element.size) - 1)], first.element.bits).view(first.element.dtype)

    return guess


def _before(first: First) -> Array | None:
    return first.before


_GUESSES: list[tuple[str, Guess]] = [
    ("the negative of the expected one: operands exchanged, or a sign lost", _negative),
    ("what the instruction gave the time before", _before),
    *((f"the expected one's lowest {bits} bits, without sign", _narrow(bits, signed=False)) for bits in (8, 16, 32)),
    *((f"the expected one's lowest {bits} bits, with sign", _narrow(bits, signed=True)) for bits in (8, 16, 32)),
    ("0", _zero),
    ("one more than the expected one", _plus(1)),
    ("one less than the expected one", _plus(-1)),
]  # fmt: skip
