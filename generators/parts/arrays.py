"""Matrices made of arrays of the invocations, taken apart into them, and made of those again (QC-002 to QC-011)."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from cts.base.choices import Choices
from cts.case import model
from cts.case.model import ComponentType
from cts.device.capabilities import Feature, MatrixSupport
from cts.generators.build import memory
from cts.generators.build.kernels import Kernel, Matrix
from cts.generators.build.operands import Varying
from cts.generators.build.supports import Supports, draw_dispatch
from cts.generators.build.value_ranges import UNBOUNDED
from cts.generators.policy.matrices import ArrayDraws

_SIGNED_WORD, _WORD = (c for c in ComponentType if not c.is_float and c.size == 4)


def array_rows(supports: Supports) -> list[MatrixSupport]:
    """Matrices that can be made of arrays, of devices that list them by their sizes (QC-006, QC-007)."""
    c = supports.capabilities
    if Feature.ARRAY_CONVERSIONS not in c.features or c.subgroup_size & (c.subgroup_size - 1):
        return []
    return [
        row
        for row in supports.rows
        if row.exact and row.scope is model.Scope.Subgroup and model.has_arrays(shape_of(row), c.subgroup_size)
    ]


def shape_of(row: MatrixSupport) -> model.MatrixShape:
    """The matrix of a row that lists one size."""
    declared = model.MatrixType(row.component, row.scope, row.rows, row.cols, row.use)
    return model.MatrixShape(row.component, row.scope, row.rows, row.cols, row.use, declared)


def draw_arrays(choices: Choices, supports: Supports, rows: Sequence[MatrixSupport]) -> model.Case:
    """A matrix from memory, some more made of its arrays, and stores: most of arrays, the others plain."""
    capabilities, long = supports.capabilities, choices.chance(ArrayDraws.LONG)
    longer = [row for row in rows if _parts(shape_of(row), rows)]
    shape = shape_of(choices.pick(longer if long and longer else rows))
    dispatch = draw_dispatch(choices, shape.scope, None, capabilities, shape.rows * shape.cols)
    dispatch = replace(dispatch, subgroup_size=capabilities.subgroup_size)
    kernel = Kernel(choices, supports, shape.scope, dispatch)
    pool = [_load(choices, kernel, shape)]
    for _ in range(choices.pick(ArrayDraws.STEPS)):
        pool.append(_through(choices, kernel, pool[-1], rows))
    for matrix in pool[-choices.pick(ArrayDraws.STORES) :]:
        _store(choices, kernel, matrix)
    return kernel.case()


def _matrix(kernel: Kernel, shape: model.MatrixShape) -> Matrix:
    return Matrix(kernel.name("m"), shape.declared, shape.component, shape.rows, shape.cols, shape.use, UNBOUNDED)


def _shape(matrix: Matrix) -> model.MatrixShape:
    return model.MatrixShape(matrix.component, model.Scope.Subgroup, matrix.rows, matrix.cols, matrix.use, matrix.type)


def _casts(shape: model.MatrixShape) -> list[tuple[ComponentType, ComponentType]]:
    """Types of a buffer, and of the elements of arrays that it may have for such a matrix (QC-005, QC-009)."""
    own = shape.component
    words = model.line_of(shape)[1] * own.size % _WORD.size == 0
    elements = dict.fromkeys((own, *((_WORD,) if words else ())))
    pairs = [(element, element) for element in elements]
    if words and own.size > 1:
        of_words = dict.fromkeys((own, _WORD, _SIGNED_WORD))
        pairs += [(buffer, element) for element in elements for buffer in of_words if buffer is not element]
    elif words:
        pairs.append((_SIGNED_WORD, _WORD))
    return pairs


class _Lines:
    """Order, stride and extent of arrays in a region: along the lines, or across if elements are components."""

    def __init__(
        self, choices: Choices, shape: model.MatrixShape, region: memory.Region, element: ComponentType
    ) -> None:
        lines, length = model.line_of(shape)
        along, across = model.PLAIN_ORDERS if shape.use is not model.Use.B else model.PLAIN_ORDERS[::-1]
        is_across = choices.chance(ArrayDraws.ACROSS) and region.type is element is shape.component
        self.order = across if is_across else along
        count, line = (length, lines) if is_across else (lines, length * shape.component.size // region.type.size)
        self.stride = line + choices.pick(ArrayDraws.PADS)
        self.extent = ((count - 1) * self.stride + line) * region.type.size


def _load(choices: Choices, kernel: Kernel, shape: model.MatrixShape) -> Matrix:
    plain, (buffer, element) = choices.chance(ArrayDraws.PLAIN), choices.pick(_casts(shape))
    pointee = shape.component if plain else buffer
    data = memory.numbered(pointee, shape.component, random=choices.chance(ArrayDraws.RANDOM_CONTENTS))
    region = memory.Region(kernel.region_name("src", 0), pointee, 1, kernel.storage(choices), data)
    kernel.add(region)
    matrix = _matrix(kernel, shape)
    if plain:
        order = choices.pick(model.PLAIN_ORDERS)
        of_lines = memory.Lines.for_matrix(region, order, shape.component, shape.rows, shape.cols)
        stride = of_lines.unit * of_lines.dense
        offset = memory.draw_read(choices, region, kernel.grid, of_lines.alignment, of_lines.extent(stride))
        written = kernel.constness.scalars([stride, offset])
        kernel.program.emit(
            model.MatrixLoad(matrix.id, matrix.type, region.name, written[0], order=order, offset=written[1])
        )
        return matrix
    lines = _Lines(choices, shape, region, element)
    offset = memory.draw_read(choices, region, kernel.grid, region.element_size, lines.extent)
    written = kernel.constness.scalars([lines.stride, offset])
    kernel.program.emit(
        model.MatrixOfArrays(
            matrix.id, matrix.type, region.name, written[0], order=lines.order, offset=written[1], element=element
        )
    )
    return matrix


def _fits(target: model.MatrixShape, source: model.MatrixShape) -> bool:
    """Whether each line of the target can be a line of the source, or a whole part of one."""
    lines, length = model.line_of(target)
    most, longest = model.line_of(source)
    return target.component is source.component and lines <= most and longest % length == 0


def _parts(source: model.MatrixShape, rows: Sequence[MatrixSupport]) -> list[model.MatrixShape]:
    """The matrices that can be made of parts of a matrix's arrays."""
    longest = model.line_of(source)[1]
    return [t for t in map(shape_of, rows) if _fits(t, source) and model.line_of(t)[1] < longest]


