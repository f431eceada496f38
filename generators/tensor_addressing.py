"""Cases of tensor-addressed loads and stores. docs/generators.md describes the distribution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from cts.capabilities import Capabilities, Feature, MatrixSupport
from cts.generators.choices import Choices, Draw
from cts.generators.layout_choices import Purpose, draw_layout
from cts.generators.memory import OBJECT, TENSOR_ALIGNMENT, Memory, aligned_elements, draw_read, draw_write
from cts.generators.operands import Constness, Grid
from cts.generators.programs import Program
from cts.generators.views import draw_view
from cts.model import (
    SCHEMA_VERSION,
    Case,
    ClampMode,
    ComponentType,
    Dispatch,
    MatrixConstant,
    MatrixLoad,
    MatrixLoadTensor,
    MatrixStore,
    MatrixStoreTensor,
    MatrixType,
    Order,
    Scope,
)

#: Most matrix elements, over all instances, that one instruction of a generated case handles.
MAX_ELEMENTS = 4096

#: Pointee types that every device with shaders for these cases has, beside those of its matrices.
POINTEES = (ComponentType.uint32, ComponentType.int32, ComponentType.float32)


@dataclass(frozen=True)
class _Setting:
    """What all loads and stores of a case share."""

    type: MatrixType
    shape: tuple[int, int]
    grid: Grid
    features: frozenset[Feature]


def cases(capabilities: Capabilities) -> st.SearchStrategy[Case]:
    """Valid cases that a device with `capabilities` can run.

    Raises ValueError when it supports no matrix that fits in `MAX_ELEMENTS`.
    """
    supports = _supports(capabilities)
    if not supports:
        raise ValueError(
            f"no matrix type of at most {MAX_ELEMENTS} elements among the driver's {capabilities.matrices}"
        )
    return _cases(capabilities, supports)


def _supports(capabilities: Capabilities) -> list[MatrixSupport]:
    """Usable rows of the capabilities, simplest first."""
    components, scopes = list(_SIMPLEST_FIRST), list(Scope)
    usable = [
        row
        for row in capabilities.matrices
        if row.rows * row.cols <= MAX_ELEMENTS
        and max(row.rows, row.cols) <= capabilities.max_dimension
        and (row.scope is Scope.Subgroup or Feature.WORKGROUP_SCOPE in capabilities.features)
        and (row.scope is Scope.Subgroup or (row.subgroups or 1) <= capabilities.max_subgroups)
    ]
    return sorted(
        usable, key=lambda row: (scopes.index(row.scope), components.index(row.component), row.rows, row.cols)
    )


_SIMPLEST_FIRST = (
    ComponentType.uint16,
    ComponentType.uint8,
    ComponentType.uint32,
    ComponentType.int8,
    ComponentType.int16,
    ComponentType.int32,
    ComponentType.float16,
    ComponentType.float32,
    ComponentType.bfloat16,
    ComponentType.float8_e4m3fn,
    ComponentType.float8_e5m2,
)


@st.composite
def _cases(draw: Draw, capabilities: Capabilities, supports: Sequence[MatrixSupport]) -> Case:
    choices = Choices(draw)
    support = choices.pick(supports)
    rows, cols = choices.group(lambda c: _draw_shape(c, support, capabilities.max_dimension))
    dispatch = choices.group(lambda c: _draw_dispatch(c, support, capabilities, rows * cols))
    x, y, z = dispatch.workgroups
    grid = Grid(x, y, z, dispatch.subgroups if support.scope is Scope.Subgroup else 1)
    constness = Constness(choices)
    plain = MatrixType(component=support.component, scope=support.scope, rows=rows, cols=cols, use=support.use)
    setting = _Setting(constness.matrix_type(plain), (rows, cols), grid, capabilities.features)
    pointees = [c for c in ComponentType if c in POINTEES or any(row.component is c for row in capabilities.matrices)]
    memory = Memory(support.component, pointees, Feature.BUFFER_DEVICE_ADDRESS in capabilities.features)
    program = Program(constness)
    for _ in range(3):
        choices.group(lambda c: _draw_transfer(c, program, memory, setting))
        if not choices.chance(3):
            break
    return Case(
        schema=SCHEMA_VERSION,
        name="generated",
        buffers=memory.buffers(),
        program=tuple(program.instructions),
        dispatch=dispatch,
    )


def _draw_shape(choices: Choices, support: MatrixSupport, max_dimension: int) -> tuple[int, int]:
    """Mostly up to 16 rows and columns, sometimes up to 64 of one, never more than `MAX_ELEMENTS` elements."""
    if support.exact:
        return support.rows, support.cols
    extents = []
    long = choices.pick((0, 1)) if choices.rarely(12) else None
    for axis, granule in enumerate((support.rows, support.cols)):
        most = 64 if axis == long else max(16, 2 * granule) if granule > 1 else 16
        extents.append(granule * choices.between(1, max(min(most, max_dimension) // granule, 1)))
    rows, cols = extents
    while rows * cols > MAX_ELEMENTS:
        rows, cols = (rows - support.rows, cols) if rows > support.rows else (rows, cols - support.cols)
    return rows, cols


def _draw_dispatch(choices: Choices, support: MatrixSupport, capabilities: Capabilities, elements: int) -> Dispatch:
    """One workgroup, or a few with their subgroups."""
    subgroups, workgroups = 1, (1, 1, 1)
    if support.scope is Scope.Workgroup:
        powers = [1 << i for i in range(capabilities.max_subgroups.bit_length())]
        subgroups = support.subgroups or choices.pick(powers)
    elif choices.chance(3):
        subgroups = choices.between(1, min(4, capabilities.max_subgroups))
    if choices.chance(3):
        workgroups = (choices.between(1, 3), choices.between(1, 3), choices.between(1, 2) if choices.chance(2) else 1)
    apart = subgroups if support.scope is Scope.Subgroup else 1
    x, y, z = workgroups
    if x * y * z * apart * elements > MAX_ELEMENTS:
        workgroups = (1, 1, 1)
        subgroups = subgroups if subgroups * elements <= MAX_ELEMENTS or apart == 1 else 1
    return Dispatch(workgroups=workgroups, subgroups=subgroups)


def _draw_transfer(choices: Choices, program: Program, memory: Memory, setting: _Setting) -> None:
    """One matrix from somewhere to one or two destinations."""
    matrix = choices.group(lambda c: _draw_source(c, program, memory, setting))
    for _ in range(2):
        choices.group(lambda c: _draw_sink(c, program, memory, setting, matrix))
        if not choices.rarely(12):
            break


def _draw_source(choices: Choices, program: Program, memory: Memory, setting: _Setting) -> str:
    kind = choices.between(0, 9)
    tensor = Feature.TENSOR_ADDRESSING in setting.features
    if kind == 0:
        return _constant(choices, program, setting)
    if kind < 4 or not tensor:
        return _draw_load(choices, program, memory, setting)
    return _draw_tensor_load(choices, program, memory, setting)


def _draw_sink(choices: Choices, program: Program, memory: Memory, setting: _Setting, matrix: str) -> None:
    if choices.chance(4) and Feature.TENSOR_ADDRESSING in setting.features:
        _draw_tensor_store(choices, program, memory, setting, matrix)
    else:
        _draw_store(choices, program, memory, setting, matrix)


def _constant(choices: Choices, program: Program, setting: _Setting) -> str:
    name = program.name("c")
    value = program.constness.component(OBJECT[setting.type.component])
    program.emit(MatrixConstant(id=name, type=setting.type, value=value))
    return name


def _draw_tensor(
    choices: Choices, program: Program, setting: _Setting, store: bool
) -> tuple[str, str | None, int, bool]:
    """A layout and perhaps a view; their ids, the tensor's extent in bytes, and whether it tells x apart."""
    reusable = program.reusable_layouts(store)
    reuse = choices.pick(reusable) if reusable and choices.chance(3) else None
    dim = reuse.state.dim if reuse else choices.between(1, 5)
    view = None
    needed = setting.shape[0] * setting.shape[1] if store else 0
    if choices.chance(4):
        view = choices.group(lambda c: draw_view(c, dim, setting.shape, store, setting.grid))
        needed = view.needed
    start = reuse or program.create_layout(dim, choices.pick(tuple(ClampMode)))
    purpose = Purpose(store, setting.shape, needed, setting.grid, Feature.BLOCK_LOADS in setting.features)
    plan = choices.group(lambda c: draw_layout(c, start.state, purpose))
    layout_id = program.place_layout(start, plan)
    view_id = program.place_view(view) if view else None
    end = plan.state.end(setting.grid) * setting.type.component.size
    return layout_id, view_id, end, plan.tiled_x


