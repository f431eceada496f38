"""Matrices that vectors are multiplied with: in buffers, or in optimal layouts, brought there by conversions."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from cts.base.choices import Choices
from cts.case import model
from cts.case.model.operand import Factors
from cts.device.capabilities import Capabilities, Feature
from cts.generators.build.contents import Contents, shifted
from cts.generators.build.memory import Region
from cts.generators.build.operands import NOWHERE
from cts.generators.build.vector_kernels import ALIGNMENT, VectorKernel
from cts.generators.build.vector_operands import At
from cts.generators.policy.vectors import VectorProductDraws

_C = model.ComponentType

#: Alignment of a matrix and its offset, and of either side of a conversion, in bytes (VK-050, VK-053).
MATRIX_ALIGNMENT = 64

_LAYOUTS = (
    model.MatrixLayout.RowMajor,
    model.MatrixLayout.ColumnMajor,
    model.MatrixLayout.InferencingOptimal,
    model.MatrixLayout.TrainingOptimal,
)


@dataclass(frozen=True)
class Stored:
    """A matrix that vectors can be multiplied with; `stride` is 0 in optimal layouts, which ignore it."""

    of: str
    layout: model.MatrixLayout
    offset: At
    stride: int
    transposed: bool = False


def layouts_of(component: model.ComponentType) -> tuple[model.MatrixLayout, ...]:
    """The layouts that multiplications read a matrix in (VK-051)."""
    return _LAYOUTS[2:] if component.is_float8 else _LAYOUTS


def draw_stored(
    choices: Choices,
    kernel: VectorKernel,
    component: model.ComponentType,
    shape: tuple[int, int],
    contents: Contents,
    *,
    transposable: bool,
) -> Stored:
    """An M x K matrix in memory, as a multiplication reads it."""
    layout = choices.pick(layouts_of(component))
    if not layout.optimal:
        return _draw_plain(choices, kernel, component, shape, contents, layout)
    transposed = transposable and choices.chance(VectorProductDraws.TRANSPOSED)
    rows, cols = shape[::-1] if transposed else shape
    offset = choices.pick(VectorProductDraws.OFFSETS) if choices.chance(VectorProductDraws.OFFSET) else 0
    storage = model.StorageClass.StorageBuffer
    if choices.chance(VectorProductDraws.PHYSICAL) and Feature.BUFFER_DEVICE_ADDRESS in kernel.features:
        storage = model.StorageClass.PhysicalStorageBuffer
    matrix = model.OpaqueMatrix(component, rows, cols, layout, offset, storage)
    drawn = draw_together(choices, kernel, "w", matrix)
    for n, name in enumerate(drawn.names):
        draw_filling(choices, kernel, name, _other(contents, n, rows * cols))
    return Stored(drawn.names[0], layout, drawn.place, 0, transposed)


@dataclass(frozen=True)
class Together:
    """Opaque matrices in one memory, and which of them each invocation has."""

    names: tuple[str, ...]
    place: At


def draw_together(choices: Choices, kernel: VectorKernel, prefix: str, matrix: model.OpaqueMatrix) -> Together:
    """One matrix, in one of four cases in memory that another has begun; or a few alike, which invocations alternate.

    So networks keep all their layers in one buffer. They lie apart as far as any device should need.
    """
    several, period = choices.record(7, 1)
    within = [name for name, other in kernel.opaque.items() if other.within is None and _fits(other, matrix)]
    if several == 6 and within:
        memory = within[-1]
        end = max(m.offset + _room(m) for n, m in kernel.opaque.items() if memory in (n, m.within))
        name = kernel.fresh_name(prefix)
        kernel.opaque[name] = replace(matrix, within=memory, offset=end)
        return Together((name,), At(end))
    first = kernel.fresh_name(prefix)
    kernel.opaque[first] = matrix
    lanes, count = kernel.lanes, 2 + period
    if several < 7 or lanes.instances == 1:
        return Together((first,), At(matrix.offset))
    pitch, names = _room(matrix), [first]
    for n in range(1, count):
        names.append(kernel.fresh_name(prefix))
        kernel.opaque[names[-1]] = replace(matrix, within=first, offset=matrix.offset + n * pitch)
    if matrix.offset == 0 and lanes.inv > 1:
        return Together(tuple(names), At(0, Factors(inv=pitch), count * pitch))
    along = Factors(wg_x=pitch) if lanes.x in range(2, count + 1) else NOWHERE
    return Together(tuple(names), At(matrix.offset, along))


def _fits(other: model.OpaqueMatrix, matrix: model.OpaqueMatrix) -> bool:
    return (other.storage, other.zero) == (matrix.storage, matrix.zero)


def _room(matrix: model.OpaqueMatrix) -> int:
    """Bytes behind which another matrix may begin: more than layouts pad, of whole tiles of 32 rows and columns."""
    rows, cols = (-(-n // 32) * 32 for n in (matrix.rows, matrix.cols))
    return 4 * rows * cols * matrix.component.size


def _other(contents: Contents, number: int, count: int) -> Contents:
    """Contents of another matrix: its numbers begin elsewhere in the same ones."""
    return contents if not number else shifted(contents, number * count)


def _draw_plain(
    choices: Choices,
    kernel: VectorKernel,
    component: model.ComponentType,
    shape: tuple[int, int],
    contents: Contents,
    layout: model.MatrixLayout,
) -> Stored:
    """In a buffer; now and then invocations have matrices of their own, or alternate between a few."""
    lines, length = shape if layout is model.MatrixLayout.RowMajor else shape[::-1]
    pad, base, kind, period = choices.record(9, 9, 9, 2)
    stride = -(-length * component.size // ALIGNMENT) * ALIGNMENT + (0, 16, 48)[max(pad - 7, 0)]
    extent = (lines - 1) * stride + length * component.size
    tile = -(-extent // MATRIX_ALIGNMENT) * MATRIX_ALIGNMENT
    start = MATRIX_ALIGNMENT * (0, 0, 0, 0, 0, 0, 0, 1, 2, 33)[base]
    place = At(start)
    if kind >= 8 and kernel.lanes.inv > 1:
        place = At(0, Factors(inv=tile), tile * (2 + period))
    elif kind == 7 and kernel.lanes.x > 1:
        place = At(start, Factors(wg_x=tile))
    elif kind == 6 and kernel.lanes.loop > 1:
        place = At(start, Factors(loop=tile))
    region = Region(kernel.fresh_name("mat"), component, 1, kernel.storage(choices), contents.data)
    region.size = place.most(kernel.lanes) + extent
    kernel.add(region)
    return Stored(region.name, layout, place, stride)


def sources_of(capabilities: Capabilities, component: model.ComponentType) -> list[model.ComponentType]:
    """The types that may be converted to one, itself first (VK-054)."""
    known = interpreted(capabilities)
    wider = [w for w in (_C.float32, _C.float16) if component.is_float and w.size > component.size and w in known]
    return [component, *wider]


def interpreted(capabilities: Capabilities) -> list[model.ComponentType]:
    """The types that conversions know: those of multiplications' matrices, and float32 (VK-054)."""
    rows = capabilities.vector_muls
    return list(dict.fromkeys([*(r.matrix_interpretation.component for r in rows), _C.float32]))


