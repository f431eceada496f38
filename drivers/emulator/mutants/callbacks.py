"""Planted bugs of what functions that instructions call read and do besides their arguments."""

from __future__ import annotations

from cts.drivers.emulator.mutants.matrices import of_area

# Tables (callbacks.py, vm.py, access.py)
called = of_area("per_element")
TABLE_INDEX_UNIFORM = called("every element reads a table at the index that the first element computes")
TABLE_INDEX_SWAPPED = called("row and column change places in the indices of tables alone")
TABLE_ALWAYS_FIRST = called("every table is the first one of its function")
TABLE_STRIDE_WORDS = called("the elements of every table are taken to be four bytes apart")
TABLE_READ_BEFORE = called("tables that the program writes are read as they were when the program began")
TABLE_OF_FIRST_WORKGROUP = called("every workgroup reads the first workgroup's part of a table in Workgroup memory")

# Outputs (callbacks.py, vm.py, access.py)
OUTPUT_INDEX_SWAPPED = called("row and column change places in the indices of outputs alone")
OUTPUT_GETS_ELEMENT = called("a store of a body stores the element instead of its value")
OUTPUT_ALWAYS_FIRST = called("every output is the first one of its function")
OUTPUT_BY_INACTIVE = called("subgroups that do not execute an instruction store all the same")
OUTPUT_ONLY_FIRST = called("of several stores of a body for one element only the first one is done")

# Extra operands (per_element.py, access.py)
VECTOR_EXTRA_FIRST = called("every component of a vector that is passed is its first one")
STRUCTURE_EXTRA_SHIFTED = called("members of one type in a structure that is passed change places")
INTEGER_EXTRA_OF_FIRST = called("every instance is passed the integers of the first one")
POINTER_EXTRA_AT_START = called("a pointer that is passed points to the beginning of its buffer")

# Helpers (callbacks.py)
HELPER_FIRST_ARGUMENTS = called("a helper's second call sees the arguments of the first one")
HELPER_ARGUMENTS_REVERSED = called("helpers whose parameters are of one type get their arguments in reverse")
HELPER_FIRST_OF_A_TYPE = called("of several helpers with the same types every call goes to the first one")

# Flow inside functions (callbacks.py, vm.py)
BODY_BRANCH_UNIFORM = called("every element takes the branch of a body that the first element takes")
BODY_BRANCH_FALLS_THROUGH = called("an `if` in a body goes on into its `else`")
BODY_LOOP_ONE_SHORT = called("loops in bodies end one iteration early")
