"""Planted bugs of cooperative vectors: the rest of the catalogue in `cts.drivers.emulator.mutants.matrices`."""

from __future__ import annotations

from cts.drivers.emulator.mutants.matrices import of_area

# Loads, stores, constants and composites (machine.py, composites.py)
arithmetic = of_area("vector_arithmetic")
VECTOR_LOAD_ALIGNED_TO_32 = arithmetic("load offsets are rounded down to 32 bytes")
VECTOR_LOAD_WHOLE_CHUNKS = arithmetic("loads move whole pieces of 16 bytes: components behind the last one stay 0")
VECTOR_STORE_WHOLE_WORDS = arithmetic("stores write whole 32-bit words: what follows the last component becomes 0")
VECTOR_OFFSET_IN_COMPONENTS = arithmetic("load and store offsets count components instead of bytes")
VECTOR_SHARED_OFFSET_IGNORED = arithmetic("loads from Workgroup memory begin at its start, whatever the offset")
VECTOR_LOAD_UNIFORM = arithmetic("the load offset of a subgroup's first active invocation serves them all")
VECTOR_INDEX_OFF_BY_ONE = arithmetic("a dynamic index takes the component after the one that it names")
VECTOR_INDEX_4_BIT = arithmetic("only the lower four bits of a dynamic index count")
VECTOR_INDEX_UNIFORM = arithmetic("the dynamic index of a subgroup's first active invocation serves them all")
VECTOR_INSERT_IN_PLACE = arithmetic("an insertion overwrites the vector that it takes the other components from")
VECTOR_INSERT_FOUR = arithmetic("insertions reach the first four components only")
VECTOR_CONSTRUCT_SCALARS_FIRST = arithmetic("a construction puts its scalars before its vectors")
VECTOR_REPLICATED_16 = arithmetic("a replicated constant fills 16 components, the rest is 0")

# Indices of invocations in a workgroup of three extents (workgroups.py)
LOCAL_INDEX_WITHOUT_Y = arithmetic("the index of an invocation leaves out its row, its y")
LOCAL_INDEX_EXTENTS_SWAPPED = arithmetic("the index of an invocation takes the extent in z for that in y")
LOCAL_INDEX_STEPS_OF_X = arithmetic("the index of an invocation counts x times x of them for each z, as in a cube")

LOCAL_ID_Y_AND_Z_SWAPPED = arithmetic("the y and z of an invocation change places")
LOCAL_ID_IN_X_ALONE = arithmetic("the x of an invocation is its index in the workgroup, its y and z are 0")
LOCAL_ID_OF_A_LINE = arithmetic(
    "the y and z of an invocation are 0 where a workgroup of up to 32 invocations extends in one of them alone"
)