def _through(choices: Choices, kernel: Kernel, matrix: Matrix, rows: Sequence[MatrixSupport]) -> Matrix:
    """A matrix of the same component made of its arrays, or of parts of them."""
    source = _shape(matrix)
    length = model.line_of(source)[1]
    fitting = [shape for shape in map(shape_of, rows) if _fits(shape, source)]
    shorter, parts = _parts(source, rows), choices.chance(ArrayDraws.PARTS)
    target = choices.pick(shorter if parts and shorter else fitting)
    wanted = model.line_of(target)[1]
    own = matrix.component
    kinds = [own] if length * own.size % 4 or wanted * own.size % 4 else list(dict.fromkeys((own, _WORD)))
    extracted = choices.pick(kinds)
    constructed = choices.pick(kinds) if own.size > 1 else extracted
    times = length // wanted
    start = Varying((times - 1 - choices.below(times)) * (wanted * own.size // constructed.size))
    result = _matrix(kernel, target)
    written = kernel.constness.scalars([start])[0] if length != wanted else 0
    kernel.program.emit(
        model.MatrixThroughArrays(result.id, matrix.id, target.declared, extracted, constructed, start=written)
    )
    return result


def _store(choices: Choices, kernel: Kernel, matrix: Matrix) -> None:
    """A store of the arrays that the invocations get, or now and then of the matrix itself."""
    if choices.chance(ArrayDraws.PLAIN):
        kernel.store(choices, matrix)
        return
    shape = _shape(matrix)
    buffer, element = choices.pick(_casts(shape))
    data = model.Data(fill=memory.FILL[buffer])
    region = memory.Region(kernel.region_name("dst", 0), buffer, 1, kernel.storage(choices), data)
    kernel.add(region)
    lines = _Lines(choices, shape, region, element)
    offset = memory.draw_write(choices, region, kernel.grid, region.element_size, lines.extent)
    written = kernel.constness.scalars([lines.stride, offset])
    kernel.program.emit(
        model.MatrixToArrays(matrix.id, region.name, written[0], order=lines.order, offset=written[1], element=element)
    )
