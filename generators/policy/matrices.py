"""Draws of moves, conversions, products and computations of cooperative matrices."""

from __future__ import annotations

from cts.base.choices import Chance, one_in, tenths
from cts.case.model import Use
from cts.generators.policy.weighted import weights


class MoveDraws:
    """Chances of the area matrix_memory, and of loads and stores of matrices without tensors."""

    #: A constant has a value with all bits varied, not the usual one: both widths of value find bugs.
    VARIED_CONSTANT = tenths(4, 2, 6)

    #: A matrix is copied while it is regrouped for the other scope.
    COPIED_INSIDE = tenths(4, 2, 6)

    #: Another matrix takes the same way before: a way that keeps state then shows it.
    COPIED_BEFORE = tenths(4, 2, 6)

    #: The branches of a condition store: fewer than half, since values merge only if branches give them.
    IF_STORES = tenths(3, 2, 5)

    #: A condition has an else: most, since a merge of two values needs both.
    IF_HAS_ELSE = tenths(8, 6, 9)

    #: The branches of a switch store, as those of a condition.
    SWITCH_STORES = tenths(3, 2, 5)

    #: A buffer of workgroup memory grows to the device's limit: a limit shows only if it is reached.
    FILLED = tenths(3, 2, 5)

    #: The last buffer grows, or the first: neither is simpler.
    FILLED_LAST = Chance(5, 10)

    #: A source has vectors as elements: rare, since the areas of memory draw most of them.
    VECTOR_POINTEES = one_in(12, 8, 16)

    #: A buffer is reached by its address: a fifth, since it differs from others in one step only.
    PHYSICAL = tenths(2, 1, 4)

    #: A load has a drawn order: row-major otherwise, which is the simpler one.
    LOADED_IN_ANY_ORDER = tenths(3, 2, 5)

    #: Each instance reads its own tile: most, since a wrong instance shows only so.
    OWN_TILES = tenths(7, 5, 9)

    #: A store has a drawn order: seldom, since computations are what its area tests.
    STORED_IN_ANY_ORDER = one_in(6, 4, 10)

    #: A store goes to the buffer of an earlier store, where the two can overlap by mistake.
    STORED_TOGETHER = tenths(3, 2, 5)

    #: An access has a base offset; 0 otherwise, so that reduced cases have none.
    BASE_OFFSET = tenths(3, 2, 5)

    #: A load reads an earlier load's buffer, at another place of it.
    READ_AGAIN = tenths(5, 3, 7)

    #: A source has random bits: seldom, since numbers that name their place explain a failure.
    RANDOM_CONTENTS = one_in(8, 6, 12)

    #: An access of matrix_memory has a drawn order: orders are what the area tests.
    MEMORY_IN_ANY_ORDER = tenths(4, 3, 6)

    #: Arrays of invocations become lines of matrices, on devices that list matrices of such sizes.
    ARRAYS = tenths(6, 4, 8)

    #: A matrix has a shape that blocked layouts allow, on devices that have these.
    BLOCKED_SHAPE = tenths(3, 2, 5)

    #: An access whose matrix allows it has a blocked layout: most, since few shapes do.
    BLOCKED = tenths(6, 4, 8)

    #: Which of the blocked layouts and strides that a shape allows: each as often.
    BLOCKS = (0, 1, 2, 3, 4, 5)

    #: Blocks from top to bottom: three of them make no group.
    BLOCKS_DOWN = (1, 2, 4, 3, 8)

    #: Blocks from left to right: two first, since one cannot take turns.
    BLOCKS_ALONG = (2, 4, 1, 3, 8)

    #: Each instance reads its own tile of a buffer, as in other areas.
    SHARED_OWN_TILES = tenths(7, 5, 9)

    #: A store goes by a pointer: seldom, since loads by pointers are more frequent.
    STORED_BY_POINTER = one_in(6, 4, 9)

    #: Lines lie thousands of elements apart: seldom, such buffers are large.
    FAR_STRIDE = one_in(16, 10, 24)

    #: Steps of a program between its first load and its stores: mostly one, since a bug needs few.
    STEPS = (0, 1, 1, 1, 2, 2, 3, 4)

    #: How many of the last matrices are stored.
    STORES = (1, 1, 2)

    #: Bytes that a filled workgroup memory has left: mostly none, so that the limit itself is reached.
    FILLED_BUT = (0, 0, 0, 1, 16)

    #: Units between the lines of a loaded matrix: mostly none, matrix_memory tests strides.
    LOAD_PADS = (0,) * 8 + (1, 2)

    #: Units between the lines of a stored matrix: rarely any, for the same reason.
    STORE_PADS = (0,) * 9 + (1,)

    #: Base offsets in alignment units: small ones, and one that 16 bits do not count.
    BASES = (1, 2, 3, 5, 9, 1, 2, 3, 5, 9, 2, 4099)

    #: Base offsets in workgroup memory, which is too small for large ones.
    SMALL_BASES = (0, 1, 2, 3)

    #: Base offsets of tiles that change places.
    TILE_BASES = (0, 1, 2)

    #: Units between the lines of tiles that change places: mostly none, which is the usual tile.
    TILE_PADS = (0, 0, 0, 1)

    #: Units between the lines of regrouped matrices.
    REGROUPED_PADS = (0, 0, 0, 1)

    #: Base offsets of regrouped matrices.
    REGROUPED_BASES = (0, 1, 2)

    #: Origins of a matrix: mostly loads, a constant has one value only.
    ORIGINS = weights(load=7, null=1, constant=1, replicated=1)

    #: Steps of a program: copies lead, there are eight ways of them; blocks nest, so that two of each are many.
    STEP = weights(copy=4, origin=2, exchange=1, loop=2, condition=2, store=1, switch=1, regroup=2)

    #: Iterations of a loop: mostly any step; the other two need barriers, hence counts that are the same everywhere.
    ITERATION = weights(step=9, exchange=1, regroup=1)

    #: Pointers that a load goes by: few, most drivers turn them into offsets early; selected ones more often.
    POINTERS = weights(none=7, plain=1, selected=2)

    #: Memory of tiles that change places: more often of workgroups than that of other buffers.
    TILE_STORAGES = range(4, 10)


