"""Cases of vectors times matrices: every row, every layout, chains of layers. docs/generators.md says how often."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from cts.base.choices import Choices, Source
from cts.base.errors import NothingToGenerate
from cts.case.model import Case
from cts.device.capabilities import Capabilities, VectorMulSupport
from cts.generators.build.float_modes import draw_float_modes
from cts.generators.build.kernels import draw_float_controls
from cts.generators.build.specials import draw_ieee
from cts.generators.build.supports import draw_length
from cts.generators.build.vector_kernels import Vector, VectorKernel
from cts.generators.build.vector_operands import MAX_COMPONENTS, draw_vector_dispatch
from cts.generators.parts.vector_dependence import draw_vector_chain
from cts.generators.parts.vector_flow import draw_alike, draw_if, draw_loop, draw_switch
from cts.generators.parts.vector_networks import MAX_PRODUCTS, draw_again, draw_layer, draw_next, load_input
from cts.generators.parts.vector_products import results_of, usable_rows
from cts.generators.policy.vectors import VectorProductDraws


def cases(capabilities: Capabilities) -> Source[Case]:
    """Valid cases that a device with `capabilities` can run. Raises NothingToGenerate when it multiplies no vectors."""
    rows = usable_rows(capabilities)
    if not rows:
        raise NothingToGenerate("the driver multiplies no cooperative vectors")

    def vector_multiply(choices: Choices) -> Case:
        return _draw_case(choices, capabilities, rows)

    return vector_multiply


def draw_mul_row(choices: Choices, rows: Sequence[VectorMulSupport]) -> VectorMulSupport:
    """A row, of integers or of floats as often, however many there are of either."""
    floats = choices.chance(VectorProductDraws.FLOATS)
    return choices.pick([r for r in rows if r.result.is_float == floats] or rows)


def _draw_case(choices: Choices, capabilities: Capabilities, rows: Sequence[VectorMulSupport]) -> Case:
    row = draw_mul_row(choices, rows)
    m, k = draw_extents(choices, capabilities)
    dispatch = draw_vector_dispatch(choices, capabilities, max(m, k, m * k * MAX_COMPONENTS // MAX_PRODUCTS))
    controls = draw_float_controls(choices, capabilities)
    layers = choices.pick(VectorProductDraws.LAYERS)
    kernel = VectorKernel(choices, capabilities, dispatch)
    kernel.ieee = draw_ieee(choices, controls, row.input)
    exact = not choices.chance(VectorProductDraws.INEXACT)
    source = draw_alike(choices, kernel, load_input(choices, kernel, row, k, exact=exact), VectorProductDraws.INPUTS)
    result = _draw_divergent(choices, kernel, row, source, k, m, exact=exact)
    kept = choices.pick(VectorProductDraws.KEPT)
    first = result
    for _ in range(layers - 1):
        result = choices.group(partial(draw_next, kernel=kernel, rows=rows, vector=result, exact=exact))
    kernel.store(choices, result)
    if kept != "nothing":
        # An implementation may overwrite what is still needed.
        kernel.store(choices, first if kept == "first" else source)
    draw_vector_chain(choices, kernel, result.component, result.length)
    return kernel.case(controls, draw_float_modes(choices, capabilities, controls))


def _draw_divergent(
    choices: Choices, kernel: VectorKernel, row: VectorMulSupport, source: Vector, k: int, m: int, *, exact: bool
) -> Vector:
    """A layer, now and then under a condition, in a switch, or in a loop that others leave or never enter (CV-010)."""
    around = choices.pick(VectorProductDraws.AROUND)
    if around == "nothing":
        whole = draw_layer(choices, kernel, row, source, k, m, exact=exact)
        if choices.chance(VectorProductDraws.SHARED):
            kernel.store(choices, choices.group(partial(draw_again, kernel=kernel, layer=whole, k=k, exact=exact)))
        return whole.result
    result = choices.pick(results_of(kernel.capabilities, row))
    other = kernel.constant(choices, result, m, (0, 1, 2, 3))

    def layer(c: Choices) -> Vector:
        return draw_layer(c, kernel, row, source, k, m, exact=exact, result=result).result

    if around == "condition":
        merged = draw_if(choices, kernel, layer, lambda c: other)
        assert merged is not None
        return merged
    if around == "switch":
        return draw_switch(choices, kernel, layer, other) or other
    return draw_loop(choices, kernel, [other], lambda c, carried: [layer(c)])[0]


def draw_extents(choices: Choices, capabilities: Capabilities) -> tuple[int, int]:
    """M and K, of which not both are large."""
    m, k = draw_length(choices, capabilities), draw_length(choices, capabilities)
    return (m, k) if m * k <= MAX_COMPONENTS else (m, max(MAX_COMPONENTS // m, 1))
