"""Planted bugs of memory that is written and read again: old contents, lost stores, loads that come too late."""

from __future__ import annotations

from cts.drivers.emulator.mutants.matrices import of_area

# Accesses to one buffer (history.py)
memory = of_area("matrix_memory")
tensor = of_area("tensor_addressing")
callback = of_area("per_element")
block = of_area("block_loads")
conversion = of_area("conversions")
product = of_area("matrix_arithmetic")
vector = of_area("vector_arithmetic")
TENSOR_LOAD_BEHIND_STORE = tensor("a tensor load does not see the plain store before it, whatever is between")
LOAD_BEHIND_TENSOR_STORE = tensor("a plain load does not see the tensor store before it, whatever is between")
TENSOR_STORE_BEHIND_STORE = tensor(
    "a tensor store is lost if the store before it was a plain one that nothing has read"
)
DECODED_LOAD_BEHIND_STORE = block("a decoded load does not see the store before it, whatever is between")
TABLE_BEHIND_TENSOR_STORE = callback("a function's table does not have what the tensor store before it wrote")
LOAD_BEHIND_OUTPUT = callback("a plain load does not see what the function of elements before it wrote")
OUTPUT_BEHIND_OUTPUT = callback("what a second function of elements writes is lost if nothing has read the first one's")
LOAD_OF_OTHER_ORDER = memory("a load in another order than the store before it sees what was there before")
LOAD_OF_OTHER_TYPE = conversion("a load of another component type than the store before it sees what was there before")
LOAD_OF_OTHER_USE = product("a load of another Use than the store before it sees what was there before")
LOAD_BELOW_STORE = memory(
    "a plain load is done behind the plain store that follows it in the program, to the same buffer"
)
LOAD_BELOW_TENSOR_STORE = memory("a load is done behind the tensor store that follows it, to the same buffer")
VECTOR_LOAD_OF_OTHER_LENGTH = vector("a load of a shorter vector than the store before it sees what was there before")
VECTOR_LOAD_BELOW_STORE = vector("a load of a vector is done behind the store that follows it, to the same buffer")
VECTOR_STORE_LOST = vector("a second store of a vector of another type is lost if nothing has read the first one")
