"""Cases of reductions. docs/generators.md describes the distribution."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from cts.base.choices import Choices, Source
from cts.base.errors import NothingToGenerate
from cts.case.model import Case, FloatControls, Use
from cts.device.capabilities import Capabilities, Feature, MatrixSupport
from cts.generators.build.float_modes import draw_float_modes
from cts.generators.build.kernels import Kernel, Matrix, draw_float_controls
from cts.generators.build.specials import draw_ieee
from cts.generators.build.supports import Supports, draw_dispatch, draw_row, draw_shape
from cts.generators.parts.combine_functions import combinings, draw_combining, draw_special_terms
from cts.generators.parts.dependence import draw_chain
from cts.generators.parts.reductions import combined_count, draw_computed_reduction, draw_mode, draw_reduction
from cts.generators.policy.cases import CaseDraws
from cts.generators.policy.matrices import ComputationDraws


def cases(capabilities: Capabilities) -> Source[Case]:
    """Valid cases that a device with `capabilities` can run.

    Raises NothingToGenerate when it has no reductions, or no accumulator of moderate size.
    """
    supports = Supports(capabilities)
    rows = [row for row in supports.rows if row.use is Use.Accumulator]
    if not rows or Feature.REDUCTIONS not in capabilities.features:
        raise NothingToGenerate("the driver has no reductions of matrices of moderate size")

    def reductions(choices: Choices) -> Case:
        return _draw_case(choices, supports, rows)

    return reductions


def _draw_case(choices: Choices, supports: Supports, rows: Sequence[MatrixSupport]) -> Case:
    """One reduction or two of a matrix, or one of the other's result."""
    support = draw_row(choices, rows)
    shape = draw_shape(choices, support, supports.capabilities.max_dimension, tiled=CaseDraws.TILED)
    dispatch = draw_dispatch(choices, support.scope, support.subgroups, supports.capabilities, shape[0] * shape[1])
    controls = draw_float_controls(choices, supports.capabilities)
    combining = draw_combining(choices, combinings(support.component))
    kernel = Kernel(choices, supports, support.scope, dispatch, literal_uses=True)
    mode = draw_mode(choices, kernel, support.component, *shape)
    count = combined_count(mode, *shape)
    kernel.ieee = draw_ieee(choices, controls, support.component)
    kernel.judges_zeros = kernel.ieee or controls is FloatControls.FastMathNone
    if kernel.ieee and combining.special:
        contents = draw_special_terms(choices, support.component, combining, count)
    else:
        contents = combining.contents(choices, support.component, count)
    source = kernel.load(choices, support.component, *shape, Use.Accumulator, contents)
    first = draw_reduction(choices, kernel, source, mode, combining)
    kernel.store(choices, first)
    if choices.chance(ComputationDraws.SECOND_REDUCTION):
        choices.group(partial(_draw_second, kernel=kernel, source=source, first=first))
    draw_chain(choices, kernel, source)
    return kernel.case(
        controls, draw_float_modes(choices, supports.capabilities, controls, zeros=not kernel.takes_zeros)
    )


def _draw_second(choices: Choices, kernel: Kernel, source: Matrix, first: Matrix) -> None:
    """Another reduction, of the same matrix or of the first one's result, where it is defined."""
    matrix = first if choices.chance(ComputationDraws.REDUCED_AGAIN) else source
    mode = draw_mode(choices, kernel, matrix.component, matrix.rows, matrix.cols)
    reduced = draw_computed_reduction(choices, kernel, matrix, mode, draw_combining)
    if reduced is not None:
        kernel.store(choices, reduced)
