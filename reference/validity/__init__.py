"""Undefined behaviour and Vulkan validity: which rule (fact ID) a case breaks.

Kinds of rule: on operands (`operands`) and on what they vary over (`uniformity`), on the state of
layouts and views (`state`), on the locations that loads and stores access (`memory`), on accesses
to the same location (`races`), on cooperative vectors alone (`vectors`), and on conversions of
matrices (`conversions`). Rules on values (NU-002, NU-004, NU-016, CM-023, DV-012, TA-073, AM-28, CV-038)
show in the execution. Wrap-around mod 2^32 (TA-075) is defined arithmetic and no violation.
"""

from __future__ import annotations

from collections.abc import Iterator

from cts.model import (
    Case,
    Computation,
    MatrixConvert,
    VectorInstruction,
)
from cts.oracle.expectation import Violation
from cts.reference.addressing.accesses import Access
from cts.reference.execution.program import Evaluation, Step
from cts.reference.validity import conversions, memory, operands, state, uniformity, vectors
from cts.reference.validity.races import races

__all__ = ["computes", "violations"]


def violations(evaluation: Evaluation) -> list[Violation]:
    """Every rule that the case breaks but by its values, in program order; rules on the whole dispatch come last.

    Each rule is reported once for each path, however often a loop breaks it.
    """
    distinct: dict[tuple[str, str], Violation] = {}
    sound = True
    for step in evaluation.steps:
        broken = [v for access in step.accesses for v in _of_access(evaluation, step, access)]
        broken += vectors.of_step(evaluation, step)
        sound = sound and not broken
        for violation in (*state.of_setter(evaluation.case, step), *broken):
            distinct.setdefault((violation.rule, violation.path), violation)
    result = list(distinct.values())
    result += [*operands.of_dispatch(evaluation), *conversions.of_case(evaluation.case)]
    result += uniformity.of_program(evaluation)
    return result + list(races(evaluation)) if sound else result


def computes(case: Case) -> bool:
    """Whether the program has instructions that rules on values are about."""
    kinds = Computation | MatrixConvert | VectorInstruction
    if case.conversions:
        return True
    return any(isinstance(i, kinds) or getattr(i, "decode", None) is not None for i in case.program)


def _of_access(evaluation: Evaluation, step: Step, access: Access) -> Iterator[Violation]:
    """Addresses computed from undefined state mean nothing, so its locations are judged only without such."""
    active = evaluation.active_at(step.taken, access.shape.scope)
    taken = access if active is None else access.only(active)
    if active is not None and not active.any():
        return
    yield from operands.of_access(evaluation, taken)
    broken = list(state.of_access(evaluation.case, taken))
    yield from broken or memory.of_access(evaluation, access, taken)
