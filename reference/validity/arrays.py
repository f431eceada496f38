"""Rules on arrays of invocations whose start is known at run time (QC-010, QC-011)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cts.case import model
from cts.reference.common.broken import Broken, broken, first_of
from cts.reference.execution.program import Evaluation
from cts.reference.execution.step import Step


def of_step(evaluation: Evaluation, step: Step) -> Iterator[Broken]:
    """Where a matrix's arrays begin in those of another one: within them, at a multiple of their length."""
    instruction = evaluation.case.program[step.index]
    if not isinstance(instruction, model.MatrixThroughArrays):
        return
    source, target = (evaluation.types[name] for name in (instruction.matrix, instruction.id))
    assert isinstance(source, model.MatrixShape) and isinstance(target, model.MatrixShape)
    part = instruction.part(source, target)
    if part is None:
        return
    length, wanted = part
    words = evaluation.operands.scalar(step.index, "start", instruction.start, step.taken.iterations)
    start = words.view(np.int32).astype(np.int64)
    active = evaluation.active_at(step.taken, target.scope)
    taken = np.ones((1, 1), bool) if active is None else active
    start, taken = np.broadcast_arrays(start, taken)
    path, last = f"program[{step.index}].start", length - wanted
    yield from broken(
        "QC-010",
        path,
        ((start < 0) | (start > last)) & taken,
        lambda n: (
            f"{wanted} elements from {int(first_of(start, ((start < 0) | (start > last)) & taken, n))} on of {length}",
            f"a start of 0 to {last}",
        ),
    )
    yield from broken(
        "QC-011",
        path,
        (start % wanted != 0) & taken,
        lambda n: (
            f"a start of {int(first_of(start, (start % wanted != 0) & taken, n))}",
            f"a multiple of the part's length {wanted}",
        ),
    )
