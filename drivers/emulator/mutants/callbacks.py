"""Planted bugs of what functions that instructions call read and do besides their arguments."""

from __future__ import annotations

from cts.drivers.emulator.mutants.matrices import of_area

# Tables (callbacks.py, vm.py)
table = of_area("per_element")
TABLE_INDEX_UNIFORM = table(
    "table-index-uniform", "every element reads a table at the index that the first element computes"
)
TABLE_INDEX_SWAPPED = table("table-index-swapped", "row and column change places in the indices of tables alone")
TABLE_ALWAYS_FIRST = table("table-always-first", "every table is the first one of its function")
TABLE_STRIDE_WORDS = table("table-stride-words", "the elements of every table are taken to be four bytes apart")
