"""The catalogue of planted bugs. Each is one line here and one branch where the bug lives.

A mutant is an integer that travels to the kernels at run time, so none of them costs a compilation.
See docs/adding-a-mutant.md.
"""

from __future__ import annotations

from cts.driver import Described

#: No bug.
NONE = 0

_catalogue: list[Described] = []


def mutant(name: str, description: str, area: str = "tensor_addressing") -> int:
    """Enter a mutant into the catalogue; returns the number by which kernels know it."""
    _catalogue.append(Described(name, area, description))
    return len(_catalogue)


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
CLIP_WIDTH_COLUMNS = mutant("clip-width-columns", "the row pitch under a clip stays the matrix's columns")
CLIP_WIDTH_SPAN = mutant("clip-width-span", "the row pitch under a clip is its span even where the matrix is narrower")
CLIP_WIDTH_REMAINING = mutant("clip-width-remaining", "the row pitch under a clip is the columns left after its start")

# Linear index through the view (address.py)
PERM_INVERSE = mutant("perm-inverse", "the inverse of the view's permutation is applied (seen from rank 3 on)")
PERM_STRIDES_UNPERMUTED = mutant("perm-strides-unpermuted", "the permutation misses the view's strides")
VIEW_DIMENSIONS_IGNORED = mutant("view-dimensions-ignored", "a view with dimensions is decomposed by the layout's span")
VIEW_STRIDE_FIELD = mutant("view-stride-field", "a view without dimensions uses its stride field, not the span")
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
