"""The layout and the view of a tensor load or store of a whole matrix."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from cts.base.choices import Choices
from cts.device.capabilities import Feature
from cts.generators.build.kernels import Kernel, Tile
from cts.generators.build.layout_plans import Purpose, plan
from cts.generators.build.layout_sketches import draw_layout, shortened
from cts.generators.build.memory import LARGE_BYTES, MARGIN, MAX_BYTES, Region
from cts.generators.build.views import draw_view
from cts.generators.policy.tensors import LayoutDraws


class TensorOperands(NamedTuple):
    """Ids of a layout and perhaps a view; the tensor's bytes, and whether it keeps instances along x apart."""

    layout: str
    view: str | None
    extent: int
    tiled_x: bool


def draw_tensor_operands(
    choices: Choices, kernel: Kernel, tile: Tile, region: Region, *, store: bool
) -> TensorOperands:
    """Operands of a load or store of a tile: a layout of its own or one that continues an earlier one."""
    sketch, shape, program = draw_layout(choices), (tile.rows, tile.cols), kernel.program
    view, needed, leading = None, tile.rows * tile.cols if store else 0, None
    if choices.chance(LayoutDraws.VIEWED):
        view = draw_view(choices, sketch.dim, shape, store, kernel.grid)
        needed = view.needed
        leading = None if view.has_dimensions else len(view.permutation)
    start = None
    if sketch.reuse is not None:
        start = program.reusable_layout(sketch.dim, sketch.clamp, sketch.reuse, store)
    start = start or program.create_layout(sketch.dim, sketch.clamp)
    blocks = Feature.BLOCK_LOADS in kernel.features
    purpose = Purpose(store, shape, needed, kernel.grid, blocks, leading=leading)
    planned = plan(sketch, start.state, replace(purpose, distant=_may_be_distant(kernel, tile, region, store)))
    size = tile.component.size
    # Each instance stores to a place of its own in each iteration.
    grid = kernel.grid
    stored = grid.instances * grid.loop * grid.loop_outer
    room = (MAX_BYTES - MARGIN - region.size) // stored if store else MAX_BYTES - MARGIN
    if planned.state.end(kernel.grid) * size > room:
        # Offsets of layouts that continue one another add up, and far strides with them.
        start = program.create_layout(sketch.dim, sketch.clamp)
        planned = plan(sketch, start.state, purpose)
    if planned.state.end(kernel.grid) * size > room:
        # A store needs as many places as the matrix has elements, in another dimension than the long one.
        planned = plan(shortened(sketch), start.state, purpose)
    layout = program.place_layout(start, planned)
    view_id = program.place_view(view) if view else None
    return TensorOperands(layout, view_id, planned.state.end(kernel.grid) * size, planned.tiled_x)


def _may_be_distant(kernel: Kernel, tile: Tile, region: Region, store: bool) -> bool:
    """Whether more than 2^24 elements of a buffer may be in use: where these are bytes, and stored but once."""
    return tile.component.size == 1 and (not store or (kernel.grid.instances == 1 and region.size < LARGE_BYTES))
