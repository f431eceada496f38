"""Selectors of switches, and the literals that lead to their branches."""

from __future__ import annotations

from cts.base.choices import Choices
from cts.generators.build.operands import signed

#: What selectors begin at: small numbers, and those around the limits of fewer bits and of signs.
FIRST = (0, 1, -1, 2**16 - 2, 254, 2**31 - 2, -(2**15) - 1, -(2**31), 2**16 - 1, -2)


#: So many values from the first one on are dealt out to branches; any other takes the default.
DEALT = 5

#: Bits by which a literal that no selector equals differs from one: those at which narrower integers end.
_ELSEWHERE = (1 << 16, 1 << 31, 1 << 8, 1 << 24)


def draw_literals(choices: Choices, first: int, branches: int) -> list[tuple[int, ...]]:
    """The literals of each branch: values from `first` on, and values that differ from a selector by one bit."""
    dealt = choices.record(*[branches] * DEALT)
    extra, bit, as_unsigned = choices.record(branches, len(_ELSEWHERE) - 1, 3)
    literals: list[list[int]] = [[] for _ in range(branches)]
    for offset, branch in enumerate(dealt):
        if branch < branches:
            # Of several literals the lower ones come last.
            literals[branch].insert(0, first + offset)
    for n, own in enumerate(literals):
        if n == extra or not own:
            own.insert(0, (first + n) ^ _ELSEWHERE[bit])
    return [tuple(x % (1 << 32) if as_unsigned == 1 else signed(x) for x in own) for own in literals]
