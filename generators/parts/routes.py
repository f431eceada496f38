"""Where the operands of an instruction come from: mostly from memory, else by way of something that programs do first.

Tiles staged in workgroup memory, values that loops carry and conditions select, elements that were computed or copied,
uses that were converted: what an instruction makes of its operands must not depend on where they come from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from cts.base.choices import Choices
from cts.case import model
from cts.device.capabilities import Feature
from cts.generators.build.kernels import Kernel, Matrix, Tile, as_matrix
from cts.generators.build.memory import Part, Region, aligned_elements
from cts.generators.build.operands import Varying
from cts.generators.build.value_ranges import negated
from cts.generators.parts.computations import ARITHMETIC, draw_copy
from cts.generators.parts.conversion_operands import Step, emit_step
from cts.generators.parts.flow import draw_if, draw_loop
from cts.generators.parts.shared_memory import RegionAllocator, of_another
from cts.generators.policy.matrices import ProductDraws

#: How a matrix is loaded, with the use that it is to have first, its rows and its columns.
Load = Callable[[Choices, model.Use, int, int], Matrix]


@dataclass(frozen=True)
class _Place:
    """A tile in a region: its lines, where a store puts it, and where a load finds that of the next instance."""

    region: Region
    shape: tuple[int, int]
    order: model.Order
    stride: model.Operand
    own: model.Operand
    next: model.Operand


@dataclass
class Staging:
    """Tiles that a case stores, and loads behind a barrier: several of them in one array, places used again."""

    kernel: Kernel
    regions: dict[model.ComponentType, Region] = field(default_factory=dict)
    places: list[_Place] = field(default_factory=list)

    def pass_through(self, choices: Choices, matrix: Matrix, *, uniform: bool = False) -> Matrix:
        """The matrix as another instance, or the same one, finds it in memory; `matrix` itself within a block.

        Of one of its type and shape the place is taken again now and then, as with two buffers that change places. In a
        loop that all instances go through alike (`uniform`) each iteration has that place or, in turn, one of its own.
        """
        program = self.kernel.program
        if program.in_block and not uniform:
            return matrix
        again, other = choices.record(3, 1)
        if uniform:
            if again < 2:
                program.barrier()
            return self._stored(matrix, self._new(choices, matrix, by_iteration=again >= 2), other=other == 1)
        alike = [p for p in self.places if p.region.type is matrix.component and p.shape == (matrix.rows, matrix.cols)]
        if alike and again == 3:
            place = alike[0]
            program.barrier()
        else:
            place = self._new(choices, matrix)
        return self._stored(matrix, place, other=other == 1)

    def _stored(self, matrix: Matrix, place: _Place, *, other: bool) -> Matrix:
        """Store a matrix and, behind a barrier, load it, or with `other` what another instance has stored.

        What the same subgroup loads may wait for itself alone.
        """
        program, kernel = self.kernel.program, self.kernel
        scope = model.Scope.Workgroup if other else kernel.scope
        program.emit(
            model.MatrixStore(
                matrix=matrix.id, buffer=place.region.name, stride=place.stride, order=place.order, offset=place.own
            )
        )
        program.barrier(scope)
        name = kernel.name("m")
        program.emit(
            model.MatrixLoad(
                id=name,
                type=kernel.type(matrix.component, matrix.rows, matrix.cols, matrix.use),
                buffer=place.region.name,
                stride=place.stride,
                order=place.order,
                offset=place.next if other else place.own,
            )
        )
        return as_matrix(matrix, name, matrix.known)

    def _new(self, choices: Choices, matrix: Matrix, *, by_iteration: bool = False) -> _Place:
        """A place behind those that are there, or in another region where workgroup memory has no room for more."""
        kernel, size = self.kernel, matrix.component.size
        places = RegionAllocator(
            kernel, Tile(matrix.type, matrix.component, matrix.rows, matrix.cols), [matrix.component]
        )
        shared, apart = choices.record(9, 2)
        longest = max(matrix.rows, matrix.cols)
        iterations = kernel.grid.loop * kernel.grid.loop_outer if by_iteration else 1
        need = (longest + 3) * (longest * size + 64) * kernel.grid.sg * iterations
        room = kernel.set_aside(need)
        region = self.regions.get(matrix.component)
        if region is None or isinstance(region, Part) != room:
            region = places.tiles(places.storage(9 if shared < 8 and room else 4 + shared % 2, 0), matrix.component)
            self.regions[matrix.component] = region
        order, stride, extent, alignment = places.lines(choices, region, (0, 0, 1, 2, 4), matrix)
        unit = aligned_elements(region, alignment)
        tile = -(-extent // (unit * region.element_size)) * unit
        grid = places.grid(region)
        if not by_iteration:
            # The same places in every iteration: barriers are between.
            grid = replace(grid, loop=1, loop_outer=1)
        base = (-(-region.size // (unit * region.element_size)) + apart) * unit
        own = Varying(base, grid.tiles(tile))
        region.size = own.range(grid)[1] * region.element_size + extent
        written_stride, written_own, written_next = places.written(order, stride, own, of_another(own, grid))
        place = _Place(region, (matrix.rows, matrix.cols), order, written_stride, written_own, written_next)
        self.places.append(place)
        return place


def draw_operand(
    choices: Choices,
    staging: Staging,
    component: model.ComponentType,
    use: model.Use,
    shape: tuple[int, int],
    load: Load,
    *,
    signs: bool,
    staged: bool = False,
) -> Matrix:
    """A matrix of a type, a use and a shape: as `load` gives it in half of all cases, else by another way.

    With `signs`, also with other signs, where the type computes; `staged`: through shared memory.
    """
    kernel, kind = staging.kernel, "shared memory" if staged else choices.pick(ProductDraws.ROUTES)
    converted = kind in ("conversion", "transposition")
    if converted and use is not model.Use.Accumulator and Feature.CONVERSIONS in kernel.features:
        of_nv = kind == "transposition" and use is model.Use.B and Feature.TRANSPOSES in kernel.features
        of_ext = kind == "transposition" and not of_nv and Feature.CONVERSIONS_EXT in kernel.features
        before = shape[::-1] if of_nv or of_ext else shape
        if kernel.admits(component, *before, model.Use.Accumulator):
            matrix = load(choices, model.Use.Accumulator, *before)
            return emit_step(kernel, matrix, Step(matrix.component, use=use, transpose=of_nv, decorated=of_ext))
    matrix = load(choices, use, *shape)
    if kind == "load":
        return matrix
    if kind == "condition":
        return draw_if(choices, kernel, lambda c: load(c, use, *shape), lambda c: matrix) or matrix
    if kind == "loop":
        return draw_loop(choices, kernel, [matrix, load(choices, use, *shape)], _change_places, long=True)[0]
    if kind == "copy":
        return draw_copy(choices, kernel, matrix)
    if kind == "signs" and signs:
        return _with_signs(choices, kernel, matrix)
    return staging.pass_through(choices, matrix)


def _change_places(_: Choices, carried: Sequence[Matrix]) -> Sequence[Matrix]:
    return carried[1], carried[0]


def _with_signs(choices: Choices, kernel: Kernel, matrix: Matrix) -> Matrix:
    """The same magnitudes: negated, or by a function of elements that negates some."""
    component = matrix.component
    if component not in ARITHMETIC or not (component.is_float or component.is_signed):
        return matrix
    known = negated(component, matrix.known)
    name = kernel.name("m")
    if choices.chance(ProductDraws.NEGATED_BY_FUNCTION) and Feature.PER_ELEMENT in kernel.features:
        body = choices.pick(("value if row % 2 < 1 else -value", "-value if col > row else value", "-value"))
        function = kernel.function("f", model.PerElement(type=component, body=body))
        kernel.program.emit(model.MatrixPerElement(id=name, matrix=matrix.id, function=function))
    else:
        operation = model.Arithmetic.FNegate if component.is_float else model.Arithmetic.SNegate
        kernel.program.emit(model.MatrixArithmetic(id=name, operation=operation, a=matrix.id, b=None))
    return as_matrix(matrix, name, known.union(matrix.known))
