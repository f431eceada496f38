"""What `tensor_addressing` moves matrices from and to: a source, destinations, and their plain loads and stores."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace

from cts.base.choices import Choices
from cts.case.model import (
    PLAIN_ORDERS,
    ComponentType,
    Data,
    MatrixConstant,
    MatrixLoad,
    MatrixStore,
    Order,
    StorageClass,
)
from cts.device.capabilities import Feature
from cts.generators.build.kernels import Kernel, Tile
from cts.generators.build.memory import FILL, OBJECT, Lines, Region, draw_read, draw_write, numbered, pattern
from cts.generators.policy.cases import CaseDraws
from cts.generators.policy.tensors import TransferDraws


class Transfers:
    """The buffers of a case whose matrices have one type, a tile, and what moves such matrices without a tensor.

    `pointees` are the types that buffers may have. How much is drawn never depends on what was drawn
    before, so that the shrinker can drop earlier accesses.
    """

    def __init__(self, choices: Choices, kernel: Kernel, tile: Tile, pointees: Sequence[ComponentType]) -> None:
        self.kernel = kernel
        self.tile = tile
        self.pointees = pointees
        physical = Feature.BUFFER_DEVICE_ADDRESS in kernel.features
        self._storages = (StorageClass.StorageBuffer, StorageClass.PhysicalStorageBuffer)[: 1 + physical]
        self.destinations: list[Region] = []
        self.source = self._draw(choices, "src")
        self.source.data = numbered(
            self.source.type, tile.component, random=choices.chance(TransferDraws.RANDOM_CONTENTS)
        )

    @property
    def regions(self) -> tuple[Region, ...]:
        """All buffers, the source first."""
        return self.source, *self.destinations

    def copy(self) -> Transfers:
        """The same buffers, which grow on their own from here on."""
        other = copy(self)
        other.source = replace(self.source)
        other.destinations = [replace(region) for region in self.destinations]
        return other

    def draw_destination(self, choices: Choices) -> Region:
        """A buffer to write: a new one, or one that already has other stores' regions."""
        again = choices.chance(TransferDraws.STORED_TOGETHER)
        region = self._draw(choices, f"dst{len(self.destinations) or ''}")
        if again and self.destinations:
            return self.destinations[-1]
        region.data = Data(fill=FILL[region.type])
        self.destinations.append(region)
        return region

    def _draw(self, choices: Choices, name: str) -> Region:
        pointee = choices.pick(self.pointees) if choices.chance(TransferDraws.OTHER_POINTEE) else self.tile.component
        components = choices.pick(CaseDraws.VECTORS) if choices.chance(TransferDraws.VECTOR_POINTEE) else 1
        return Region(name, pointee, components, choices.pick(self._storages), Data(fill=0))

    def constant(self, choices: Choices) -> str:
        """A matrix of one value that no source begins with; its id."""
        name, component = self.kernel.name("c"), self.tile.component
        value = pattern(component) if choices.chance(TransferDraws.VARIED_CONSTANT) else OBJECT[component]
        written = self.kernel.constness.component(value)
        self.kernel.program.emit(MatrixConstant(id=name, type=self.tile.type, value=written))
        return name

    def load(self, choices: Choices) -> str:
        """A matrix from the source, of lines that overlap, adjoin or lie apart; its id."""
        order, region = choices.pick(PLAIN_ORDERS), self.source
        lines = self._lines(region, order)
        stride = lines.unit * (lines.dense + choices.pick(TransferDraws.LOAD_PADS))
        offset = draw_read(choices, region, self.kernel.grid, lines.alignment, lines.extent(stride))
        name = self.kernel.name("m")
        written_stride, written_offset = self.kernel.constness.scalars([stride, offset])
        self.kernel.program.emit(
            MatrixLoad(
                id=name,
                type=self.tile.type,
                buffer=region.name,
                stride=written_stride,
                order=order,
                offset=written_offset,
            )
        )
        return name

    def store(self, choices: Choices, region: Region, matrix: str) -> None:
        """A matrix to a place of its own in a destination."""
        order = choices.pick(PLAIN_ORDERS) if choices.chance(TransferDraws.STORED_IN_ANY_ORDER) else Order.RowMajor
        lines = self._lines(region, order)
        stride = lines.unit * (lines.dense + choices.pick(TransferDraws.STORE_PADS))
        offset = draw_write(choices, region, self.kernel.grid, lines.alignment, lines.extent(stride))
        written_stride, written_offset = self.kernel.constness.scalars([stride, offset])
        self.kernel.program.emit(
            MatrixStore(matrix=matrix, buffer=region.name, stride=written_stride, order=order, offset=written_offset)
        )

    def _lines(self, region: Region, order: Order) -> Lines:
        return Lines.for_matrix(region, order, self.tile.component, self.tile.rows, self.tile.cols)
