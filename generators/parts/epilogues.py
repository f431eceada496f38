"""What kernels do with the accumulators of a product before they store them, and the matrix that they are tiles of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from cts.base.choices import Choices
from cts.case import model
from cts.case.model.component import ComponentType
from cts.case.model.operand import ComponentValue, Factors
from cts.device.capabilities import Feature
from cts.generators.build.contents import Contents, Wanted, draw_contents
from cts.generators.build.kernels import Kernel, Matrix
from cts.generators.build.memory import FILL, Lines, Region
from cts.generators.build.operands import NOWHERE, Varying
from cts.generators.build.value_ranges import Known, added, anything, clamped, multiplied, within
from cts.generators.parts.computations import ARITHMETIC, emit_arithmetic, emit_function, emit_scaled
from cts.generators.parts.conversion_operands import emit_step, feasible, sound
from cts.generators.policy.programs import KernelDraws

#: One step of an epilogue, on the tile in a row and a column of tiles.
Step = Callable[[Choices, Matrix, int, int], Matrix]

#: Activations of floats, by what is known of their results; integers have the first two.
_ACTIVATIONS: tuple[tuple[str, Callable[[Known], Known]], ...] = (
    ("max(value, 0)", lambda k: clamped(k, Known(0, 0), Known(k.size, k.size))),
    ("clamp(value, -4, 7)", lambda k: clamped(k, Known(-4, -4), Known(7, 7))),
    ("value if value > 0 else value * 0.25", lambda k: Known(k.low, k.high, None if k.grain is None else k.grain - 2)),
    ("value if abs(value) < 9 else 9", lambda k: Known(-9, 9, k.grain)),
)


def draw_epilogue(choices: Choices, kernel: Kernel, tile: Matrix, tiles: tuple[int, int]) -> list[Step]:
    """The same steps for each of rows x columns of tiles that are like `tile`."""
    if tile.component not in ARITHMETIC or not tile.known.bounded:
        return []
    options = [partial(_draw_scale, kernel=kernel), partial(_draw_residual, kernel=kernel, tiles=tiles)]
    if Feature.PER_ELEMENT in kernel.features:
        options += [partial(_draw_bias, kernel=kernel, tiles=tiles), partial(_draw_activation, kernel=kernel)]
    count = choices.pick(KernelDraws.EPILOGUE_STEPS)
    return [choices.group(partial(choices.pick(options), tile=tile)) for _ in range(count)]


def _draw_scale(choices: Choices, kernel: Kernel, tile: Matrix) -> Step:
    """All elements times a number, alpha, as a scalar or in every element of a matrix."""
    value: float = choices.pick(KernelDraws.FLOAT_SCALES if tile.component.is_float else KernelDraws.INTEGER_SCALES)
    if not tile.component.is_float and not tile.component.is_signed:
        value = abs(value)
    scalar = kernel.constness.component(value)
    factor = Known(value, value, 0 if value == int(value) else -2)
    by_matrix = choices.chance(KernelDraws.SCALED_BY_MATRIX)
    operation = model.Arithmetic.FMul if tile.component.is_float else model.Arithmetic.IMul

    def step(c: Choices, matrix: Matrix, row: int, column: int) -> Matrix:
        known = multiplied(matrix.component, matrix.known, factor)
        if not within(matrix.component, known):
            return matrix
        if by_matrix:
            alpha = kernel.constant(matrix.component, matrix.rows, matrix.cols, matrix.use, value)
            return emit_arithmetic(kernel, operation, matrix, alpha, known)
        return emit_scaled(kernel, matrix, scalar, known)

    return step


def _contents(choices: Choices, component: ComponentType) -> Contents:
    return draw_contents(choices, component, Wanted(size=15, exact=True, halves=False, full=not component.is_float))


def _draw_residual(choices: Choices, kernel: Kernel, tile: Matrix, tiles: tuple[int, int]) -> Step:
    """A matrix that is added, of which each tile has its part."""
    source = kernel.source(choices, tile.component, _contents(choices, tile.component))
    operation = model.Arithmetic.FAdd if tile.component.is_float else model.Arithmetic.IAdd

    def step(c: Choices, matrix: Matrix, row: int, column: int) -> Matrix:
        number = row * tiles[1] + column
        other = kernel.load_from(c, source, matrix.rows, matrix.cols, matrix.use, number=number)
        known = added(matrix.component, matrix.known, other.known)
        if not within(matrix.component, known):
            return matrix
        return emit_arithmetic(kernel, operation, matrix, other, known)

    return step


def _draw_bias(choices: Choices, kernel: Kernel, tile: Matrix, tiles: tuple[int, int]) -> Step:
    """A number for each column of the result, or each row, which a function reads from a buffer."""
    by_row = choices.chance(KernelDraws.BIAS_BY_ROW)
    source = kernel.source(choices, tile.component, _contents(choices, tile.component), scalar=True)
    extent = (tile.rows * tiles[0]) if by_row else (tile.cols * tiles[1])
    source.size = extent * tile.component.size
    place = "row" if by_row else "col"
    function = kernel.function(
        "bias",
        model.PerElement(
            type=tile.component,
            body=f"value + bias[{place} + first]",
            extras=(model.Extra(name="first", type=ComponentType.uint32),),
            tables=(model.Table(name="bias", type=tile.component, buffer=source.name),),
        ),
    )

    def step(c: Choices, matrix: Matrix, row: int, column: int) -> Matrix:
        known = added(matrix.component, matrix.known, source.known)
        if not within(matrix.component, known):
            return matrix
        first = row * matrix.rows if by_row else column * matrix.cols
        return _by_function(kernel, matrix, function, known, kernel.constness.component(first))

    return step


def _draw_activation(choices: Choices, kernel: Kernel, tile: Matrix) -> Step:
    """A function of each element alone."""
    body, known_of = choices.pick(_ACTIVATIONS if tile.component.is_float else _ACTIVATIONS[:2])
    if not tile.component.is_float and not tile.component.is_signed:
        body, known_of = "min(value, 7)", lambda k: Known(0, 7)
    function = kernel.function("activation", model.PerElement(type=tile.component, body=body))
    return lambda c, matrix, row, column: _by_function(kernel, matrix, function, known_of(matrix.known))


def _by_function(kernel: Kernel, matrix: Matrix, function: str, known: Known, *scalars: ComponentValue) -> Matrix:
    known = known if matrix.component.is_float else anything(matrix.component)
    return emit_function(kernel, matrix, function, known, scalars=scalars)


def draw_conversion(choices: Choices, kernel: Kernel, tile: Matrix) -> Step | None:
    """A conversion of results before they are stored; None to store them in the accumulators' type."""
    steps = feasible(tile.component, tile.rows, tile.cols, tile.use, kernel.admits, ())
    clear = [s for s in steps if sound(tile.component, tile.known, s, ieee=kernel.ieee)]
    if not clear or not choices.chance(KernelDraws.RESULT_CONVERTED):
        return None
    chosen = choices.pick(clear)

    def step(c: Choices, matrix: Matrix, row: int, column: int) -> Matrix:
        return emit_step(kernel, matrix, chosen)

    return step


