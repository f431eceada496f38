"""Cases that are one web of instructions around products."""

from __future__ import annotations

from collections.abc import Sequence

from cts.base.choices import Choices
from cts.case.model import Case, FloatControls
from cts.device.capabilities import MulAddSupport
from cts.generators.build.float_modes import draw_float_modes
from cts.generators.build.kernels import Kernel, draw_float_controls
from cts.generators.build.supports import Supports, draw_dispatch
from cts.generators.parts.dependence import draw_chain
from cts.generators.parts.products import draw_product_row
from cts.generators.parts.web import draw_side, draw_web, square_rows
from cts.generators.policy.web import WebDraws


def draw_web_case(choices: Choices, supports: Supports, rows: Sequence[MulAddSupport]) -> Case:
    """A web of matrices of one of the rows, which `square_rows` gives."""
    same = [row for row in rows if row.a is row.b is row.result]
    row = draw_product_row(choices, same if same and choices.chance(WebDraws.ALIKE) else rows)
    side = draw_side(choices, row)
    dispatch = draw_dispatch(choices, row.scope, row.subgroups, supports.capabilities, side * side)
    controls = draw_float_controls(choices, supports.capabilities)
    kernel = Kernel(choices, supports, row.scope, dispatch, literal_uses=True)
    kernel.judges_zeros = controls is FloatControls.FastMathNone
    last = draw_web(choices, kernel, row, side)
    draw_chain(choices, kernel, last)
    modes = draw_float_modes(choices, supports.capabilities, controls, zeros=not kernel.takes_zeros)
    return kernel.case(controls, modes)


__all__ = ["draw_web_case", "square_rows"]
