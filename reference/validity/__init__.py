"""Undefined behaviour and Vulkan validity: which rule (fact ID) a case breaks.

Three kinds of rule: on operands (`operands`), on the state of layouts and views (`state`), and on
the locations that loads and stores meet (`memory`). Wrap-around mod 2^32 (TA-075) is defined
arithmetic and no violation.
"""

from __future__ import annotations

from collections.abc import Iterator

from cts.expectation import Violation
from cts.reference.program import Access, Evaluation
from cts.reference.validity import memory, operands, state

__all__ = ["violations"]


def violations(evaluation: Evaluation) -> list[Violation]:
    """Every rule that the case breaks, in program order; rules on the whole dispatch come last."""
    found: list[Violation] = []
    sound = True
    for i in range(len(evaluation.case.program)):
        found += state.of_setter(evaluation, i)
        access = evaluation.accesses.get(i)
        if access is not None:
            broken = list(_of_access(evaluation, access))
            sound = sound and not broken
            found += broken
    found += operands.of_dispatch(evaluation)
    return found + list(memory.races(evaluation)) if sound else found


def _of_access(evaluation: Evaluation, access: Access) -> Iterator[Violation]:
    """Addresses computed from undefined state mean nothing, so its locations are judged only without such."""
    yield from operands.of_access(evaluation, access)
    broken = list(state.of_access(access))
    yield from broken or memory.of_access(evaluation, access)
