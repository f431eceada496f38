"""Whole kernels as people write them, each by a grammar with drawn tiles, stages, layouts, types and tails.

Products in tiles with an epilogue, of numbers or of decoded blocks; convolutions; attention; networks of vectors, and
steps of their training. docs/generators.md describes the distribution.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

from cts.base.choices import Choices, Source
from cts.base.errors import NothingToGenerate
from cts.case.model import Case, ComponentType, Use
from cts.case.model.vector_products import OUTER_FACTOR
from cts.device.capabilities import Capabilities, Feature, MulAddSupport
from cts.generators.build.contents import Wanted, draw_contents
from cts.generators.build.float_modes import draw_float_modes
from cts.generators.build.kernels import Kernel, Matrix, draw_float_controls
from cts.generators.build.supports import Supports, draw_dispatch, draw_length, pointees_of
from cts.generators.build.vector_kernels import VectorKernel
from cts.generators.build.vector_operands import draw_vector_dispatch
from cts.generators.parts.attention import FEATURES, Attention, Extents, draw_extents, fitting
from cts.generators.parts.convolutions import draw_convolution
from cts.generators.parts.dependence import draw_chain
from cts.generators.parts.epilogues import draw_conversion, draw_epilogue, draw_result
from cts.generators.parts.formats import formats_for
from cts.generators.parts.products import Sizes, draw_factors, draw_product_row, draw_sizes, usable_products
from cts.generators.parts.tiled_products import MOST, Grid, Operand, draw_grid, draw_start, draw_tiles
from cts.generators.parts.training import Training, accumulators_of
from cts.generators.parts.training_steps import draw_training_step, trainable
from cts.generators.parts.vector_networks import draw_layer, draw_next, load_input
from cts.generators.parts.vector_products import usable_rows
from cts.generators.policy.programs import KernelDraws

#: Most elements of all accumulators of an instance.
_MOST_ELEMENTS = 2048


def cases(capabilities: Capabilities) -> Source[Case]:
    """Valid cases that a device with `capabilities` can run. Raises NothingToGenerate when it can run no kernel."""
    kernels = _of_matrices(capabilities) + _of_vectors(capabilities)
    if not kernels:
        raise NothingToGenerate("the driver has no products of matrices of moderate size, and none of vectors")

    def area(choices: Choices) -> Case:
        return choices.pick(kernels)(choices)

    return area


def _of_matrices(capabilities: Capabilities) -> list[Callable[[Choices], Case]]:
    """Drawable matrix kernels; an entry that occurs twice is drawn twice as often."""
    supports = Supports(capabilities)
    products = usable_products(supports)
    if not products:
        return []
    attending = [(row, e) for row in products if (e := fitting(row)) is not None]
    gemm, convolution = (partial(_draw_product, supports=supports, rows=products, kind=kind) for kind in ("", "window"))
    kernels: list[Callable[[Choices], Case]] = [gemm, gemm]
    if Feature.TENSOR_ADDRESSING in capabilities.features:
        kernels.append(convolution)
    if {Feature.BLOCK_LOADS, Feature.BUFFER_DEVICE_ADDRESS, Feature.TENSOR_ADDRESSING} <= capabilities.features:
        decoding = [row for row in products if formats_for(row.b, pointees_of(capabilities), capabilities.features)]
        if decoding:
            kernels.append(partial(_draw_product, supports=supports, rows=decoding, kind="decoded"))
    if attending and capabilities.features >= FEATURES:
        kernels.append(partial(_draw_attention, supports=supports, rows=attending))
    return kernels


def _of_vectors(capabilities: Capabilities) -> list[Callable[[Choices], Case]]:
    """The kernels of vectors that a driver can run."""
    rows = usable_rows(capabilities)
    if not rows:
        return []
    kernels: list[Callable[[Choices], Case]] = [partial(_draw_network, capabilities=capabilities)]
    accumulators = accumulators_of(capabilities)
    training = trainable(rows, frozenset({OUTER_FACTOR}))
    if accumulators and training:
        kernels.append(partial(_draw_training, capabilities=capabilities, accumulators=accumulators))
    return kernels


def _draw_product(choices: Choices, supports: Supports, rows: Sequence[MulAddSupport], kind: str) -> Case:
    """A grid of accumulators for each instance, an epilogue for each, and one matrix of all results."""
    capabilities = supports.capabilities
    row = draw_product_row(choices, rows)
    sizes = draw_sizes(choices, row, capabilities)
    sizes = Sizes(sizes.m, sizes.n, min(sizes.k, max(row.k * (16 // row.k), row.k)))
    a, b = choices.pick(KernelDraws.GRIDS)
    if a * b * sizes.m * sizes.n > _MOST_ELEMENTS:
        a, b = 1, 1
    dispatch = draw_dispatch(choices, row.scope, row.subgroups, capabilities, a * b * sizes.largest)
    controls = draw_float_controls(choices, capabilities)
    kernel = Kernel(choices, supports, row.scope, dispatch, literal_uses=True)
    grid = Grid(a, b, choices.pick(KernelDraws.STAGED))
    if kind == "window":
        accumulators = draw_convolution(choices, kernel, row, sizes, grid)
    else:
        formats = formats_for(row.b, pointees_of(capabilities), kernel.features, 32) if kind == "decoded" else ()
        contents = draw_factors(choices, row, sizes.k, MOST)
        if formats:
            # Decoded elements are what they are: small numbers beside them, so that sums stay exact.
            small = draw_contents(choices, row.a, Wanted(size=3, exact=True, halves=False))
            contents = small, contents[1], small if row.a is row.c else contents[2]
        of_a = Operand(row.a, sizes.m, sizes.k, Use.A, contents[0])
        of_b = Operand(row.b, sizes.k, sizes.n, Use.B, contents[1])
        tiles = (
            choices.group(lambda c: draw_tiles(c, kernel, of_a, ())),
            choices.group(lambda c: draw_tiles(c, kernel, of_b, formats, decoded=bool(formats))),
        )
        start = draw_start(choices, kernel, row, sizes, contents[2])
        accumulators = draw_grid(choices, kernel, row, sizes, tiles, start, grid)
    _finish(choices, kernel, accumulators, (a, b))
    draw_chain(choices, kernel, accumulators[0], chance=KernelDraws.CHAINED)
    return kernel.case(controls, draw_float_modes(choices, capabilities, controls))


def _finish(choices: Choices, kernel: Kernel, accumulators: Sequence[Matrix], tiles: tuple[int, int]) -> None:
    """The epilogue of each accumulator, and its place in the result; those of the first tile of B come first."""
    steps = draw_epilogue(choices, kernel, accumulators[0], tiles)
    results = []
    for number, matrix in enumerate(accumulators):
        column, row = divmod(number, tiles[0])
        for step in steps:
            matrix = step(choices, matrix, row, column)
        results.append((matrix, row, column))
    conversion = draw_conversion(choices, kernel, results[0][0])
    if conversion is not None:
        results = [(conversion(choices, m, row, column), row, column) for m, row, column in results]
    result = draw_result(choices, kernel, results[0][0], tiles)
    for matrix, row, column in results:
        result.store(matrix, row, column)


def _draw_attention(choices: Choices, supports: Supports, rows: Sequence[tuple[MulAddSupport, Extents]]) -> Case:
    """Attention of one tile of queries for each instance."""
    row, least = choices.pick(rows)
    dispatch = draw_dispatch(choices, row.scope, row.subgroups, supports.capabilities, 1024)
    controls = draw_float_controls(choices, supports.capabilities)
    kernel = Kernel(choices, supports, row.scope, dispatch, literal_uses=True)
    extents = draw_extents(choices, kernel, row, least)
    out = Attention(choices, kernel, row, extents).draw(choices)
    draw_result(choices, kernel, out, (1, 1)).store(out, 0, 0)
    draw_chain(choices, kernel, out, chance=KernelDraws.CHAINED)
    return kernel.case(controls)


def _draw_network(choices: Choices, capabilities: Capabilities) -> Case:
    """Three to five layers with activations."""
    rows = usable_rows(capabilities)
    row = choices.pick([r for r in rows if r.result.is_float] or rows)
    k, m = (min(draw_length(choices, capabilities), 64) for _ in range(2))
    dispatch = draw_vector_dispatch(choices, capabilities, max(m, k, m * k // 16))
    controls = draw_float_controls(choices, capabilities)
    kernel = VectorKernel(choices, capabilities, dispatch)
    vector = draw_layer(choices, kernel, row, load_input(choices, kernel, row, k, exact=True), k, m, exact=True).result
    for _ in range(choices.pick(KernelDraws.LAYERS)):
        vector = choices.group(partial(draw_next, kernel=kernel, rows=rows, vector=vector, exact=True))
    kernel.store(choices, vector)
    return kernel.case(controls)


def _draw_training(choices: Choices, capabilities: Capabilities, accumulators: Sequence[ComponentType]) -> Case:
    """A step of training of one to three layers."""
    row = choices.pick(trainable(usable_rows(capabilities), frozenset({OUTER_FACTOR})))
    count = choices.pick(KernelDraws.LAYERS)
    widths = tuple(min(draw_length(choices, capabilities), 48) for _ in range(count))
    dispatch = draw_vector_dispatch(choices, capabilities, max(a * b for a, b in pairwise(widths)) // 16 + 1)
    kernel = VectorKernel(choices, capabilities, dispatch)
    draw_training_step(choices, kernel, row, Training(kernel, accumulators, exact=True), widths)
    return kernel.case()