def draw_filling(choices: Choices, kernel: VectorKernel, name: str, contents: Contents) -> None:
    """A conversion before the dispatch that fills an opaque matrix with contents of its own type."""
    matrix = kernel.opaque[name]
    component = choices.pick(sources_of(kernel.capabilities, matrix.component))
    if any(isinstance(n, str) for n in contents.data.cycle or ()):
        # Bit patterns are those of the matrix's own type.
        component = matrix.component
    source = draw_plain_place(choices, kernel, component, (matrix.rows, matrix.cols), contents, "mat")
    host = choices.chance(VectorProductDraws.FILLED_BY_HOST)
    kernel.conversions.append(
        model.MatrixConversion(source, model.ConversionSide(name), matrix.rows, matrix.cols, host=host)
    )


def draw_plain_place(
    choices: Choices,
    kernel: VectorKernel,
    component: model.ComponentType,
    shape: tuple[int, int],
    contents: Contents,
    prefix: str,
) -> model.ConversionSide:
    """A matrix in a new buffer, as a conversion reads or writes it: lines a little apart (VK-055, AM-26)."""
    layout, pad, base, storage = choices.record(9, 5, 9, 9)
    column = layout >= 7
    length = shape[0] if column else shape[1]
    lines = shape[1] if column else shape[0]
    stride = (length + (1, 1, 2, 3, 8, 5)[pad]) * component.size
    offset = MATRIX_ALIGNMENT * (0, 0, 0, 0, 0, 0, 0, 1, 2, 5)[base]
    physical = storage >= 8 and Feature.BUFFER_DEVICE_ADDRESS in kernel.features
    region = Region(
        kernel.fresh_name(prefix),
        component,
        1,
        model.StorageClass.PhysicalStorageBuffer if physical else model.StorageClass.StorageBuffer,
        contents.data,
        size=offset + (lines - 1) * stride + length * component.size,
    )
    kernel.add(region)
    written = model.MatrixLayout.ColumnMajor if column else model.MatrixLayout.RowMajor
    return model.ConversionSide(region.name, component, written, stride, offset)
