"""Planted bugs: products whose C and result have components, or signs, of their own (KM-014b)."""

from __future__ import annotations

from cts.drivers.emulator.mutants.matrices import of_area

apart = of_area("matrix_arithmetic")

APART_C_AS_RESULT = apart("the bits of C are read as the result's type")
APART_RESULT_AS_C = apart("sums are made in C's type, whose bits become the result")
APART_C_SIGN_OF_RESULT = apart("C has the sign of the result")
APART_SATURATES_BY_C = apart("sums saturate by the sign of C, not by the result's")
APART_SATURATES_TO_C = apart("sums saturate to what C's narrower type holds")
APART_NOT_SATURATING = apart("sums do not saturate if C and the result differ")
APART_C_ZERO_EXTENDED = apart("a narrower C is extended by zeros, whatever its sign")
APART_C_SIGN_EXTENDED = apart("a narrower C is extended by its sign, whatever the operand mask says")
APART_C_DROPPED = apart("C is left out if the result has another type")
APART_C_IN_PAIRS = apart("two elements of a narrower C are taken for one of the result's size")
APART_C_EVERY_SECOND = apart("of a narrower C every second column is taken, as if it were as wide as the result")
