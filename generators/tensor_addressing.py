"""Cases of tensor-addressed loads and stores. docs/generators.md describes the distribution."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from hypothesis import strategies as st
from msgspec.structs import replace

from cts.capabilities import Capabilities, Feature, MatrixSupport
from cts.errors import NothingToGenerate
from cts.generators.choices import Choices, Draw
from cts.generators.layout_plans import Purpose, plan
from cts.generators.layout_sketches import draw_layout
from cts.generators.memory import (
    LARGE_BYTES,
    MARGIN,
    MAX_BYTES,
    OBJECT,
    TENSOR_ALIGNMENT,
    Memory,
    Region,
    aligned_elements,
    draw_read,
    draw_write,
)
from cts.generators.operands import Constness, Grid
from cts.generators.programs import Program
from cts.generators.supports import MAX_ELEMENTS, draw_dispatch, draw_shape, grid_of, pointees_of, usable
from cts.generators.views import draw_view
from cts.model import (
    SCHEMA_VERSION,
    Case,
    Dispatch,
    MatrixConstant,
    MatrixLoad,
    MatrixLoadTensor,
    MatrixStore,
    MatrixStoreTensor,
    MatrixType,
    Order,
)

#: How many matrices a case brings from somewhere to somewhere else. Counts come before what they count, and what they
#: count is a group: so the shrinker can drop any of it.
TRANSFERS = (1, 1, 1, 2, 2, 2, 3, 3, 4, 5)
SINKS = (1,) * 11 + (2,)


@dataclass(frozen=True)
class _Setting:
    """What all loads and stores of a case share."""

    type: MatrixType
    shape: tuple[int, int]
    grid: Grid
    features: frozenset[Feature]


def cases(capabilities: Capabilities) -> st.SearchStrategy[Case]:
    """Valid cases that a device with `capabilities` can run.

    Raises NothingToGenerate when it supports no matrix that fits in `MAX_ELEMENTS`.
    """
    supports = usable(capabilities)
    if not supports:
        raise NothingToGenerate(
            f"no matrix type of at most {MAX_ELEMENTS} elements among the driver's {capabilities.matrices}"
        )

    @st.composite
    def tensor_addressing(draw: Draw) -> Case:
        return _draw_case(Choices(draw), capabilities, supports)

    return tensor_addressing()


def _draw_case(choices: Choices, capabilities: Capabilities, supports: Sequence[MatrixSupport]) -> Case:
    support = choices.pick(supports)
    rows, cols = draw_shape(choices, support, capabilities.max_dimension)
    dispatch = draw_dispatch(choices, support.scope, support.subgroups, capabilities, rows * cols)
    grid = grid_of(dispatch, support.scope)
    constness = Constness(choices)
    plain = MatrixType(component=support.component, scope=support.scope, rows=rows, cols=cols, use=support.use)
    setting = _Setting(constness.matrix_type(plain), (rows, cols), grid, capabilities.features)
    memory = Memory(
        choices, support.component, pointees_of(capabilities), Feature.BUFFER_DEVICE_ADDRESS in capabilities.features
    )
    program = Program(constness)
    transfers, all_run = choices.pick(TRANSFERS), choices.chance(9)
    for _ in range(transfers - 1):
        # Of a transfer that is not carried out, only layouts remain that the last one starts from.
        used = memory if all_run else memory.copy()
        choices.group(partial(_draw_transfer, program=program, memory=used, setting=setting))
    last = len(program.instructions)
    choices.group(partial(_draw_transfer, program=program, memory=memory, setting=setting))
    if not all_run:
        program.keep_only(last)
    case = Case(schema=SCHEMA_VERSION, name="generated", buffers=memory.buffers(), program=tuple(program.instructions))
    # What equals the default is left out of YAML only where it is not given.
    return case if dispatch == Dispatch() else replace(case, dispatch=dispatch)


def _draw_transfer(choices: Choices, program: Program, memory: Memory, setting: _Setting) -> None:
    """One matrix from somewhere to one or two destinations."""
    sinks = choices.pick(SINKS)
    matrix, by_tensor = choices.group(lambda c: _draw_source(c, program, memory, setting))
    for _ in range(sinks):
        choices.group(lambda c: _draw_sink(c, program, memory, setting, matrix, by_tensor))


def _draw_source(choices: Choices, program: Program, memory: Memory, setting: _Setting) -> tuple[str, bool]:
    """A matrix, and whether a tensor load made it."""
    kind = choices.between(0, 9)
    if kind == 0:
        return _draw_constant(choices, program, setting), False
    if kind < 4 or Feature.TENSOR_ADDRESSING not in setting.features:
        return _draw_load(choices, program, memory, setting), False
    return _draw_tensor_load(choices, program, memory, setting), True


def _draw_sink(
    choices: Choices, program: Program, memory: Memory, setting: _Setting, matrix: str, by_tensor: bool
) -> None:
    tensor = choices.chance(3 if by_tensor else 8)
    region = memory.draw_destination(choices)
    if tensor and Feature.TENSOR_ADDRESSING in setting.features:
        _draw_tensor_store(choices, program, region, setting, matrix)
    else:
        _draw_store(choices, program, region, setting, matrix)


def _draw_constant(choices: Choices, program: Program, setting: _Setting) -> str:
    name, component = program.name("c"), setting.type.component
    value = f"0x{0xA5C3_96F1 >> (32 - 8 * component.size):x}" if choices.rarely(8) else OBJECT[component]
    program.emit(MatrixConstant(id=name, type=setting.type, value=program.constness.component(value)))
    return name


def _draw_tensor(
    choices: Choices, program: Program, setting: _Setting, region: Region, store: bool
) -> tuple[str, str | None, int, bool]:
    """A layout and perhaps a view; their ids, the tensor's extent in bytes, and whether it differs along x."""
    sketch = draw_layout(choices)
    view, needed = None, setting.shape[0] * setting.shape[1] if store else 0
    if choices.chance(5):
        view = draw_view(choices, sketch.dim, setting.shape, store, setting.grid)
        needed = view.needed
    start = None
    if sketch.reuse is not None:
        start = program.reusable_layout(sketch.dim, sketch.clamp, sketch.reuse, store)
    start = start or program.create_layout(sketch.dim, sketch.clamp)
    blocks = Feature.BLOCK_LOADS in setting.features
    purpose = Purpose(store, setting.shape, needed, setting.grid, blocks)
    distant = dataclasses.replace(purpose, distant=_may_be_distant(setting, region, store))
    planned = plan(sketch, start.state, distant)
    size = setting.type.component.size
    if planned.state.end(setting.grid) * size > MAX_BYTES - MARGIN - (region.size if store else 0):
        # Offsets of layouts that continue one another add up, and far strides with them.
        start = program.create_layout(sketch.dim, sketch.clamp)
        planned = plan(sketch, start.state, purpose)
    layout_id = program.place_layout(start, planned)
    view_id = program.place_view(view) if view else None
    return layout_id, view_id, planned.state.end(setting.grid) * size, planned.tiled_x


