"""Planted bugs: types of SPV_EXT_ocp_microscaling_types (MT-010 to MT-024)."""

from __future__ import annotations

from cts.drivers.emulator.mutants.matrices import of_area

block = of_area("block_loads")

EXTRACT_OFFSET_IGNORED = block("bits are extracted from bit 0 on, whatever the offset")
EXTRACT_OFFSET_IN_ELEMENTS = block("the offset of an extraction counts elements instead of bits")
EXTRACT_FROM_TOP = block("the offset of an extraction counts from the highest bit")
EXTRACT_OFFSET_OF_FIRST = block("every element extracts at the offset that the first element computes")
FOUR_BITS_TOP_SPECIAL = block("the greatest exponent of FP4 is that of infinity and NaN, as in IEEE 754")
SIX_BITS_SWAPPED = block("the two types of six bits are read as each other")
SCALE_BIAS_OF_128 = block("scales of E8M0 have a bias of 128")
SCALE_HAS_SIGN = block("the highest bit of a scale of E8M0 is a sign")
MXINT8_UNSCALED = block("MXINT8 is an integer, without its factor of 2^-6")
MXINT8_SIGN_MAGNITUDE = block("the highest bit of MXINT8 is a sign alone")
UNPACKED_SIGN_LOST = block("negative numbers of four and six bits are positive")
UNPACKED_DENORMALS_HIDDEN = block("denormals of four and six bits have a hidden bit, too")

# Tables that declare a type (callbacks.py)
called = of_area("per_element")
DECLARED_TABLE_AS_INTEGERS = called("numbers of a microscaling type in a table are read as integers")
DECLARED_TABLE_IN_WORDS = called("the elements of tables of a microscaling type are taken to be four bytes apart")
DECLARED_TABLE_OF_SIXTEEN = called("tables of a microscaling type have 16 elements, which repeat")
DECLARED_TABLE_ALL_SCALES = called("tables of MXINT8 are read as if they held scales of E8M0")
