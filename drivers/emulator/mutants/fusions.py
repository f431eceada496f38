"""Planted bugs of whole kernels: values of another iteration, tile or call, and what a compiler fuses wrongly."""

from __future__ import annotations

from cts.drivers.emulator.mutants.matrices import of_area

# Whole kernels (fusions.py)
kernel = of_area("kernels")
LOOP_REDUCE_HOISTED = kernel("reductions in a loop are those of its first iteration")
LOOP_FUNCTION_HOISTED = kernel(
    "functions of elements with a matrix operand are, in a loop, those of its first iteration"
)
LOOP_CONVERT_HOISTED = kernel("conversions in a loop are those of its first iteration")
CARRIED_THIRD_STALE = kernel("the third accumulator that a loop carries is, in products, what it was before the loop")
PRODUCT_OF_SCALED_C = kernel("a C that was multiplied with something is what it was before that")
FUNCTION_SCALARS_OF_FIRST = kernel("a second call of a function of elements has the scalars of the first one")
SLICE_OUTER_LOOP_IGNORED = kernel("slices do not advance with an outer loop")
STORE_TENSOR_OF_FIRST = kernel("a second tensor store to a buffer goes where the first one went")
STORE_OFFSET_OF_FIRST = kernel("a second store to a buffer begins where the first one did")
REDUCE_OF_PRODUCT_EARLY = kernel("the reduction of a product's result reduces its C")
FUNCTION_OF_REDUCED = kernel("a matrix operand of a function of elements that a reduction gave is what it reduced")
