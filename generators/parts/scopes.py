"""Matrices of both scopes in one program: what subgroups have goes through memory to their workgroup, or back."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from cts.base.choices import Choices
from cts.case.model import PLAIN_ORDERS, MatrixLoad, MatrixStore, Operand, Order, Scope
from cts.case.model.operand import Factors
from cts.generators.build.kernels import Kernel, Matrix
from cts.generators.build.memory import Part
from cts.generators.build.operands import Varying
from cts.generators.parts.shared_memory import RegionAllocator
from cts.generators.policy.matrices import MoveDraws

#: What is done with a matrix of the other scope; the result comes back where its type is the same.
Between = Callable[[Choices, Matrix], Matrix]


@dataclass(frozen=True)
class Arrangement:
    """How the subgroups' matrices of `rows` x `cols` lie in memory: below one another (`down`), or side by side.

    `wide` are the rows and columns of the workgroup's matrix: all of these together or, unless it is `whole`, as much
    of it as one subgroup has. A `shared` place is that of all subgroups, which have as much as the workgroup.
    """

    rows: int
    cols: int
    wide: tuple[int, int]
    down: bool = True
    whole: bool = True
    shared: bool = False


def other_scope(kernel: Kernel) -> Scope:
    """The scope that the program's matrices do not have."""
    return Scope.Workgroup if kernel.scope is Scope.Subgroup else Scope.Subgroup


def arrangements(kernel: Kernel, matrix: Matrix) -> list[Arrangement]:
    """All in which the driver can run the matrix of the other scope (VK-020, VK-021), parts of a whole first."""
    count = kernel.dispatch.subgroups
    if other_scope(kernel) is Scope.Workgroup and count & (count - 1):
        return []
    return [a for a in _arrangements(kernel.scope, matrix.rows, matrix.cols, count) if _admits(kernel, matrix, a)]


