"""Draws of tensor addressing."""

from __future__ import annotations

from cts.base.choices import Chance, one_in, tenths
from cts.case.model import ClampMode
from cts.generators.policy.weighted import signed, weights


class LayoutDraws:
    """Chances of tensor layouts; most are optional records of a sketch, none of which is simplest."""

    #: A layout begins with one that is there: most, if there is any, since branching setters share ids.
    REUSED = tenths(7, 5, 9)

    #: The span fits the matrix, so that no element is outside for its sake.
    FITS = tenths(5, 3, 7)

    #: A layout has a slice: most, slices have most of the rules.
    SLICED = tenths(8, 6, 9)

    #: One dimension goes out of bounds alone: clamping by the wrong dimension then shows.
    ONE_OUTSIDE = tenths(6, 4, 8)

    #: A layout is never given dimensions (TA-036): rare, such a load reads nothing.
    BARE = one_in(15, 10, 20)

    #: A number comes near 2^32: a fifth, each of five sums needs its share.
    WIDE = tenths(2, 1, 3)

    #: A layout has its own strides; dense ones otherwise.
    STRIDES = tenths(3, 2, 5)

    #: A layout has a block size, which without a decode function changes nothing.
    BLOCKS = tenths(3, 2, 5)

    #: A slice is sliced again, whose offset adds to the first one's.
    SECOND_SLICE = tenths(3, 2, 5)

    #: Clamp mode Constant has a clamp value; 0 otherwise.
    CLAMP_VALUE_READ = tenths(6, 4, 8)

    #: Another clamp mode has a clamp value, which must not show.
    CLAMP_VALUE_UNREAD = tenths(1, 1, 2)

    #: Dimensions are set twice, the second time for good.
    OVERRIDDEN = tenths(2, 1, 4)

    #: A setter's result is unused: rare, only its mere presence can matter.
    DEAD_SETTER = tenths(1, 1, 3)

    #: A dimension of a layout is longer than eight bits count: seldom, such tensors are large.
    LONG = one_in(12, 8, 16)

    #: An access has a view: half, with and without one other code runs.
    VIEWED = tenths(5, 4, 7)

    #: Ranks of layouts: the higher ones, in which more can go wrong, more often.
    RANKS = (1, 2, 3, 3, 4, 5, 5, 5)

    #: The dimension that goes out of bounds alone: 60 numbers are as many for each dimension of every rank.
    FOCUS = range(60)

    #: Offsets of a second slice: of both signs, since the sum with the first one counts.
    SECOND_OFFSETS = signed(9, 9)

    #: Offsets of a slice whose result is unused.
    DEAD_OFFSETS = signed(3, 9)

    #: Clamp modes: Constant twice, for its clamp value has rules of its own.
    CLAMPS = (*ClampMode, ClampMode.Constant)


class ViewDraws:
    """Chances of tensor views."""

    #: A view has a clip: more than half, clips of rows and of columns have nine cases each.
    CLIPPED = tenths(6, 4, 8)

    #: A view has its own dimensions: more than half, these have strides and ranks of their own.
    OWN_DIMENSIONS = tenths(6, 4, 8)

    #: A view without its own dimensions has fewer than the layout (TA-065): a fourth, equal ranks are what is usual.
    FEWER_DIMENSIONS = one_in(4, 3, 6)

    #: A view has dimensions or strides set that it ignores.
    IGNORED_SETTER = one_in(5, 4, 8)

    #: The result of a view's setter is unused.
    DEAD_SETTER = one_in(12, 8, 20)

    #: Ranks of views with their own dimensions: each in equal shares.
    RANKS = range(1, 6)

    #: Permutations of five dimensions, 120, and as often as sixteen of these space to depth.
    PERMUTATIONS = range(136)

    #: Numbers of setters that a view ignores or does not use.
    IGNORED = range(10)


class TransferDraws:
    """Chances of the area tensor_addressing."""

    #: All transfers are carried out; in the rest earlier ones leave layouts alone.
    ALL_RUN = tenths(9, 8, 9)

    #: What a tensor load gave goes to a tensor store: seldom, two wrong ones may cancel out.
    BOTH_BY_TENSOR = tenths(3, 2, 5)

    #: What another load gave goes to a tensor store.
    STORED_BY_TENSOR = tenths(8, 6, 9)

    #: The source has random bits: rare, neighbours that differ explain a failure.
    RANDOM_CONTENTS = Chance(1, 10)

    #: A store goes to an earlier store's buffer.
    STORED_TOGETHER = tenths(4, 2, 6)

    #: A buffer has elements of another type than the matrix.
    OTHER_POINTEE = tenths(2, 1, 4)

    #: A buffer has vectors as elements.
    VECTOR_POINTEE = tenths(1, 1, 3)

    #: A constant has a value with all bits varied: seldom, the usual one is no source's.
    VARIED_CONSTANT = one_in(8, 5, 12)

    #: A plain store has a drawn order, row-major otherwise.
    STORED_IN_ANY_ORDER = tenths(4, 3, 6)

    #: Matrices that a case transfers: up to five, most often one or two, each with its own layout.
    TRANSFERS = (1, 1, 1, 2, 2, 2, 3, 3, 4, 5)

    #: Stores of a transferred matrix: rarely two, the second is mostly like the first.
    SINKS = (1,) * 11 + (2,)

    #: Units between the lines of plain loads; negative if lines overlap.
    LOAD_PADS = (0, 0, 0, 1, 2, -1)

    #: Units between the lines of plain stores, which must not overlap.
    STORE_PADS = (0, 0, 0, 1, 2)

    #: Sources of a matrix: mostly tensor loads, the area is about these; others feed tensor stores.
    SOURCES = weights(constant=1, load=3, tensor=6)

    #: Matrices whose elements a clipped load keeps: mostly a constant, which no source element equals.
    OBJECTS = weights(constant=8, load=1, tensor=1)
