"""The catalogue of planted bugs. Each is one line here and one branch where the bug lives.

A mutant is an integer that is passed to the kernels at run time, so none of them needs a compilation of its own.
See docs/adding-a-mutant.md.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from cts.device.driver import Described

#: No bug.
NONE = 0

_catalogue: list[Described] = []


def mutant(name: str, description: str, area: str = "tensor_addressing") -> int:
    """Enter a mutant into the catalogue; returns the number by which kernels know it."""
    _catalogue.append(Described(name, area, description))
    return len(_catalogue)


def of_area(area: str) -> Callable[[str, str], int]:
    """`mutant`, for bugs that the generator of another area must find."""
    return partial(mutant, area=area)


def mutants() -> list[Described]:
    """Every mutant, in the order of the catalogue."""
    return list(_catalogue)


def number_of(name: str) -> int:
    """The number of a mutant of the catalogue. Raises ValueError for any other name."""
    return [m.name for m in _catalogue].index(name) + 1


# Tensor layouts (layout.py)
SLICE_REPLACES_OFFSET = mutant("slice-replaces-offset", "a slice of a slice replaces the offset instead of adding")
SLICE_MIN_SPAN = mutant("slice-min-span", "a slice can shrink the span but never grow it: min(old, new)")
SLICE_CROPS_SPAN = mutant("slice-crops-span", "a slice's span is cropped where it leaves the tensor, like a scissor")
SLICE_RESETS_STRIDE = mutant("slice-resets-stride", "a slice recomputes dense strides and drops those of SetStride")
DIMENSION_KEEPS_OFFSET = mutant("dimension-keeps-offset", "SetDimension keeps the offset of an earlier slice")
DIMENSION_KEEPS_STRIDE = mutant("dimension-keeps-stride", "SetDimension keeps strides that are already set")
DIMENSION_RESETS_BLOCK = mutant("dimension-resets-block", "SetDimension resets the block size to 1")
DIMENSION_RESETS_CLAMP_VALUE = mutant("dimension-resets-clamp-value", "SetDimension resets the clamp value to 0")
DIMENSION_STRIDE_ELEMENTS = mutant("dimension-stride-elements", "SetDimension's strides count elements, not blocks")
DIMENSION_FLOOR_BLOCKS = mutant("dimension-floor-blocks", "SetDimension's strides leave out partial blocks (floor)")
DIMENSION_OWN_EXTENT = mutant("dimension-own-extent", "SetDimension: stride[i] = stride[i+1] * dim[i], not dim[i+1]")
BLOCK_RESETS_STRIDE = mutant("block-resets-stride", "SetBlockSize recomputes strides in the new unit")
STRIDE_INNERMOST_ONE = mutant("stride-innermost-one", "the innermost stride is taken to be 1")
CLAMP_VALUE_ZERO = mutant("clamp-value-zero", "SetClampValue has no effect: out of bounds always loads 0")

# Tensor views (layout.py)
VIEW_DIMENSION_KEEPS_STRIDE = mutant("view-dimension-keeps-stride", "a view's SetDimension keeps strides already set")
VIEW_STRIDE_IGNORED = mutant("view-stride-ignored", "a view's SetStride has no effect: strides are always dense")
VIEW_CLIP_SWAPPED = mutant("view-clip-swapped", "SetClip's row and column operands change places")

# Matrix element to linear index (address.py)
LINEAR_USES_ROWS = mutant("linear-uses-rows", "the linear index is row * rows + column")
USE_B_TRANSPOSED = mutant("use-b-transposed", "matrices of Use B are linearised column by column")
CLIP_IGNORED_ON_LOAD = mutant("clip-ignored-on-load", "loads do not see the view's clip rectangle")
CLIP_IGNORED_ON_STORE = mutant("clip-ignored-on-store", "stores do not see the view's clip rectangle")
CLIP_ROW_OFFSET_KEPT = mutant("clip-row-offset-kept", "the clip's first row is not subtracted from the row")
CLIP_COLUMN_OFFSET_KEPT = mutant("clip-column-offset-kept", "the clip's first column is not subtracted from the column")
CLIP_ROW_END_INCLUSIVE = mutant("clip-row-end-inclusive", "one row too many passes the clip (<= at its end)")
CLIP_COLUMN_END_INCLUSIVE = mutant("clip-column-end-inclusive", "one column too many passes the clip (<= at its end)")
CLIP_ROW_START_EXCLUSIVE = mutant("clip-row-start-exclusive", "the first row of the clip is cut off (> at its start)")
CLIP_SPAN_AS_END = mutant("clip-span-as-end", "the clip's spans are taken for its end coordinates")
CLIP_END_64_BIT = mutant("clip-end-64-bit", "the end of the clip, offset plus span, is not reduced modulo 2^32")
CLIP_WIDTH_COLUMNS = mutant("clip-width-columns", "the row pitch under a clip stays the matrix's columns")
CLIP_WIDTH_SPAN = mutant("clip-width-span", "the row pitch under a clip is its span even where the matrix is narrower")
CLIP_WIDTH_REMAINING = mutant("clip-width-remaining", "the row pitch under a clip is the columns left after its start")

# Linear index through the view (address.py)
PERM_INVERSE = mutant("perm-inverse", "the inverse of the view's permutation is applied (seen from rank 3 on)")
PERM_STRIDES_UNPERMUTED = mutant("perm-strides-unpermuted", "the permutation misses the view's strides")
VIEW_DIMENSIONS_IGNORED = mutant("view-dimensions-ignored", "a view with dimensions is decomposed by the layout's span")
VIEW_STRIDE_FIELD = mutant("view-stride-field", "a view without dimensions uses its stride field, not the span")
VIEW_STRIDES_OF_ALL_SPANS = mutant("view-strides-of-all-spans", "a view without dimensions has strides of all spans")
VIEW_OUTERMOST_UNREDUCED = mutant("view-outermost-unreduced", "a view's last digit is not reduced modulo its dimension")
VIEW_INDEX_64_BIT = mutant("view-index-64-bit", "the index behind the view is not reduced modulo 2^32")

# Span coordinate, offset, clamp (address.py)
SPAN_OUTERMOST_UNREDUCED = mutant("span-outermost-unreduced", "an index past the span runs on instead of wrapping")
SPAN_IS_DIMENSION = mutant("span-is-dimension", "the index is decomposed by the tensor's dimensions, not the span")
OFFSET_UNSIGNED = mutant("offset-unsigned", "coordinates are unsigned: left of the tensor counts as far right")
LOW_BOUND_UNCHECKED = mutant("low-bound-unchecked", "negative coordinates pass the bounds check")
HIGH_BOUND_INCLUSIVE = mutant("high-bound-inclusive", "a coordinate equal to the dimension passes the bounds check")
HIGH_BOUND_FROM_SPAN = mutant("high-bound-from-span", "coordinates are checked against the span, not the dimension")
INNERMOST_UNCHECKED = mutant("innermost-unchecked", "the innermost dimension is not bounds-checked")
OUTERMOST_UNCHECKED = mutant("outermost-unchecked", "the outermost of several dimensions is not bounds-checked")
MIDDLE_UNCHECKED = mutant("middle-unchecked", "dimensions between outermost and innermost are not bounds-checked")
RANK_5_UNCHECKED = mutant("rank-5-unchecked", "the fourth dimension of five is not bounds-checked")
EDGE_LOW_UNCLAMPED = mutant("edge-low-unclamped", "ClampToEdge does not clamp negative coordinates")
EDGE_HIGH_TO_SIZE = mutant("edge-high-to-size", "ClampToEdge clamps to the dimension instead of the dimension - 1")
REPEAT_REMAINDER = mutant("repeat-remainder", "Repeat takes the remainder with the dividend's sign, as in C")
REPEAT_ONE_PERIOD = mutant("repeat-one-period", "Repeat wraps one period only")
REPEAT_SPAN = mutant("repeat-span", "Repeat wraps at the span instead of the dimension")
MIRROR_EDGE_TWICE = mutant("mirror-edge-twice", "RepeatMirrored has period 2D and repeats the edge, as samplers do")
MIRROR_PERIOD_ODD = mutant("mirror-period-odd", "RepeatMirrored's period is 2D-1 instead of 2D-2")
MIRROR_REMAINDER = mutant("mirror-remainder", "RepeatMirrored takes the remainder with the dividend's sign, as in C")
MIRROR_ONE_BOUNCE = mutant("mirror-one-bounce", "RepeatMirrored reflects once on each side, then clamps")
STORE_EDGE_CLAMPS = mutant("store-edge-clamps", "ClampToEdge stores write the edge element instead of discarding")
STORE_REPEAT_WRAPS = mutant("store-repeat-wraps", "Repeat and RepeatMirrored stores wrap instead of discarding")
STORE_LOW_WRITTEN = mutant("store-low-written", "a store discards only past the high side of the tensor")
STORE_HIGH_WRITTEN = mutant("store-high-written", "a store discards only past the low side of the tensor")

# Blocks, strides and the byte address (address.py)
BLOCK_UNDIVIDED = mutant("block-undivided", "strides in blocks are multiplied with element coordinates")
BLOCK_BEFORE_CLAMP = mutant("block-before-clamp", "coordinates are divided by the block size before they are clamped")
BLOCK_OFFSET_ROUNDED = mutant("block-offset-rounded", "the slice offset is rounded down to whole blocks")
BLOCK_COORDINATE_ADDED = mutant("block-coordinate-added", "the coordinate within the block enters a plain address")
INDEX_64_BIT = mutant("index-64-bit", "the sum of coordinates times strides is not reduced modulo 2^32")
INDEX_24_BIT = mutant("index-24-bit", "the index of an element, coordinates times strides, keeps 24 bits")
STRIDE_24_BIT = mutant("stride-24-bit", "coordinates times strides use the fast 24-bit multiplier")
COMPONENT_TWO_BYTES = mutant("component-two-bytes", "tensor addresses scale by two bytes whatever the component")
COMPONENT_IS_POINTEE = mutant("component-is-pointee", "tensor addresses scale by the pointee, not by the component")
BASE_OFFSET_IGNORED = mutant("base-offset-ignored", "tensor loads and stores start at the buffer's first element")
BASE_OFFSET_BYTES = mutant("base-offset-bytes", "the pointer's element offset is taken in bytes")
PHYSICAL_OFFSET_NEGATED = mutant("physical-offset-negated", "the offset is subtracted from physical pointers")
STRIDE_IN_BYTES = mutant("stride-in-bytes", "a KHR load or store's stride counts bytes")
STRIDE_IN_COMPONENTS = mutant("stride-in-components", "a KHR load or store's stride counts components, not vectors")
ORDER_IGNORED_ON_LOAD = mutant("order-ignored-on-load", "a KHR load is always row-major")
ORDER_IGNORED_ON_STORE = mutant("order-ignored-on-store", "a KHR store is always row-major")

# Values and memory (memory.py, machine.py)
CLAMP_VALUE_CONVERTED = mutant("clamp-value-converted", "the clamp value is converted to the component as a number")
CLAMP_VALUE_HIGH_BITS = mutant("clamp-value-high-bits", "narrow components take the clamp value's high bits")
OBJECT_IGNORED = mutant("object-ignored", "clipped elements load 0 instead of keeping the Object's value")
CLIP_LOADS_CLAMP_VALUE = mutant("clip-loads-clamp-value", "clipped elements load the clamp value, not the Object's")
BYTE_STORE_WIDENED = mutant("byte-store-widened", "8-bit stores write 16 bits and clobber the next byte")
STORE_PAST_END = mutant("store-past-end", "a store writes one element more after the matrix's last one")
LOAD_SPILLS = mutant("load-spills", "a load's first element is overwritten in the source by a register spill")

# Distribution over invocations (ownership.py)
STORE_INVOCATION_IDLE = mutant("store-invocation-idle", "the last invocation that owns elements does not store them")
WORKGROUP_FIRST_SUBGROUP = mutant("workgroup-first-subgroup", "only the first subgroup stores its workgroup's matrices")

# Operands (operands.py)
FIRST_WORKGROUP_OPERANDS = mutant("first-workgroup-operands", "operands are evaluated once, for the first workgroup")
FIRST_SUBGROUP_OPERANDS = mutant("first-subgroup-operands", "operands are evaluated for a workgroup's first subgroup")
DYNAMIC_16_BIT = mutant("dynamic-16-bit", "operands read at run time are narrowed to 16 bits without sign")
DYNAMIC_NEIGHBOUR = mutant("dynamic-neighbour", "run-time operands but the first come from the word before their own")
SPEC_NOT_APPLIED = mutant("spec-not-applied", "specialization constants given for operands are not applied: 0")

# Workgroups of three extents (workgroups.py)
SIZE_IN_Z_IGNORED = mutant("size-in-z-ignored", "a workgroup is launched as large as it is in x and y, whatever z says")
SIZE_ID_IN_X_ALONE = mutant(
    "size-id-in-x-alone", "of the constants of LocalSizeId only the one of x counts: y and z are 1"
)
SIZE_CONSTANTS_NOT_APPLIED = mutant(
    "size-constants-not-applied", "a size of specialization constants keeps their defaults: one invocation runs"
)

# Matrices to and from memory (access.py, machine.py)
memory = of_area("matrix_memory")
WORKGROUP_OFFSET_IGNORED = memory(
    "workgroup-offset-ignored", "KHR loads from Workgroup memory always start at the tile at offset 0"
)
WORKGROUP_OFFSET_BYTES = memory("workgroup-offset-bytes", "the element offset into Workgroup memory is taken in bytes")
WORKGROUP_STRIDE_DENSE = memory(
    "workgroup-stride-dense", "in Workgroup memory rows are taken to be dense, whatever the stride"
)
# In modules that have matrices of both scopes
LOAD_WORKGROUP_FIRST_SUBGROUP = memory(
    "load-workgroup-first-subgroup",
    "beside matrices of Subgroup scope, only the first subgroup loads its elements of its workgroup's: others have 0",
)
SUBGROUP_MATRIX_SHARED = memory(
    "subgroup-matrix-shared", "beside matrices of Workgroup scope, the first subgroup loads a matrix for all of them"
)
SUBGROUP_NUMBER_IGNORED = memory(
    "subgroup-number-ignored", "beside matrices of Workgroup scope, every subgroup takes itself for the first one"
)
WORKGROUP_LOAD_EARLY = memory(
    "workgroup-load-early", "a load of Workgroup scope does not see what other subgroups than the first one stored"
)

# At the limits of workgroup memory (reserved.py)
RESERVED_MEMORY_OVERLAPS = memory(
    "reserved-memory-overlaps",
    "what Workgroup scope reserves of the workgroup memory begins before the end of what the program may use",
)

POINTER_OFFSET_REPLACED = memory(
    "pointer-offset-replaced", "an instruction's offset replaces that of its pointer instead of adding"
)
POINTER_SELECT_FIRST = memory("pointer-select-first", "a selected pointer is always the first of the two")
STRIDE_ZERO_DENSE = memory("stride-zero-dense", "a load with stride 0 reads dense rows")
STRIDE_ROUNDED_UP = memory("stride-rounded-up", "the stride is rounded up to a multiple of eight elements")
VECTOR_COLUMN_SCALED = memory("vector-column-scaled", "columns count whole vectors where the pointee is a vector")
LOAD_ALIGNED_TO_16 = memory("load-aligned-to-16", "a KHR load starts at its address rounded down to 16 bytes")
LOAD_USE_B_COLUMN_MAJOR = memory(
    "load-use-b-column-major", "KHR loads of matrices of Use B are column-major whatever the instruction says"
)
PARTIAL_TILE_NOT_LOADED = memory("partial-tile-not-loaded", "KHR loads leave 0 beyond the last whole 8x8 tile")
NULL_NOT_CLEARED = memory("null-not-cleared", "OpConstantNull leaves what the registers held before")
CONSTANT_ONE_COMPONENT = memory(
    "constant-one-component", "a constant fills only the first component of each invocation"
)
REPLICATED_HALF_WIDTH = memory("replicated-half-width", "the Replicate forms keep the low 16 bits of their value")
COPY_ARRAY_NEIGHBOUR = memory("copy-array-neighbour", "a matrix taken out of an array is the one beside it, which is 0")
COPY_MEMORY_FIRST_WORDS = memory(
    "copy-memory-first-words", "OpCopyMemory of a matrix copies the first half of each invocation's components"
)
COPY_LOGICAL_LOSES_MATRIX = memory(
    "copy-logical-loses-matrix", "OpCopyLogical of a structure leaves out the matrix in it"
)
COPY_FUNCTION_LOSES_TAIL = memory(
    "copy-function-loses-tail", "a matrix passed to a function loses each invocation's last component"
)
COMPONENT_INSERTED_BESIDE = memory(
    "component-inserted-beside", "a component is inserted one place beside the one that was extracted"
)
LINE_STRIDE_12_BIT = memory("line-stride-12-bit", "the stride of a load has twelve bits")
LINE_STRIDE_16_BIT = memory("line-stride-16-bit", "the stride of a load has sixteen bits")
COPY_FUNCTION_FIRST_ARGUMENT = memory(
    "copy-function-first-argument", "a second call of a function gets the argument of the first one"
)
COPY_ARRAY_FIRST_ITERATION = memory(
    "copy-array-first-iteration", "an element of an array in a loop is that of the first iteration"
)
COMPONENT_LITERAL_BEFORE = memory(
    "component-literal-before", "a literal index takes the component before, from index 1 on"
)

# Products, arithmetic and components (products.py, elements.py, vm.py)
arithmetic = of_area("matrix_arithmetic")
K_TAIL_DROPPED = arithmetic("k-tail-dropped", "products beyond the last multiple of 8 along K are dropped")
K_LAST_DROPPED = arithmetic("k-last-dropped", "the loop along K ends one product early")
K_PADDING_NAN = arithmetic("k-padding-nan", "K is padded to a multiple of 8 with garbage, and the result is NaN")
M_TAIL_UNMULTIPLIED = arithmetic("m-tail-unmultiplied", "rows beyond the last multiple of 8 get C alone")
M_SECOND_TILE = arithmetic("m-second-tile", "rows from 32 on are multiplied with those of A that are 32 before")
N_SECOND_TILE = arithmetic("n-second-tile", "columns from 32 on are multiplied with those of B that are 32 before")
ACCUMULATOR_FLOAT16 = arithmetic("accumulator-float16", "a float32 accumulator is rounded to float16 at each step")
ACCUMULATOR_BFLOAT16 = arithmetic(
    "accumulator-bfloat16", "accumulators are rounded to eight significant bits at each step"
)
PRODUCTS_NARROWED = arithmetic("products-narrowed", "products are rounded to float16 before they are added up")
C_NARROWED = arithmetic("c-narrowed", "a float32 C is rounded to float16 before the products are added")
MUL_ADD_C_DROPPED = arithmetic("mul-add-c-dropped", "the product is not added to C")
MUL_ADD_B_TRANSPOSED = arithmetic("mul-add-b-transposed", "B is read column by column where it is square")
A_SIGN_IGNORED = arithmetic("a-sign-ignored", "A's elements are zero-extended whatever the operand mask says")
B_SIGN_IGNORED = arithmetic("b-sign-ignored", "B's elements are zero-extended whatever the operand mask says")
SIGNS_FROM_TYPES = arithmetic(
    "signs-from-types", "the signs of A and B are those of their types, not of the operand mask"
)
B_SIGN_OF_A = arithmetic("b-sign-of-a", "B is extended as the operand mask says of A")
SATURATION_IGNORED = arithmetic("saturation-ignored", "SaturatingAccumulation has no effect: sums wrap")
SATURATION_ALWAYS = arithmetic("saturation-always", "integer accumulation saturates without being asked")
SATURATION_HIGH_ONLY = arithmetic("saturation-high-only", "sums saturate at the top only; at the bottom they wrap")
SATURATION_SIGNED = arithmetic("saturation-signed", "unsigned sums saturate as if they were signed")
INT8_PAIRS_SATURATE = arithmetic("int8-pairs-saturate", "pairs of 8-bit products are added with 16-bit saturation")
INT8_PAIRS_WRAP = arithmetic("int8-pairs-wrap", "sums of two products of signed 8-bit integers wrap at 16 bits")
FLOAT8_TYPES_OF_A = arithmetic("float8-types-of-a", "B's float8 elements are read in A's format")
FSUB_SWAPPED = arithmetic("fsub-swapped", "FSub and ISub subtract the first operand from the second")
SDIV_FLOOR = arithmetic("sdiv-floor", "SDiv rounds down instead of towards zero")
UDIV_SIGNED = arithmetic("udiv-signed", "UDiv divides as signed")
IMUL_24_BIT = arithmetic("imul-24-bit", "IMul uses the 24-bit multiplier")
IADD_SATURATES = arithmetic("iadd-saturates", "narrow integer additions saturate instead of wrapping")
SNEGATE_SATURATES = arithmetic("snegate-saturates", "SNegate of the least integer gives the greatest")
FDIV_APPROXIMATE = arithmetic("fdiv-approximate", "FDiv multiplies by a reciprocal of eleven bits")
TIMES_SCALAR_NARROWED = arithmetic(
    "times-scalar-narrowed", "the scalar of OpMatrixTimesScalar is rounded to float16 (eight bits of an integer)"
)
STRICT_SUM_FOLDED = arithmetic("strict-sum-folded", "(x + c) - c becomes x in programs that forbid it (NU-019)")
LENGTH_ONE_SHORT = arithmetic("length-one-short", "loops over components end before the last one")
COMPONENT_INDEX_UNIFORM = arithmetic(
    "component-index-uniform", "an index of components that differs by invocation is taken from the first one"
)
COMPONENTS_WITHOUT_MASK = arithmetic(
    "components-without-mask", "in divergent flow, all invocations write their components"
)
DIVERGENT_COMPONENTS_LOST = arithmetic("divergent-components-lost", "components written in divergent flow are lost")

# Conversions (elements.py, conversions.py)
conversion = of_area("conversions")
SCONVERT_SATURATES = conversion("sconvert-saturates", "SConvert to a narrower type saturates instead of truncating")
SCONVERT_ZERO_EXTENDS = conversion("sconvert-zero-extends", "SConvert to a wider type zero-extends")
UCONVERT_SIGN_EXTENDS = conversion("uconvert-sign-extends", "UConvert to a wider type sign-extends")
FLOAT8_SATURATION_IGNORED = conversion(
    "float8-saturation-ignored", "the decoration that saturates to the largest float8 has no effect"
)
FLOAT8_SATURATES_ALWAYS = conversion("float8-saturates-always", "conversions to float8 saturate without being asked")
E4M3_RANGE_IEEE = conversion("e4m3-range-ieee", "E4M3's largest exponent is kept for infinity: 256 and above overflow")
FLOAT8_DENORMALS_FLUSHED = conversion("float8-denormals-flushed", "float8 denormals become 0 when converted to float16")
FTOS_ROUNDS = conversion("ftos-rounds", "float to integer rounds to nearest")
FTOU_THROUGH_SIGNED = conversion("ftou-through-signed", "ConvertFToU goes through a signed integer and saturates there")
STOF_UNSIGNED = conversion("stof-unsigned", "ConvertSToF takes the bits as unsigned")
UTOF_SIGNED = conversion("utof-signed", "ConvertUToF takes the bits as signed")
BFLOAT16_THROUGH_FLOAT16 = conversion("bfloat16-through-float16", "conversions to bfloat16 go through float16")
FLOAT16_THROUGH_BFLOAT16 = conversion("float16-through-bfloat16", "conversions to float16 go through bfloat16")
CONVERT_WITH_USE_KEEPS_BITS = conversion(
    "convert-with-use-keeps-bits", "a conversion that also changes the Use copies the bits"
)
CONVERT_USE_TRANSPOSES = conversion(
    "convert-use-transposes", "OpCooperativeMatrixConvertNV to Use B takes elements column by column"
)
TRANSPOSE_NOT_APPLIED = conversion(
    "transpose-not-applied", "OpCooperativeMatrixTransposeNV keeps the elements in row-major order"
)
TRANSPOSE_TILES_IN_ORDER = conversion(
    "transpose-tiles-in-order", "OpCooperativeMatrixTransposeNV gives its 8x8 tiles in the order of the source"
)
TRANSPOSE_WITHIN_TILES = conversion(
    "transpose-within-tiles", "OpCooperativeMatrixTransposeNV transposes 8x8 tiles but leaves the tiles where they are"
)
STRICT_ROUND_TRIP_DROPPED = conversion(
    "strict-round-trip-dropped", "float32 to float16 and back is dropped in programs that forbid it (NU-019)"
)
BITCAST_CONVERTS = conversion("bitcast-converts", "a bitcast between signednesses clamps negative numbers to 0")

# Reductions (reductions.py)
reduction = of_area("reductions")
REDUCE_LAST_COLUMN_MISSED = reduction("reduce-last-column-missed", "reductions along rows miss the last column")
REDUCE_LAST_ROW_MISSED = reduction("reduce-last-row-missed", "reductions along columns miss the last row")
REDUCE_TAIL_MISSED = reduction("reduce-tail-missed", "elements beyond the last multiple of 8 are not combined")
REDUCE_TAIL_TWICE = reduction(
    "reduce-tail-twice", "where the extent is no power of two, the last element is combined once more"
)
REDUCE_PADDING_COMBINED = reduction(
    "reduce-padding-combined", "extents that are no power of two are padded with zeros that are combined"
)
REDUCE_STARTS_AT_ZERO = reduction("reduce-starts-at-zero", "every reduction starts from 0")
REDUCE_2X2_HALVES = reduction("reduce-2x2-halves", "2x2 combines elements half a matrix apart")
REDUCE_2X2_FIRST_TILE = reduction(
    "reduce-2x2-first-tile", "rows of a 2x2 result from 8 on combine the source rows of those 8 before"
)
REDUCE_2X2_DIAGONAL = reduction("reduce-2x2-diagonal", "2x2 combines only the two elements of the diagonal")
REDUCE_ROW_AS_COLUMN = reduction("reduce-row-as-column", "Row and Column change places where the matrix is square")
REDUCE_BOTH_ROWS_ONLY = reduction("reduce-both-rows-only", "Row and Column together combine each row only")
REDUCE_NOT_BROADCAST = reduction(
    "reduce-not-broadcast", "only the first column of a row reduction's result (first row of a column one's) is written"
)
REDUCE_FREE_EXTENT_SOURCE = reduction(
    "reduce-free-extent-source", "a result larger than the source is filled only as far as the source goes"
)
REDUCE_FIRST_SUBGROUP_ONLY = reduction(
    "reduce-first-subgroup-only", "at Workgroup scope the elements of all subgroups but the first count as 0"
)
REDUCE_IN_FLOAT16 = reduction("reduce-in-float16", "intermediate values of a float32 reduction are rounded to float16")
REDUCE_COLUMNS_DISAGREE = reduction(
    "reduce-columns-disagree", "odd columns (rows, in column reductions) of the result fold in another order"
)

# Callbacks per element (callbacks.py, vm.py)
per_element = of_area("per_element")
PER_ELEMENT_SWAPPED = per_element("per-element-swapped", "row and column change places")
PER_ELEMENT_TILE_COORDINATES = per_element(
    "per-element-tile-coordinates", "row and column count from the corner of an 8x8 tile"
)
PER_ELEMENT_USE_B_SWAPPED = per_element(
    "per-element-use-b-swapped", "row and column change places for matrices of Use B"
)
PER_ELEMENT_COLUMN_BY_ROWS = per_element(
    "per-element-column-by-rows", "the column is computed modulo the number of rows"
)
PER_ELEMENT_TAIL_SKIPPED = per_element(
    "per-element-tail-skipped", "each invocation's last element is not passed to the function"
)
PER_ELEMENT_WORKGROUP_FIRST = per_element(
    "per-element-workgroup-first", "at Workgroup scope only the first subgroup's elements are passed to the function"
)
EXTRA_MATRIX_IS_MATRIX = per_element(
    "extra-matrix-is-matrix", "an extra matrix operand's element is that of the matrix itself"
)
EXTRA_MATRICES_SWAPPED = per_element("extra-matrices-swapped", "two extra matrices change places")
EXTRA_SCALAR_FIRST = per_element("extra-scalar-first", "every extra scalar is the first one")
EXTRAS_GROUPED = per_element(
    "extras-grouped", "extra operands are passed matrices first, whatever the order of the parameters"
)
CALLBACK_COMPARE_UNSIGNED = per_element(
    "callback-compare-unsigned", "signed comparisons, minima and maxima compare as unsigned"
)
CALLBACK_SHIFT_LOGICAL = per_element("callback-shift-logical", "shifts to the right of signed numbers fill with zeros")
CALLBACK_NARROW_UNWRAPPED = per_element(
    "callback-narrow-unwrapped", "8- and 16-bit arithmetic in functions is done in 32 bits"
)
CALLBACK_EXP_BASE_TWO = per_element("callback-exp-base-two", "exp(x) is computed as 2 to the x")
CALLBACK_CONVERSION_UNSIGNED = per_element(
    "callback-conversion-unsigned", "conversions of signed integers to floats in functions are unsigned"
)

# Block loads (buffers.py of this folder)
block = of_area("block_loads")
