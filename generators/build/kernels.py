"""A case under construction in which matrices of several types are loaded, computed with and stored.

Sources are only read; every store of every instance has a place of its own (TA-044).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from cts.base.choices import Choices
from cts.case import model
from cts.case.model.component import Number
from cts.device.capabilities import PART_ALIGNMENT, Capabilities, Feature
from cts.generators.build import memory
from cts.generators.build.contents import Contents
from cts.generators.build.fast_math import with_fast_math
from cts.generators.build.operands import Constness, Grid, Varying
from cts.generators.build.programs import Program
from cts.generators.build.returns import with_return
from cts.generators.build.supports import Supports, grid_of
from cts.generators.build.value_ranges import ZEROS, Known, known_number, reread
from cts.generators.build.workgroups import draw_size
from cts.generators.policy.cases import CaseDraws
from cts.generators.policy.matrices import MoveDraws, ProductDraws

#: Of workgroup memory that is filled: the most workgroups, and elements that each invocation copies in.
MOST_COPIED_PARTS, MOST_COPIED_ELEMENTS = 4, 256


@dataclass(frozen=True)
class Matrix:
    """A matrix of the program and what is known of its values."""

    id: str
    type: model.MatrixType
    component: model.ComponentType
    rows: int
    cols: int
    use: model.Use
    known: Known

    @property
    def elements(self) -> int:
        return self.rows * self.cols


@dataclass(frozen=True)
class Tile:
    """A matrix type, for loads and stores of whole matrices."""

    type: model.MatrixType
    component: model.ComponentType
    rows: int
    cols: int


@dataclass
class Source(memory.Region):
    """A region that is only read, and what is known of its numbers."""

    known: Known = ZEROS


class Kernel:
    """Collects the parts of a case.

    `only`: all matrices have this type, of literals; how each constant of it is delivered is drawn for itself.
    `literal_uses`: the program changes uses, and types must stay alike; or spirv-val, and with it the
    validation layer, refuses the instruction where a use is a specialization constant.
    """

    def __init__(
        self,
        choices: Choices,
        supports: Supports,
        scope: model.Scope,
        dispatch: model.Dispatch,
        *,
        only: model.MatrixType | None = None,
        literal_uses: bool = False,
    ) -> None:
        self._choices = choices
        self.supports = supports
        self.scope = scope
        self.dispatch = dispatch
        #: The instances, and the iterations of the loops around what is emitted next; `outer` without them.
        self.grid: Grid = grid_of(dispatch, scope)
        self.outer: Grid = self.grid
        #: Whether the case has special numbers, and makes IEEE 754 binding: so what becomes of them is judged.
        self.ieee = False
        #: Whether signs of zeros are judged, and whether a reduction takes one of several computed zeros.
        self.judges_zeros = self.takes_zeros = False
        #: The use of the matrices of a case that has but one type.
        self.use = model.Use.Accumulator
        self.constness = Constness(choices)
        self.program = Program(self.constness)
        self.functions: dict[str, model.AnyFunction] = {}
        self.features = supports.capabilities.features
        self._regions: list[memory.Region] = []
        self._literal_uses = literal_uses
        self._extents: dict[int, int | model.SpecInt] = {}
        self._uses: dict[model.Use, model.Use | model.SpecUse] = {}
        #: Bytes of workgroup memory that are set aside.
        self.shared = 0
        self._scopes: dict[model.Scope, model.Scope | model.SpecScope] = {}
        self._only = None if only is None else self.constness.matrix_type(only)
        if only is None:
            self._written(scope)

    def _written(self, scope: model.Scope) -> model.Scope | model.SpecScope:
        """The scope as this case writes it everywhere."""
        if scope not in self._scopes:
            self._scopes[scope] = model.SpecScope(scope) if self._spec() else scope
        return self._scopes[scope]

    def add_scope(self, scope: model.Scope) -> bool:
        """Let the case have matrices of a scope, too; False where it uses more workgroup memory than these leave."""
        if self.shared > self.supports.capabilities.workgroup_room(scope) // 2:
            return False
        self._written(scope)
        return True

    def set_aside(self, size: int) -> bool:
        """Bytes of workgroup memory for a buffer, of half of what there is; False where there are not so many."""
        scope = model.Scope.Workgroup if model.Scope.Workgroup in (self.scope, *self._scopes) else model.Scope.Subgroup
        if self.shared + size > self.supports.capabilities.workgroup_room(scope) // 2:
            return False
        self.shared += size
        return True

    def fill_workgroup_memory(self, choices: Choices) -> None:
        """In three of ten cases a buffer of workgroup memory takes what is left of it, or nearly that (VK-025).

        Not where that would be too much to copy.
        """
        full, last, left = (
            choices.chance(MoveDraws.FILLED),
            choices.chance(MoveDraws.FILLED_LAST),
            choices.pick(MoveDraws.FILLED_BUT),
        )
        parts = [region for region in self._regions if isinstance(region, memory.Part) and region.size]
        if not full or not parts:
            return
        part = parts[-1 if last else 0]
        scope = model.Scope.Workgroup if model.Scope.Workgroup in (self.scope, *self._scopes) else model.Scope.Subgroup
        capabilities = self.supports.capabilities
        room = capabilities.workgroup_room(scope) - left * PART_ALIGNMENT
        grown = room - sum(-(-p.part // PART_ALIGNMENT) * PART_ALIGNMENT for p in parts if p is not part)
        grown -= grown % math.lcm(part.aligned, PART_ALIGNMENT)
        steps = grown // part.element_size // (self.dispatch.subgroups * capabilities.subgroup_size)
        if part.workgroups <= MOST_COPIED_PARTS and steps <= MOST_COPIED_ELEMENTS:
            part.size = max(part.size, grown)

    @contextmanager
    def at_scope(self, scope: model.Scope) -> Iterator[None]:
        """Within, matrices have this scope, and each of its instances has places of its own."""
        outside = self.scope, self.grid, self.outer
        subgroups = self.dispatch.subgroups if scope is model.Scope.Subgroup else 1
        self.scope = scope
        self.grid, self.outer = (replace(grid, sg=subgroups) for grid in (self.grid, self.outer))
        yield
        self.scope, self.grid, self.outer = outside

    def _spec(self) -> bool:
        return self.constness.kind() == "spec"

    def admits(self, component: model.ComponentType, rows: int, cols: int, use: model.Use) -> bool:
        """Whether the driver can run such a matrix in this dispatch."""
        return self.supports.admits(component, use, self.scope, (rows, cols), self.dispatch.subgroups)

    def extent(self, extent: int) -> int | model.SpecInt:
        """A number of rows or columns as this case writes it everywhere, so that types are declared alike."""
        if extent not in self._extents:
            self._extents[extent] = model.SpecInt(extent) if self._spec() else extent
        return self._extents[extent]

    def type(self, component: model.ComponentType, rows: int, cols: int, use: model.Use) -> model.MatrixType:
        """The type as this case writes it everywhere."""
        if self._only is not None:
            return self._only
        if use not in self._uses:
            self._uses[use] = model.SpecUse(use) if not self._literal_uses and self._spec() else use
        return model.MatrixType(
            component, self._written(self.scope), self.extent(rows), self.extent(cols), self._uses[use]
        )

    def name(self, prefix: str) -> str:
        return self.program.name(prefix)

    def function(self, prefix: str, function: model.AnyFunction) -> str:
        """The name of a function, the same for equal ones."""
        for name, known in self.functions.items():
            if known == function:
                return name
        name = f"{prefix}{len(self.functions) or ''}"
        self.functions[name] = function
        return name

    def source(
        self, choices: Choices, component: model.ComponentType, contents: Contents, *, scalar: bool = False
    ) -> Source:
        """A buffer to read, of `component`, or now and then, unless `scalar`, of vectors of it."""
        number = sum(isinstance(r, Source) for r in self._regions)
        components = choices.pick(CaseDraws.VECTORS) if not scalar and choices.chance(MoveDraws.VECTOR_POINTEES) else 1
        storage = self.storage(choices)
        region = Source(f"src{number or ''}", component, components, storage, contents.data, known=contents.known)
        self._regions.append(region)
        return region

    def storage(self, choices: Choices) -> model.StorageClass:
        """Storage buffers, or now and then physical ones."""
        physical = choices.chance(MoveDraws.PHYSICAL) and Feature.BUFFER_DEVICE_ADDRESS in self.features
        return model.StorageClass.PhysicalStorageBuffer if physical else model.StorageClass.StorageBuffer

    def load(
        self, choices: Choices, component: model.ComponentType, rows: int, cols: int, use: model.Use, contents: Contents
    ) -> Matrix:
        """A matrix from a buffer of its own with these contents."""
        region = self.source(choices, component, contents)
        return self.load_from(choices, region, rows, cols, use)

    def load_from(
        self,
        choices: Choices,
        region: Source,
        rows: int,
        cols: int,
        use: model.Use,
        declared: model.ComponentType | None = None,
        number: int = 0,
    ) -> Matrix:
        """A matrix from a source: rows mostly adjoin, instances mostly read places of their own.

        `declared` is a component type of the source's width, where it is not the source's. Matrices of different
        `number` are in different places.
        """
        order = (
            choices.pick(model.PLAIN_ORDERS) if choices.chance(MoveDraws.LOADED_IN_ANY_ORDER) else model.Order.RowMajor
        )
        stride, extent, alignment = self.lines(choices, region, order, rows, cols, MoveDraws.LOAD_PADS)
        lines = memory.Lines.for_matrix(region, order, region.type, rows, cols)
        far = memory.draw_far_stride(choices, lines, ProductDraws.FAR_STRIDE)
        if far is not None:
            stride, extent = far, lines.extent(far)
        if far is None and choices.chance(MoveDraws.OWN_TILES) and self.grid != Grid():
            offset = self._tiles(choices, region, alignment, extent)
        else:
            offset = memory.draw_read(choices, region, self.grid, alignment, extent)
        if number:
            offset = offset.plus(Varying(number * memory.tile_elements(region, alignment, extent)))
            region.size = max(region.size, offset.range(self.grid)[1] * region.element_size + extent)
        component = declared or region.type
        name, matrix = self.name("m"), self.type(component, rows, cols, use)
        written_stride, written_offset = self.constness.scalars([stride, offset])
        self.program.emit(
            model.MatrixLoad(
                id=name, type=matrix, buffer=region.name, stride=written_stride, order=order, offset=written_offset
            )
        )
        return Matrix(name, matrix, component, rows, cols, use, reread(region.type, component, region.known))

    def lines(
        self, choices: Choices, region: memory.Region, order: model.Order, rows: int, cols: int, pads: Sequence[int]
    ) -> tuple[int, int, int]:
        """Stride in elements, bytes from the first to behind the last component, alignment of lines (VK-040)."""
        lines = memory.Lines.for_matrix(region, order, region.type, rows, cols)
        stride = lines.unit * (lines.dense + choices.pick(pads))
        return stride, lines.extent(stride), lines.alignment

    def _tiles(self, choices: Choices, region: memory.Region, alignment: int, extent: int) -> Varying:
        """A place of its own for what each instance reads."""
        base = memory.draw_base(choices) * memory.aligned_elements(region, alignment)
        offset = Varying(base, self.grid.tiles(memory.tile_elements(region, alignment, extent)))
        region.size = max(region.size, offset.range(self.grid)[1] * region.element_size + extent)
        return offset

    def constant(self, component: model.ComponentType, rows: int, cols: int, use: model.Use, value: Number) -> Matrix:
        """A matrix of one value."""
        name, matrix = self.name("c"), self.type(component, rows, cols, use)
        self.program.emit(model.MatrixConstant(id=name, type=matrix, value=self.constness.component(value)))
        return Matrix(name, matrix, component, rows, cols, use, known_number(value))

    def null(self, component: model.ComponentType, rows: int, cols: int, use: model.Use) -> Matrix:
        """A matrix of zeros."""
        name, matrix = self.name("z"), self.type(component, rows, cols, use)
        self.program.emit(model.MatrixNull(id=name, type=matrix))
        return Matrix(name, matrix, component, rows, cols, use, ZEROS)

    def store(self, choices: Choices, matrix: Matrix) -> model.MatrixStore:
        """Store a matrix to a place of its own, mostly in a new buffer."""
        region = self.destination(choices, matrix.component)
        order = (
            choices.pick(model.PLAIN_ORDERS) if choices.chance(MoveDraws.STORED_IN_ANY_ORDER) else model.Order.RowMajor
        )
        stride, extent, alignment = self.lines(choices, region, order, matrix.rows, matrix.cols, MoveDraws.STORE_PADS)
        offset = memory.draw_write(choices, region, self.grid, alignment, extent)
        written_stride, written_offset = self.constness.scalars([stride, offset])
        stored = model.MatrixStore(
            matrix=matrix.id, buffer=region.name, stride=written_stride, order=order, offset=written_offset
        )
        self.program.emit(stored)
        return stored

    def through_memory(self, choices: Choices, matrix: Matrix) -> Matrix:
        """A matrix stored and, behind a barrier (TA-044), loaded again: its bits are preserved (NU-014)."""
        stored = self.store(choices, matrix)
        self.program.barrier()
        name = self.name("m")
        written = self.type(matrix.component, matrix.rows, matrix.cols, matrix.use)
        self.program.emit(
            model.MatrixLoad(
                id=name,
                type=written,
                buffer=stored.buffer,
                stride=stored.stride,
                order=stored.order,
                offset=stored.offset,
            )
        )
        return replace(matrix, id=name, type=written)

    def destination(self, choices: Choices, component: model.ComponentType) -> memory.Region:
        """A region that stores go to, the last one or a new one."""
        again, storage = choices.chance(MoveDraws.STORED_TOGETHER), self.storage(choices)
        regions = [r for r in self._regions if not isinstance(r, Source)]
        # What is in workgroup memory does not grow: a driver has little of it (VK-025).
        if (
            again
            and regions
            and regions[-1].type is component
            and regions[-1].storage is not model.StorageClass.Workgroup
        ):
            return regions[-1]
        name = self.region_name("dst", len(regions))
        region = memory.Region(name, component, 1, storage, model.Data(fill=memory.FILL[component]))
        self._regions.append(region)
        return region

    def region_name(self, prefix: str, number: int) -> str:
        """A name that no buffer has: the prefix with this number, 0 for none, or the next that is free."""
        taken = {region.name for region in self._regions}
        while (name := f"{prefix}{number or ''}") in taken:
            number += 1
        return name

    def add(self, region: memory.Region) -> None:
        """One more buffer."""
        self._regions.append(region)

    def buffers(self) -> dict[str, model.Buffer]:
        """The buffers in use, in the order of their first use."""
        return {region.name: region.buffer() for region in self._regions if region.size}

    def case(
        self,
        float_controls: model.FloatControls = model.FloatControls.Undecorated,
        float_modes: dict[model.FloatWidth, tuple[model.FloatMode, ...]] | None = None,
    ) -> model.Case:
        """The finished case."""
        program, buffers = self.program.instructions, self.buffers()
        if not any(b.storage is model.StorageClass.Workgroup for b in buffers.values()):
            program = with_return(self._choices, program, self.dispatch)
        program, fast_math = with_fast_math(
            self._choices, program, float_controls, specials=self.ieee, functions=bool(self.functions)
        )
        dispatch = draw_size(self._choices, self.dispatch, self.supports.capabilities, again=True)
        return model.Case(
            schema=model.SCHEMA_VERSION,
            name="generated",
            buffers=buffers,
            program=tuple(program),
            functions=self.functions,
            float_controls=float_controls,
            float_modes=float_modes or {},
            fast_math=fast_math,
            dispatch=dispatch,
        )


def as_matrix(matrix: Matrix, name: str, known: Known) -> Matrix:
    """A result of the same type."""
    return replace(matrix, id=name, known=known)


def draw_float_controls(choices: Choices, capabilities: Capabilities) -> model.FloatControls:
    """How roundings bind: not at all, or in one of the two ways to say so, of which one binds most (NU-017..NU-020)."""
    controls = (
        model.FloatControls.Undecorated,
        model.FloatControls.NoContraction,
        *2 * (model.FloatControls.FastMathNone,),
    )
    drawn = choices.pick(controls)
    if drawn is model.FloatControls.FastMathNone and Feature.FLOAT_CONTROLS_2 not in capabilities.features:
        return model.FloatControls.NoContraction
    return drawn
