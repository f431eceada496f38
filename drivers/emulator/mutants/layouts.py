"""Planted bugs: blocked, interleaved layouts of loads and stores (AL-001 to AL-006)."""

from __future__ import annotations

from cts.drivers.emulator.mutants.matrices import of_area

layout = of_area("matrix_memory")

BLOCKED_LOAD_BY_ROWS = layout("a blocked load takes blocks in rows, whatever the layout")
BLOCKED_STORE_BY_ROWS = layout("a blocked store puts blocks in rows, whatever the layout")
BLOCKED_B_BY_COLUMNS = layout("blocks of a matrix of use B are in columns, whatever the layout")
BLOCKS_NOT_INTERLEAVED = layout("blocks lie one behind the other, whatever the stride")
BLOCKS_INTERLEAVED_BY_FOUR = layout("four blocks are interleaved, whatever the stride")
BLOCKED_STRIDE_IN_ELEMENTS = layout("the stride of a blocked layout is scaled by the pointee's size")
BLOCKED_OF_HALVES = layout("blocks have eight columns, whatever the component's size")
BLOCKED_COLUMNS_OF_COLUMNS = layout("blocks in columns: a column of blocks has as many as a row")
BLOCKED_ROWS_OF_ROWS = layout("blocks in rows: a row of blocks has as many as a column")
BLOCK_BY_COLUMNS = layout("with blocks in columns, the words within a block are in columns, too")
INTERLEAVED_BACKWARDS = layout("the blocks of a group are interleaved from the last to the first")
INTERLEAVED_BY_ROWS = layout("blocks are interleaved by rows of 16 bytes instead of words")
INTERLEAVED_BY_BYTES = layout("blocks are interleaved by bytes instead of words")
