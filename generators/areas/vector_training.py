"""Cases of training: outer products and sums that many invocations accumulate, and atomic additions.

CV-020, CV-021, CV-040, CV-041.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from msgspec import structs

from cts.base.choices import Choices, Source
from cts.base.errors import NothingToGenerate
from cts.case.model import Case, ComponentType
from cts.case.model.vector_products import OUTER_FACTOR
from cts.device.capabilities import Capabilities
from cts.generators.build.float_modes import draw_float_modes
from cts.generators.build.kernels import draw_float_controls
from cts.generators.build.supports import draw_length
from cts.generators.build.vector_kernels import Vector, VectorKernel
from cts.generators.build.vector_operands import MAX_COMPONENTS, draw_vector_dispatch, written
from cts.generators.parts.training import Training, accumulators_of
from cts.generators.parts.vector_dependence import draw_vector_chain
from cts.generators.parts.vector_flow import MAX_ITERATIONS, draw_condition, draw_loop
from cts.generators.policy.vectors import TrainingDraws

_C = ComponentType


def cases(capabilities: Capabilities) -> Source[Case]:
    """Valid cases that a device with `capabilities` can run. Raises NothingToGenerate when it accumulates nothing."""
    accumulators = accumulators_of(capabilities)
    if not accumulators:
        raise NothingToGenerate("the driver has no training with cooperative vectors")

    def vector_training(choices: Choices) -> Case:
        return _draw_case(choices, capabilities, accumulators)

    return vector_training


def _draw_case(choices: Choices, capabilities: Capabilities, accumulators: Sequence[ComponentType]) -> Case:
    outer = choices.chance(TrainingDraws.OUTER) and OUTER_FACTOR in capabilities.vector_components
    m, n = draw_length(choices, capabilities), draw_length(choices, capabilities)
    if m * n > MAX_COMPONENTS:
        n = max(MAX_COMPONENTS // m, 1)
    dispatch = draw_vector_dispatch(choices, capabilities, max(m, n, m * n // 16))
    dispatch = structs.replace(dispatch, times=choices.pick(TrainingDraws.DISPATCHES))
    controls = draw_float_controls(choices, capabilities)
    kernel = VectorKernel(choices, capabilities, dispatch)
    times = choices.pick(TrainingDraws.TIMES)
    exact = not choices.chance(TrainingDraws.INEXACT)
    training = Training(kernel, accumulators, exact)
    around = choices.pick(TrainingDraws.AROUND)
    for _ in range(times):
        body = training.draw_outer if outer else partial(training.draw_sum, how=choices.pick(TrainingDraws.SUMS))
        choices.group(partial(_draw_around, kernel=kernel, around=around, body=partial(body, shape=(m, n))))
        outer = outer != choices.chance(TrainingDraws.OTHER_KIND) and OUTER_FACTOR in capabilities.vector_components
    if training.can_read_sums and choices.chance(TrainingDraws.SUM_READ):
        training.read_sum(choices)
    draw_vector_chain(choices, kernel, accumulators[0], m)
    return kernel.case(controls, draw_float_modes(choices, capabilities, controls))


def _draw_around(choices: Choices, kernel: VectorKernel, around: str, body: partial[None]) -> None:
    """An accumulation, alone, or in a loop, or where a condition holds, or in both branches of one."""
    if around == "loop":

        def iteration(c: Choices, carried: Sequence[Vector]) -> Sequence[Vector]:
            body(c, iterations=MAX_ITERATIONS)
            return carried

        draw_loop(choices, kernel, [], iteration)
    elif around != "nothing":
        kernel.program.begin_if(written(kernel.constness, draw_condition(choices, kernel)))
        body(choices, iterations=1)
        if around == "both branches":
            kernel.program.begin_else()
            body(choices, iterations=1)
        kernel.program.end_if()
    else:
        body(choices, iterations=1)
