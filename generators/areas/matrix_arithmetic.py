"""Cases of multiplications and of element-wise operations. docs/generators.md describes the distribution."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from cts.base.choices import Choices, Source
from cts.base.errors import NothingToGenerate
from cts.case.model import Case, Use
from cts.device.capabilities import Capabilities, MatrixSupport, MulAddSupport
from cts.generators.build.contents import Contents, Wanted
from cts.generators.build.float_modes import draw_float_modes
from cts.generators.build.kernels import Kernel, Matrix, draw_float_controls
from cts.generators.build.specials import draw_ieee, draw_numbers
from cts.generators.build.supports import Supports, draw_dispatch, draw_row, draw_shape
from cts.generators.parts import products as product_parts
from cts.generators.parts.apart_products import apart_products, draw_apart
from cts.generators.parts.computations import (
    ARITHMETIC,
    draw_arithmetic,
    draw_components,
    draw_there_and_back,
    draw_times_scalar,
)
from cts.generators.parts.dependence import draw_chain
from cts.generators.parts.edge_cases import draw_matrix_edges, usable
from cts.generators.parts.web_cases import draw_web_case, square_rows
from cts.generators.policy.edges import EdgeDraws
from cts.generators.policy.matrices import ProductDraws
from cts.generators.policy.web import WebDraws


def cases(capabilities: Capabilities) -> Source[Case]:
    """Valid cases that a device with `capabilities` can run.

    Raises NothingToGenerate when it has neither a multiplication nor a matrix type with arithmetic of moderate size.
    """
    supports = Supports(capabilities)
    products = product_parts.usable_products(supports)
    rows = [row for row in supports.rows if row.component in ARITHMETIC]
    if not products and not rows:
        raise NothingToGenerate("the driver can compute with no matrix type of moderate size")

    webs, edges, apart = square_rows(products), usable(rows), apart_products(supports)

    def matrix_arithmetic(choices: Choices) -> Case:
        if webs and choices.chance(WebDraws.ARITHMETIC_WEB):
            return draw_web_case(choices, supports, webs)
        if edges and choices.chance(EdgeDraws.EDGES):
            return draw_matrix_edges(choices, supports, edges)
        if apart and choices.chance(ProductDraws.APART):
            return draw_apart(choices, supports, apart, products)
        if products and (choices.chance(ProductDraws.PRODUCTS) or not rows):
            return _draw_products(choices, supports, products)
        return _draw_elementwise(choices, supports, rows)

    return matrix_arithmetic


def _draw_products(choices: Choices, supports: Supports, products: Sequence[MulAddSupport]) -> Case:
    """One multiplication, or several in which each adds to the one before; then perhaps more."""
    row = product_parts.draw_product_row(choices, products)
    sizes = product_parts.draw_sizes(choices, row, supports.capabilities)
    dispatch = draw_dispatch(choices, row.scope, row.subgroups, supports.capabilities, sizes.largest)
    controls = draw_float_controls(choices, supports.capabilities)
    times = choices.pick(ProductDraws.TIMES)
    following = choices.pick(ProductDraws.FOLLOWING)
    kernel = Kernel(choices, supports, row.scope, dispatch, literal_uses=True)
    kernel.ieee = draw_ieee(choices, controls, row.result)
    of_a, of_b, of_c = product_parts.draw_factors(choices, row, sizes.k, times, ieee=kernel.ieee)
    c = _draw_addend_matrix(choices, kernel, row, (sizes.m, sizes.n), of_c)
    first = c
    factors = product_parts.Factors(choices, kernel, row, sizes, (of_a, of_b))
    a, b = factors.draw(choices, Use.A), factors.draw(choices, Use.B)
    for n in range(times):
        # A further product has two new factors, one, or none.
        if n:
            new = choices.pick(ProductDraws.NEW_FACTORS)
            a = factors.draw(choices, Use.A) if new in ("a", "both") else a
            b = factors.draw(choices, Use.B) if new in ("b", "both") else b
        if n and choices.chance(ProductDraws.FIRST_ADDEND_AGAIN):
            # What one product added to, another one needs as well.
            kernel.store(choices, c)
            c = first
        c = product_parts.draw_mul_add(choices, kernel, row, a, b, c)
    kept = choices.chance(ProductDraws.FACTOR_KEPT)
    exact = c.known.grain is not None
    for _ in range(following):
        if c.component in ARITHMETIC:
            c = choices.group(partial(_draw_more, kernel=kernel, m=c, exact=exact))
    kernel.store(choices, c)
    if kept:
        # An implementation may overwrite what is still needed.
        kernel.store(choices, first)
    draw_chain(choices, kernel, first)
    return kernel.case(controls, draw_float_modes(choices, supports.capabilities, controls))


def _draw_addend_matrix(
    choices: Choices, kernel: Kernel, row: MulAddSupport, shape: tuple[int, int], contents: Contents
) -> Matrix:
    declared = product_parts.declared_type(choices, kernel, row, Use.Accumulator, shape)
    if choices.chance(ProductDraws.NO_ADDEND):
        return kernel.null(declared, *shape, Use.Accumulator)
    source = kernel.source(choices, row.c, contents)
    return kernel.load_from(choices, source, *shape, Use.Accumulator, declared)


def _draw_elementwise(choices: Choices, supports: Supports, rows: Sequence[MatrixSupport]) -> Case:
    """Element-wise operations, one after the other, on matrices of one type."""
    support = draw_row(choices, rows)
    shape = draw_shape(choices, support, supports.capabilities.max_dimension)
    dispatch = draw_dispatch(choices, support.scope, support.subgroups, supports.capabilities, shape[0] * shape[1])
    controls = draw_float_controls(choices, supports.capabilities)
    count = choices.pick(ProductDraws.ELEMENTWISE)
    kernel = Kernel(choices, supports, support.scope, dispatch)
    kernel.ieee = draw_ieee(choices, controls, support.component)
    exact = not choices.chance(ProductDraws.INEXACT)
    contents = draw_numbers(choices, support.component, Wanted(exact=exact), ieee=kernel.ieee)
    first = m = kernel.load(choices, support.component, *shape, support.use, contents)
    for _ in range(count):
        m = choices.group(partial(_draw_more, kernel=kernel, m=m, exact=exact))
    kernel.store(choices, m)
    if choices.chance(ProductDraws.SOURCE_KEPT):
        kernel.store(choices, first)
    draw_chain(choices, kernel, first)
    return kernel.case(controls, draw_float_modes(choices, supports.capabilities, controls))


def _draw_more(choices: Choices, kernel: Kernel, m: Matrix, *, exact: bool) -> Matrix:
    """One operation on a matrix."""
    kind = choices.pick(ProductDraws.OPERATIONS)
    if kind == "there and back":
        return draw_there_and_back(choices, kernel, m)
    if kind == "components":
        return draw_components(choices, kernel, m)
    if kind == "times scalar":
        return draw_times_scalar(choices, kernel, m)
    return draw_arithmetic(choices, kernel, m, exact=exact)
