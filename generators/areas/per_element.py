"""Cases of per-element operations. docs/generators.md describes the distribution."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from cts.base.choices import Choices, Source
from cts.base.errors import NothingToGenerate
from cts.case.model import Case, ComponentType
from cts.device.capabilities import Capabilities, Feature, MatrixSupport
from cts.generators.build.contents import Wanted
from cts.generators.build.float_modes import draw_float_modes
from cts.generators.build.kernels import Kernel, draw_float_controls
from cts.generators.build.specials import draw_ieee, draw_numbers
from cts.generators.build.supports import Supports, draw_dispatch, draw_row, draw_shape
from cts.generators.parts.dependence import draw_chain
from cts.generators.parts.per_element import draw_per_element
from cts.generators.policy.matrices import ComputationDraws


def cases(capabilities: Capabilities) -> Source[Case]:
    """Valid cases that a device with `capabilities` can run.

    Raises NothingToGenerate when it has no per-element operations, or no matrix of moderate size.
    """
    supports = Supports(capabilities)
    if not supports.rows or Feature.PER_ELEMENT not in capabilities.features:
        raise NothingToGenerate("the driver has no per-element operations on matrices of moderate size")
    scalars = sorted(
        {row.component for row in supports.rows} | {ComponentType.uint32, ComponentType.float32}, key=_order
    )

    def per_element(choices: Choices) -> Case:
        return _draw_case(choices, supports, supports.rows, scalars)

    return per_element


def _order(component: ComponentType) -> int:
    return list(ComponentType).index(component)


def _draw_case(
    choices: Choices, supports: Supports, rows: Sequence[MatrixSupport], scalars: Sequence[ComponentType]
) -> Case:
    """One operation or several, each on the result of the one before."""
    support = draw_row(choices, rows)
    shape = draw_shape(choices, support, supports.capabilities.max_dimension)
    dispatch = draw_dispatch(choices, support.scope, support.subgroups, supports.capabilities, shape[0] * shape[1])
    controls = draw_float_controls(choices, supports.capabilities)
    count = choices.pick(ComputationDraws.FUNCTIONS)
    kernel = Kernel(choices, supports, support.scope, dispatch)
    kernel.ieee = draw_ieee(choices, controls, support.component)
    contents = draw_numbers(choices, support.component, Wanted(exact=True), ieee=kernel.ieee)
    source = m = kernel.load(choices, support.component, *shape, support.use, contents)
    for _ in range(count):
        m = choices.group(partial(draw_per_element, kernel=kernel, matrix=m, scalars=scalars))
    kernel.store(choices, m)
    if choices.chance(ComputationDraws.PER_ELEMENT_SOURCE_KEPT):
        # An implementation may overwrite what is still needed.
        kernel.store(choices, source)
    draw_chain(choices, kernel, source)
    return kernel.case(controls, draw_float_modes(choices, supports.capabilities, controls))
