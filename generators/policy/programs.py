"""Draws of programs and kernels of cooperative matrices, and of decoded loads."""

from __future__ import annotations

from cts.base.choices import one_in, tenths
from cts.case.model import Use
from cts.generators.policy.weighted import weights


class ProgramDraws:
    """Chances of the area matrix_programs."""

    #: A case is control flow around simple sums, or a chain behind a product: the area's two halves.
    FLOW = tenths(5, 4, 6)

    #: A chain begins with a tensor load instead of a product: seldom, tensor_addressing draws these.
    TENSOR_FIRST = one_in(6, 4, 9)

    #: The product is stored again behind what follows, which may have overwritten it.
    PRODUCT_KEPT = tenths(4, 2, 6)

    #: A store goes by a tensor layout, as in programs that clip at borders.
    TENSOR_STORE = one_in(4, 3, 6)

    #: A reduction is subtracted from its source, as in a softmax.
    REDUCED_DIFFERENCE = tenths(5, 3, 7)

    #: The first matrix of a flow is stored at the end.
    FIRST_KEPT = one_in(4, 3, 6)

    #: A loop carries a constant, or a null matrix, from its beginning.
    CONSTANT_CARRIED = tenths(5, 3, 7)

    #: All matrices that a loop carries begin alike: a compiler may take them for one.
    ALIKE_CARRIED = one_in(8, 5, 12)

    #: None of such matrices grows, so that they stay alike.
    NOTHING_GROWS = tenths(2, 1, 4)

    #: The branches of a condition store: fewer than half, since values merge only if branches give them.
    IF_STORES = tenths(3, 2, 5)

    #: A condition has an else: most, since a merge of two values needs both.
    IF_HAS_ELSE = tenths(8, 6, 9)

    #: The branches of a switch store, as those of a condition.
    SWITCH_STORES = tenths(3, 2, 5)

    #: Steps behind a product: up to five, as many as an epilogue of a real program has.
    CHAIN = (0, 1, 1, 2, 2, 3, 4, 5)

    #: Blocks of control flow one after another: mostly one, since blocks nest as well.
    FLOW_STEPS = (1, 1, 1, 2, 2, 3)

    #: Matrices that a loop carries and that begin alike: from two on, or there is nothing to mistake.
    ALIKE = (2, 2, 3, 3, 4, 5)

    #: What follows a product computes at the other scope: seldom, few drivers list both with one shape.
    OTHER_SCOPE = tenths(3, 1, 4)

    #: Blocks around what follows a product: few, the other half of the area is made of blocks.
    AROUND = weights(nothing=8, condition=1, loop=1)

    #: Tiles of B in a second product: two at most, for its K is as long as a row of the first.
    SECOND_TILES = (1, 2)

    #: Values of constants: not 0, which no sum shows; small, for sums that stay exact.
    CONSTANTS = range(1, 8)

    #: Steps of a flow: blocks lead, since they are what a flow is for.
    STEP = weights(loop=3, condition=3, store=1, add=1, exchange=2, switch=1, regroup=1)

    #: What grows a carried matrix in an iteration: a sum alone in a third, the usual accumulator.
    ITERATION = weights(add=4, condition=3, loop=3, switch=2)


class KernelDraws:
    """Chances of the area kernels."""

    #: A kernel of matrices has a chain of accesses to one place: most, since kernels of vectors have none.
    CHAINED = tenths(6, 5, 7)

    #: Attention subtracts the maximum by an operation, or in the function of elements.
    MAXIMUM_APART = tenths(4, 3, 6)

    #: A filter has several rows, hence two loops, or one row.
    NESTED = tenths(5, 4, 6)

    #: An epilogue scales by a matrix of one number, else by a scalar.
    SCALED_BY_MATRIX = one_in(3, 2, 4)

    #: A bias is one number a row, else one a column, as in most programs.
    BIAS_BY_ROW = one_in(3, 2, 4)

    #: Results are stored in another type than the accumulators'.
    RESULT_CONVERTED = tenths(4, 3, 6)

    #: Tiles of A and of B for which an instance has accumulators: up to eight, as real programs have.
    GRIDS = ((1, 1), (1, 2), (2, 1), (2, 2), (1, 4), (2, 3), (4, 1), (2, 4), (4, 2))

    #: Steps of an epilogue: mostly one or two, as in real programs.
    EPILOGUE_STEPS = (0, 1, 1, 2, 2, 3)

    #: Further layers of a network, and widths of one that is trained: as many as small networks have.
    LAYERS = range(2, 5)

    #: Factors of float results: few bits each, so that products stay exact.
    FLOAT_SCALES = (2, 0.5, -1, 3, 0.25)

    #: Factors of integer results: no zero, which would hide what it multiplies.
    INTEGER_SCALES = (2, -1, 3, 5, 7)

    #: Operands whose tiles go through shared memory: most often both or none, as in real programs.
    STAGED: tuple[tuple[Use, ...], ...] = ((), (), (), (Use.A, Use.B), (Use.A, Use.B), (Use.A,), (Use.B,))


class BlockLoadDraws:
    """Chances of the area block_loads."""

    #: A case has a component type of llama.cpp's formats: there are few of these types.
    FORMATTED = tenths(4, 3, 6)

    #: A format's block goes across two dimensions: seldom, in programs it lies along one.
    SPLIT = one_in(4, 3, 6)

    #: A format's decode function has signed coordinates; unsigned ones otherwise, as in the specification.
    FORMAT_SIGNED_COORDINATES = tenths(3, 2, 5)

    #: Blocks have one element each, so that block coordinates become large.
    COUNTS_BLOCKS = one_in(4, 3, 6)

    #: A drawn decode function has signed coordinates.
    SIGNED_COORDINATES = tenths(3, 2, 5)

    #: A decode function has a vector function beside it, if the driver has any: most, these have more rules.
    BY_VECTORS = tenths(6, 4, 8)

    #: A vector function reads a structure of its own: seldom, sharing one is the usual way.
    OWN_STRUCTURE = one_in(4, 3, 6)

    #: A decoded load has a view: tensor_addressing draws most views.
    BLOCK_VIEW = tenths(3, 2, 5)

    #: A decoded load has a base offset.
    BLOCK_BASE = tenths(4, 2, 6)

    #: A dimension is long: more often than of other layouts, since block coordinates come of it.
    LONG = one_in(6, 4, 9)

    #: Loads of a case: mostly one, each has a layout and a function.
    LOADS = (1, 1, 1, 2)

    #: Blocks that a span is stretched over: three first, so that a middle block has neighbours.
    SPANS = (3, 2, 5, 1)

    #: Lines that a split block has.
    SPLITS = (2, 4, 8)

    #: Factors of a block's innermost extent, which vector functions divide; 1 twice, for scalar functions.
    LANES = (1, 1, 2, 4, 8)

    #: Fields of a block structure: two are enough for padding between them.
    FIELDS = (1, 2, 2, 3)

    #: Base offsets of decoded loads, in alignment units.
    BASES = (1, 2, 3, 5)

    #: Decode functions: mostly formats of programs, if the type has any; the rest is drawn. A fifth is plain loads.
    DECODED_BY = weights(nothing=2, function=2, format=6)
