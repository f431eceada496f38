"""Draws of the areas of cooperative vectors."""

from __future__ import annotations

from cts.base.choices import Chance, one_in, tenths
from cts.generators.policy.weighted import weights


class VectorDraws:
    """Chances of the area vector_arithmetic, and of vectors in memory."""

    #: A case is of floats, or of integers: either has its own operations.
    FLOATS = Chance(5, 10)

    #: Operations have numbers with inexact results, which intervals judge.
    INEXACT = tenths(3, 2, 5)

    #: The first vector is stored at the end, though later steps use it.
    FIRST_KEPT = one_in(5, 3, 8)

    #: A loop stores in each iteration, which hides what it carries.
    LOOP_STORES = tenths(2, 1, 4)

    #: The branches of a condition store: fewer than half, since values merge only if branches give them.
    IF_STORES = tenths(3, 2, 5)

    #: A condition has an else: most, since a merge of two values needs both.
    IF_HAS_ELSE = tenths(8, 6, 9)

    #: The branches of a switch store, as those of a condition.
    SWITCH_STORES = tenths(3, 2, 5)

    #: A source has vectors as elements: rare, since it differs from others in its type only.
    VECTOR_POINTEES = one_in(12, 8, 16)

    #: A workgroup has any number of invocations; one next to a subgroup's size otherwise.
    ANY_COUNT = tenths(3, 2, 5)

    #: A case has several workgroups.
    WORKGROUPS = tenths(3, 2, 5)

    #: A switch's selector grows with the invocation, instead of repeating.
    ENDLESS_SELECTOR = tenths(5, 3, 7)

    #: A switch of vectors has a default.
    SWITCH_HAS_DEFAULT = tenths(6, 4, 8)

    #: A constant of a case with special numbers has some.
    SPECIAL_CONSTANT = tenths(5, 3, 7)

    #: A signed divisor is negative.
    NEGATIVE_DIVISOR = tenths(5, 4, 6)

    #: A vector is scaled by a component of a vector, or by a constant.
    BY_COMPONENT = tenths(5, 3, 7)

    #: The constant is a special number, in cases that have any.
    SPECIAL_FACTOR = tenths(5, 3, 7)

    #: Steps of a program between its first load and its stores: more than of matrices, vectors are cheap.
    STEPS = (0, 2, 3, 4, 2, 6, 4, 8, 5)

    #: Periods of counts and selectors: 3 first, which divides no number of invocations.
    PERIODS = (3, 2, 4, 5)

    #: Periods of conditions: 2 twice, which makes neighbours differ.
    CONDITION_PERIODS = (2, 3, 2, 5)

    #: Periods of negative divisors, as those of matrices.
    NEGATIVE_PERIODS = (5, 3, 61, 7, 31)

    #: Origins of a vector: mostly numbers from memory; any bits, as NaNs and denormals, rarely.
    ORIGINS = weights(load=9, bits=1, constant=2)

    #: Steps with instructions of their own.
    PARTS = ("construct", "insert", "bitcast", "unsigned conversion", "wrapped", "conversion", "times scalar")

    #: Steps of a program: operations lead, there are thirty-six of them; blocks are a sixth, since they nest.
    STEP = (
        *weights({"operation": 9, "conversion of specials": 3}),
        *weights({"operation": 4, "construct": 3, "insert": 2, "bitcast": 3, "unsigned conversion": 1, "wrapped": 1}),
        *weights({"conversion": 1, "times scalar": 3, "origin": 2, "exchange": 2}),
        *weights({"loop": 3, "condition": 3, "switch": 2}),
    )

    #: How iterations end early: more than every second loop's, since what is handed on may come from any step.
    EXITS = weights({"none": 4, "break": 2, "continue": 2, "break first": 1, "continue first": 1})

    #: Blocks around an iteration: some, since invocations that sit one out must keep what they carry.
    GUARDS = weights(nothing=7, condition=3, switch=1)

    #: Numbers of operations that stay in any range; the first two of four come twice.
    CLOSED = range(6)

    #: Makers of the values of arms and of loops (first, last and carried ones): mostly the steps before; else
    #: an instruction of each kind, so that every one meets every merge.
    ALIKE = (
        *weights({"itself": 10, "constant": 1, "null": 1, "load": 1, "bitcast": 1, "conversion": 1, "construct": 1}),
        *weights({"insert": 1, "multiple": 2, "condition": 1, "switch": 1}),
    )

    #: Makers of operands of instructions that are not operations: the latter have most vectors.
    MADE = (
        *weights({"itself": 20, "null": 2, "bitcast": 2, "conversion": 1, "construct": 3, "insert": 1}),
        *weights({"operation": 1, "multiple": 3, "condition": 2, "switch": 2, "loop": 2}),
    )

    #: Makers of the third operands of Fma, the one operation that has any: hardly what was there before.
    THIRD = (
        *weights({"itself": 1, "constant": 1, "null": 2, "load": 1, "bitcast": 2, "conversion": 2, "construct": 2}),
        *weights({"insert": 1, "operation": 1, "multiple": 2, "condition": 2, "switch": 1, "loop": 1}),
    )

    #: Memory of vectors: mostly storage buffers, the simplest; workgroup memory needs a barrier.
    STORAGES = weights(buffer=7, physical=2, workgroup=1)

    #: Further operands: mostly loaded; with special numbers more often the same or a constant, where both are sure.
    OPERANDS = weights(
        {"load": 3, "same of specials": 1, "constant of specials": 1, "other": 4, "constant": 3, "same": 1}
    )

    #: Places by which invocations exchange vectors: 0 reverses them.
    ROTATED = range(3)

    #: Numbers of the type that a bitcast goes to.
    BITCASTS = range(4)


