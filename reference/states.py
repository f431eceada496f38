"""How the layout and the view of a tensor instruction came to be, in words (TA-010..TA-021)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

import numpy as np

from cts.expectation import TraceStep
from cts.model import (
    TensorInstruction,
    TensorLayoutSetClampValue,
)
from cts.reference.accesses import Access
from cts.reference.addressing import Status
from cts.reference.element import Element, at_element
from cts.reference.layout import TensorLayoutState
from cts.reference.program import Evaluation, Step
from cts.reference.view import TensorViewState


def state_steps(evaluation: Evaluation, access: Access, number: int, element: Element) -> Iterator[TraceStep]:
    """What each instruction behind the layout and view of step `number` changes, first to last."""
    instruction = evaluation.case.program[access.instruction]
    assert isinstance(instruction, TensorInstruction)
    outside = int(at_element(access.status, element)) in (Status.CLAMPED, Status.DISCARD)
    for name in (instruction.layout, instruction.view):
        for step in _chain(evaluation, name, number):
            yield _told(evaluation, step, element.instance, outside)


def _chain(evaluation: Evaluation, name: str | None, before: int) -> list[Step]:
    """The steps that made a layout or view as it is before a step, the first one first."""
    found: list[Step] = []
    while name is not None:
        number = next(n for n in range(before - 1, -1, -1) if _id(evaluation, n) == name)
        found.insert(0, evaluation.steps[number])
        name, before = getattr(evaluation.case.program[found[0].index], "of", None), number
    return found


def _id(evaluation: Evaluation, number: int) -> str | None:
    return getattr(evaluation.case.program[evaluation.steps[number].index], "id", None)


def _told(evaluation: Evaluation, step: Step, instance: int, outside: bool) -> TraceStep:
    instruction = evaluation.case.program[step.index]
    kind = type(instruction)
    what = f"program[{step.index}] {kind.__name__}"
    rule = instruction.facts[0]
    if step.after is not None and step.before is None:
        mode = step.after.type.clamp.value
        return TraceStep(rule, what, f"rank {step.after.dim}, {mode}", not outside, step.index)
    if step.view_after is not None and step.view_before is None:
        permutation = step.view_after.type.permutation
        ordered = permutation == tuple(range(len(permutation)))
        return TraceStep(rule, what, f"permutation {list(permutation)}", ordered, step.index)
    changes = _changes(step.before or step.view_before, step.after or step.view_after, instance)
    idle = not changes or (kind is TensorLayoutSetClampValue and not outside)
    return TraceStep(rule, what, ", ".join(changes) or "as before", idle, step.index)


def _changes(
    before: TensorLayoutState | TensorViewState | None, after: TensorLayoutState | TensorViewState | None, instance: int
) -> list[str]:
    """The members that are not what they were, for one instance."""
    assert before is not None and after is not None
    found = []
    for field in fields(after):
        old, new = getattr(before, field.name), getattr(after, field.name)
        if isinstance(new, np.ndarray):
            old, new = (a[0, min(instance, a.shape[1] - 1)].tolist() for a in (old, new))
            if old != new:
                found.append(f"{field.name} {_text(new)}, was {_text(old)}")
    return found


def _text(member: list[int]) -> str:
    signed = [n - ((n & 0x80000000) << 1) for n in member]
    return str(signed[0] if len(signed) == 1 else signed)
