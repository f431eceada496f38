"""Cases of reductions. docs/generators.md describes the distribution."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from hypothesis import strategies as st

from cts.capabilities import Capabilities, Feature, MatrixSupport
from cts.errors import NothingToGenerate
from cts.generators.build.choices import Choices, Draw
from cts.generators.build.kernels import Kernel, Matrix, draw_float_controls
from cts.generators.build.specials import draw_ieee
from cts.generators.build.supports import Supports, draw_dispatch, draw_row, draw_shape
from cts.generators.parts.combine_functions import Combining, combinings, draw_combining, draw_special_terms
from cts.model import Case, Combine, ComponentType, MatrixReduce, ReduceMode, Use

#: The modes, and how many of source's elements each combines: rows and columns of the source.
MODES = ((ReduceMode.Row,), (ReduceMode.Column,), (ReduceMode.Row, ReduceMode.Column), (ReduceMode.Square,))


def cases(capabilities: Capabilities) -> st.SearchStrategy[Case]:
    """Valid cases that a device with `capabilities` can run.

    Raises NothingToGenerate when it has no reductions, or no accumulator of moderate size.
    """
    supports = Supports(capabilities)
    rows = [row for row in supports.rows if row.use is Use.Accumulator]
    if not rows or Feature.REDUCTIONS not in capabilities.features:
        raise NothingToGenerate("the driver has no reductions of matrices of moderate size")

    @st.composite
    def reductions(draw: Draw) -> Case:
        return _draw_case(Choices(draw), supports, rows)

    return reductions()


def _draw_case(choices: Choices, supports: Supports, rows: Sequence[MatrixSupport]) -> Case:
    """One reduction or two of a matrix, or one of the other's result."""
    support = draw_row(choices, rows)
    shape = draw_shape(choices, support, supports.capabilities.max_dimension)
    dispatch = draw_dispatch(choices, support.scope, support.subgroups, supports.capabilities, shape[0] * shape[1])
    controls = draw_float_controls(choices, supports.capabilities)
    combining = draw_combining(choices, combinings(support.component))
    kernel = Kernel(choices, supports, support.scope, dispatch, literal_uses=True)
    mode = draw_mode(choices, kernel, support.component, *shape)
    count = combined_count(mode, *shape)
    kernel.ieee = draw_ieee(choices, controls, support.component)
    if kernel.ieee and combining.special:
        contents = draw_special_terms(choices, support.component, combining, count)
    else:
        contents = combining.contents(choices, support.component, count)
    source = kernel.load(choices, support.component, *shape, Use.Accumulator, contents)
    first = draw_reduction(choices, kernel, source, mode, combining)
    kernel.store(choices, first)
    if choices.chance(2):
        choices.group(partial(_draw_second, kernel=kernel, source=source, first=first))
    return kernel.case(controls)


def _draw_second(choices: Choices, kernel: Kernel, source: Matrix, first: Matrix) -> None:
    """Another reduction, of the same matrix or of the first one's result, where it is defined."""
    matrix = first if choices.chance(5) else source
    mode = draw_mode(choices, kernel, matrix.component, matrix.rows, matrix.cols)
    count = combined_count(mode, matrix.rows, matrix.cols)
    fitting = [c for c in combinings(matrix.component) if c.fits(matrix.component, matrix.known, count)]
    if fitting:
        combining = draw_combining(choices, fitting)
        kernel.store(choices, draw_reduction(choices, kernel, matrix, mode, combining))


def draw_mode(
    choices: Choices, kernel: Kernel, component: ComponentType, rows: int, cols: int
) -> tuple[ReduceMode, ...]:
    """A mode for a matrix: by rows where its shape or the driver does not admit 2x2."""
    mode = choices.pick(MODES)
    even = rows % 2 == cols % 2 == 0
    if ReduceMode.Square in mode and not (even and kernel.admits(component, rows // 2, cols // 2, Use.Accumulator)):
        return MODES[0]
    return mode


def combined_count(mode: Sequence[ReduceMode], rows: int, cols: int) -> int:
    """How many elements a mode combines to one (CM-022)."""
    if ReduceMode.Square in mode:
        return 4
    return (cols if ReduceMode.Row in mode else 1) * (rows if ReduceMode.Column in mode else 1)


def draw_reduction(
    choices: Choices, kernel: Kernel, matrix: Matrix, mode: Sequence[ReduceMode], combining: Combining
) -> Matrix:
    """A reduction of a matrix."""
    rows, cols = matrix.rows, matrix.cols
    if ReduceMode.Square in mode:
        shape, free = (rows // 2, cols // 2), (True, True)
    else:
        free = ReduceMode.Column in mode, ReduceMode.Row in mode
        shape = _draw_free(choices, kernel, matrix, free)
    function = kernel.function("f", Combine(type=matrix.component, body=combining.body))
    known = combining.combined(matrix.component, matrix.known, combined_count(mode, rows, cols))
    result = Matrix(
        kernel.name("r"),
        kernel.type(matrix.component, *shape, Use.Accumulator),
        matrix.component,
        *shape,
        Use.Accumulator,
        known,
    )
    written = [
        kernel.extent(new) if changeable and (new != old or ReduceMode.Square in mode) else None
        for new, old, changeable in zip(shape, (rows, cols), free, strict=True)
    ]
    kernel.program.emit(
        MatrixReduce(
            id=result.id, matrix=matrix.id, mode=tuple(mode), combine=function, rows=written[0], cols=written[1]
        )
    )
    return result


def _draw_free(choices: Choices, kernel: Kernel, matrix: Matrix, free: tuple[bool, bool]) -> tuple[int, int]:
    """The result's shape: the source's, or with other extents in the free dimensions (CM-021)."""
    if not choices.chance(5):
        return matrix.rows, matrix.cols
    rows = kernel.supports.of(matrix.component, Use.Accumulator, kernel.scope, kernel.dispatch.subgroups)
    granules = [(row.rows, row.cols) for row in rows if not row.exact]
    factors = choices.record(11, 11)
    shape = [matrix.rows, matrix.cols]
    for axis in (0, 1):
        if free[axis] and granules:
            granule = min(g[axis] for g in granules)
            shape[axis] = granule * (1 + factors[axis] % max(24 // granule, 3))
    drawn = shape[0], shape[1]
    return drawn if kernel.admits(matrix.component, *drawn, Use.Accumulator) else (matrix.rows, matrix.cols)
