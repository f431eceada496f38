"""How the layout and the view of a tensor instruction came to be (TA-010..TA-021)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

import numpy as np

from cts.case.model import TensorInstruction, TensorLayoutSetClampValue
from cts.case.oracle.trace import Number, StepKind, TraceStep
from cts.reference.addressing.accesses import Access
from cts.reference.addressing.coordinates import Status
from cts.reference.addressing.layout import TensorLayoutState
from cts.reference.addressing.view import TensorViewState
from cts.reference.execution.program import Evaluation
from cts.reference.execution.step import Step
from cts.reference.trace.element import Element, at_element


def state_steps(evaluation: Evaluation, access: Access, number: int, element: Element) -> Iterator[TraceStep]:
    """What each instruction behind the layout and view of step `number` changes, first to last."""
    instruction = evaluation.case.program[access.instruction]
    assert isinstance(instruction, TensorInstruction)
    outside = int(at_element(access.status, element)) in (Status.CLAMPED, Status.DISCARD)
    for name in (instruction.layout, instruction.view):
        for step in _chain(evaluation, name, number):
            yield _step(evaluation, step, element.instance, outside)


def _chain(evaluation: Evaluation, name: str | None, before: int) -> list[Step]:
    """The steps before `before` that made a layout or view, the first one first."""
    steps: list[Step] = []
    while name is not None:
        number = next(n for n in range(before - 1, -1, -1) if _id(evaluation, n) == name)
        steps.insert(0, evaluation.steps[number])
        name, before = getattr(evaluation.case.program[steps[0].index], "of", None), number
    return steps


def _id(evaluation: Evaluation, number: int) -> str | None:
    return getattr(evaluation.case.program[evaluation.steps[number].index], "id", None)


def _step(evaluation: Evaluation, step: Step, instance: int, outside: bool) -> TraceStep:
    instruction = evaluation.case.program[step.index]
    kind = type(instruction)
    rule, op = instruction.facts[0], kind.__name__
    if step.after is not None and step.before is None:
        return TraceStep(
            StepKind.NEW_LAYOUT,
            rule,
            step.index,
            names={"op": op, "clamp": step.after.type.clamp.value},
            numbers={"rank": step.after.dim},
            idle=not outside,
        )
    if step.view_after is not None and step.view_before is None:
        permutation = tuple(step.view_after.type.permutation)
        return TraceStep(
            StepKind.NEW_VIEW,
            rule,
            step.index,
            names={"op": op},
            numbers={"permutation": permutation},
            idle=permutation == tuple(range(len(permutation))),
        )
    changes = _changes(step.before or step.view_before, step.after or step.view_after, instance)
    idle = not changes or (kind is TensorLayoutSetClampValue and not outside)
    return TraceStep(StepKind.STATE_CHANGE, rule, step.index, names={"op": op}, numbers=changes, idle=idle)


def _changes(
    before: TensorLayoutState | TensorViewState | None, after: TensorLayoutState | TensorViewState | None, instance: int
) -> dict[str, Number | tuple[Number, ...]]:
    """The members that are not what they were, for one instance: their new numbers, then the old ones."""
    assert before is not None and after is not None
    changes: dict[str, Number | tuple[Number, ...]] = {}
    for field in fields(after):
        old, new = getattr(before, field.name), getattr(after, field.name)
        if isinstance(new, np.ndarray):
            old, new = (a[0, min(instance, a.shape[1] - 1)].tolist() for a in (old, new))
            if old != new:
                changes[field.name] = tuple(n - ((n & 0x80000000) << 1) for n in (*new, *old))
    return changes
