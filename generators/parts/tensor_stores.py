"""Tensor stores of a kernel."""

from __future__ import annotations

from cts.base.choices import Choices
from cts.case.model import MatrixStoreTensor
from cts.generators.build.kernels import Kernel, Tile
from cts.generators.build.memory import TENSOR_ALIGNMENT, Region, draw_write
from cts.generators.parts.tensor_operands import draw_tensor_operands


def draw_tensor_store(choices: Choices, kernel: Kernel, tile: Tile, region: Region, matrix: str) -> None:
    """A tensor store of a matrix of the tile's type to a region, in which every instance has a place of its own."""
    tensor = draw_tensor_operands(choices, kernel, tile, region, store=True)
    offset = draw_write(choices, region, kernel.grid, TENSOR_ALIGNMENT, tensor.extent, skip_x=tensor.tiled_x)
    kernel.program.emit(
        MatrixStoreTensor(
            matrix=matrix,
            buffer=region.name,
            layout=tensor.layout,
            view=tensor.view,
            offset=kernel.constness.scalars([offset])[0],
        )
    )