class VectorProductDraws:
    """Chances of the areas vector_multiply and vector_conversions."""

    #: A row is of floats: more than half, floats have more interpretations than integers.
    FLOATS = tenths(6, 5, 7)

    #: Sums are inexact: a fifth, bounds judge these less sharply.
    INEXACT = tenths(2, 1, 3)

    #: The host converts a matrix, or the device.
    ON_HOST = tenths(4, 3, 6)

    #: A converted matrix is multiplied, which alone shows an opaque layout; else something unrelated is moved.
    MULTIPLIED = tenths(7, 5, 9)

    #: A matrix with an optimal layout is stored transposed.
    TRANSPOSED = tenths(3, 2, 5)

    #: A matrix with an optimal layout has an offset.
    OFFSET = tenths(4, 2, 6)

    #: A matrix with an optimal layout is reached by its address.
    PHYSICAL = tenths(3, 2, 5)

    #: The host fills a matrix with an optimal layout, or the device.
    FILLED_BY_HOST = tenths(3, 2, 5)

    #: The first layer's matrix is multiplied again: a quarter, since two products may be made one.
    SHARED = one_in(4, 3, 6)

    #: What gives a product's input, beside memory: now and then a loop, or a merge of two vectors.
    INPUTS = weights({"itself": 20, "condition": 1, "switch": 1, "loop": 1})

    #: It is multiplied with another input.
    OTHER_INPUT = Chance(5, 10)

    #: Half of its rows take part.
    FEWER_ROWS = tenths(3, 2, 4)

    #: Both products are added.
    SUMMED = Chance(5, 10)

    #: The bias of such a product, where the layer has one.
    AGAIN = weights({"same bias": 2, "other bias": 2, "no bias": 1})

    #: A layer has a bias: more than half, as in most networks.
    BIAS = tenths(6, 4, 8)

    #: An activation runs under a condition: seldom, subgroups rarely diverge in networks.
    CONDITIONAL_ACTIVATION = one_in(6, 4, 9)

    #: Packed inputs have random bits: all codes of a byte are numbers.
    PACKED_BITS = tenths(3, 2, 5)

    #: An input in the type of its interpretation has special numbers, in cases that have any.
    SPECIAL_INPUT = tenths(6, 4, 8)

    #: Integers that become floats are ties, which show how they are rounded.
    INTEGER_TIES = tenths(3, 2, 5)

    #: A matrix has special numbers: fewer than inputs, as one NaN may fill a result.
    SPECIAL_MATRIX = tenths(4, 2, 6)

    #: A bias has special numbers.
    SPECIAL_BIAS = tenths(4, 2, 6)

    #: Layers of a network: mostly one, the area kernels has longer ones.
    LAYERS = (1, 1, 1, 2, 2, 3)

    #: Conversions of a chain: one or two, a third rarely rounds anew.
    CONVERSIONS = (1, 2, 1, 2, 3)

    #: Packed components that an input has to spare: mostly none, as in programs.
    SPARE = (0, 0, 0, 1, 3)

    #: Offsets of optimal matrices, in bytes: multiples of their alignment.
    OFFSETS = (0, 0, 64, 256)

    #: One number of so many is special: few, for two infinities in one sum make a NaN.
    SPECIAL_ONE_IN = (16, 31, 7)

    #: Vectors that are stored again at the end: a quarter, since a driver may have overwritten them.
    KEPT = weights(nothing=6, first=1, source=1)

    #: Blocks around a layer: a third, since divergence in a multiplication is allowed (CV-010), and hard.
    AROUND = weights(nothing=7, condition=2, loop=1, switch=1)

    #: Numbers of the next layer, among rows and conversions that fit: as many as any driver lists.
    NEXT = range(64)

    #: Kinds of activations: of floats 0 to 3 relu, 4 to 7 a clamp, then tanh; of integers from 4 on a mask.
    ACTIVATIONS = range(10)

    #: Seeds of ties.
    TIES = range(31)


