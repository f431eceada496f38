"""Planted bugs of buffers that are large, have robust accesses, or hold blocks which functions decode."""

from __future__ import annotations

from cts.drivers.emulator.mutants.matrices import block, memory

# Large buffers (access.py)
OFFSET_SIGNED = memory(
    "offset-signed", "byte offsets into buffers are computed as signed 32-bit numbers: from 2 GiB on they are negative"
)
ADDRESS_CARRY_LOST = memory(
    "address-carry-lost", "a device address and an offset are added in 32 bits: the carry of the lower half is lost"
)

# Robust buffer access (robustness.py)
ROBUST_LOAD_UNCHECKED = memory("robust-load-unchecked", "with robustness, plain loads read what lies behind a buffer")
ROBUST_STORE_UNCHECKED = memory("robust-store-unchecked", "with robustness, plain stores write behind a buffer")
ROBUST_LOAD_LAST_ELEMENT = memory(
    "robust-load-last-element", "with robustness, what is outside a buffer loads its last element instead of zero"
)
ROBUST_LINE_AT_ONCE = memory(
    "robust-line-at-once", "with robustness, a row (column) counts as outside where any of its elements is"
)
ROBUST_LINE_BY_ITS_START = memory(
    "robust-line-by-its-start", "with robustness, a row (column) counts as inside where any of its elements is"
)
ROBUST_MATRIX_AT_ONCE = memory(
    "robust-matrix-at-once", "with robustness, a matrix that lies partly outside a buffer loads as zeros"
)
ROBUST_RANGE_WITHOUT_OFFSET = memory(
    "robust-range-without-offset", "with robustness, the range of a descriptor counts from byte 0, without its offset"
)
ROBUST_RANGE_ROUNDED_UP = memory(
    "robust-range-rounded-up", "with robustness, the range of a descriptor is rounded up to 16 bytes"
)

# Block loads (decode.py, address.py)
BLOCK_COORDINATE_IN_SLICE = block("block-coordinate-in-slice", "blockCoord counts from the slice's first block")
BLOCK_COORDINATE_4_BIT = block("block-coordinate-4-bit", "block coordinates are packed into four bits each")
BLOCK_COORDINATE_8_BIT = block("block-coordinate-8-bit", "block coordinates are packed into eight bits each")
COORDINATE_IN_BLOCK_UNREDUCED = block("coordinate-in-block-unreduced", "coordInBlock is the coordinate in the tensor")
COORDINATE_IN_BLOCK_IN_SLICE = block("coordinate-in-block-in-slice", "coordInBlock counts from the start of the slice")
DECODE_POINTER_COMPONENT_SCALED = block(
    "decode-pointer-component-scaled", "the decode pointer advances by the size of the matrix component"
)
DECODE_POINTER_POINTEE_SCALED = block(
    "decode-pointer-pointee-scaled", "the decode pointer advances by the size of the buffer's element"
)
DECODE_BLOCK_PADDED = block("decode-block-padded", "blocks are taken to be padded to a multiple of four bytes")
DECODE_FIELDS_PACKED = block("decode-fields-packed", "fields of a block are packed without alignment")
DECODE_COORDINATES_REVERSED = block(
    "decode-coordinates-reversed", "blockCoord and coordInBlock are passed innermost first"
)
DECODE_COORDINATES_BEFORE_CLAMP = block(
    "decode-coordinates-before-clamp", "coordinates are passed as they were before clamping"
)
DECODE_POINTER_HOISTED = block(
    "decode-pointer-hoisted", "the block pointer of a row's first element serves the whole row"
)
DECODE_OF_CLAMPED = block(
    "decode-of-clamped", "elements out of bounds with Constant are decoded at the nearest edge, the clamp value ignored"
)
DECODE_OF_CLIPPED = block("decode-of-clipped", "clipped elements decode the span's first element, not the Object")
DECODE_BASE_DROPPED = block(
    "decode-base-dropped", "the offset of the load's pointer does not reach the decode function"
)
DECODE_BYTES_UNSIGNED = block("decode-bytes-unsigned", "8-bit signed fields are read without their sign")
VECTOR_LANES_REVERSED = block("vector-lanes-reversed", "lanes of a decoded vector arrive in reverse order")
VECTOR_UPPER_HALF_REPEATS = block(
    "vector-upper-half-repeats", "the upper half of a decoded vector repeats the lower half"
)
VECTOR_LANE_ADDED_TWICE = block(
    "vector-lane-added-twice", "the vector function gets an element's own coordInBlock, not the lowest lane's"
)