# Operations on components (elements.py)
VECTOR_TAIL_UNCOMPUTED = arithmetic("16-bit arithmetic goes by pairs: the last component of an odd length is that of a")
VECTOR_FIRST_64_COMPUTED = arithmetic("arithmetic is unrolled 64 times: components beyond are those of a")
VECTOR_TANH_NEGATIVE = arithmetic("tanh of a negative number is positive")
VECTOR_TANH_OVERFLOWS = arithmetic("tanh is (exp(2x) - 1) / (exp(2x) + 1) in its own type: NaN where exp(2x) overflows")
VECTOR_EXP_IN_FLOAT16 = arithmetic("exp of float32 is computed in float16")
VECTOR_EXP_BASE_TWO = arithmetic("exp(x) is computed as 2 to the x")
VECTOR_LOG_BASE_TWO = arithmetic("log(x) is computed to base 2")
VECTOR_ATAN_NOT_REFLECTED = arithmetic("atan of x beyond 1 and -1 is that of 1 / x: the way back from there is missing")
VECTOR_STEP_EDGE = arithmetic("step is 0 where x is the edge itself")
VECTOR_STEP_SWAPPED = arithmetic("step takes x for the edge and the edge for x")
VECTOR_CLAMP_BOUNDS_SWAPPED = arithmetic("clamps take the upper bound before the lower")
VECTOR_CLAMP_LOW_ONLY = arithmetic("clamps ignore the upper bound")
VECTOR_FMA_ROTATED = arithmetic("Fma gives a + b * c")
VECTOR_SHIFT_LOGICAL = arithmetic("ShiftRightArithmetic fills with zeros")
VECTOR_SHIFT_ARITHMETIC = arithmetic("ShiftRightLogical fills with the sign")
VECTOR_NARROW_UNWRAPPED = arithmetic("8- and 16-bit arithmetic is done in 32 bits")
VECTOR_NEGATION_UNWRAPPED = arithmetic(
    "SConvert of a negated 8-bit vector has 128 for -(-128), which 8 bits cannot hold"
)
VECTOR_MINIMUM_UNSIGNED = arithmetic("minima, maxima and clamps of signed integers compare as unsigned")
VECTOR_MINIMUM_SIGNED = arithmetic("minima, maxima and clamps of unsigned integers compare as signed")
VECTOR_SDIV_FLOOR = arithmetic("SDiv rounds down instead of towards zero")
VECTOR_NOT_LOGICAL = arithmetic("Not gives 1 for 0, and 0 for everything else")
VECTOR_FLOAT_TO_INT_ROUNDS = arithmetic("float to integer rounds to nearest")
VECTOR_INT_TO_FLOAT_UNSIGNED = arithmetic("ConvertSToF takes the components as unsigned")
VECTOR_SCONVERT_ZERO_EXTENDS = arithmetic("SConvert to a wider type zero-extends")
VECTOR_BITCAST_CONVERTS = arithmetic("a bitcast between a float and an integer type converts the number")
VECTOR_SCALAR_UNIFORM = arithmetic("VectorTimesScalar takes the scalar of a subgroup's first active invocation")

# Control flow that diverges (machine.py)
VECTOR_LOOP_UNIFORM = arithmetic("the trip count of a subgroup's first active invocation serves them all")
VECTOR_LOOP_LONGEST = arithmetic(
    "invocations that have left a loop keep computing until the subgroup's last one leaves"
)
VECTOR_IF_UNIFORM = arithmetic("the condition of a subgroup's first active invocation decides for them all")
VECTOR_LOOP_CARRIES_TWO = arithmetic("of the vectors that a loop carries, only two are updated")
VECTOR_IF_FIRST_TURN = arithmetic("a loop's first iteration decides its conditions for all iterations")
VECTOR_SWITCH_UNIFORM = arithmetic("the selector of a subgroup's first active invocation decides for them all")
VECTOR_STORE_UNPREDICATED = arithmetic("inactive invocations store as well")

