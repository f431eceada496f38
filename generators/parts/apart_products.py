"""Multiplications whose results have other components than C, as some devices list them (KM-014b)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cts.base.choices import Choices
from cts.case.model import Case, ComponentType, Use
from cts.device.capabilities import MulAddSupport
from cts.generators.build.float_modes import draw_float_modes
from cts.generators.build.kernels import Kernel, Matrix, draw_float_controls
from cts.generators.build.specials import draw_ieee
from cts.generators.build.supports import MAX_ELEMENTS, Supports, can_run, draw_dispatch, draw_row
from cts.generators.parts.dependence import draw_chain
from cts.generators.parts.products import Factors, Sizes, alike, declared_type, draw_factors, draw_mul_add, draw_sizes
from cts.generators.policy.matrices import ProductDraws


def apart_products(supports: Supports) -> list[MulAddSupport]:
    """Rows whose C and result differ, whose matrices the driver can run, and that are small enough."""
    c = supports.capabilities
    return [
        row
        for row in c.mul_adds
        if row.c is not row.result
        and row.c.is_float == row.result.is_float
        and can_run(c, row.scope, row.subgroups)
        and Sizes(row.m, row.n, row.k).largest <= MAX_ELEMENTS
        and max(row.m, row.n, row.k) <= c.max_dimension
    ]


def draw_apart(
    choices: Choices, supports: Supports, rows: Sequence[MulAddSupport], others: Sequence[MulAddSupport]
) -> Case:
    """One multiplication, or several in which each adds to the one before, by a row that takes that as C."""
    row = _draw_row(choices, rows)
    sizes = draw_sizes(choices, row, supports.capabilities)
    dispatch = draw_dispatch(choices, row.scope, row.subgroups, supports.capabilities, sizes.largest)
    controls = draw_float_controls(choices, supports.capabilities)
    times = 1 if row.saturating else choices.pick(ProductDraws.TIMES)
    kernel = Kernel(choices, supports, row.scope, dispatch, literal_uses=True)
    kernel.ieee = draw_ieee(choices, controls, row.result)
    narrow = replace(row, result=min(row.c, row.result, key=_width))
    of_a, of_b, of_c = draw_factors(choices, row if row.saturating else narrow, sizes.k, times, ieee=kernel.ieee)
    factors = Factors(choices, kernel, row, sizes, (of_a, of_b))
    a, b = factors.draw(choices, Use.A), factors.draw(choices, Use.B)
    shape = sizes.m, sizes.n
    declared = declared_type(choices, kernel, row, Use.Accumulator, shape)
    first = c = kernel.load_from(choices, kernel.source(choices, row.c, of_c), *shape, Use.Accumulator, declared)
    for n in range(times):
        if n:
            fitting = [r for r in (*rows, *others) if _follows(r, row)]
            if not fitting:
                break
            row = choices.pick(fitting)
        c = draw_mul_add(choices, kernel, row, a, b, c, _result_type(choices, kernel, row, c))
        kernel.store(choices, c)
    draw_chain(choices, kernel, first)
    return kernel.case(controls, draw_float_modes(choices, supports.capabilities, controls))


def _draw_row(choices: Choices, rows: Sequence[MulAddSupport]) -> MulAddSupport:
    """A row of each pair of C and result as often; twice those whose result is narrower, which has the more ends."""
    first = draw_row(choices, rows)
    alike = [r for r in rows if r.a is first.a and r.result.is_float == first.result.is_float]
    pairs = list(dict.fromkeys((r.c, r.result) for r in alike))
    pair = choices.pick([*pairs, *((c, result) for c, result in pairs if _width(result) < _width(c))])
    return choices.pick([r for r in alike if (r.c, r.result) == pair])


def _width(component: ComponentType) -> int:
    return component.format.precision if component.is_float else component.size


def _follows(row: MulAddSupport, before: MulAddSupport) -> bool:
    """Whether a row adds the same factors, of the same sizes, to what another one gave."""
    return row.c is before.result and replace(row, c=before.c, result=before.result) == before


def _result_type(choices: Choices, kernel: Kernel, row: MulAddSupport, c: Matrix) -> ComponentType:
    """The result's type as the row has it; for integers now and then that of the other sign (VK-007).

    For narrower ones as often: C's upper bits are lost, and the sign decides what is beyond them.
    """
    own, *other = [t for t in alike(row.result) if kernel.admits(t, c.rows, c.cols, Use.Accumulator)]
    narrower = row.result.size < row.c.size
    changed = choices.chance(ProductDraws.NARROW_OTHER_SIGN if narrower else ProductDraws.OTHER_SIGN)
    return other[0] if other and changed else own
