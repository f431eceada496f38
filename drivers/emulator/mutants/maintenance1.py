"""Planted bugs of what VK_EXT_cooperative_matrix_maintenance1 adds: coordinates, conversions back, transposed ones."""

from __future__ import annotations

from cts.drivers.emulator.mutants.matrices import arithmetic, conversion

# Coordinates of components (maintenance1.py)
COORDINATE_SWAPPED = arithmetic("the coordinate of a component is column and row")
COORDINATE_USE_B_SWAPPED = arithmetic("the coordinate in a B is column and row")
COORDINATE_IN_TILE = arithmetic("the coordinate of a component is that within its 8x8 tile")
COORDINATE_NEXT_COMPONENT = arithmetic("the coordinate of a component is that of the invocation's next one")
COORDINATE_FIRST_COMPONENT = arithmetic("the coordinate of every component is that of the invocation's first one")
COORDINATE_FIRST_INVOCATION = arithmetic("the coordinate of a component is the one in the first invocation")
COORDINATE_FIRST_SUBGROUP = arithmetic("coordinates in matrices of Workgroup scope are those of the first subgroup")
COORDINATE_INDEX_UNIFORM = arithmetic("the index of a coordinate is taken from the first invocation where they differ")
COORDINATE_COLUMN_BY_ROWS = arithmetic("the column of a coordinate is taken modulo the number of rows")
COORDINATE_FOUR_BITS = arithmetic("row and column of a coordinate have four bits each")

# A or B to Accumulator (maintenance1.py)
ACCUMULATED_A_TRANSPOSED = conversion("an A that becomes an Accumulator is read in column-major order")
ACCUMULATED_B_IN_TILES = conversion("a B that becomes an Accumulator has the elements of each 8x8 tile transposed")
ACCUMULATED_LAST_ROW_LOST = conversion("the last row of an A or B that becomes an Accumulator is 0")
ACCUMULATED_HALF_TWICE = conversion("an A or B that becomes an Accumulator has its first half of columns twice")
ACCUMULATED_KEEPS_BITS = conversion(
    "a conversion of an A or B into an Accumulator of another component type keeps the bits"
)

# Transposing conversions (maintenance1.py)
TRANSPOSING_IGNORED = conversion("a conversion decorated to transpose keeps the elements in row-major order")
TRANSPOSING_TO_A_IGNORED = conversion(
    "a conversion into an A keeps the elements in row-major order though it is to transpose"
)
TRANSPOSING_TILES_IN_ORDER = conversion("a transposing conversion gives its 8x8 tiles in the order of the source")
TRANSPOSING_WITHIN_TILES = conversion(
    "a transposing conversion transposes 8x8 tiles and leaves the tiles where they are"
)
TRANSPOSING_LEAVES_COMPONENT = conversion("a transposing conversion into another component type keeps the bits")