@dataclass(frozen=True)
class Result:
    """The matrix in memory that all tiles of all instances are of, one beside the other."""

    kernel: Kernel
    region: Region
    tile: tuple[int, int]
    tiles: tuple[int, int]
    order: model.Order
    pitch: int
    stride: int
    #: Where the first tile of an instance is: rows and columns ahead of it.
    rows: Factors
    cols: Factors
    #: What the tensor layout ends at, where stores go through one; what is beyond it is not written.
    layout: str | None = None

    def store(self, matrix: Matrix, row: int, column: int) -> None:
        """Store the tile in this row and column of tiles of each instance."""
        if self.layout is not None:
            self._store_slice(matrix, row, column)
            return
        along, across = (column, row) if self.order is model.Order.RowMajor else (row, column)
        near, far = (self.cols, self.rows) if self.order is model.Order.RowMajor else (self.rows, self.cols)
        lines = self.tile[0 if self.order is model.Order.RowMajor else 1]
        own = Varying(along * self.pitch, near).plus(Varying(across * lines * self.stride, _times(far, self.stride)))
        self.kernel.program.emit(
            model.MatrixStore(
                matrix=matrix.id,
                buffer=self.region.name,
                stride=self.kernel.constness.scalars([self.stride])[0],
                order=self.order,
                offset=self.kernel.constness.scalars([own])[0],
            )
        )

    def _store_slice(self, matrix: Matrix, row: int, column: int) -> None:
        kernel, (rows, cols) = self.kernel, self.tile
        offset = [Varying(row * rows, self.rows), Varying(column * cols, self.cols)]
        assert self.layout is not None
        name = kernel.program.sliced(self.layout, offset, (rows, cols))
        kernel.program.emit(model.MatrixStoreTensor(matrix=matrix.id, buffer=self.region.name, layout=name, offset=0))


def _times(factors: Factors, step: int) -> Factors:
    return Factors(*(getattr(factors, name) * step for name in Factors.__struct_fields__))


def draw_result(choices: Choices, kernel: Kernel, tile: Matrix, tiles: tuple[int, int]) -> Result:
    """The matrix of all results: instances along x have tiles beside one another, all others below."""
    column, pad, by_layout, tail = choices.record(3, 3, 3, 3)
    order = model.Order.ColumnMajor if column == 3 else model.Order.RowMajor
    name, fill = kernel.region_name("dst", 0), model.Data(fill=FILL[tile.component])
    region = Region(name, tile.component, 1, kernel.storage(choices), fill)
    kernel.add(region)
    shape = tile.rows, tile.cols
    tensor = by_layout >= 2 and Feature.TENSOR_ADDRESSING in kernel.features
    lines = Lines.for_matrix(region, order, tile.component, *shape)
    near = 1 if order is model.Order.RowMajor else 0
    pitches = list(shape)
    if not tensor:
        pitches[near] = lines.dense * lines.unit
    grid = kernel.outer
    below = pitches[0] * tiles[0]
    rows = Factors(
        wg_y=below if grid.y > 1 else 0,
        wg_z=below * grid.y if grid.z > 1 else 0,
        sg=below * grid.y * grid.z if grid.sg > 1 else 0,
    )
    cols = Factors(wg_x=pitches[1] * tiles[1]) if grid.x > 1 else NOWHERE
    whole = [below * grid.y * grid.z * grid.sg, pitches[1] * tiles[1] * grid.x]
    if tensor:
        dims = [max(whole[0] - tail % 2, 1), max(whole[1] - tail // 2, 1)]
        region.size = dims[0] * dims[1] * tile.component.size
        layout = kernel.program.tensor(dims, model.ClampMode.Constant)
        return Result(kernel, region, shape, tiles, model.Order.RowMajor, 0, 0, rows, cols, layout)
    stride = whole[near] + (0, 0, 1, 3)[pad] * lines.unit
    region.size = (whole[1 - near] * stride) * region.element_size
    return Result(kernel, region, shape, tiles, order, pitches[near], stride, rows, cols)