# Multiplication (products.py, kernels.py)
multiply = of_area("vector_multiply")
VECTOR_K_TAIL_DROPPED = multiply("products beyond the last multiple of 8 along K are dropped")
VECTOR_M_TAIL_DROPPED = multiply("result components beyond the last multiple of 8 are 0")
VECTOR_M_SECOND_TILE = multiply("components from 64 on are made with the matrix's rows that are 64 before")
VECTOR_K_SECOND_TILE = multiply("inputs from 64 on are multiplied with the matrix's columns that are 64 before")
VECTOR_OPTIMAL_FIRST_FOUR = multiply("in an optimal layout, of each 16 columns from 64 on the first four stand for all")
VECTOR_INT8_PAIRS_WRAP = multiply("the sum of two neighbouring products of signed 8-bit integers wraps at 16 bits")
VECTOR_ROWS_WHOLE_PIECES = multiply(
    "rows are read in whole pieces of 16 elements, times zeros behind K: an infinity or NaN there makes the sum NaN"
)
VECTOR_PADDING_NAN = multiply("padding of an optimal layout enters sums of K that is not a multiple of 8: NaN times 0")
VECTOR_ACCUMULATOR_FLOAT16 = multiply("sums of float32 results are rounded to float16 at each step")
VECTOR_PACKED_REVERSED = multiply("packed components are taken from the highest byte on")
VECTOR_PACKED_UNSIGNED = multiply("signed packed components are zero-extended")
VECTOR_INPUT_UNSIGNED = multiply("MatrixBSigned has no effect: integer inputs are read as unsigned")
VECTOR_INPUT_SIGNED = multiply("integer inputs are read as signed without MatrixBSigned")
VECTOR_MATRIX_UNSIGNED = multiply("signed matrix elements are zero-extended")
VECTOR_MATRIX_SIGN_OF_INPUT = multiply("integer matrix elements are extended as the operand mask says of the input")
VECTOR_RESULT_SATURATES = multiply("integer results saturate instead of wrapping")
VECTOR_INPUT_WRAPS = multiply("inputs beyond the range of their interpretation wrap instead of saturating")
VECTOR_INPUT_TRUNCATES = multiply("float inputs are truncated to integers, not rounded to nearest")
VECTOR_INPUT_TIES_AWAY = multiply("float inputs halfway between two integers are rounded away from zero, not to even")
VECTOR_BIAS_IGNORED = multiply("the bias is not added")
VECTOR_BIAS_TYPE_OF_MATRIX = multiply("the bias is read in the matrix's type where that has another width")
VECTOR_BIAS_OFFSET_IGNORED = multiply("the bias is read from the start of its buffer")
VECTOR_BIAS_OFFSET_IN_ELEMENTS = multiply("the bias offset counts elements instead of bytes")
VECTOR_PRODUCT_IN_OTHER_ARM = multiply(
    "behind a condition or a switch, a product is taken by invocations of the subgroup that went another way, too"
)
VECTOR_BIAS_OF_FIRST_PRODUCT = multiply("a second product adds the bias of the first one")
VECTOR_MATRIX_OF_FIRST_PRODUCT = multiply("a second product of the same extents has the matrix of the first one")
VECTOR_BIAS_UNIFORM = multiply("the bias offset of a subgroup's first active invocation serves them all")
VECTOR_MATRIX_OFFSET_IGNORED = multiply("the matrix is read from the start of its buffer")
VECTOR_MATRIX_UNIFORM = multiply("the matrix offset of a subgroup's first active invocation serves them all")
VECTOR_MATRIX_LANE_ZERO = multiply("a subgroup's first invocation gives the matrix offset even where it is inactive")
VECTOR_WATERFALL_ENDS_EARLY = multiply("a subgroup multiplies with at most two different matrices; other results are 0")
VECTOR_PARTIAL_SUBGROUP = multiply("the last invocation of a partially full subgroup gets zeros")
VECTOR_LANES_COMPACTED = multiply("where some are inactive, the results of active invocations go to the lowest ones")
VECTOR_DIVERGENT_LOST = multiply("products are 0 in subgroups of which an invocation is inactive")
VECTOR_STRIDE_IN_ELEMENTS = multiply("MatrixStride counts elements instead of bytes")
VECTOR_STRIDE_IGNORED = multiply("rows and columns are taken to be dense")
VECTOR_STRIDE_OF_LANE_FOUR = multiply(
    "a stride read at run time is that of the subgroup's lane 4, and 0 where that one does not run"
)
VECTOR_COLUMN_MAJOR_IGNORED = multiply("column-major matrices are read as if they were row-major")
VECTOR_TRANSPOSE_IGNORED = multiply("Transpose has no effect")
VECTOR_LAYOUTS_CONFUSED = multiply("a matrix in TrainingOptimal layout is read as one in InferencingOptimal layout")
VECTOR_ORDER_OF_FIRST = of_area("kernels")("a matrix that is read in both orders is always read in the first one")
VECTOR_CONVERTED_TO_FIRST = multiply("of several optimal matrices in one memory conversions write the first one")
VECTOR_FLOAT8_CONFUSED = multiply("E5M2 matrix elements are read as E4M3")
VECTOR_MULTIPLY_IN_PLACE = multiply("the product overwrites its input, which later instructions still need")

