"""Bugs of every area: the explanation of a failing case names the instruction and lists the fact that is broken."""

from __future__ import annotations

from collections import Counter

import pytest
from explain_drivers import ORACLE, case_of, device

from cts.explain import explain
from cts.explain.model import INSTRUMENTED, MEMORY
from cts.runner import open_driver

#: Mutant, corpus case, the instruction to be named (a conversion by its number), the fact that is broken, and how
#: many facts are thought to be likelier.
TABLE = """
slice-replaces-offset           tensor_addressing.layout.stride_between_slices MatrixLoadTensor TA-016 0
slice-resets-stride             tensor_addressing.block.own_strides MatrixLoadTensor TA-015 0
clamp-value-zero                tensor_addressing.block.constant MatrixLoadTensor TA-017 0
perm-inverse                    tensor_addressing.clip.cyclic_permutation MatrixLoadTensor TA-033 0
clip-column-end-inclusive       tensor_addressing.block.view_and_clip MatrixLoadTensor TA-032 0
clip-width-remaining            tensor_addressing.clip.store_width_beyond_the_columns MatrixStoreTensor TA-032 0
mirror-period-odd               tensor_addressing.block.mirrored MatrixLoadTensor TA-035 0
edge-high-to-size               tensor_addressing.clamp.edge_3d_far MatrixLoadTensor TA-035 0
index-64-bit                    tensor_addressing.wrap.layout_index MatrixLoadTensor TA-030 3
store-repeat-wraps              tensor_addressing.clamp.mirrored_high_store MatrixStoreTensor TA-035 2
base-offset-ignored             tensor_addressing.memory.physical_offsets MatrixLoadTensor TA-036 0
order-ignored-on-store          tensor_addressing.constness.plain_dynamic MatrixStore KM-013 0
pointer-offset-replaced         matrix_memory.pointers.offsets_add_up MatrixLoad KM-013 0
constant-one-component          matrix_memory.constants.any_bits MatrixConstant KM-016 0
copy-array-neighbour            matrix_memory.copies.all_ways_in_turn MatrixCopy KM-011 0
k-last-dropped                  matrix_arithmetic.mul_add.s8 MatrixMulAdd NU-001 0
saturation-ignored              matrix_arithmetic.mul_add.saturates_at_the_bottom MatrixMulAdd NU-002 0
mul-add-c-dropped               matrix_arithmetic.mul_add.c_of_13_bits MatrixMulAdd NU-010 0
udiv-signed                     matrix_arithmetic.elements.udiv_u32 MatrixArithmetic NU-004 0
uconvert-sign-extends           conversions.integer.s8_by_uconvert MatrixConvert NU-005 0
float8-saturation-ignored       conversions.float8.e4m3_saturated MatrixConvert NU-033 0
ftos-rounds                     conversions.mixed.bf16_to_s16 MatrixConvert NU-016 0
transpose-within-tiles          conversions.transpose.bytes MatrixTranspose CM-052 0
reduce-both-rows-only           reductions.scope.workgroup_both MatrixReduce CM-022 0
reduce-2x2-diagonal             matrix_programs.kernel.max_pooling MatrixReduce CM-022 0
per-element-swapped             per_element.coordinates.both MatrixPerElement CM-031 0
extra-matrices-swapped          per_element.extras.two_matrices MatrixPerElement CM-030 0
decode-pointer-component-scaled block_loads.address.blocks_of_columns MatrixLoadTensor TA-037 4
decode-bytes-unsigned           block_loads.address.blocks_of_columns MatrixLoadTensor DV-011 5
vector-lanes-reversed           block_loads.vector.another_struct MatrixLoadTensor DV-010 6
if-inverted                     matrix_programs.condition.in_a_loop If KM-019 0
convert-in-place                matrix_programs.liveness.converted_and_kept MatrixConvert KM-018 0
loop-carries-in-sequence        matrix_programs.loop.swap_once EndLoop KM-011 1
vector-index-off-by-one         vector_arithmetic.parts.dynamic_extract VectorExtract CV-011 0
vector-step-swapped             vector_arithmetic.floats.step VectorArithmetic CV-012 0
vector-bias-ignored             vector_multiply.float.bias VectorMatrixMul CV-015 0
vector-matrix-unsigned          vector_multiply.integer.bias VectorMatrixMul CV-035 0
vector-packed-reversed          vector_multiply.packed.bias VectorMatrixMul CV-034 1
vector-load-uniform             vector_arithmetic.divergence.conditional_store VectorLoad CV-013 0
outer-product-swapped           vector_training.outer.beyond_half VectorOuterProductAccumulate CV-020 0
reduce-sum-tail-dropped         vector_training.sum.half VectorReduceSumAccumulate CV-021 0
conversion-ties-away            vector_conversions.types.float16_to_e4m3 conversions[1] VK-054 0
"""

MUTANTS = [tuple(line.split()) for line in TABLE.strip().splitlines()]


def test_the_table_is_of_all_areas() -> None:
    areas = Counter(case.partition(".")[0] for _, case, _, _, _ in MUTANTS)
    assert len(MUTANTS) >= 40
    assert len({mutant for mutant, *_ in MUTANTS}) == len(MUTANTS)
    assert {
        "tensor_addressing", "matrix_memory", "matrix_arithmetic", "conversions", "reductions", "per_element",
        "block_loads", "matrix_programs", "vector_arithmetic", "vector_multiply", "vector_training",
        "vector_conversions",
    } == set(areas)  # fmt: skip


@pytest.mark.parametrize(("mutant", "name", "op", "fact", "before"), MUTANTS, ids=[m[0] for m in MUTANTS])
def test_the_instruction_and_the_fact(mutant: str, name: str, op: str, fact: str, before: str) -> None:
    found = explain(case_of(name), open_driver(f"emulator:mutant={mutant}"), ORACLE)
    assert found.op == op
    assert fact in found.facts[: int(before) + 1]
    assert found.suspects[0].why
    if found.instruction is not None:
        assert type(case_of(name).program[found.instruction]).__name__ == op


#: A few that say the same of a device, which shows nothing but memory.
ON_DEVICES = [m for m in MUTANTS if m[0] in {
    "slice-replaces-offset", "perm-inverse", "clip-width-remaining", "copy-array-neighbour", "mul-add-c-dropped",
    "transpose-within-tiles", "extra-matrices-swapped", "if-inverted", "convert-in-place", "vector-bias-ignored",
    "reduce-sum-tail-dropped", "conversion-ties-away",
}]  # fmt: skip


@pytest.mark.parametrize(("mutant", "name", "op", "fact", "before"), ON_DEVICES, ids=[m[0] for m in ON_DEVICES])
def test_the_same_of_a_device(mutant: str, name: str, op: str, fact: str, before: str) -> None:
    found = explain(case_of(name), device(mutant), ORACLE)
    assert found.op == op
    assert fact in found.facts
    assert found.how in (INSTRUMENTED, MEMORY)