def _draw_tensor_load(choices: Choices, program: Program, memory: Memory, setting: _Setting) -> str:
    source = _constant(choices, program, setting)
    layout, view, end, _ = _draw_tensor(choices, program, setting, store=False)
    region = memory.draw_source(choices)
    offset = choices.group(lambda c: draw_read(c, region, setting.grid, TENSOR_ALIGNMENT, end))
    name = program.name("m")
    program.emit(
        MatrixLoadTensor(
            id=name,
            object=source,
            buffer=region.name,
            layout=layout,
            view=view,
            offset=program.constness.scalars([offset])[0],
        )
    )
    return name


def _draw_tensor_store(choices: Choices, program: Program, memory: Memory, setting: _Setting, matrix: str) -> None:
    layout, view, end, tiled_x = _draw_tensor(choices, program, setting, store=True)
    region = memory.draw_destination(choices)
    offset = choices.group(lambda c: draw_write(c, region, setting.grid, TENSOR_ALIGNMENT, end, skip_x=tiled_x))
    program.emit(
        MatrixStoreTensor(
            matrix=matrix,
            buffer=region.name,
            layout=layout,
            view=view,
            offset=program.constness.scalars([offset])[0],
        )
    )


def _lines(order: Order, setting: _Setting) -> tuple[int, int, int]:
    """Lines of the matrix in this order, bytes of one, and the alignment of lines (VK-040)."""
    rows, cols = setting.shape
    lines, length = (rows, cols) if order is Order.RowMajor else (cols, rows)
    size = length * setting.type.component.size
    return lines, size, min(16, size)


