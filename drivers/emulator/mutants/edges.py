"""Planted bugs of operations on the edges of their types."""

from __future__ import annotations

from cts.drivers.emulator.mutants.matrices import of_area

# Results at edges (edge_bugs.py)
matrix = of_area("matrix_arithmetic")
vector = of_area("vector_arithmetic")
SHIFT_BY_ZERO = vector("a shift by 0 gives 0")
SHIFT_BY_ALL_BUT_ONE = vector("a shift by the width less 1 gives 0")
ARITHMETIC_SHIFT_OF_LEAST = vector("an arithmetic shift of the least number is a logical one")
UMAX_OF_GREATEST = vector("UMax takes the greatest number for the least")
VECTOR_SUM_AT_TOP = vector("a sum that is one beyond the greatest number is the greatest")
NEGATION_OF_LEAST = matrix("the negation of the least integer is the greatest one")
QUOTIENT_OF_LEAST = matrix("a signed division takes the least number for the one above it")
SUM_AT_TOP = matrix("a sum that is one beyond the greatest integer is the greatest one")
LEAST_NORMAL_FLUSHED = matrix("products that are the least normal number become zeros")
GREATEST_OVERFLOWS = matrix("sums that are the greatest float become infinite")
