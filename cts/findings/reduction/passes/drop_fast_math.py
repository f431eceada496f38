"""The fast math of one instruction, or the default of a type, is gone, or one bit of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import structs

from cts.case.model import Case, FastMath, FastMathBits


def propose(case: Case) -> Iterator[Case]:
    for width, bits in case.fast_math.items():
        yield structs.replace(case, fast_math={w: b for w, b in case.fast_math.items() if w is not width})
        for fewer in _fewer(bits):
            yield structs.replace(case, fast_math=case.fast_math | {width: fewer})
    for n, i in enumerate(case.program):
        bits_of_one: FastMathBits | None = getattr(i, "fast_math", None)
        if bits_of_one is not None:
            for left in (None, *_fewer(bits_of_one)):
                changed: Any = structs.replace(i, fast_math=left)
                yield structs.replace(case, program=(*case.program[:n], changed, *case.program[n + 1 :]))


def _fewer(bits: Sequence[FastMath]) -> Iterator[FastMathBits]:
    """One bit less; AllowTransform goes before those that it needs (NU-049)."""
    needed = {FastMath.AllowContract, FastMath.AllowReassoc} if FastMath.AllowTransform in bits else set()
    for bit in bits:
        if bit not in needed:
            yield tuple(b for b in bits if b is not bit)