class ArrayDraws:
    """Chances of matrices made of arrays of the invocations, and taken apart into them."""

    #: How many matrices are made of the arrays of others: one mostly, since each is a chain of instructions.
    STEPS = (1, 1, 1, 1, 1, 0, 0, 0, 2, 2)

    #: The first matrix has arrays of which parts can be taken: half, since few rows of a device have such.
    LONG = Chance(5, 10)

    #: A matrix takes parts of longer arrays, if the device lists shorter ones: most, since few have any.
    PARTS = tenths(7, 5, 9)

    #: How many matrices are stored: the last one, or the one before, too.
    STORES = (1, 1, 1, 2)

    #: A load or store of arrays is a plain one: so that a mistake in both directions shows.
    PLAIN = tenths(3, 2, 5)

    #: Elements of an array lie a stride apart: only arrays of components do.
    ACROSS = tenths(3, 2, 5)

    #: Elements between two arrays in memory.
    PADS = (0, 0, 0, 0, 1, 1, 3)

    #: A buffer has random bits: seldom, since floats may then be NaN, whose bits are free.
    RANDOM_CONTENTS = one_in(8, 6, 12)


class ConversionDraws:
    """Chances of the area conversions."""

    #: A case begins with any use: accumulators otherwise, which convert to most types and uses.
    ANY_USE = tenths(3, 2, 5)

    #: A matrix is square: a forgotten transposition keeps the shape then, and only values show it.
    SQUARE = tenths(4, 3, 6)

    #: Strict floats go to a narrower type and back, which no optimiser may drop.
    THERE_AND_BACK = tenths(3, 2, 5)

    #: The first conversion rounds: more than half, since exact ones show no rounding mode.
    ROUNDED = tenths(6, 4, 8)

    #: Cases that were chosen for the way back go it: nearly all, one in ten shows the narrow value.
    CHOSEN_BACK = tenths(9, 7, 9)

    #: Other narrowed floats go back, too.
    BACK = tenths(3, 2, 5)

    #: The source of an equally wide conversion is stored afterwards: a driver may have overwritten it.
    SOURCE_KEPT_IN_PLACE = tenths(5, 3, 7)

    #: The source of another conversion is stored afterwards: an overwriting is less likely there.
    SOURCE_KEPT = tenths(2, 1, 4)

    #: A step goes through memory, which makes roundings binding.
    THROUGH_MEMORY = tenths(3, 2, 5)

    #: Conversions one after another: mostly one, since an error in any shows in the last.
    STEPS = (1, 1, 1, 2, 2, 3)


