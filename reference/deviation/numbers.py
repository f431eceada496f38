"""Transforms of 32-bit operands, (sets, instances) or (sets, instances, n), and of members of layouts and views."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from cts.case.oracle.deviation import TRANSFORMS, Domain, Step
from cts.reference.deviation.moves import NotComputable, move_of
from cts.reference.numeric.arrays import U32

_MASK = 0xFFFFFFFF


def transformed(numbers: U32, steps: Sequence[Step], before: U32 | None = None) -> U32:
    """Numbers as a wrong program has them; `before` is what a member of a state was.

    Raises NotComputable for a transform that does not apply to these numbers.
    """
    for step in steps:
        if Domain.NUMBERS not in TRANSFORMS[step.name].domain:
            raise NotComputable(step.name)
        if step.name == "before":
            if before is None:
                raise NotComputable("an operand has no earlier value")
            numbers = before
        elif (function := _NUMBERS.get(step.name)) is not None:
            numbers = function(numbers, *step.arguments)
        elif (move := move_of(step)) is not None:
            numbers = move(numbers)
        else:
            raise NotComputable(step.name)
    return numbers


def _plus(a: U32, n: int) -> U32:
    return a + np.uint32(n & _MASK)


def _divided(a: U32, n: int) -> U32:
    if n == 0:
        raise NotComputable("a division by 0")
    return a // np.uint32(n & _MASK)


def _place(a: U32, n: int) -> int:
    if a.ndim < 3 or not -a.shape[-1] <= n < a.shape[-1]:
        raise NotComputable(f"no entry {n}")
    return n


def _swapped(a: U32, n: int, m: int) -> U32:
    order = np.arange(a.shape[-1])
    order[[_place(a, n), _place(a, m)]] = order[[_place(a, m), _place(a, n)]]
    return a[..., order]


def _with_entry(a: U32, n: int, number: int) -> U32:
    changed = a.copy()
    changed[..., _place(a, n)] = number & _MASK
    return changed


_NUMBERS: dict[str, Callable[..., U32]] = {
    "zero": np.zeros_like,
    "number": lambda a, n: np.full_like(a, int(n) & _MASK),
    "negated": lambda a: np.negative(a),
    "plus": _plus,
    "times": lambda a, n: a * np.uint32(n & _MASK),
    "divided": _divided,
    "at_most": lambda a, n: np.minimum(a, np.uint32(n & _MASK)),
    "low_bits": lambda a, n: a & np.uint32((1 << n) - 1 & _MASK),
    "swapped": _swapped,
    "reversed": lambda a: a[..., ::-1] if a.ndim > 2 else a,
    "entry": lambda a, n: np.broadcast_to(a[..., [_place(a, n)]], a.shape),
    "with_entry": _with_entry,
    # What reads the operand has made it that of another iteration, or of another workgroup.
    "counted": lambda a, *_: a,
    "first_iteration": lambda a: a,
    "inner_iteration": lambda a: a,
}
