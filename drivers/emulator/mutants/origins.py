"""Planted bugs of products that depend on where operands come from: what compilers get wrong when they fuse the two."""

from __future__ import annotations

from cts.drivers.emulator.mutants.matrices import of_area

# Operands of products (origins.py)
product = of_area("matrix_arithmetic")
PRODUCT_OF_SHARED_ZERO = product("operands of products that are loaded from workgroup memory are zeros")
PRODUCT_OF_SHARED_FIRST = product("of several tiles in one workgroup array products take the first one for each")
PRODUCT_OF_CONSTANT_ZERO = product("constant operands A and B of products are zeros")
PRODUCT_OF_NEGATED = product("the negation of an operand of a product is left out")
PRODUCT_OF_PER_ELEMENT = product("an operand of a product is that before a function of its elements")
PRODUCT_OF_CARRIED = product("an operand that a loop carries is, in a product, its first value")
PRODUCT_OF_SELECTED = product("an operand that a condition chose is that of its first branch")
PRODUCT_OF_COPIED = product("operands of products that went through a variable are zeros")
PRODUCT_OF_TRANSPOSED = product("a transposed operand of a product has its rows in reverse")
PRODUCT_OF_CONVERTED_USE = product("an accumulator that becomes an operand of a product has its columns in reverse")
PRODUCT_SECOND_A = product("where a B meets a second A, the first one is taken again")
PRODUCT_SECOND_B = product("where an A meets a second B, the first one is taken again")
PRODUCT_SECOND_C = product("a second product adds to what the first one gave, whatever its C is")
LOAD_STALE_BEHIND_BARRIER = product("a load behind a barrier gives what the same load gave before it")
PRODUCT_OF_ONE_BUFFER = product(
    "matrices of one type that are loaded from one buffer are the first of them in products"
)