class ProductDraws:
    """Chances of products and of the area matrix_arithmetic."""

    #: A case has products, or element-wise operations: the area's two halves.
    PRODUCTS = tenths(5, 4, 6)

    #: Products have C and results of different types: few devices list them.
    APART = one_in(6, 4, 10)

    #: A product adds to the first addend again, whose registers an earlier product may have overwritten.
    FIRST_ADDEND_AGAIN = one_in(4, 3, 6)

    #: A first operand is stored at the end: seldom, each store makes a case longer.
    FACTOR_KEPT = one_in(6, 4, 9)

    #: A product adds to a null matrix, which shows less of C.
    NO_ADDEND = one_in(8, 5, 12)

    #: Element-wise operations have numbers with inexact results, which intervals judge.
    INEXACT = tenths(3, 2, 5)

    #: The source of element-wise operations is stored at the end.
    SOURCE_KEPT = one_in(6, 4, 9)

    #: A and B have one type: devices list few such rows beside many mixed ones.
    ALIKE = tenths(4, 3, 6)

    #: A factor is a constant: rare, since all its elements are alike and hide wrong places.
    CONSTANT_FACTOR = one_in(20, 12, 30)

    #: A factor comes from an earlier factor's buffer, if both have the same contents.
    SOURCE_AGAIN = one_in(4, 3, 6)

    #: A matrix is declared with the other sign than its row, which operands of the product overrule.
    OTHER_SIGN = tenths(3, 2, 5)

    #: The same of a result that is narrower than C: half, as both signs have ends.
    NARROW_OTHER_SIGN = tenths(5, 4, 6)

    #: Signs change by a function of elements, or by a negation: two ways to the same operand.
    NEGATED_BY_FUNCTION = tenths(5, 3, 7)

    #: Accumulators begin with zeros, as in most programs, or with matrices from memory.
    ZERO_START = tenths(4, 2, 6)

    #: Lines of an operand lie thousands of elements apart: rarer than in matrix_memory, which tests strides.
    FAR_STRIDE = one_in(24, 16, 36)

    #: Products, each added to the one before: mostly one, the fewest that find most bugs.
    TIMES = (1, 1, 1, 2, 3)

    #: Operations behind products: mostly none, the other half of the area has them.
    FOLLOWING = (0, 0, 0, 1, 2)

    #: Element-wise operations one after another.
    ELEMENTWISE = (1, 1, 1, 2, 2, 3, 4)

    #: Tiles of B beside one another: mostly one, each multiplies the products of a case.
    TILES = (1, 1, 1, 1, 2, 3, 4)

    #: Factors of a further product that are not those of the one before: each in equal shares.
    NEW_FACTORS = weights(none=1, a=1, b=1, both=1)

    #: Element-wise operations: half arithmetic, which has most opcodes; there and back shows illegal rewriting.
    OPERATIONS = weights({"arithmetic": 6, "times scalar": 2, "components": 2, "there and back": 3})

    #: All factors are tiles in shared memory, as in most programs that people write.
    ALL_STAGED = one_in(5, 3, 8)

    #: Loads of tiles: plain ones, slices of a tensor, or decoded slices, which need the other two to work.
    TILES_FROM = weights(matrix=4, tensor=2, blocks=4)

    #: Kinds of addends: of integers from 4 on near an end of the type, where sums wrap or saturate.
    ADDENDS = range(10)

    #: Ways to a factor: two fifths loaded at once, the rest by all ways that move a matrix and keep its numbers.
    ROUTES = (
        *weights({"load": 8, "shared memory": 2, "condition": 2, "loop": 2, "copy": 1}),
        *weights({"signs": 2, "conversion": 2, "transposition": 1}),
    )

    #: Operands whose tiles go through shared memory: mostly none, which is the simplest.
    STAGED: tuple[tuple[Use, ...], ...] = ((), (), (), (), (Use.A,), (Use.B,), (Use.A, Use.B))

    #: Operands that are loaded under a condition, as tiles at borders are: fewer than half, the rest is the usual tile.
    CHECKED: tuple[tuple[Use, ...], ...] = ((), (), (), (), (), (Use.A,), (Use.B,), (Use.A, Use.B))


