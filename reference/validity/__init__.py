"""Undefined behaviour and Vulkan validity: which rule (fact ID) a case breaks.

Three kinds of rule: on operands (`operands`), on the state of layouts and views (`state`), and on
the locations that loads and stores meet (`memory`). TA-073 and TA-074 are about functions, which
programs do not have; TA-075 (wrap-around) is defined arithmetic and no violation.
"""

from __future__ import annotations

from collections.abc import Iterator

from cts.expectation import Violation
from cts.reference.program import Evaluation
from cts.reference.validity import memory, operands, state

__all__ = ["violations"]


def violations(evaluation: Evaluation) -> list[Violation]:
    """Every rule that the case breaks, in program order within each kind of rule."""
    return list(_all(evaluation))


def _all(evaluation: Evaluation) -> Iterator[Violation]:
    yield from operands.violations(evaluation)
    yield from state.violations(evaluation)
    yield from memory.violations(evaluation)