# Accumulation in memory (training.py, kernels.py)
training = of_area("vector_training")
REDUCE_SUM_ATOMIC_LOST = training("where invocations of a subgroup add to one address, only the last one's sum arrives")
OUTER_PRODUCT_ATOMIC_LOST = training("of the outer products of a subgroup's invocations, only the last one's arrives")
TRAINING_INACTIVE_CONTRIBUTE = training("inactive invocations accumulate as well")
TRAINING_PARTIAL_SUBGROUP = training("the last invocation of a partially full subgroup does not contribute")
TRAINING_FIRST_SUBGROUP = training("only the first subgroup of each workgroup contributes")
TRAINING_OVERWRITES = training("what memory held before is lost: it becomes the sum alone")
OUTER_PRODUCT_SWAPPED = training("A and B change places where they are of one length")
OUTER_PRODUCT_ROUNDS_TO_FLOAT16 = training("float32 accumulation of outer products is rounded to float16")
OUTER_PRODUCT_OFFSET_IGNORED = training("outer products go to the start of the memory, not to the matrix offset")
OUTER_PRODUCT_TAIL_DROPPED = training("rows beyond the last multiple of 8 gain nothing from an outer product")
OUTER_PRODUCT_LAYOUT_CONFUSED = training("outer products go where InferencingOptimal layout has the elements")
OUTER_PRODUCT_UNIFORM = training(
    "the matrix offset of a subgroup's first active invocation serves all its outer products"
)
OUTER_PRODUCT_OF_FIRST_MATRIX = training(
    "a second outer product goes to the matrix of the first one, where that is alike"
)
REDUCE_SUM_OF_FIRST_BUFFER = training("a second sum is added where the first one was, where that is as long")
# Dispatches (running.py)
LAST_DISPATCH_LOST = training("of several dispatches the last one is not done")
DISPATCHES_BEGIN_ALIKE = training("every dispatch finds memory as it was before the first one")
CONVERSIONS_REPEATED = training("matrices are converted, or zeroed, before every dispatch again")
ATOMIC_ADD_PLAIN = training(
    "an atomic addition is a load and a store: of a subgroup's invocations at one place, only the last one's arrives"
)
ATOMIC_ADD_ELECTED = training("only the first active invocation of a subgroup adds atomically, and only for itself")
ATOMIC_ADD_IN_WORKGROUP = training(
    "atomic additions are atomic within a workgroup: of several workgroups at one place, only the last one's arrive"
)
ATOMIC_ADD_LOWER_HALF = training("atomic additions to float16 go to the lower half of their 32-bit word")
REDUCE_SUM_FORGETS_ATOMICS = training(
    "a reduced sum overwrites what was added atomically before with what was there before"
)
SUMS_NOT_VISIBLE = training("a load behind a barrier gives what memory held before the dispatch's additions")
REDUCE_SUM_UNIFORM = training("the sum of a whole subgroup goes to the offset of its first active invocation")
REDUCE_SUM_TAIL_DROPPED = training("components beyond the last multiple of four do not arrive in memory")
REDUCE_SUM_IN_FLOAT16 = training("float32 sums over invocations are rounded to float16")
TRAINING_ZERO_FILL_IGNORED = training("zeroed memory is not a zero matrix in an optimal layout")

# Conversions of matrices in memory (opaque.py)
conversion = of_area("vector_conversions")
CONVERSION_TRUNCATES = conversion("conversions to a lower precision round towards zero")
CONVERSION_TIES_AWAY = conversion("conversions to a lower precision round ties away from zero, not to even")
CONVERSION_SOURCE_STRIDE_IGNORED = conversion("the source's rows or columns are taken to be dense")
CONVERSION_TARGET_STRIDE_IGNORED = conversion("the destination's rows or columns are written densely")
CONVERSION_SOURCE_COLUMNS_IGNORED = conversion("column-major sources are read as if they were row-major")
CONVERSION_TARGET_COLUMNS_IGNORED = conversion("column-major destinations are written row by row")
CONVERSION_EXTENTS_SWAPPED = conversion(
    "numRows and numColumns change places where the destination's layout is optimal"
)
CONVERSION_TAIL_ROWS_DROPPED = conversion("rows beyond the last multiple of 16 are not converted")
CONVERSION_TAIL_COLUMNS_DROPPED = conversion("columns beyond the last multiple of 8 are not converted")
CONVERSION_FLOAT8_CONFUSED = conversion("conversions to E5M2 give E4M3 bit patterns")
CONVERSION_FLOAT8_DENORMALS_FLUSHED = conversion("float8 denormals become 0 when they are converted back")
CONVERSION_THROUGH_BFLOAT16 = conversion("conversions to float16 go through bfloat16")
CONVERSION_LAYOUTS_CONFUSED = conversion("sources in TrainingOptimal layout are read as InferencingOptimal ones")
CONVERSION_LAST_LINE_PADDED = conversion(
    "the last line of the destination, too, is filled up with zeros to a whole stride"
)