def _may_be_distant(setting: _Setting, region: Region, store: bool) -> bool:
    """Whether more than 2^24 elements of a buffer may be in use: where these are bytes, and stored but once."""
    return setting.type.component.size == 1 and (
        not store or (setting.grid.instances == 1 and region.size < LARGE_BYTES)
    )


def _draw_tensor_load(choices: Choices, program: Program, memory: Memory, setting: _Setting) -> str:
    source = _draw_constant(choices, program, setting)
    region = memory.source
    layout, view, end, _ = _draw_tensor(choices, program, setting, region, store=False)
    offset = draw_read(choices, region, setting.grid, TENSOR_ALIGNMENT, end)
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


def _draw_tensor_store(choices: Choices, program: Program, region: Region, setting: _Setting, matrix: str) -> None:
    layout, view, end, tiled_x = _draw_tensor(choices, program, setting, region, store=True)
    offset = draw_write(choices, region, setting.grid, TENSOR_ALIGNMENT, end, skip_x=tiled_x)
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
    region = memory.source
    unit = aligned_elements(region, alignment)
    stride = unit * (-(-size // (unit * region.element_size)) + choices.pick((0, 0, 0, 1, 2, -1)))
    extent = (lines - 1) * stride * region.element_size + size
    offset = draw_read(choices, region, setting.grid, alignment, extent)
    name = program.name("m")
    written_stride, written_offset = program.constness.scalars([stride, offset])
    program.emit(
        MatrixLoad(
            id=name, type=setting.type, buffer=region.name, stride=written_stride, order=order, offset=written_offset
        )
    )
    return name


def _draw_store(choices: Choices, program: Program, region: Region, setting: _Setting, matrix: str) -> None:
    order = choices.pick(tuple(Order)) if choices.chance(4) else Order.RowMajor
    lines, size, alignment = _lines(order, setting)
    unit = aligned_elements(region, alignment)
    stride = unit * (-(-size // (unit * region.element_size)) + choices.pick((0, 0, 0, 1, 2)))
    extent = (lines - 1) * stride * region.element_size + size
    offset = draw_write(choices, region, setting.grid, alignment, extent)
    written_stride, written_offset = program.constness.scalars([stride, offset])
    program.emit(
        MatrixStore(matrix=matrix, buffer=region.name, stride=written_stride, order=order, offset=written_offset)
    )