def _draw_load(choices: Choices, program: Program, memory: Memory, setting: _Setting) -> str:
    order = choices.pick(tuple(Order))
    lines, size, alignment = _lines(order, setting)
    region = memory.draw_source(choices)
    unit = aligned_elements(region, alignment)
    stride = unit * (-(-size // (unit * region.element_size)) + choices.pick((0, 0, 0, 1, 2, -1)))
    extent = (lines - 1) * stride * region.element_size + size
    offset = choices.group(lambda c: draw_read(c, region, setting.grid, alignment, extent))
    name = program.name("m")
    written_stride, written_offset = program.constness.scalars([stride, offset])
    program.emit(
        MatrixLoad(
            id=name, type=setting.type, buffer=region.name, stride=written_stride, order=order, offset=written_offset
        )
    )
    return name


def _draw_store(choices: Choices, program: Program, memory: Memory, setting: _Setting, matrix: str) -> None:
    order = choices.pick(tuple(Order)) if choices.chance(4) else Order.RowMajor
    lines, size, alignment = _lines(order, setting)
    region = memory.draw_destination(choices)
    unit = aligned_elements(region, alignment)
    stride = unit * (-(-size // (unit * region.element_size)) + choices.pick((0, 0, 0, 1, 2)))
    extent = (lines - 1) * stride * region.element_size + size
    offset = choices.group(lambda c: draw_write(c, region, setting.grid, alignment, extent))
    written_stride, written_offset = program.constness.scalars([stride, offset])
    program.emit(
        MatrixStore(matrix=matrix, buffer=region.name, stride=written_stride, order=order, offset=written_offset)
    )
