"""Cases that move matrices: memory, pointers, copies, control flow. docs/generators.md describes the distribution."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from cts.base.choices import Choices, Source
from cts.base.errors import NothingToGenerate
from cts.case import model
from cts.case.model import Case, ComponentType, CopyPath, MatrixConstant, MatrixNull
from cts.device.capabilities import Capabilities, Feature, MatrixSupport
from cts.generators.build.far_buffers import with_far_buffers
from cts.generators.build.kernels import Kernel, Matrix, Tile
from cts.generators.build.memory import OBJECT, pattern
from cts.generators.build.robustness import with_robustness
from cts.generators.build.supports import Supports, draw_dispatch, draw_shape, fits, pointees_of
from cts.generators.parts.arrays import array_rows, draw_arrays
from cts.generators.parts.computations import draw_copy
from cts.generators.parts.dependence import draw_chain
from cts.generators.parts.flow import draw_if, draw_loop, draw_switch
from cts.generators.parts.scopes import draw_regrouped
from cts.generators.parts.shared_memory import RegionAllocator
from cts.generators.policy.cases import CallbackDraws, CaseDraws
from cts.generators.policy.matrices import MoveDraws


def cases(capabilities: Capabilities) -> Source[Case]:
    """Valid cases that a device with `capabilities` can run.

    Raises NothingToGenerate when it has no matrix of moderate size.
    """
    supports = Supports(capabilities)
    if not supports.rows:
        raise NothingToGenerate("the driver has no matrix type of moderate size")
    pointees, arrays = pointees_of(capabilities), array_rows(supports)

    def matrix_memory(choices: Choices) -> Case:
        if arrays and choices.chance(MoveDraws.ARRAYS):
            return draw_arrays(choices, supports, arrays)
        return _draw_case(choices, supports, pointees)

    return matrix_memory


def _draw_case(choices: Choices, supports: Supports, pointees: Sequence[ComponentType]) -> Case:
    support = choices.pick(supports.rows)
    rows, cols = draw_shape(choices, support, supports.capabilities.max_dimension)
    rows, cols = _draw_blocked_shape(choices, support, supports) or (rows, cols)
    dispatch = draw_dispatch(
        choices, support.scope, support.subgroups, supports.capabilities, rows * cols, CaseDraws.SEVERAL_MOSTLY
    )
    steps = choices.pick(MoveDraws.STEPS)
    kernel = Kernel(choices, supports, support.scope, dispatch)
    kernel.use = support.use
    declared = kernel.type(support.component, rows, cols, support.use)
    places = RegionAllocator(kernel, Tile(declared, support.component, rows, cols), pointees)
    pool = [choices.group(lambda c: _draw_origin(c, places))]
    for _ in range(steps):
        drawn = choices.group(partial(_draw_step, places=places, pool=tuple(pool), depth=0))
        if drawn is not None:
            pool.append(drawn)
    stores = 1 if len(pool) == 1 else choices.pick(MoveDraws.STORES)
    for matrix in pool[-stores:]:
        choices.group(partial(places.store, matrix=matrix))
    draw_chain(choices, kernel, places.tile, pool)
    kernel.fill_workgroup_memory(choices)
    return with_far_buffers(
        choices, with_robustness(choices, kernel.case(), supports.capabilities), supports.capabilities
    )


def _draw_blocked_shape(choices: Choices, support: MatrixSupport, supports: Supports) -> tuple[int, int] | None:
    """Sometimes a shape of whole blocks (AL-002), where the device has them."""
    if Feature.ARM_LAYOUTS not in supports.capabilities.features:
        return None
    drawn, high, wide = (
        choices.chance(MoveDraws.BLOCKED_SHAPE),
        choices.pick(MoveDraws.BLOCKS_DOWN),
        choices.pick(MoveDraws.BLOCKS_ALONG),
    )
    rows, cols = model.blocked_multiples(model.Order.RowBlockedInterleavedARM, 1, support.component)
    shape = rows * high, cols * wide
    admitted = supports.admits(support.component, support.use, support.scope, shape, support.subgroups)
    return shape if drawn and fits(support, shape) and admitted else None


def _draw_origin(choices: Choices, places: RegionAllocator) -> Matrix:
    """A matrix from memory, a null matrix, or a constant, composed of one value or replicated (KM-016, KM-021)."""
    kind = choices.pick(MoveDraws.ORIGINS)
    if kind == "load":
        return places.load(choices)
    matrix, kernel = places.matrix("c"), places.kernel
    if kind == "null":
        kernel.program.emit(MatrixNull(id=matrix.id, type=matrix.type))
        return matrix
    component = matrix.component
    value = pattern(component) if choices.chance(MoveDraws.VARIED_CONSTANT) else OBJECT[component]
    replicated = kind == "replicated" and Feature.REPLICATED_COMPOSITES in kernel.features
    written = kernel.constness.component(value)
    if replicated:
        kernel.program.emit(MatrixConstant(id=matrix.id, type=matrix.type, value=written, replicated=True))
    else:
        kernel.program.emit(MatrixConstant(id=matrix.id, type=matrix.type, value=written))
    return matrix


def _draw_regrouped(choices: Choices, places: RegionAllocator, matrix: Matrix, *, again: bool = False) -> Matrix:
    """A matrix that goes to the other scope, where it may be copied, and back; else tiles change places."""

    def between(c: Choices, regrouped: Matrix) -> Matrix:
        return draw_copy(c, places.kernel, regrouped) if c.chance(MoveDraws.COPIED_INSIDE) else regrouped

    back = draw_regrouped(choices, places, matrix, between, again=again)
    return back or places.exchange(choices, matrix, again=again)


def _draw_step(choices: Choices, places: RegionAllocator, pool: Sequence[Matrix], depth: int) -> Matrix | None:
    """A matrix more, or a store; `depth` loops and conditions are around it."""
    kind = choices.pick(MoveDraws.STEP)
    matrix = pool[-1 - choices.between(0, len(pool) - 1)]
    if kind == "regroup" and depth == 0:
        return _draw_regrouped(choices, places, matrix)
    if kind in ("copy", "regroup") or (depth > 1 and kind != "origin"):
        return _draw_copies(choices, places, matrix)
    if kind == "origin":
        return _draw_origin(choices, places)
    if kind == "exchange" and depth == 0:
        return places.exchange(choices, matrix, again=False)
    if kind in ("exchange", "loop"):
        return _draw_loop(choices, places, pool, depth)
    if kind == "condition":
        return _draw_if(choices, places, pool, depth)
    if kind == "switch":
        return _draw_switch(choices, places, pool, depth)
    places.store(choices, matrix)
    return None


def _draw_copies(choices: Choices, places: RegionAllocator, matrix: Matrix) -> Matrix:
    """A copy; in two of five cases behind that of another matrix, in a loop mostly one of each iteration, by this way.

    What a device leaves of the first shows in the second.
    """
    through = choices.pick(tuple(CopyPath))
    if choices.chance(MoveDraws.COPIED_BEFORE):
        places.store(choices, draw_copy(choices, places.kernel, places.load(choices), through))
    return draw_copy(choices, places.kernel, matrix, through)


def _draw_loop(choices: Choices, places: RegionAllocator, pool: Sequence[Matrix], depth: int) -> Matrix:
    """A loop that carries one matrix, or several, which change places, through one step in each iteration."""
    count = choices.pick(CallbackDraws.CARRIED)
    inits = [pool[-1 - choices.between(0, len(pool) - 1)] for _ in range(count)]
    kind = choices.pick(MoveDraws.ITERATION)

    def iteration(c: Choices, carried: Sequence[Matrix]) -> Sequence[Matrix]:
        inner = (*pool, *carried)
        if kind == "exchange" and depth == 0:
            step: Matrix | None = places.exchange(c, carried[0], again=True)
        elif kind == "regroup" and depth == 0:
            step = _draw_regrouped(c, places, carried[0], again=True)
        else:
            step = c.group(partial(_draw_step, places=places, pool=inner, depth=depth + 1))
        first = step or carried[0]
        return [*carried[1:], first]

    return draw_loop(choices, places.kernel, inits, iteration, uniform=kind != "step", long=True)[-1]


def _draw_if(choices: Choices, places: RegionAllocator, pool: Sequence[Matrix], depth: int) -> Matrix | None:
    """A condition whose branches give a matrix each, or store."""
    branch = _branch(choices.chance(MoveDraws.IF_STORES), places, pool, depth)
    two = choices.chance(MoveDraws.IF_HAS_ELSE)
    return draw_if(choices, places.kernel, branch, branch if two else None)


def _draw_switch(choices: Choices, places: RegionAllocator, pool: Sequence[Matrix], depth: int) -> Matrix | None:
    """A switch whose branches give a matrix each, or store."""
    return draw_switch(
        choices, places.kernel, _branch(choices.chance(MoveDraws.SWITCH_STORES), places, pool, depth), pool[-1]
    )


def _branch(
    stores: bool, places: RegionAllocator, pool: Sequence[Matrix], depth: int
) -> Callable[[Choices], Matrix | None]:
    def branch(c: Choices) -> Matrix | None:
        if stores:
            places.store(c, pool[-1 - c.between(0, len(pool) - 1)])
            return None
        matrix = c.group(partial(_draw_step, places=places, pool=pool, depth=depth + 1))
        return matrix or pool[-1]

    return branch
