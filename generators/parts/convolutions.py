"""Convolutions as products: for each tap of a filter, a window of an image times the weights of that tap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cts.base.choices import Choices
from cts.case.model import ClampMode, MatrixLoadTensor, Use
from cts.case.model.operand import Factors
from cts.device.capabilities import MulAddSupport
from cts.generators.build.contents import Contents
from cts.generators.build.kernels import Kernel, Matrix
from cts.generators.build.operands import Varying
from cts.generators.build.value_ranges import ZEROS
from cts.generators.parts.flow import draw_loop
from cts.generators.parts.products import Sizes, draw_factors
from cts.generators.parts.tiled_products import MOST, Grid, Operand, Tiles, draw_grid, draw_start, draw_tiles
from cts.generators.policy.cases import CallbackDraws
from cts.generators.policy.programs import KernelDraws


def draw_convolution(choices: Choices, kernel: Kernel, row: MulAddSupport, sizes: Sizes, grid: Grid) -> list[Matrix]:
    """The accumulators behind a loop over the taps of a filter of one row, or two loops over those of several rows.

    An iteration adds the product of the pixels that the tap sees, M of them with K channels, and K x N weights.
    """
    nested = choices.chance(KernelDraws.NESTED)
    contents = draw_factors(choices, row, sizes.k, MOST * MOST if nested else MOST)
    weights = Operand(row.b, sizes.k, sizes.n, Use.B, contents[1])
    start = draw_start(choices, kernel, row, sizes, contents[2])

    def taps(c: Choices, begun: Sequence[Matrix] = ()) -> list[Matrix]:
        windows = _draw_windows(c, kernel, row, sizes, contents[0])
        tiles = windows, draw_tiles(c, kernel, weights, ())
        return draw_grid(c, kernel, row, sizes, tiles, (lambda _, n: begun[n]) if begun else start, grid)

    if not nested:
        return taps(choices)
    begun = [start(choices, number) for number in range(grid.of_a * grid.of_b)]
    largest = MOST * MOST * sizes.k * contents[0].known.size * contents[1].known.size + begun[0].known.size
    known = [replace(m.known, low=-largest, high=largest) for m in begun]
    begun = [replace(m, known=k) for m, k in zip(begun, known, strict=True)]

    def rows(c: Choices, carried: Sequence[Matrix]) -> Sequence[Matrix]:
        return [replace(m, known=k) for m, k in zip(taps(c, carried), known, strict=True)]

    return draw_loop(choices, kernel, begun, rows, uniform=bool(grid.staged), counts=CallbackDraws.BUSY)


def _draw_windows(choices: Choices, kernel: Kernel, row: MulAddSupport, sizes: Sizes, contents: Contents) -> Tiles:
    """Windows of an image of rows, columns and channels, zeros beyond its end; instances see other parts of it."""
    pixels, tail, by_row = choices.record(3, 3, 1)
    high = max(n for n in (1, 2, 4, 8)[: pixels + 1] if sizes.m % n == 0)
    window = [high, sizes.m // high, sizes.k]
    outer, nested = kernel.outer, kernel.grid.loop > 1
    down = Factors(
        loop=0 if nested or not by_row else 1, loop_outer=1 if nested else 0, wg_y=high if outer.y > 1 else 0
    )
    along = Factors(loop=1 if nested or not by_row else 0, wg_x=window[1] if outer.x > 1 else 0)
    dims = [max(4 * high * outer.y + MOST - tail, 1), max(window[1] * outer.x + MOST - tail, 1), sizes.k]
    program = kernel.program
    whole = program.tensor(dims, ClampMode.Constant)
    region = kernel.source(choices, row.a, contents, scalar=True)
    region.size = dims[0] * dims[1] * dims[2] * row.a.size
    pad = kernel.null(row.a, sizes.m, sizes.k, Use.A)

    def load(c: Choices, number: int) -> Matrix:
        offset = [Varying(number * high * outer.y, down), Varying(0, along), Varying(0)]
        sliced, name = program.sliced(whole, offset, window), kernel.name("m")
        program.emit(MatrixLoadTensor(id=name, object=pad.id, buffer=region.name, layout=sliced, offset=0))
        return replace(pad, id=name, known=contents.known.union(ZEROS))

    return Tiles(contents.known.union(ZEROS), load)