class TrainingDraws:
    """Chances of the area vector_training."""

    #: A case begins with an outer product, or with a sum: the area's two halves.
    OUTER = tenths(5, 4, 6)

    #: Sums are inexact: seldom, additions may come in any order, so that bounds are wide.
    INEXACT = one_in(6, 4, 9)

    #: The next accumulation is of the other kind.
    OTHER_KIND = one_in(3, 2, 4)

    #: A sum is read behind a barrier (TA-044): seldom, as most sums are judged at the end.
    SUM_READ = tenths(3, 2, 5)

    #: An outer product is added to an earlier one's matrix.
    MATRIX_AGAIN = tenths(3, 2, 5)

    #: A matrix that is added to has an offset.
    OFFSET = tenths(4, 2, 6)

    #: A matrix that is added to is reached by its address.
    PHYSICAL = tenths(2, 1, 4)

    #: A matrix begins with a conversion's result instead of zeros.
    CONVERTED_START = tenths(4, 2, 6)

    #: The host converts a matrix back, or the device.
    READ_BY_HOST = tenths(3, 2, 5)

    #: The sum comes before the atomic addition, or behind it: neither is simpler.
    REDUCED_FIRST = Chance(5, 10)

    #: Each workgroup has its own sum.
    SUM_BY_WORKGROUP = tenths(4, 3, 6)

    #: A layer's step sums the gradient of its bias.
    BIAS_GRADIENT = tenths(6, 4, 8)

    #: A layer has a bias.
    BIAS = tenths(5, 3, 7)

    #: Dispatches of a case: several add to the same memory.
    DISPATCHES = (1, 1, 1, 2, 3)

    #: Accumulations of a case.
    TIMES = (1, 1, 2, 3)

    #: Offsets of training-optimal matrices, in bytes.
    OFFSETS = (0, 0, 64, 128)

    #: Blocks around an accumulation: two fifths, since an addition that runs too often shows there.
    AROUND = weights({"nothing": 6, "loop": 2, "condition": 1, "both branches": 1})

    #: Ways to add a vector: a reduction, atomically, or both to one place, which must not lose either.
    SUMS = weights({"sum": 5, "atomic": 1, "both": 3, "atomic of integers": 1})

    #: Numbers of the matrix that is added to again.
    MATRICES = range(4)
