"""Planted bugs: arrays of the invocations as lines of matrices (QC-002 to QC-010)."""

from __future__ import annotations

from cts.drivers.emulator.mutants.matrices import of_area

arrays = of_area("matrix_memory")

ARRAYS_OF_B_AS_ROWS = arrays("arrays make the rows of a B, as of the other uses")
ARRAYS_BEYOND_TAKEN = arrays("the array of an invocation beyond the matrix's lines replaces that of an earlier one")
ARRAYS_OF_PAIRS = arrays("invocations of odd numbers give the array of the one before")
ARRAYS_OF_LAST_LOST = arrays("the last line of a matrix made of arrays is 0")
ARRAY_WORDS_HIGH_FIRST = arrays("the first component of a word is its high bits when a matrix is made of words")
EXTRACTED_WORDS_HIGH_FIRST = arrays("the first component of a word is its high bits when words are taken from a matrix")
ARRAY_ACCUMULATOR_UNPACKED = arrays("each word gives one component of an Accumulator of halves")
EXTRACTED_B_BY_ROWS = arrays("invocations get the rows of a B, as of the other uses")
EXTRACTED_BY_HALF_SUBGROUP = arrays("the second half of the invocations get the lines of the first half")
EXTRACTED_ACCUMULATOR_BY_COLUMNS = arrays("invocations get the columns of an Accumulator")
ARRAY_CAST_SWAPS_HALVES = arrays("a bitcast of arrays swaps the halves of every 32 bits")
ARRAY_CAST_FIRST_HALF = arrays("a bitcast of arrays keeps the first half of the bytes")
SUB_ARRAY_FROM_START = arrays("a part of an array begins where the array begins")
SUB_ARRAY_IN_WORDS = arrays("the start of a part of an array counts words of four bytes, whatever the elements are")
