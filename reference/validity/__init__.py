"""Undefined behaviour and Vulkan validity: which rule (fact ID) a case breaks.

Kinds of rule: on operands (`operands`) and on what they vary over (`uniformity`), on the state of
layouts and views (`state`), on the locations that loads and stores access (`memory`), on accesses
to the same location (`races`), on cooperative vectors alone (`vectors`), on arrays of invocations
(`arrays`), on conversions of matrices (`conversions`), and on accesses outside buffers (`robustness`).
Rules on values (NU-002, NU-004, NU-016, CM-023, DV-012, TA-073, AM-28, CV-038) show in the execution.
Wrap-around mod 2^32 (TA-075) is defined arithmetic and no violation.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cts.case import model
from cts.case.oracle.expectation import Violation
from cts.reference.addressing.accesses import Access
from cts.reference.common.broken import Broken, everywhere, violations_of
from cts.reference.execution.program import Evaluation
from cts.reference.execution.step import Step
from cts.reference.numeric.arrays import Mask
from cts.reference.validity import arrays, conversions, memory, operands, robustness, state, uniformity, vectors
from cts.reference.validity.races import races, stored_twice

__all__ = ["computes", "races", "rules_broken", "violations"]


def violations(evaluation: Evaluation) -> list[Violation]:
    """Every rule that the case breaks but by its values, in program order; rules on the whole dispatch come last.

    Each rule is reported once for each path, however often a loop breaks it.
    """
    rules = _Rules(evaluation)
    result = violations_of(rules.before_races())
    return result + list(races(evaluation)) if rules.sound.all() else result


def rules_broken(evaluation: Evaluation, shared: bool) -> Iterator[Broken]:
    """The broken rules under every set, without races between accesses if they `shared` memory.

    For each set only the first rule that it breaks counts: ignore the rules after it.
    """
    yield from _Rules(evaluation).before_races()
    for _, access in evaluation.accesses:
        if access.store and not shared:
            yield from stored_twice(evaluation, access)


def computes(case: model.Case) -> bool:
    """Whether the program has instructions that rules on values are about."""
    kinds = model.Computation | model.MatrixConvert | model.VectorInstruction
    if case.conversions:
        return True
    return any(isinstance(i, kinds) or getattr(i, "decode", None) is not None for i in case.program)


class _Rules:
    """Rules in the order in which they are reported; `sound` are the sets under which accesses break none so far."""

    def __init__(self, evaluation: Evaluation) -> None:
        self.evaluation = evaluation
        self.sound: Mask = np.ones(1, bool)

    def before_races(self) -> Iterator[Broken]:
        evaluation = self.evaluation
        for step in evaluation.steps:
            yield from state.of_setter(evaluation.case, step)
            for access in step.accesses:
                yield from self._noted(self._of_access(step, access))
            yield from self._noted(vectors.of_step(evaluation, step))
            yield from self._noted(arrays.of_step(evaluation, step))
        yield from operands.of_dispatch(evaluation)
        yield from map(everywhere, conversions.of_case(evaluation.case))
        yield from map(everywhere, uniformity.of_program(evaluation))
        yield from robustness.of_program(evaluation)

    def _of_access(self, step: Step, access: Access) -> Iterator[Broken]:
        """Addresses computed from undefined state mean nothing, so locations are judged only without such."""
        evaluation = self.evaluation
        active = evaluation.active_at(step.taken, access.shape.scope)
        if active is not None and not active.any():
            return
        taken = access if active is None else access.only(active)
        yield from operands.of_access(evaluation, taken)
        addressable: Mask = np.ones(1, bool)
        for rule in state.of_access(evaluation.case, taken):
            addressable = addressable & ~rule.sets
            yield rule
        if addressable.any():
            yield from memory.of_access(evaluation, access, taken, addressable)
            yield from robustness.of_access(evaluation, access)

    def _noted(self, rules: Iterator[Broken]) -> Iterator[Broken]:
        for rule in rules:
            self.sound = self.sound & ~rule.sets
            yield rule
