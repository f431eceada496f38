"""Planted bugs of counters that are too narrow for large dispatches and long loops."""

from __future__ import annotations

from cts.drivers.emulator.mutants.matrices import of_area

# Indices of workgroups, subgroups, invocations and iterations (counters.py)
memory = of_area("matrix_memory")
programs = of_area("matrix_programs")
WORKGROUP_X_IN_3_BITS = memory("operands count workgroups along x in three bits")
WORKGROUP_X_IN_5_BITS = of_area("per_element")("operands count workgroups along x in five bits")
WORKGROUP_Y_IN_3_BITS = of_area("conversions")("operands count workgroups along y in three bits")
WORKGROUP_Z_IN_4_BITS = of_area("tensor_addressing")("operands count workgroups along z in four bits")
SUBGROUP_IN_3_BITS = of_area("matrix_arithmetic")("operands count the subgroups of a workgroup in three bits")
INVOCATION_IN_7_BITS = of_area("vector_arithmetic")("operands count the invocations of a workgroup in seven bits")
VECTOR_WORKGROUP_IN_4_BITS = of_area("vector_multiply")("operands count workgroups along every axis in four bits")
LATE_WORKGROUPS_LOST = of_area("reductions")("workgroups behind the 32nd do not run")
LOOP_IN_3_BITS = programs("operands count the iterations of a loop in three bits")
LOOP_ENDS_AT_8 = memory("a loop ends behind its eighth iteration")
