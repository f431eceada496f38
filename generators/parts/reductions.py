"""One reduction (CM-020): its mode, its combine function, and the extents that the result may choose."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cts.base.choices import Choices
from cts.case.model import Combine, ComponentType, MatrixReduce, ReduceMode, Use
from cts.generators.build.kernels import Kernel, Matrix
from cts.generators.parts.combine_functions import Combining, combinable, draw_body_with_helpers
from cts.generators.policy.matrices import ComputationDraws

#: The modes, and how many of source's elements each combines: rows and columns of the source.
MODES = ((ReduceMode.Row,), (ReduceMode.Column,), (ReduceMode.Row, ReduceMode.Column), (ReduceMode.Square,))


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


def draw_computed_reduction(
    choices: Choices,
    kernel: Kernel,
    matrix: Matrix,
    mode: Sequence[ReduceMode],
    draw: Callable[[Choices, Sequence[Combining]], Combining],
) -> Matrix | None:
    """A reduction of a computed matrix, by what `draw` takes of the functions that fit; None where none does."""
    count = combined_count(mode, matrix.rows, matrix.cols)
    fitting = combinable(matrix.component, matrix.known, count, zeros=kernel.judges_zeros)
    if not fitting:
        return None
    combining = draw(choices, fitting)
    kernel.takes_zeros |= combining.picks
    return draw_reduction(choices, kernel, matrix, mode, combining)


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
    body = draw_body_with_helpers(choices, kernel, matrix.component, combining)
    function = kernel.function("f", Combine(type=matrix.component, body=body))
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
    if not choices.chance(ComputationDraws.OTHER_EXTENT):
        return matrix.rows, matrix.cols
    rows = kernel.supports.rows_for(matrix.component, Use.Accumulator, kernel.scope, kernel.dispatch.subgroups)
    granules = [(row.rows, row.cols) for row in rows if not row.exact]
    factors = choices.record(11, 11)
    shape = [matrix.rows, matrix.cols]
    for axis in (0, 1):
        if free[axis] and granules:
            granule = min(g[axis] for g in granules)
            shape[axis] = granule * (1 + factors[axis] % max(24 // granule, 3))
    drawn = shape[0], shape[1]
    return drawn if kernel.admits(matrix.component, *drawn, Use.Accumulator) else (matrix.rows, matrix.cols)
