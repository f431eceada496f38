"""Draws that all areas share."""

from __future__ import annotations

from cts.base.choices import Chance, one_in, tenths
from cts.generators.policy.weighted import weights


class CaseDraws:
    """Chances of what all areas share: dispatches, types, buffers and robustness."""

    #: A row is of floats, or of integers: devices list many rows of either, and this levels them.
    FLOATS = Chance(5, 10)

    #: A matrix is long in one direction: a tenth, long matrices take most of the time.
    LONG = one_in(10, 8, 14)

    #: Several workgroups lie along z, too: in x and y is more usual.
    DEEP = tenths(2, 1, 4)

    #: A case is dispatched twice, which shows what is left over from the first time.
    TWICE = one_in(12, 8, 16)

    #: Invocations lie in y, z or both if there are several; along x otherwise.
    SHAPED = tenths(5, 3, 7)

    #: A buffer may begin near 2^31 or 2^32, and half of such cases do: gigabytes of addresses cost time.
    FAR = Chance(1, 10)

    #: A case has an early Return: a tenth, since what lies behind it is not tested.
    RETURNS = tenths(1, 1, 2)

    #: A case has a kind of robustness, mostly with buffers cut short.
    ROBUST = tenths(1, 1, 2)

    #: A matrix has extents around those of tiles, which conversions and reductions divide it by.
    TILED = tenths(2, 1, 4)

    #: A case has several workgroups, and likewise subgroups: fewer than half, they multiply its elements.
    SEVERAL = tenths(3, 2, 5)

    #: A case is large in one way: many workgroups, subgroups or invocations, which counters of few bits lose.
    LARGE = one_in(10, 8, 12)

    #: A loop has many turns, of those that stand alone.
    LONG_LOOP = one_in(10, 8, 14)

    #: The same for areas whose control flow and memory differ by workgroup and subgroup.
    SEVERAL_MOSTLY = tenths(5, 4, 7)

    #: How a case delivers its operands; "mixed" decides for each. Literals are simplest, mixtures find most.
    OPERANDS = ("literal", "mixed", "literal", "spec", "dynamic", "mixed", "literal", "mixed")

    #: Seeds of random bits: sixteen, so that a case keeps its numbers if other draws change.
    SEEDS = range(16)

    #: Operands that count invocations by coordinates: never all of a case, or two mistakes may cancel out.
    BY_COORDINATES = weights(none=2, writes=1, others=1, stores=2)

    #: Components of a vector that a buffer has as elements.
    VECTORS = (2, 4)

    #: Workgroups along x and y: up to three, so that a middle one has neighbours.
    WORKGROUPS = range(1, 4)

    #: Ways to be large: workgroups along one axis, subgroups of a workgroup, or both.
    LARGE_IN = weights(workgroups=3, subgroups=2, both=1)

    #: The axis along which there are many workgroups: each as often.
    AXES = range(3)

    #: Workgroups along the long axis: beyond three bits, and up to the six that programs rarely exceed.
    MANY_WORKGROUPS = (9, 64, 17, 12, 33, 16, 50)

    #: Subgroups of a workgroup: up to what 1,024 invocations give subgroups of 64.
    MANY_SUBGROUPS = (9, 16, 8, 12, 15)

    #: Invocations of a workgroup of vectors.
    MANY_INVOCATIONS = (129, 256, 255, 128, 192)

    #: Turns of a long loop.
    LONG_COUNTS = (5, 9, 20, 7, 12, 16, 17)

    #: Workgroups along z: two are enough for a difference.
    WORKGROUPS_IN_Z = range(1, 3)

    #: Seeds of realistic numbers in training.
    SEEDS_OF_TEN = range(10)

    #: Factors by which an operand varies over the dispatch: mostly none, and one that is negative.
    VARIATIONS = (0, 0, 0, 0, 0, 0, 0, 1, 3, -2, 5)


class FloatDraws:
    """Chances of strict and loose arithmetic."""

    #: Strict cases say of some operations what these allow: half, so that purely strict cases remain.
    SOME = Chance(1, 2)

    #: Of such cases some have a default of a type, which fewer drivers have.
    DEFAULT = one_in(4, 3, 6)

    #: A case without float controls has execution modes: few, since nothing is judged by them (NU-046).
    UNDECORATED_MODES = one_in(8, 6, 12)

    #: A case with float controls has execution modes: half, so that each mode has its share.
    MODES = Chance(1, 2)

    #: A strict case of floats has special numbers: most of the half that is strict.
    SPECIAL = tenths(7, 6, 8)

    #: Contents of such a case are special numbers, if any sign is wanted.
    SPECIAL_CONTENTS = tenths(7, 5, 9)


