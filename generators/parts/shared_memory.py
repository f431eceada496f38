"""Workgroup memory and pointers: sources with several tiles, and tiles that one subgroup writes and another reads."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import replace

from msgspec.structs import replace as with_fields

from cts.base.choices import Choices
from cts.case import model
from cts.case.model.operand import Factors
from cts.device.capabilities import Feature
from cts.generators.build import memory
from cts.generators.build.kernels import Kernel, Matrix, Tile
from cts.generators.build.operands import Grid, Varying
from cts.generators.build.value_ranges import ZEROS
from cts.generators.parts.flow import draw_condition
from cts.generators.policy.matrices import MoveDraws


def of_another(own: Varying, grid: Grid) -> Varying:
    """The place of another subgroup's tile: the last one's for the first, and so on."""
    f = own.factors
    return Varying(own.base + f.sg * (grid.sg - 1), Factors(f.wg_x, f.wg_y, f.wg_z, -f.sg, f.loop, f.loop_outer))


class RegionAllocator:
    """Where the loads and stores of a case that moves matrices go: regions to read and to write, by storage class."""

    def __init__(self, kernel: Kernel, tile: Tile, pointees: Sequence[model.ComponentType]) -> None:
        self.kernel = kernel
        self.tile = tile
        self.pointees = pointees
        self.sources: list[memory.Region] = []
        self._count = 0

    def draw_source(self, choices: Choices) -> memory.Region:
        """A region to read: an earlier one half of the time, so that programs read it at several places."""
        again = choices.chance(MoveDraws.READ_AGAIN)
        which, narrow, vector, storage = choices.record(3, 9, 9, 9)
        if again and self.sources:
            return self.sources[which % len(self.sources)]
        component = self.tile.component
        pointee = self.pointees[which * narrow % len(self.pointees)] if narrow >= 8 else component
        components = (2, 4)[vector % 2] if vector >= 7 else 1
        data = memory.numbered(pointee, component, random=choices.chance(MoveDraws.RANDOM_CONTENTS))
        region = self._region(
            f"src{len(self.sources) or ''}", pointee, components, self.storage(storage, self._need()), data
        )
        self.sources.append(region)
        return region

    def storage(self, drawn: int, need: int) -> model.StorageClass:
        """The storage class that a number of 0 to 9 stands for; Workgroup only where so many bytes are left there."""
        if drawn >= 6 and self.kernel.set_aside(need):
            return model.StorageClass.Workgroup
        if drawn in (4, 5) and Feature.BUFFER_DEVICE_ADDRESS in self.kernel.features:
            return model.StorageClass.PhysicalStorageBuffer
        return model.StorageClass.StorageBuffer

    def _need(self, tile: Tile | Matrix | None = None) -> int:
        """Bytes set aside for a buffer in workgroup memory: several tiles with padded lines."""
        t = tile or self.tile
        return max(8, self.kernel.grid.sg) * (max(t.rows, t.cols) + 2) * (max(t.rows, t.cols) * t.component.size + 48)

    def _need_of_all(self, matrix: Matrix) -> int:
        """The same for what each subgroup stores in each iteration."""
        grid = self.kernel.grid
        return self._need(matrix) * -(-grid.sg * grid.loop * grid.loop_outer // 8)

    def tiles(self, storage: model.StorageClass, component: model.ComponentType) -> memory.Region:
        """A new buffer for what instances of a scope write, and others read behind a barrier."""
        name = self.kernel.region_name("tile", self._count)
        self._count += 1
        return self._region(name, component, 1, storage, model.Data(fill=memory.FILL[component]))

    def _region(
        self, name: str, pointee: model.ComponentType, components: int, storage: model.StorageClass, data: model.Data
    ) -> memory.Region:
        if storage is model.StorageClass.Workgroup:
            region: memory.Region = memory.Part(name, pointee, components, storage, data)
            assert isinstance(region, memory.Part)
            region.workgroups = math.prod(self.kernel.dispatch.workgroups)
        else:
            region = memory.Region(name, pointee, components, storage, data)
        self.kernel.add(region)
        return region

    def grid(self, region: memory.Region) -> Grid:
        """The instances whose places in a region must differ: of workgroup memory, those of one workgroup."""
        grid = self.kernel.grid
        return replace(grid, x=1, y=1, z=1) if isinstance(region, memory.Part) else grid

    def lines(
        self, choices: Choices, region: memory.Region, pads: Sequence[int], tile: Tile | Matrix | None = None
    ) -> tuple[model.Order, int, int, int]:
        """Order, stride in elements, bytes from the first to behind the last component, alignment (VK-040).

        In blocked layouts the stride counts blocks (AL-005), and the alignment is 16 (AM-59).
        """
        t = tile or self.tile
        blocks = self._draw_blocks(choices, t)
        order = (
            choices.pick(model.PLAIN_ORDERS) if choices.chance(MoveDraws.MEMORY_IN_ANY_ORDER) else model.Order.RowMajor
        )
        lines = memory.Lines.for_matrix(region, order, t.component, t.rows, t.cols)
        pad = choices.pick(pads)
        if blocks is not None:
            if isinstance(region, memory.Part):
                region.unit = math.lcm(region.unit, 16)
            return *blocks, t.rows * t.cols * t.component.size, 16
        stride = lines.unit * (0 if pad == -99 else max(lines.dense + pad, 1))
        if isinstance(region, memory.Part):
            region.unit = math.lcm(region.unit, lines.alignment)
        return order, stride, lines.extent(stride), lines.alignment

    def _draw_blocks(self, choices: Choices, t: Tile | Matrix) -> tuple[model.Order, int] | None:
        """Sometimes a blocked layout that the shape allows (AL-003, AL-004), and its stride, the largest first."""
        if Feature.ARM_LAYOUTS not in self.kernel.features:
            return None
        drawn, which = choices.chance(MoveDraws.BLOCKED), choices.pick(MoveDraws.BLOCKS)
        allowed = [
            (order, stride)
            for order in model.BLOCKED_ORDERS
            for stride in model.BLOCKED_STRIDES[::-1]
            if not any(map(operator.mod, (t.rows, t.cols), model.blocked_multiples(order, stride, t.component)))
        ]
        return allowed[which % len(allowed)] if drawn and allowed else None

    def written(self, order: model.Order, stride: int, *offsets: Varying) -> list[model.Operand]:
        """A stride and offsets as operands; the stride of a blocked layout is a literal (AL-006)."""
        first, *others = self.kernel.constness.scalars([stride, *offsets])
        return [stride if order.blocked else first, *others]

    def load(self, choices: Choices) -> Matrix:
        """A matrix from anywhere: stride 0, lines that overlap, adjoin or lie apart (KM-013), perhaps by a pointer."""
        region = self.draw_source(choices)
        # -99 stands for a stride of 0.
        order, stride, extent, alignment = self.lines(choices, region, (0, 0, 0, 0, 1, 2, -1, -99))
        lines = memory.Lines.for_matrix(region, order, self.tile.component, self.tile.rows, self.tile.cols)
        drawn = memory.draw_far_stride(choices, lines, MoveDraws.FAR_STRIDE)
        far_apart = None if isinstance(region, memory.Part) or order.blocked else drawn
        if far_apart is not None:
            stride, extent = far_apart, lines.extent(far_apart)
        unit = memory.aligned_elements(region, alignment)
        grid = self.grid(region)
        tile = -(-extent // (unit * region.element_size)) * unit
        factors = grid.tiles(tile) if choices.chance(MoveDraws.SHARED_OWN_TILES) and far_apart is None else Factors()
        places = grid.instances * grid.loop * grid.loop_outer
        if isinstance(region, memory.Part) and places * tile * region.element_size > self._need():
            # So many iterations have no places of their own in what was set aside.
            factors = with_fields(factors, loop=0, loop_outer=0)
        base = (
            choices.pick(MoveDraws.SMALL_BASES) * unit
            if isinstance(region, memory.Part)
            else memory.draw_base(choices) * unit
        )
        name = region.name
        offset = Varying(base, factors)
        by_pointer = choices.pick(MoveDraws.POINTERS)
        far = offset
        if by_pointer != "none" and Feature.VARIABLE_POINTERS in self.kernel.features:
            name, far, offset = self._draw_pointer(choices, region, unit, tile, offset, select=by_pointer == "selected")
        region.size = max(region.size, far.range(grid)[1] * region.element_size + extent)
        written_stride, written_offset = self.written(order, stride, offset)
        loaded = self.matrix("m")
        self.kernel.program.emit(
            model.MatrixLoad(
                id=loaded.id,
                type=self.tile.type,
                buffer=name,
                stride=written_stride,
                order=order,
                offset=written_offset,
            )
        )
        return loaded

    def _draw_pointer(
        self, choices: Choices, region: memory.Region, unit: int, tile: int, offset: Varying, *, select: bool
    ) -> tuple[str, Varying, Varying]:
        """A pointer's id, the furthest place that it and an offset reach, and that offset (elements)."""
        kernel = self.kernel
        near, apart = choices.record(2, 2)
        rest = Varying(near * unit)
        first = kernel.name("q")
        kernel.program.emit(model.Pointer(id=first, buffer=region.name, offset=kernel.constness.scalars([offset])[0]))
        far = offset.plus(rest)
        if not select:
            return first, far, rest
        other = offset.plus(Varying(tile + apart * unit))
        second = kernel.name("q")
        kernel.program.emit(model.Pointer(id=second, buffer=region.name, offset=kernel.constness.scalars([other])[0]))
        condition = draw_condition(choices, kernel)
        either = kernel.name("q")
        written = kernel.constness.scalars([condition])[0]
        kernel.program.emit(model.PointerSelect(id=either, condition=written, a=first, b=second))
        return either, other.plus(rest), rest

    def store(self, choices: Choices, matrix: Matrix) -> None:
        """Store a matrix to its own place in a new buffer of any storage class."""
        narrow, vector, storage = choices.record(19, 9, 9)
        component = matrix.component
        pointee = self.pointees[narrow % len(self.pointees)] if narrow >= 17 else component
        components = (2, 4)[vector % 2] if vector >= 7 else 1
        name = self.kernel.region_name("dst", self._count)
        self._count += 1
        data = model.Data(fill=memory.FILL[pointee])
        region = self._region(name, pointee, components, self.storage(storage, self._need_of_all(matrix)), data)
        order, stride, extent, alignment = self.lines(choices, region, (0, 0, 0, 0, 1, 2), matrix)
        unit = memory.aligned_elements(region, alignment)
        tile = -(-extent // (unit * region.element_size)) * unit
        grid = self.grid(region)
        base = choices.pick(MoveDraws.SMALL_BASES) * unit
        offset = Varying(base, grid.tiles(tile))
        region.size = offset.range(grid)[1] * region.element_size + extent
        name = region.name
        if choices.chance(MoveDraws.STORED_BY_POINTER) and Feature.VARIABLE_POINTERS in self.kernel.features:
            name, offset = self.kernel.name("q"), Varying(0)
            whole = Varying(base, grid.tiles(tile))
            written = self.kernel.constness.scalars([whole])[0]
            self.kernel.program.emit(model.Pointer(id=name, buffer=region.name, offset=written))
        written_stride, written_offset = self.written(order, stride, offset)
        self.kernel.program.emit(
            model.MatrixStore(matrix=matrix.id, buffer=name, stride=written_stride, order=order, offset=written_offset)
        )

    def exchange(self, choices: Choices, matrix: Matrix, *, again: bool) -> Matrix:
        """Every subgroup stores to its tile and, behind a barrier, loads another's; with `again`, so in each iteration.

        In workgroup memory where there is room, else in a storage buffer.
        """
        kernel = self.kernel
        storage = choices.pick(MoveDraws.TILE_STORAGES)
        region = self.tiles(self.storage(storage, self._need()), self.tile.component)
        order, stride, extent, alignment = self.lines(choices, region, MoveDraws.TILE_PADS)
        unit = memory.aligned_elements(region, alignment)
        tile = -(-extent // (unit * region.element_size)) * unit
        # The same places in every iteration: barriers are between.
        grid = replace(self.grid(region), loop=1, loop_outer=1)
        own = Varying(choices.pick(MoveDraws.TILE_BASES) * unit, grid.tiles(tile))
        region.size = own.range(grid)[1] * region.element_size + extent
        other = of_another(own, grid)
        written_stride, store_offset, load_offset = self.written(order, stride, own, other)
        kernel.program.emit(
            model.MatrixStore(
                matrix=matrix.id, buffer=region.name, stride=written_stride, order=order, offset=store_offset
            )
        )
        kernel.program.barrier()
        loaded = self.matrix("m")
        kernel.program.emit(
            model.MatrixLoad(
                id=loaded.id,
                type=self.tile.type,
                buffer=region.name,
                stride=written_stride,
                order=order,
                offset=load_offset,
            )
        )
        if again:
            kernel.program.barrier()
        return loaded

    def matrix(self, prefix: str) -> Matrix:
        """A new matrix of the case's type. Its values are unknown: it is only moved."""
        t = self.tile
        use = self.kernel.use
        return Matrix(self.kernel.name(prefix), t.type, t.component, t.rows, t.cols, use, ZEROS)
