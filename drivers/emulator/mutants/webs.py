"""Planted bugs of pairs of instructions: a compiler changes an operand that a certain instruction made."""

from __future__ import annotations

from cts.drivers.emulator.mutants.matrices import of_area

# Operands by their producers (webs.py)
programs = of_area("matrix_programs")
PRODUCT_SPOILS_A = programs("behind a product its A is zeros")
PRODUCT_SPOILS_B = programs("behind a product its B is zeros")
C_OF_NEGATED_PRODUCT = programs("a C that is the negation of a product is that product")
C_OF_REDUCED = programs("a C that a reduction gave is what it reduced")
FUNCTION_OF_TENSOR_LOAD = programs("a function of the elements of a matrix that a tensor load gave is left out")
CONVERT_OF_SCALED = programs("a conversion of a multiple converts the matrix that was multiplied")
OBJECT_OF_NEGATION = programs("the object of a tensor load that a negation gave is what it negated")
NEGATION_OF_COPY = programs("the negation of a copied matrix is left out")
TENSOR_STORE_OF_REDUCED = programs("a tensor store of a reduction's result stores what it reduced")
EXTRA_OF_CARRIED = programs("a matrix that a loop carries is, as a further operand of a function, its first value")
