"""Executes a case: what memory and every matrix may hold afterwards, for a batch of parameter sets at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from cts.case import model
from cts.case.oracle.deviation import OF_CASE
from cts.reference.common.broken import everywhere
from cts.reference.common.guarded_memory import GuardedMemory
from cts.reference.common.memory import Memory
from cts.reference.execution.deviating_machine import DeviatingMachine
from cts.reference.execution.execution import Execution
from cts.reference.execution.machine import Machine, Recording
from cts.reference.execution.program import Evaluation, evaluate
from cts.reference.execution.step import Step
from cts.reference.numeric.arrays import U8, U32
from cts.reference.vectors.opaque import convert


def execute(case: model.Case, parameter_sets: U32) -> Execution:
    """Execute a case, which must have no violations, once per parameter set.

    `parameter_sets` is (sets, n), uint32: a word per operand of `case_dynamic_operands(case)`, in that order.
    """
    asked = sum(1 for _ in model.case_dynamic_operands(case))
    if parameter_sets.ndim != 2 or parameter_sets.shape[1] != asked:
        raise ValueError(f"parameter sets have shape {parameter_sets.shape}; the case asks for (sets, {asked})")
    return run(evaluate(case, np.asarray(parameter_sets, np.uint32)), len(parameter_sets))


def run(
    evaluation: Evaluation,
    sets: int = 1,
    recording: Recording | None = None,
    data: Mapping[str, U8] | None = None,
    observe: Callable[[Step, Mapping[str, Memory]], None] | None = None,
) -> Execution:
    """Execute what `evaluate` prepared for so many parameter sets.

    `data` gives buffers other contents under each set, (sets, bytes of the buffer). `observe` is called after each step
    with memory as the step leaves it.
    """
    case, data = evaluation.case, data or {}
    kind = GuardedMemory if evaluation.parts else Memory
    memories = {name: kind(buffer, data.get(name)) for name, buffer in case.buffers.items()}
    result = Execution(evaluation, sets, memories)
    machine = (DeviatingMachine if evaluation.parts else Machine)(evaluation, result, recording)
    convert(case, False, result.memories, machine.opaque, lambda v: result.note(everywhere(v)), evaluation.parts)
    dispatch = 0
    for machine.number, step in enumerate(evaluation.steps):
        if step.taken.dispatch != dispatch:
            machine.vectors.finish()
            dispatch = step.taken.dispatch
            if "conversions" in evaluation.parts.get(OF_CASE, {}):
                convert(case, False, result.memories, machine.opaque, lambda v: None, evaluation.parts)
        machine.take(step)
        if observe is not None:
            observe(step, result.memories)
    machine.vectors.finish()
    convert(case, True, result.memories, machine.opaque, lambda v: result.note(everywhere(v)), evaluation.parts)
    return result