class CallbackDraws:
    """Chances of functions that instructions call, and of control flow."""

    #: A body has a line that names a value, which later lines use.
    NAMED_LINE = one_in(6, 4, 9)

    #: A value that may be special is compared: of NaN nothing but a comparison is sure.
    COMPARED = tenths(4, 3, 6)

    #: Forms of such a comparison. If it is negated, an ordered one and its unordered twin differ for a NaN on either
    #: side, or on both.
    COMPARISONS = weights({"plain": 3, "negated": 3, "number first": 1, "two values": 1, "negated values": 1})

    #: A body has branches or a loop: a fifth, both cost much in modules of every element.
    FLOW = tenths(2, 1, 4)

    #: Operands change sides, unless that puts a number first.
    SWAPPED = one_in(4, 3, 6)

    #: A switch of matrices has a default.
    SWITCH_HAS_DEFAULT = tenths(6, 4, 8)

    #: A body calls helpers, which optimisers mostly inline.
    HELPERS = tenths(3, 2, 5)

    #: A function of elements stores: a third, such functions run once an element (CM-036).
    OUTPUTS = tenths(3, 2, 5)

    #: A function reads tables in buffers.
    TABLES = tenths(3, 2, 5)

    #: A table of a function holds numbers of a microscaling type, on devices that convert them.
    DECLARED_TABLES = tenths(3, 2, 4)

    #: Such a table is in workgroup memory: a third, as shaders copy tables of a format there.
    SHARED_TABLES = one_in(3, 2, 4)

    #: A body has numbers of microscaling types, on devices that convert them.
    MICROSCALED = tenths(3, 2, 5)

    #: At which offsets their bits are, and whether a helper gets them: as often as not each.
    MICROSCALED_FORMS = weights({"literal": 3, "moving": 3, "literal, passed": 1, "moving, passed": 1})

    #: Levels of a body's expression: one or two, deeper ones become large fast.
    DEPTHS = (1, 1, 2, 2, 3, 0)

    #: Levels of a stored expression.
    OUTPUT_DEPTHS = (1, 0, 2)

    #: Values that a function stores for each element.
    OUTPUT_COUNTS = (1, 1, 1, 2)

    #: Tables of a function: two at most, each costs a buffer.
    TABLE_COUNTS = (1, 1, 1, 2)

    #: Where such a table begins among the patterns of its type; it repeats after a prime number of them.
    FIRST_PATTERNS = range(61)

    #: Elements of an array of constants in a body.
    LOOKUPS = (4, 2, 3, 8)

    #: Iterations of a loop in a body: at least two, one would hide a mistaken count.
    BODY_COUNTS = (3, 2, 4, 5)

    #: Iterations of a loop: two first, because fewer carry nothing on; 0 is an edge of its own.
    COUNTS = (2, 1, 0, 3, 2, 4)

    #: How iterations of loops end early: two of seven do.
    EXITS = weights({"none": 10, "break first": 1, "continue first": 1, "break": 1, "continue": 1})

    #: Conditions: 2 and 3 are true, too.
    CONDITIONS = (1, 0, 2, 0, 3)

    #: Iterations of loops that a whole kernel consists of: 0 once in nine, since there is nothing to see then.
    BUSY = (2, 1, 3, 2, 4, 3, 2, 1, 0)

    #: Values that a loop carries: mostly one; several are needed for changes of places.
    CARRIED = (1, 1, 1, 2, 2, 3, 4)

    #: Branches of a switch that have literals: two or three mostly, one is no choice.
    BRANCHES = (2, 3, 1, 2, 4, 3)

    #: Last operations of a body: a third rounds, since bounds judge such results less sharply.
    LAST = weights({"itself": 11, "there and back": 1, "third": 1, "exponential": 1, "reciprocal": 1, "sigmoid": 1})

    #: Blocks in a body: loops half of the time, which also stand for what does not fit.
    BODY_FLOW = weights({"branch": 1, "two branches": 1, "division": 1, "lookup": 1, "loop": 2, "branching loop": 2})

    #: Elements of an array of constants: digits, which every type holds.
    LOOKED_UP = range(10)

    #: Kinds of expressions: 0 to 7 of two operands, 8 by a number, 9 and 10 of one, 11 a choice of two.
    EXPRESSIONS = range(12)

    #: Operations of two operands, of which each kind of expression begins at another one.
    OPERATIONS = range(5)
