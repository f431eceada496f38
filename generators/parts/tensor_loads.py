"""Tensor loads of a kernel: of whole matrices from a region, and with blocks and decode functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from cts.base.choices import Choices
from cts.case.model import ComponentType, Decode, DecodeVector, MatrixConstant, MatrixLoadTensor, Use
from cts.device.capabilities import Feature
from cts.generators.build.contents import Contents
from cts.generators.build.kernels import Kernel, Matrix, Tile
from cts.generators.build.layout_plans import Purpose, plan
from cts.generators.build.layout_sketches import LayoutSketch, Strides, draw_layout
from cts.generators.build.memory import LARGE_BYTES, OBJECT, TENSOR_ALIGNMENT, Region, draw_read
from cts.generators.build.operands import Varying, varied
from cts.generators.build.value_ranges import Known
from cts.generators.build.views import draw_view
from cts.generators.parts.tensor_operands import draw_tensor_operands
from cts.generators.policy.cases import CaseDraws
from cts.generators.policy.programs import BlockLoadDraws


@dataclass(frozen=True)
class Decoding:
    """How a load decodes: block sizes by dimension, the functions, bytes of a block, and what elements are then."""

    block: tuple[int, ...]
    decode: Decode
    vector: DecodeVector | None
    size: int
    known: Known


@dataclass(frozen=True)
class Memory:
    """What a load reads: pointee type, contents, and the alignment of its pointer in bytes."""

    pointee: ComponentType
    contents: Contents
    alignment: int = TENSOR_ALIGNMENT


def draw_tensor_load(
    choices: Choices, kernel: Kernel, tile: Tile, region: Region, spare: Callable[[Choices], str]
) -> str:
    """A tensor load of a matrix of the tile's type; its id. Clipped elements keep the values of the matrix `spare`.

    `spare` is drawn last: a simpler one then leaves all other draws unchanged.
    """
    tensor = draw_tensor_operands(choices, kernel, tile, region, store=False)
    offset = draw_read(choices, region, kernel.grid, TENSOR_ALIGNMENT, tensor.extent)
    written_offset = kernel.constness.scalars([offset])[0]
    kept, name = spare(choices), kernel.name("m")
    kernel.program.emit(
        MatrixLoadTensor(
            id=name, object=kept, buffer=region.name, layout=tensor.layout, view=tensor.view, offset=written_offset
        )
    )
    return name


def sketch_for_blocks(choices: Choices) -> LayoutSketch:
    """A sketch that starts from a layout of its own."""
    return replace(draw_layout(choices, longer=BlockLoadDraws.LONG), reuse=None, keep=False)


def stretched(sketch: LayoutSketch, block: tuple[int, ...], stretch: int) -> LayoutSketch:
    """A sketch whose dimensions hold several blocks, the last of which is not whole as a rule."""
    axes = list(sketch.axes)
    for d, extent in enumerate(block):
        if d == sketch.long:
            axes[d] = replace(axes[d], extent=axes[d].extent * extent + axes[d].pad)
        elif extent > 5:
            axis = axes[d]
            axes[d] = replace(axis, extent=axis.extent * max(extent // stretch, 1) + axis.pad)
    strides = sketch.strides and Strides(sketch.strides.last, sketch.strides.late, far=False)
    return replace(sketch, axes=tuple(axes), strides=strides)


def _of_two_blocks(sketch: LayoutSketch, d: int, block: tuple[int, ...] | None) -> LayoutSketch:
    """A sketch whose dimension d has two blocks."""
    axes = list(sketch.axes)
    axes[d] = replace(axes[d], extent=2 * (block[d] if block else 1))
    return replace(sketch, axes=tuple(axes))


def draw_block_load(
    choices: Choices,
    kernel: Kernel,
    kind: tuple[ComponentType, int, int, Use],
    sketch: LayoutSketch,
    memory: Memory,
    decoding: Decoding | None,
) -> Matrix:
    """A tensor load of a matrix of this component, rows, columns and use."""
    component, rows, cols, use = kind
    program = kernel.program
    view = (
        draw_view(choices, sketch.dim, (rows, cols), False, kernel.grid)
        if choices.chance(BlockLoadDraws.BLOCK_VIEW)
        else None
    )
    start = program.create_layout(sketch.dim, sketch.clamp)
    block = decoding.block if decoding else None
    purpose = Purpose(False, (rows, cols), 0, kernel.grid, Feature.BLOCK_LOADS in kernel.features, block)
    planned = plan(sketch, start.state, purpose)
    pitch = decoding.size if decoding else component.size
    if sketch.long is not None and planned.state.end(kernel.grid) * pitch > LARGE_BYTES:
        # Strides from before a block size count elements as blocks.
        planned = plan(_of_two_blocks(sketch, sketch.long, block), start.state, purpose)
    layout = program.place_layout(start, planned)
    view_id = program.place_view(view) if view else None
    offset = _draw_offset(choices, kernel, memory, planned.state.end(kernel.grid) * pitch)
    declared = kernel.type(component, rows, cols, use)
    spare = kernel.name("c")
    program.emit(MatrixConstant(id=spare, type=declared, value=kernel.constness.component(OBJECT[component])))
    name = kernel.name("m")
    program.emit(
        MatrixLoadTensor(
            id=name,
            object=spare,
            buffer=offset[0],
            layout=layout,
            view=view_id,
            offset=kernel.constness.scalars([offset[1]])[0],
            decode=kernel.function("decode", decoding.decode) if decoding else None,
            decode_vector=kernel.function("vector", decoding.vector) if decoding and decoding.vector else None,
        )
    )
    known = decoding.known if decoding else memory.contents.known
    return Matrix(name, declared, component, rows, cols, use, known)


def _draw_offset(choices: Choices, kernel: Kernel, memory: Memory, extent: int) -> tuple[str, Varying]:
    """A source and where the load begins in it, in elements; the buffer grows to hold whole blocks."""
    region = kernel.source(choices, memory.pointee, memory.contents, scalar=True)
    unit = memory.alignment // region.element_size
    base = choices.pick(BlockLoadDraws.BASES) if choices.chance(BlockLoadDraws.BLOCK_BASE) else 0
    offset = Varying(base * unit, varied(kernel.grid, unit * abs(choices.pick(CaseDraws.VARIATIONS))))
    region.size = max(region.size, offset.range(kernel.grid)[1] * region.element_size + extent)
    return region.name, offset