class ComputationDraws:
    """Chances of element-wise operations, reductions and functions of elements."""

    #: Operands of an operation change sides: seldom, the simplest has the matrix first.
    SWAPPED = one_in(5, 3, 8)

    #: A scalar of a case with special numbers is a special number.
    SPECIAL_SCALAR = tenths(5, 3, 7)

    #: A function of components asks for their coordinates, which few devices have.
    COORDINATES = tenths(2, 1, 4)

    #: Coordinates are signed: seldom, the specification's examples have unsigned ones.
    SIGNED_COORDINATES = one_in(4, 3, 6)

    #: Components are visited in an order by invocation, or in ascending order.
    BY_INVOCATION = tenths(5, 3, 7)

    #: The source of functions of elements is stored at the end.
    PER_ELEMENT_SOURCE_KEPT = one_in(6, 4, 9)

    #: Rows and columns are signed numbers: nearly half, both are usual.
    PER_ELEMENT_SIGNED_COORDINATES = tenths(4, 3, 6)

    #: A function that stores runs under a condition, for what it stores alone.
    CONDITIONAL_OUTPUT = tenths(3, 2, 5)

    #: An extra matrix is a constant: seldom, its equal elements hide wrong places.
    CONSTANT_EXTRA = one_in(5, 3, 8)

    #: A case has a second reduction: seldom, one is enough for most bugs.
    SECOND_REDUCTION = tenths(2, 1, 4)

    #: The second reduction is of the first's result, or of its source again.
    REDUCED_AGAIN = tenths(5, 3, 7)

    #: A result has another extent than its source in a free dimension.
    OTHER_EXTENT = tenths(5, 3, 7)

    #: A combine function is any of the list; the first, a sum, otherwise.
    ANY_COMBINE = tenths(7, 5, 8)

    #: Helpers compute a part of a combine function.
    COMBINE_HELPERS = tenths(3, 2, 5)

    #: Functions of elements one after another: mostly one, bodies are what finds bugs.
    FUNCTIONS = (1, 1, 1, 1, 2, 3)

    #: Extra operands of a function: 0 to 3, the more the rarer.
    EXTRAS = (0, 0, 1, 1, 2, 2, 3)

    #: Periods of negative divisors: odd ones, so that lines of a matrix differ.
    NEGATIVE_PERIODS = (5, 3, 61, 7, 31)

    #: Values of a constant extra matrix: small, so that sums with it stay exact.
    EXTRA_CONSTANTS = (1, 2, 3)

    #: Second operands: mostly loaded, whose elements differ, so that wrong places show.
    SECOND_OPERANDS = weights(load=8, constant=1, same=1)

    #: Components that a copy goes by: 0 copies whole matrices, the last two take the last component.
    COMPONENTS = range(8)