def _arrangements(scope: Scope, rows: int, cols: int, count: int) -> Iterator[Arrangement]:
    if scope is Scope.Subgroup:
        yield Arrangement(rows, cols, (rows * count, cols))
        if count > 1:
            yield Arrangement(rows, cols, (rows, cols * count), down=False)
            yield Arrangement(rows, cols, (rows, cols), whole=False)
        return
    if rows % count == 0:
        yield Arrangement(rows // count, cols, (rows, cols))
    if cols % count == 0 and count > 1:
        yield Arrangement(rows, cols // count, (rows, cols), down=False)
    if count > 1:
        yield Arrangement(rows, cols, (rows, cols), shared=True)


def _admits(kernel: Kernel, matrix: Matrix, arrangement: Arrangement) -> bool:
    scope = other_scope(kernel)
    shape = arrangement.wide if scope is Scope.Workgroup else (arrangement.rows, arrangement.cols)
    return kernel.supports.admits(matrix.component, matrix.use, scope, shape, kernel.dispatch.subgroups)


@dataclass(frozen=True)
class _Place:
    """Where the matrices of both scopes are in a buffer, as its loads and stores say it."""

    buffer: str
    order: Order
    stride: Operand
    wide: Operand
    narrow: Operand

    def offset_at(self, scope: Scope) -> Operand:
        """The offset of matrices of a scope."""
        return self.wide if scope is Scope.Workgroup else self.narrow


def draw_regrouped(
    choices: Choices, places: RegionAllocator, matrix: Matrix, between: Between, *, again: bool = False
) -> Matrix | None:
    """A matrix stored and, behind a barrier, loaded at the other scope, where `between` does more with it.

    Then it mostly goes back the same way; the result is the matrix as it comes back, or `matrix` itself. With `again`
    this may be in a loop. None, and nothing is done, where the driver has no such matrix, or mostly where one subgroup
    is all of the workgroup.
    """
    kernel = places.kernel
    ways = arrangements(kernel, matrix)
    which, storage, back, k = choices.record(9, 9, 9, kernel.dispatch.subgroups - 1)
    if not ways or (kernel.dispatch.subgroups == 1 and which < 6):
        return None
    arrangement = ways[which % len(ways)]
    inside = other_scope(kernel)
    if not kernel.add_scope(inside):
        return None
    place = _draw_place(choices, places, matrix, arrangement, storage, k)
    _store(kernel, matrix, place)
    kernel.program.barrier()
    shape = arrangement.wide if inside is Scope.Workgroup else (arrangement.rows, arrangement.cols)
    with kernel.at_scope(inside):
        loaded = _load(kernel, matrix, shape, place)
        computed = choices.group(lambda c: between(c, loaded))
        returns = back < 7 and computed.type == loaded.type and arrangement.whole and not arrangement.shared
        if returns:
            kernel.program.barrier()
            _store(kernel, computed, place)
        elif computed is not loaded or not again:
            places.store(choices, computed)
    if not returns:
        if again:
            kernel.program.barrier()
        return matrix
    kernel.program.barrier()
    result = replace(_load(kernel, matrix, (matrix.rows, matrix.cols), place), known=computed.known)
    if again:
        kernel.program.barrier()
    return result


def _draw_place(
    choices: Choices, places: RegionAllocator, matrix: Matrix, arrangement: Arrangement, storage: int, k: int
) -> _Place:
    """A new region, perhaps in workgroup memory; a workgroup whose matrix is no `whole` has that of subgroup `k`."""
    kernel, size, count = places.kernel, matrix.component.size, places.kernel.dispatch.subgroups
    order, pad, base = (
        choices.pick(PLAIN_ORDERS),
        choices.pick(MoveDraws.REGROUPED_PADS),
        choices.pick(MoveDraws.REGROUPED_BASES),
    )
    if _beside(arrangement, order) and _length(arrangement, order)[0] * size % 16:
        # Within a line only what is aligned can begin (VK-040).
        order = Order.ColumnMajor if order is Order.RowMajor else Order.RowMajor
    own, wide = _length(arrangement, order)
    alignment = math.lcm(*(min(16, length * size) for length in (own, wide)))
    unit = alignment // math.gcd(alignment, size)
    # One tile alone is as long as its lines, and yet they lie side by side.
    longest = own * count if _beside(arrangement, order) else max(own, wide)
    stride = unit * (-(-longest // unit) + pad)
    lines = arrangement.rows if order is Order.RowMajor else arrangement.cols
    step = own if _beside(arrangement, order) else lines * stride
    if arrangement.shared or count == 1:
        step = 0
    extent = stride * lines * (1 if _beside(arrangement, order) or not step else count)
    region = places.tiles(places.storage(storage, (base * unit + extent) * size), matrix.component)
    if isinstance(region, Part):
        region.unit = math.lcm(region.unit, alignment)
    # The same places in every iteration: barriers are between.
    grid = replace(places.grid(region), sg=1, loop=1, loop_outer=1)
    offset = Varying(base * unit, grid.tiles(extent))
    region.size = (offset.range(grid)[1] + extent) * size
    narrow = offset.plus(Varying(0, Factors(sg=step)))
    at = offset if arrangement.whole else offset.plus(Varying(k * step))
    written_stride, written_wide, written_narrow = kernel.constness.scalars([stride, at, narrow])
    return _Place(region.name, order, written_stride, written_wide, written_narrow)


def _beside(arrangement: Arrangement, order: Order) -> bool:
    """Whether the lines of one subgroup go on in those of the next."""
    return not arrangement.shared and arrangement.down == (order is Order.ColumnMajor)


def _length(arrangement: Arrangement, order: Order) -> tuple[int, int]:
    """Elements of a line of a subgroup's matrix, and of the workgroup's."""
    axis = 1 if order is Order.RowMajor else 0
    return (arrangement.rows, arrangement.cols)[axis], arrangement.wide[axis]


def _store(kernel: Kernel, matrix: Matrix, place: _Place) -> None:
    offset = place.offset_at(kernel.scope)
    kernel.program.emit(
        MatrixStore(matrix=matrix.id, buffer=place.buffer, stride=place.stride, order=place.order, offset=offset)
    )


def _load(kernel: Kernel, like: Matrix, shape: tuple[int, int], place: _Place) -> Matrix:
    """A matrix of the kernel's scope, with the component type, use and numbers of another."""
    name, declared = kernel.name("m"), kernel.type(like.component, *shape, like.use)
    offset = place.offset_at(kernel.scope)
    kernel.program.emit(
        MatrixLoad(id=name, type=declared, buffer=place.buffer, stride=place.stride, order=place.order, offset=offset)
    )
    return replace(like, id=name, type=declared, rows=shape[0], cols=shape[1])
