"""Multiplications in tiles: each iteration of a loop over K loads a tile of A and of B and adds to an accumulator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from cts.base.choices import Choices
from cts.case import model
from cts.case.model.operand import Factors
from cts.device.capabilities import Feature, MulAddSupport
from cts.generators.build.contents import Contents
from cts.generators.build.kernels import Kernel, Matrix
from cts.generators.build.operands import Varying
from cts.generators.build.value_ranges import UNBOUNDED, ZEROS, Known, anything, settled, within
from cts.generators.parts.blocks import draw_memory
from cts.generators.parts.flow import draw_if, draw_loop
from cts.generators.parts.formats import Format
from cts.generators.parts.products import Sizes, declared_type, draw_factors, draw_mul_add
from cts.generators.parts.routes import Staging
from cts.generators.policy.cases import CallbackDraws
from cts.generators.policy.matrices import ProductDraws

#: Most iterations of the loop over K, and most tiles of an operand in one of them.
MOST, MOST_TILES = max(CallbackDraws.COUNTS) + 2, 4

#: What gives an accumulator its first value, by its number.
Start = Callable[[Choices, int], Matrix]


@dataclass(frozen=True)
class Tiles:
    """The tiles of an operand: the range of their elements, and a function that loads one tile of an iteration."""

    known: Known
    load: Callable[[Choices, int], Matrix]


@dataclass(frozen=True)
class Operand:
    """A factor of a tiled product: tiles of rows x cols of a component type, `use` A or B."""

    component: model.ComponentType
    rows: int
    cols: int
    use: model.Use
    contents: Contents

    @property
    def by_k(self) -> int:
        """The dimension along which iterations advance: columns of A, rows of B."""
        return 1 if self.use is model.Use.A else 0


@dataclass(frozen=True)
class Grid:
    """How many tiles of A and of B there are in an iteration, and how many of them go through shared memory."""

    of_a: int = 1
    of_b: int = 1
    staged: tuple[model.Use, ...] = ()


def draw_tiled_product(
    choices: Choices, kernel: Kernel, row: MulAddSupport, sizes: Sizes, formats: Sequence[Format]
) -> Matrix:
    """The accumulator behind the loop; where there are several, for as many tiles of B, the others are stored."""
    contents = draw_factors(choices, row, sizes.k, MOST, ieee=kernel.ieee)
    a = Operand(row.a, sizes.m, sizes.k, model.Use.A, contents[0])
    b = Operand(row.b, sizes.k, sizes.n, model.Use.B, contents[1])
    operands = [
        choices.group(partial(draw_tiles, kernel=kernel, operand=o, formats=f)) for o, f in ((a, ()), (b, formats))
    ]
    grid = Grid(1, choices.pick(ProductDraws.TILES), choices.pick(ProductDraws.STAGED))
    start = draw_start(choices, kernel, row, sizes, contents[2])
    first, *others = draw_grid(choices, kernel, row, sizes, (operands[0], operands[1]), start, grid)
    for other in others:
        kernel.store(choices, other)
    return first


def draw_start(choices: Choices, kernel: Kernel, row: MulAddSupport, sizes: Sizes, contents: Contents) -> Start:
    """What accumulators begin with: zeros, or each with a matrix of its own."""
    declared = declared_type(choices, kernel, row, model.Use.Accumulator, (sizes.m, sizes.n))
    if choices.chance(ProductDraws.ZERO_START):
        zeros = kernel.null(declared, sizes.m, sizes.n, model.Use.Accumulator)
        return lambda c, number: zeros
    source = kernel.source(choices, row.c, contents)

    def load(c: Choices, number: int) -> Matrix:
        return kernel.load_from(c, source, sizes.m, sizes.n, model.Use.Accumulator, declared, number=number)

    return load


def draw_grid(
    choices: Choices,
    kernel: Kernel,
    row: MulAddSupport,
    sizes: Sizes,
    operands: tuple[Tiles, Tiles],
    start: Start,
    grid: Grid,
) -> list[Matrix]:
    """The accumulators of all pairs of a tile of A and one of B behind the loop over K, those of the first B first."""
    begun = [start(choices, number) for number in range(grid.of_a * grid.of_b)]
    checked = choices.pick(ProductDraws.CHECKED)
    bound = _bound(kernel, row, sizes, begun[0], *(tiles.known for tiles in operands))
    begun = [replace(m, known=bound) for m in begun]
    staging = Staging(kernel)

    def tile(c: Choices, use: model.Use, number: int) -> Matrix:
        tiles = operands[use is model.Use.B]
        loaded = None
        if use in checked:
            # As where the last tiles of a dimension are loaded in another way than those before them.
            loaded = draw_if(
                c, kernel, lambda d: tiles.load(d, number), lambda d: tiles.load(d, MOST_TILES - 1 - number)
            )
        loaded = loaded or tiles.load(c, number)
        return staging.pass_through(c, loaded, uniform=True) if use in grid.staged else loaded

    def iteration(c: Choices, carried: Sequence[Matrix]) -> Sequence[Matrix]:
        of_a = [tile(c, model.Use.A, number) for number in range(grid.of_a)]
        results: list[Matrix] = []
        for number in range(grid.of_b):
            b = tile(c, model.Use.B, number)
            accumulators = carried[number * grid.of_a : (number + 1) * grid.of_a]
            results += [draw_mul_add(c, kernel, row, a, b, m) for a, m in zip(of_a, accumulators, strict=True)]
        return [replace(m, known=bound) for m in results]

    return draw_loop(choices, kernel, begun, iteration, uniform=bool(grid.staged), counts=CallbackDraws.BUSY)


def _bound(kernel: Kernel, row: MulAddSupport, sizes: Sizes, start: Matrix, a: Known, b: Known) -> Known:
    """What is known of the accumulator in every iteration."""
    if not row.result.is_float:
        return anything(start.component)
    if kernel.ieee:
        return UNBOUNDED
    size = start.known.size + MOST * sizes.k * a.size * b.size
    grains = [start.known.grain, None if a.grain is None or b.grain is None else a.grain + b.grain]
    grain = None if None in grains else min(g for g in grains if g is not None)
    known = settled(row.result, -size, size, grain)
    # Blocks decode to numbers for which the other factor was not made.
    return known if within(row.result, known) else UNBOUNDED


def draw_tiles(
    choices: Choices, kernel: Kernel, operand: Operand, formats: Sequence[Format], *, decoded: bool = False
) -> Tiles:
    """How tiles of an operand are loaded: by KHR loads, or by slices of a tensor, perhaps `decoded`."""
    kind = "blocks" if decoded else choices.pick(ProductDraws.TILES_FROM)
    tensors = Feature.TENSOR_ADDRESSING in kernel.features
    if kind == "matrix" or not tensors:
        source = kernel.source(choices, operand.component, operand.contents)
        return Tiles(
            operand.contents.known,
            lambda c, number: kernel.load_from(c, source, operand.rows, operand.cols, operand.use, number=number),
        )
    blocks = {Feature.BLOCK_LOADS, Feature.BUFFER_DEVICE_ADDRESS} <= kernel.features
    chosen = choices.pick(formats) if kind == "blocks" and formats and blocks else None
    return _draw_slices(choices, kernel, operand, chosen)


def _draw_slices(choices: Choices, kernel: Kernel, operand: Operand, chosen: Format | None) -> Tiles:
    """Slices of a two-dimensional tensor, which ends inside a tile; transposed by a view now and then.

    Drawn in a loop, each of its iterations has tiles of its own.
    """
    turned, tail, across = choices.record(2, 3, 1)
    shape = [operand.rows, operand.cols]
    grid, k = kernel.outer, operand.by_k
    dims = [shape[0] * (MOST if k == 0 else 1), shape[1] * (MOST if k == 1 else 1)]
    steps = [Factors(), Factors()]
    steps[k] = Factors(loop=shape[k], loop_outer=dims[k] if kernel.grid.loop > 1 else 0)
    dims[k] *= kernel.grid.loop
    other = 1 - k
    dims[other] *= MOST_TILES
    if across:
        # Tiles of A go along the workgroups' x, tiles of B along their y.
        along = grid.x if operand.use is model.Use.A else grid.y
        factor = dims[other] if along > 1 else 0
        dims[other] *= along
        steps[other] = Factors(wg_x=factor) if operand.use is model.Use.A else Factors(wg_y=factor)
    dims = [max(d - tail, 1) for d in dims]
    order = (1, 0) if turned == 2 else (0, 1)
    program, scalars = kernel.program, kernel.constness.scalars
    written_dim, written_clamp = kernel.constness.dim_and_clamp(2, model.ClampMode.Constant)
    layout = kernel.name("t")
    program.emit(model.TensorLayout(id=layout, dim=written_dim, clamp=written_clamp))
    decode, pitch, size = None, operand.component.size, [dims[i] for i in order]
    pointee, contents = operand.component, operand.contents
    if chosen is not None:
        place = "coordInBlock[1]"
        body = chosen.body(operand.component, place)
        decode = kernel.function(
            "decode", model.Decode(returns=operand.component, dim=2, block=chosen.fields, body=body, coords="uint32")
        )
        pointees = [model.ComponentType.uint16, model.ComponentType.uint8, model.ComponentType.uint32]
        pointee, contents, _ = draw_memory(choices, chosen.fields, pointees)
        blocked = kernel.name("t")
        program.emit(model.TensorLayoutSetBlockSize(id=blocked, of=layout, block_size=scalars([1, chosen.elements])))
        layout, pitch = blocked, chosen.size
        size[1] = -(-size[1] // chosen.elements)
    whole = kernel.name("t")
    program.emit(model.TensorLayoutSetDimension(id=whole, of=layout, dims=scalars([dims[i] for i in order])))
    view = None
    if turned == 2:
        view = kernel.name("v")
        dim, has_dimensions, permutation = kernel.constness.view_type(False, (1, 0))
        program.emit(model.TensorView(id=view, dim=dim, has_dimensions=has_dimensions, permutation=permutation))
    region = kernel.source(choices, pointee, contents, scalar=True)
    region.size = size[0] * size[1] * pitch
    zero = kernel.null(operand.component, operand.rows, operand.cols, operand.use)
    # What lies outside the tensor is 0.
    known = (contents.known if chosen is None else chosen.known).union(ZEROS)

    def load(c: Choices, number: int) -> Matrix:
        first = [0, 0]
        first[other] = number * shape[other]
        offset = [Varying(first[i], steps[i]) for i in order]
        span = [shape[i] for i in order]
        sliced = program.sliced(whole, offset, span)
        name = kernel.name("m")
        program.emit(
            model.MatrixLoadTensor(
                id=name, object=zero.id, buffer=region.name, layout=sliced, view=view, offset=0, decode=decode
            )
        )
        return replace(zero, id=name, known=known)

    return Tiles(known, load)
