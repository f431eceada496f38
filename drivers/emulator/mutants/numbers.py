"""Planted bugs of numbers that are hard to get right, in matrices and vectors: zeros, infinities, NaNs, ties.

The rest of the catalogue is in `cts.drivers.emulator.mutants.matrices` and `cts.drivers.emulator.mutants.vectors`.
"""

from __future__ import annotations

from cts.drivers.emulator.mutants import vectors
from cts.drivers.emulator.mutants.matrices import arithmetic, block, conversion, per_element, reduction

# Element-wise arithmetic and products (vm.py, products.py, number_bugs.py)
FNEGATE_FROM_ZERO = arithmetic("FNegate is 0 - x: the negation of 0 is 0, not -0")
ZERO_PRODUCT_POSITIVE = arithmetic("a product that is 0 is positive whatever the signs of its factors")
ZERO_ADDED_FOLDED = arithmetic("x + 0 is folded to x, so that -0 stays -0")
EQUALS_SUBTRACTED_FOLDED = arithmetic("x - x is folded to 0, where x is infinite or NaN, too")
ZERO_FACTOR_FOLDED = arithmetic("x * 0 is folded to 0, where x is infinite, NaN or negative, too")
OVERFLOW_NAN = arithmetic("float sums and products that overflow are NaN")
INFINITY_CLAMPED = arithmetic("sums with an infinity are clamped to the greatest finite number of their type")
DENORMALS_TRUNCATED = arithmetic("denormal results of arithmetic lose the lower half of their bits")
MUL_ADD_SKIPS_ZEROS = arithmetic("products with a factor 0 are skipped, where the other is infinite or NaN, too")
MUL_ADD_SKIPS_INFINITIES = arithmetic("infinite factors count as 0 in multiply-adds")
MUL_ADD_NAN_DROPPED = arithmetic("products that are NaN count as 0 in multiply-adds")

# Conversions (conversions.py, number_bugs.py)
FCONVERT_NAN_INFINITE = conversion("a conversion to a narrower type cuts off a NaN's payload, and makes it infinite")
FCONVERT_INFINITY_CLAMPED = conversion("conversions between wider types clamp infinity to the greatest finite number")
FLOAT8_INFINITY_UNSATURATED = conversion("conversions that saturate to float8 do so for finite numbers only")
FLOAT8_INFINITY_SATURATES = conversion("infinity becomes the largest float8 number without being asked to saturate")
FLOAT8_NAN_SATURATES = conversion("NaN saturates to the largest float8 number, too")
FCONVERT_DENORMALS_TRUNCATED = conversion("denormal results of conversions lose the lower half of their bits")
FLOAT16_DENORMALS_HALVED = conversion("float16 denormals are converted with an exponent that is one too small")
FCONVERT_ZERO_POSITIVE = conversion("conversions between floats make 0 of -0")

# Float execution modes (scalar.py, conversions.py, vectors/elements.py)
RTZ_IS_RTE = arithmetic("RoundingModeRTZ is taken for RoundingModeRTE")
DENORM_PRESERVE_FLUSHES = arithmetic("denormals are flushed in spite of DenormPreserve")
DENORM_FLUSH_IGNORED = arithmetic("DenormFlushToZero does nothing")
FDIV_THREE_ULP = arithmetic("quotients of floats are three ULP too great, where 2.5 are allowed")
MODES_OF_FLOAT16_FOR_FLOAT32 = arithmetic("the float modes of float16 are taken for those of float32, which are lost")
RTZ_CONVERSIONS_NEAREST = conversion("RoundingModeRTZ is for arithmetic alone: conversions round to nearest")

# Reductions (compute.py)
REDUCE_EXTREME_STARTS_FINITE = reduction("maxima start from the least finite number, minima from the greatest")

# Callbacks (vm.py, number_bugs.py)
CALLBACK_NEGATION_FROM_ZERO = per_element("in functions, -x of floats is 0 - x")
CALLBACK_ABS_NEGATES_ZERO = per_element("abs is x where x > 0, else -x: that of +0 is -0")
CALLBACK_ABS_KEEPS_ZERO = per_element("abs is x where x >= 0, else -x: that of -0 is -0")
CALLBACK_COMPARES_UNORDERED = per_element("comparisons with a NaN are true")
CALLBACK_GREATER_UNORDERED = per_element("in functions, x > y of floats holds with a NaN, too")
CALLBACK_NEGATED_COMPARISON_REVERSED = per_element("in functions, not (x < y) is x >= y, with a NaN, too")
DECODE_ZERO_SKIPS_SCALE = block("an element of 0 is decoded as 0 whatever its scale: negative, infinite or NaN")

# Operations and conversions of vectors (vectors/functions.py, vectors/number_bugs.py)
VECTOR_FNEGATE_FROM_ZERO = vectors.arithmetic("FNegate is 0 - x: the negation of 0 is 0, not -0")
VECTOR_ZERO_PRODUCT_POSITIVE = vectors.arithmetic("a product that is 0 is positive whatever the signs of its factors")
VECTOR_ZERO_ADDED_FOLDED = vectors.arithmetic("x + 0 is folded to x, so that -0 stays -0")
VECTOR_EQUALS_SUBTRACTED_FOLDED = vectors.arithmetic("x - x is folded to 0, where x is infinite or NaN, too")
VECTOR_OVERFLOW_NAN = vectors.arithmetic("float sums and products that overflow are NaN")
VECTOR_DENORMALS_TRUNCATED = vectors.arithmetic("denormal results of arithmetic lose the lower half of their bits")
VECTOR_NMAX_KEEPS_NAN = vectors.arithmetic("NMin and NMax of a NaN and a number are NaN, as FMin and FMax may be")
VECTOR_FCONVERT_NAN_INFINITE = vectors.arithmetic(
    "a conversion to a narrower type cuts off a NaN's payload, and makes it infinite"
)
VECTOR_UINT_TO_FLOAT_SIGNED = vectors.arithmetic("ConvertUToF takes the components as signed")

# Products of vectors (vectors/kernels.py, vectors/products.py)
VECTOR_MULTIPLY_SKIPS_ZEROS = vectors.multiply(
    "products with a factor 0 are skipped, where the other is infinite or NaN, too"
)
VECTOR_MULTIPLY_SKIPS_INFINITIES = vectors.multiply("infinite factors count as 0 in multiplications")
VECTOR_INPUT_INFINITY_ZERO = vectors.multiply("infinite inputs that are read as integers are 0, not saturated")
VECTOR_INPUT_INTEGERS_TRUNCATED = vectors.multiply("integer inputs that are read as floats are rounded towards zero")
VECTOR_INPUT_INTEGERS_TIES_AWAY = vectors.multiply(
    "integer inputs halfway between two floats are rounded away from zero"
)
VECTOR_INPUT_INTEGERS_SIGNED = vectors.multiply("unsigned inputs that are read as floats are converted as signed ones")

# Fast math of single instructions (fast_math.py, matrices/scalar.py)
CONTRACTS_BY_PRODUCER = arithmetic(
    "what a product or sum allows is allowed to the instruction that uses it, too (NU-049)"
)
CONTRACTS_ANY = arithmetic(
    "where one instruction allows to leave roundings out, those of all instructions are left out"
)
NSZ_OF_ANY = arithmetic("where one instruction has NSZ, no instruction keeps the sign of a zero")

# Conversions of matrices in memory (vectors/opaque.py)
CONVERSION_DENORMALS_TRUNCATED = vectors.conversion(
    "denormals that a conversion gives lose the lower half of their bits"
)
