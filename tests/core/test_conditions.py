"""Each condition of the shipped files holds for a case, and not for a neighbour without the one thing it asks for."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cts.base import plain_yaml
from cts.case.model import Case, SpecNumber, case_dynamic_operands, dynamic_words, loads_case
from cts.case.model.sweep import Sweep
from cts.features import Condition, parse
from cts.features.sets import of_sets
from cts.features.sites import KEPT, view
from cts.reference import Reference
from cts.running import corpus

DOCS = Path(__file__).parents[2] / "docs"
FILES = [*(DOCS / "baseline").glob("*.yaml"), *(DOCS / "quarantine").glob("*.yaml")]


def shipped() -> dict[str, Condition]:
    """The conditions of all shipped files by name; one of several files is the same in them."""
    found: dict[str, set[str]] = {}
    for path in FILES:
        for name, text in plain_yaml.parse(path.read_text(encoding="utf-8"), str(path), "")["conditions"].items():
            found.setdefault(name, set()).add(text)
    assert {name for name, texts in found.items() if len(texts) > 1} == set()
    return {name: parse(next(iter(texts))) for name, texts in found.items()}


CONDITIONS = shipped()

#: Condition, case, and what to change in its text.
NEIGHBOURS = [
    (
        "one-number-converted",
        "conversions.constants.null_float16",
        "{op: MatrixNull, id: z, type: {component: float16, scope: Subgroup, rows: 8, cols: 16, use: A}}",
        "{op: MatrixLoad, id: z, type: {component: float16, scope: Subgroup, rows: 8, cols: 16, use: A}, buffer: dst,"
        " stride: 16}",
    ),
    ("matrix-store-overtaken", "per_element.tables.after_a_matrix_store", "buffer: mem, stride", "buffer: dst, stride"),
    (
        "matrix-store-overtaken",
        "per_element.tables.after_a_matrix_store",
        "[8, 16], data: {fill: 4}",
        "[1, 128], data: {fill: 4}, storage: Workgroup",
    ),
    (
        "matrix-store-read-late",
        "per_element.tables.before_a_matrix_store",
        "matrix: m1, buffer: mem",
        "matrix: m1, buffer: dst",
    ),
    (
        "matrix-store-read-late",
        "per_element.tables.before_a_matrix_store",
        "body: 't[value + row + col]', tables: [{name: t, type: uint32, buffer: mem}]",
        "body: 'value'",
    ),
    ("tanh-of-infinity", "compute.functions.tanh_of_infinity_to_zero", "RoundingModeRTZ", "RoundingModeRTE"),
    ("tanh-of-infinity", "compute.functions.tanh_of_infinity_to_zero", "Tanh", "Exp"),
    ("tanh-of-infinity", "compute.functions.tanh_of_infinity_to_zero", "FastMathNone", "NoContraction"),
    ("constant-cancelled", "matrix_arithmetic.environment.add_and_subtract_8x16", "FSub", "FAdd"),
    ("constant-cancelled", "matrix_arithmetic.environment.add_and_subtract_8x16", "a: s, b: c", "a: s, b: m"),
    (
        "clamp-mirrored-dimension-one",
        "tensor_addressing.clamp.mirrored_one_row_in_bounds",
        "dims: [1, 7]",
        "dims: [2, 7]",
    ),
    ("layout-stride-far", "tensor_addressing.wrap.stride_of_32_bits", "{dynamic: 2148007936}", "16777215"),
    ("layout-blocks-uneven", "tensor_addressing.block.not_powers_of_two", "dims: [20, 23]", "dims: [20, 25]"),
    ("layout-innermost-stride", "tensor_addressing.layout.inner_stride", "strides: [48, 3]", "strides: [48, 1]"),
    ("layout-innermost-stride-stored", "tensor_addressing.store.inner_stride", "strides: [48, 3]", "strides: [49, 3]"),
    ("layout-odd-strides", "tensor_addressing.layout.odd_stride_of_workgroup", "165", "164"),
    ("layout-odd-strides", "tensor_addressing.layout.odd_stride_of_workgroup", "float16", "float32"),
    ("layout-odd-strides", "tensor_addressing.layout.odd_stride_of_workgroup", "scope: Workgroup", "scope: Subgroup"),
    (
        "layout-view-of-endless-span",
        "tensor_addressing.view.transposed_endless_span",
        "span: [32, -7]",
        "span: [32, 7]",
    ),
    ("layout-view-of-endless-span", "tensor_addressing.view.transposed_endless_span", ", view: v", ""),
    ("layout-span-runs-out", "tensor_addressing.slice.full_rows_run_out", "span: [4, 16]", "span: [16, 16]"),
    ("layout-span-runs-out", "tensor_addressing.slice.full_rows_run_out", "span: [4, 16]", "span: [4, 64]"),
    ("reduce-beyond-8", "reductions.add.column_f32", "rows: 16, cols: 16", "rows: 8, cols: 8"),
    ("reduce-beyond-8", "reductions.add.column_f32", "mode: [Column]", "mode: [Row, Column]"),
    ("reduce-beyond-16", "reductions.add.row_of_two_tiles", "rows: 32, cols: 32", "rows: 16, cols: 16"),
    ("reduce-beyond-16", "reductions.add.row_of_two_tiles", "mode: [Row]", "mode: [Row, Column]"),
    ("reduce-inexact-sum", "reductions.add.inexact_row", "mode: [Row]", "mode: [Column]"),
    (
        "reduce-inexact-sum",
        "reductions.add.inexact_row",
        "[16777216, 1, -16777216, 3, 0.5, 1]",
        "[16, 1, -16, 3, 0.5, 1]",
    ),
    ("reduce-negated-max", "reductions.functions.negated_max", "-max(-x, -y)", "min(x, y)"),
    ("reduce-negated-max", "reductions.functions.negated_max", "-max(-x, -y)", "-max(-x, y)"),
    (
        "vector-product-in-switch",
        "vector_multiply.flow.product_in_one_arm_of_a_switch",
        "{dynamic: 1, inv: 3}",
        "{dynamic: 1}",
    ),
    ("vector-product-in-arm", "vector_multiply.flow.product_in_one_arm", "{literal: 0, inv: 1}", "{dynamic: 1}"),
    (
        "vector-product-in-arm",
        "vector_multiply.flow.product_in_a_loop_of_none",
        "count: {literal: 0, inv: 1}",
        "count: 2",
    ),
    (
        "vector-product-in-switch",
        "vector_multiply.flow.products_in_two_arms_of_a_switch",
        "{literal: 0, inv: 1}",
        "{dynamic: 1}",
    ),
    (
        "vector-offset-in-loop",
        "vector_multiply.flow.offset_by_iteration",
        "matrix_offset: {literal: 64, loop: 64}",
        "matrix_offset: 64",
    ),
    (
        "vector-offset-in-loop",
        "vector_multiply.flow.offset_by_iteration",
        "count: {literal: 0, inv: 1}",
        "count: 2",
    ),
    ("vector-offset-in-loop", "vector_multiply.flow.offset_read_in_a_loop", "{dynamic: 64}", "{spec: 64}"),
    ("vector-optimal-above-64", "vector_multiply.layout.inferencing_128_columns", "128", "64"),
    ("vector-stride-read", "vector_multiply.memory.stride_read_by_32", "{dynamic: 16}", "16"),
    (
        "vector-product-of-workgroup-memory",
        "vector_multiply.memory.input_from_workgroup",
        "shape: [1, 32], data: {iota: {start: -3, modulo: 7}}, storage: Workgroup",
        "shape: [32], data: {iota: {start: -3, modulo: 7}}",
    ),
    ("vector-zero-divided", "vector_arithmetic.floats.zero_divided", "a: z, b: x", "a: x, b: x"),
    ("zero-vector-divided", "vector_arithmetic.floats.zero_divided", "a: z, b: x", "a: x, b: x"),
    ("workgroup-along-y-or-z", "vector_arithmetic.workgroups.along_y", "inv.y: 16", "inv: 16"),
    (
        "workgroup-along-y-or-z",
        "vector_arithmetic.workgroups.along_y",
        "invocations: 5, shape: {y: 5}",
        "invocations: 5",
    ),
    ("mul-add-c-again", "matrix_arithmetic.mul_add.c_is_kept", "matrix: c0", "matrix: d0"),
    (
        "structure-passed",
        "per_element.extras.structure",
        "body: value * s.scale + s.other, "
        "extras: [{name: s, members: [{name: scale, type: float32}, {name: other, type: float32}]}]",
        "body: 'value * s[0] + s[1]', extras: [{name: s, type: float32, count: 2}]",
    ),
    (
        "structure-passed",
        "per_element.extras.structure",
        "body: value * s.scale + s.other, "
        "extras: [{name: s, members: [{name: scale, type: float32}, {name: other, type: float32}]}]",
        "body: value * s.scale + t.other, extras: [{name: s, members: [{name: scale, type: float32}]}, "
        "{name: t, members: [{name: other, type: float32}]}]",
    ),
    ("matrix-in-struct", "matrix_memory.copies.struct_uint8", "through: Struct", "through: Array"),
    (
        "matrix-copied-whole",
        "matrix_memory.copies.copymemory_float16",
        "through: CopyMemory",
        "through: Variable",
    ),
    (
        "circle-of-matrices",
        "matrix_programs.loop.nulls_change_places",
        "next: [l1, l2, l3, l]",
        "next: [l1, l, l2, l3]",
    ),
    ("matrix-extent-256", "matrix_memory.sizes.largest_dimension", "cols: 256,", "cols: 128,"),
    ("vector-product-512-integers", "vector_multiply.integer.largest", "512", "256"),
    ("convert-other-signedness", "conversions.mixed.unsigned_type_read_as_signed", "ConvertSToF", "ConvertUToF"),
    ("matrix-roundings-binding", "matrix_arithmetic.environment.add_and_subtract_strict", "a: s, b: k", "a: x0, b: k"),
    (
        "matrix-roundings-binding",
        "matrix_arithmetic.environment.add_and_subtract_strict",
        "NoContraction",
        "Undecorated",
    ),
    (
        "matrix-zero-folded",
        "matrix_arithmetic.environment.plus_constant_zero",
        "FastMathNone",
        "NoContraction",
    ),
    ("matrix-zero-folded", "matrix_arithmetic.environment.plus_constant_zero", "value: 0", "value: {dynamic: 0}"),
    ("matrix-zero-folded", "matrix_arithmetic.environment.less_itself", "FSub", "FAdd"),
    ("matrix-zero-folded", "matrix_arithmetic.environment.plus_zero_of_components", "value + value", "value + 1"),
    ("matrix-zero-folded", "matrix_arithmetic.environment.plus_zero_of_components", "matrix: z", "matrix: x0"),
    ("matrix-zero-folded", "matrix_arithmetic.environment.times_scalar_zero", "scalar: '0x8000'", "scalar: '0x8001'"),
    ("matrix-divided-by-zero", "matrix_arithmetic.environment.over_constant_zero", "FDiv", "FMul"),
    ("matrix-divided-by-zero", "matrix_arithmetic.environment.over_constant_zero", "FastMathNone", "NoContraction"),
    (
        "constant-added-to-product",
        "matrix_arithmetic.environment.constant_added_to_product",
        "a: m, b: k",
        "a: c0, b: k",
    ),
    ("callback-zero-sign", "per_element.body.minimum_of_zero_product", "min(float16(col),", "(float16(col) +"),
    ("callback-zero-sign", "per_element.body.minimum_of_zero_product", "0 * float16(row - 4)", "value"),
    ("callback-zero-sign", "per_element.body.minimum_of_zero_product", "FastMathNone", "NoContraction"),
    ("callback-zero-sign", "per_element.body.maximum_of_negated_zero", "-float32(row)", "float32(row)"),
    ("callback-float16-and-integers", "per_element.body.float16_and_integer_comparisons", "row > col", "value < 99"),
    ("callback-float16-and-integers", "per_element.body.float16_and_integer_comparisons", "float16", "float32"),
    (
        "matrix-roundings-binding",
        "matrix_arithmetic.environment.constant_added_to_product",
        "a: m, b: k",
        "a: k, b: k",
    ),
    (
        "product-contracted",
        "matrix_arithmetic.environment.multiply_then_add_strict",
        "NoContraction",
        "Undecorated",
    ),
    ("product-contracted", "matrix_arithmetic.environment.multiply_then_add_strict", "FMul", "FAdd"),
    ("sum-negated", "matrix_arithmetic.environment.negated_sum_fast_math_none", "FastMathNone", "NoContraction"),
    ("sum-negated", "matrix_arithmetic.environment.negated_sum_fast_math_none", "FNegate, a: s", "FNegate, a: x0"),
    ("constant-converted-towards-zero", "conversions.modes.constant_towards_zero", "RTZ", "RTE"),
    ("constant-converted-towards-zero", "conversions.modes.constant_towards_zero", "FastMathNone", "NoContraction"),
    (
        "dual-instruction-dependent",
        "conversions.mixed.doubled_bfloat16_by_itself",
        "a: w1,",
        "a: w0,",
    ),
    ("conversion-rounding-dropped", "conversions.mixed.rounded_to_integers_strict", "float16}", "bfloat16}"),
    ("conversion-rounding-dropped", "conversions.mixed.rounded_to_integers_strict", "FastMathNone", "NoContraction"),
    ("bfloat16-widened-denormal", "conversions.modes.widened_bfloat16_is_flushed", "FlushToZero", "Preserve"),
    ("bfloat16-widened-denormal", "conversions.modes.widened_bfloat16_is_flushed", "bfloat16,", "float16,"),
    ("mul-add-large", "matrix_arithmetic.mul_add.rectangle", "48", "16"),
    ("integer-negations", "matrix_arithmetic.elements.negated_quotient", "operation: SDiv", "operation: ISub"),
    ("integer-negations", "matrix_arithmetic.elements.subtracted_quotient", "ISub, a: z", "IAdd, a: z"),
    ("integer-negations", "per_element.body.negation_shifted", ">> 5", "<< 5"),
    ("integer-negations", "per_element.body.negation_shifted", "body: -x", "body: x"),
    ("integer-negations", "per_element.body.negation_by_a_product", "(value | ~value)", "(value | value)"),
    (
        "integer-negations",
        "per_element.body.negation_by_a_product",
        "min(int8(row), (value | ~value) * value)",
        "-value",
    ),
    ("matrix-doubled", "matrix_arithmetic.environment.doubled_zero", "scalar: 2", "scalar: 3"),
    ("clip-wraps", "tensor_addressing.clip.wrapping_holds_nothing", "4294967293", "3"),
    (
        "clip-wraps-undefined",
        "tensor_addressing.clip.wrapping_holds_nothing",
        "id: t, dim: 2}",
        "id: t, dim: 2, clamp: Constant}",
    ),
    (
        "vector-product-behind-continue",
        "vector_multiply.flow.product_behind_a_continue",
        "Continue, condition: {literal: 0, inv: 1, mod: 2}",
        "Break, condition: {literal: 0, inv: 1, mod: 2}",
    ),
    (
        "tensor-load-moves",
        "tensor_addressing.dependence.tensor_store_then_tensor_load",
        "op: MatrixStoreTensor, matrix: d, buffer: mem",
        "op: MatrixStoreTensor, matrix: d, buffer: more",
    ),
    ("clip-wraps-further", "tensor_addressing.clip.wrapping_holds_nothing", "4294967293", "4294967291"),
    (
        "clamp-value-without-dimension",
        "tensor_addressing.clamp.value_without_dimension",
        "scope: Workgroup",
        "scope: Subgroup",
    ),
    (
        "vector-loop-not-stored",
        "vector_arithmetic.divergence.continued_and_not_stored",
        "  - {op: VectorLoad, id: x1, type: {component: uint32, length: 1}, buffer: src}\n"
        "  - {op: VectorArithmetic, id: v, operation: ISub, a: l, b: x1}",
        "  - {op: VectorArithmetic, id: v, operation: ISub, a: l, b: x}",
    ),
    (
        "vector-loop-not-stored",
        "vector_arithmetic.divergence.continued_and_not_stored",
        "op: Continue",
        "op: Break",
    ),
    ("magnitude-of-product", "per_element.body.magnitude_of_zero_product", "value * 0", "value + 0"),
    ("magnitude-of-product", "per_element.body.magnitude_of_zero_product", "FastMathNone", "NoContraction"),
    (
        "vector-sign-extended-then-unsigned",
        "vector_arithmetic.conversions.sign_extended_then_unsigned",
        "length: 4",
        "length: 8",
    ),
    (
        "vector-sign-extended-then-unsigned",
        "vector_arithmetic.conversions.sign_extended_then_unsigned",
        "SConvert, component: uint32",
        "UConvert, component: uint32",
    ),
    (
        "vector-load-moves",
        "vector_arithmetic.dependence.physical_load_before_a_store",
        "storage: PhysicalStorageBuffer",
        "storage: StorageBuffer",
    ),
    (
        "vector-umax-of-smin",
        "vector_arithmetic.integers.unsigned_maximum_of_a_minimum",
        "operation: SMin",
        "operation: UMin",
    ),
    (
        "vector-loop-of-many-bytes",
        "vector_arithmetic.divergence.four_carried_of_512",
        "length: 512",
        "length: 256",
    ),
    (
        "vector-float8-by-command",
        "vector_multiply.float8.by_command",
        "rows: 1, cols: 1}",
        "rows: 1, cols: 1, host: true}",
    ),
    ("vector-packed-surplus", "vector_multiply.packed.spare", "k: 6", "k: 16"),
    ("vector-stride-per-invocation", "vector_multiply.memory.stride_read_by_two", "{dynamic: 16}", "16"),
    (
        "vector-stride-per-invocation",
        "vector_multiply.memory.stride_read_by_two",
        "invocations: 2}",
        "invocations: 32}",
    ),
    (
        "vector-stride-per-invocation",
        "vector_multiply.memory.stride_read_after_return",
        "  - {op: Return, condition: {literal: 0, inv: 1, mod: 2}}\n",
        "",
    ),
    ("vector-stride-per-invocation", "vector_multiply.memory.strides_by_invocation", "inv: 16, mod: 32", "wg.x: 16"),
    ("vector-outer-of-product", "vector_training.outer.of_a_product", "a: v, b: x,", "a: x1, b: x,"),
    ("vector-outer-products-in-arms", "vector_training.outer.in_both_arms", "  - {op: Else}\n", ""),
    (
        "conversion-of-conversion",
        "vector_arithmetic.conversions.round_trip_strict",
        "h, operation: FConvert, component: float32",
        "h, operation: ConvertFToS, component: int32",
    ),
    ("conversion-of-conversion", "vector_arithmetic.conversions.round_trip_strict", "FastMathNone", "Undecorated"),
    ("conversion-of-conversion-called", "per_element.body.through_float16_strict", "float16(value)", "value"),
    ("conversion-of-conversion", "conversions.float.f32_to_bf16_through_f16_strict", "matrix: h", "matrix: x0"),
    ("conversion-of-conversion", "conversions.float.f32_to_bf16_through_f16_copied", "matrix: h", "matrix: x0"),
    (
        "conversion-of-conversion",
        "vector_arithmetic.conversions.round_trip_with_insert",
        "FConvert, component: float16",
        "FConvert, component: bfloat16",
    ),
    (
        "conversion-of-conversion",
        "vector_arithmetic.conversions.round_trip_strict",
        "FConvert, component: float16",
        "FConvert, component: bfloat16",
    ),
    ("conversion-of-conversion-called", "per_element.body.through_float16_strict", "float16(value)", "bfloat16(value)"),
    (
        "matrix-roundings-binding",
        "matrix_arithmetic.environment.round_trip_strict",
        "component: float16",
        "component: bfloat16",
    ),
    (
        "vector-negation-widened",
        "vector_arithmetic.integers.negated_and_widened",
        "operation: SNegate",
        "operation: Not",
    ),
    (
        "vector-negation-widened",
        "vector_arithmetic.integers.subtracted_and_widened",
        "length: 7}, value: 0",
        "length: 7}, value: 1",
    ),
    (
        "vector-negation-clamped",
        "vector_arithmetic.integers.negated_and_clamped",
        "operation: SClamp",
        "operation: UClamp",
    ),
    (
        "vector-rows-unlike-16",
        "vector_multiply.memory.infinity_between_rows",
        "'0x7c00', '0xfc00', '0x7e01', '0x7c00', '0xfc00', '0x7e01', '0x7c00'",
        "2, 3, 4, 5, 6, 7, 8",
    ),
    ("vector-rows-unlike-16", "vector_multiply.memory.infinity_between_rows", "RowMajor", "ColumnMajor"),
    ("convert-nan-to-bfloat16", "conversions.float.nan_to_bf16_of_another_use", "FastMathNone", "NoContraction"),
    ("convert-nan-to-bfloat16", "per_element.body.nan_through_bfloat16", "bfloat16(value)", "float16(value)"),
    (
        "convert-nan-to-bfloat16",
        "conversions.float.nan_to_bf16_of_another_use",
        "'0x7f800001', '0xff800001', '0x7f80ffff'",
        "'0x7f800000', '0xff800000', '0x7f81ffff'",
    ),
    (
        "convert-through-integers",
        "conversions.mixed.to_integers_and_back_strict",
        "FastMathNone",
        "NoContraction",
    ),
    (
        "fast-math-none-of-one",
        "matrix_arithmetic.fast_math.default_of_a_type",
        "AllowContract, AllowReassoc",
        "AllowContract",
    ),
    ("fast-math-none-of-one", "matrix_arithmetic.fast_math.default_of_a_type", "fast_math: []", "fast_math: [NSZ]"),
    ("fast-math-none-of-one", "vector_arithmetic.fast_math.default_of_a_type", "a: s, b: k, ", "a: x0, b: k, "),
    ("layout-span-endless", "tensor_addressing.slice.endless_span_of_five", "4294967295", "16"),
    (
        "loop",
        "matrix_programs.loop.five_times",
        "Loop, count: {dynamic: 5}, carry: [{id: s, init: x0}]}\n"
        "  - {op: MatrixArithmetic, id: t, operation: FAdd, a: s, b: y0}\n  - {op: EndLoop, next: [t]}",
        "MatrixArithmetic, id: s, operation: FAdd, a: x0, b: y0}",
    ),
    (
        "loop",
        "per_element.flow.sum_of_a_row",
        "for i in range(6):\n          total += int32(b[col * 6 + i])\n      ",
        "",
    ),
    ("physical-storage-buffer", "tensor_addressing.memory.physical_offsets", "PhysicalStorageBuffer", "StorageBuffer"),
    ("workgroup-size-constant", "matrix_memory.dispatch.size_constant", "SpecWorkgroupSize", "SpecLocalSizeId"),
    ("constant-without-parts", "vector_arithmetic.parts.replicated_constant", ", replicated: true", ""),
    ("float-of-16-or-32-bits", "matrix_memory.copies.component_float16", "component: float16", "component: uint16"),
    ("callback-negates-float16", "reductions.functions.negated_max_f16", "-max(-x, -y)", "min(x, y)"),
    ("callback-negates-float16", "reductions.functions.negated_max_f16", "float16", "float32"),
    ("no-fast-math", "per_element.body.minimum_of_zero_product", "FastMathNone", "NoContraction"),
]


@pytest.mark.family(("name", "case", "old", "new"), NEIGHBOURS)
def test_a_condition_holds_for_a_case_and_not_for_its_neighbour(name: str, case: str, old: str, new: str) -> None:
    text = corpus.find_one(case).path.read_text(encoding="utf-8")
    assert old in text
    holds = CONDITIONS[name]
    assert holds(loads_case(text))
    assert not holds(loads_case(text.replace(old, new)))


def test_what_a_case_was_asked_is_known_while_others_of_its_block_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Case] = []
    dependences = Reference.dependences

    def counted(oracle: Reference, case: Case) -> Any:
        asked.append(case)
        return dependences(oracle, case)

    monkeypatch.setattr(Reference, "dependences", counted)
    loads = parse("some(MatrixLoadTensor, size(written_by) > 0)")
    values = parse("some(Value, has == zero)")
    text = corpus.find_one("tensor_addressing.clamp.edge_low_load").path.read_text(encoding="utf-8")
    cases = [loads_case(text) for _ in range(KEPT)]
    answers = [(loads(case), values(case)) for case in cases]
    assert len(asked) == KEPT
    assert [(loads(case), values(case)) for case in cases] == answers and len(asked) == KEPT
    # What matrices hold is kept of one case alone: it may be much.
    assert sum("expectation" in view(case).view.__dict__ for case in cases) == 1
    loads(loads_case(text))
    assert loads(cases[0]) == answers[0][0] and len(asked) == KEPT + 2


#: Numbers that conditions may tell apart.
NUMBERS = (0, 1, 2, 3, 4, 8, 16, 1 << 24, 1 << 31)


#: Its dimensions are its span.
UNSLICED = """
schema: 1
name: unsliced
buffers:
  src: {type: float32, shape: [256], data: {iota: {}}}
  dst: {type: float32, shape: [256], data: {fill: -1}}
program:
  - {op: TensorLayout, id: t, dim: 2}
  - {op: TensorLayoutSetDimension, id: t1, of: t, dims: [{dynamic: 8}, {dynamic: 16}]}
  - op: MatrixConstant
    id: z
    type: {component: float32, scope: Subgroup, rows: 16, cols: 16, use: Accumulator}
    value: 0
  - {op: MatrixLoadTensor, id: m, object: z, buffer: src, layout: t1}
  - {op: MatrixStore, matrix: m, buffer: dst, stride: 16}
"""


@pytest.mark.parametrize("area", sorted({entry.area for entry in corpus.entries()}))
def test_conditions_of_sets_are_those_of_each_set(area: str) -> None:
    for entry in corpus.entries():
        if entry.area == area:
            _check_sets(corpus.load(entry.path).case)


def test_conditions_of_sets_of_dimensions() -> None:
    _check_sets(loads_case(UNSLICED))


def _check_sets(case: Case) -> None:
    """With one operand changed in each: where conditions say that they look, and where they say that they do not."""
    # Not every number is the bits of a component.
    changed = [
        i for i, (_, _, operand) in enumerate(case_dynamic_operands(case)) if not isinstance(operand, SpecNumber)
    ]
    sets = np.tile(dynamic_words(case), (len(changed) * len(NUMBERS) + 1, 1))
    for row, (i, number) in enumerate(product(changed, NUMBERS), 1):
        sets[row, i] = number
    sweep = Sweep(case, sets)
    each = [sweep.case(i) for i in range(len(sweep))]
    for name, condition in CONDITIONS.items():
        if condition.reads is not None:
            assert of_sets(condition, sweep, {}).tolist() == [condition(one) for one in each], name


def test_every_condition_has_a_neighbour() -> None:
    assert {name for name, *_ in NEIGHBOURS} == set(CONDITIONS)


#: A null `z`, a matrix `l` from a buffer, and what becomes of them before a conversion of `y`.
CONVERTED = """
schema: 1
name: converted
buffers:
  src: {{type: float16, shape: [8, 16], data: {{iota: {{}}}}}}
  dst: {{type: bfloat16, shape: [8, 16], data: {{fill: -5}}}}
program:
  - {{op: MatrixNull, id: z, type: {{component: float16, scope: Subgroup, rows: 8, cols: 16, use: A}}}}
  - op: MatrixLoad
    id: l
    type: {{component: float16, scope: Subgroup, rows: 8, cols: 16, use: A}}
    buffer: src
    stride: 16
{program}
  - {{op: MatrixConvert, id: w, matrix: y, operation: FConvert, component: bfloat16}}
  - {{op: MatrixStore, matrix: w, buffer: dst, stride: 16}}
"""
LOOP = "  - {{op: Loop, count: {{dynamic: 3}}, carry: [{{id: y, init: z}}]}}\n  - {{op: EndLoop, next: [{next}]}}"
BRANCH = (
    "  - {{op: If, condition: {{dynamic: 1}}}}\n  - {{op: Else}}\n"
    "  - {{op: EndIf, merge: [{{id: y, then: {then}, otherwise: {otherwise}}}]}}"
)


@pytest.mark.parametrize(
    ("program", "holds"),
    [
        (LOOP.format(next="y"), True),
        (LOOP.format(next="z"), True),
        (LOOP.format(next="l"), False),
        (BRANCH.format(then="z", otherwise="z"), True),
        (BRANCH.format(then="l", otherwise="z"), False),
        ("  - {op: MatrixArithmetic, id: y, operation: FNegate, a: z}", True),
        ("  - {op: MatrixArithmetic, id: y, operation: FNegate, a: l}", False),
        ("  - {op: MatrixTimesScalar, id: y, matrix: l, scalar: 0}", True),
        ("  - {op: MatrixTimesScalar, id: y, matrix: l, scalar: 2}", False),
        ("  - {op: MatrixCopy, id: y, matrix: z, through: Array}", True),
        ("  - {op: MatrixCopy, id: y, matrix: l, through: Array}", False),
    ],
)
def test_conversions_of_one_number_behind_loops_and_branches(program: str, holds: bool) -> None:
    assert CONDITIONS["one-number-converted"](loads_case(CONVERTED.format(program=program))) == holds


ARMS = """
schema: 1
name: arms
dispatch: {{invocations: 4}}
opaque:
  g: {{component: float16, rows: 2, cols: 2, layout: TrainingOptimal, zero: true}}
buffers:
  a: {{type: float16, shape: [8], data: {{iota: {{}}}}}}
program:
  - {{op: VectorLoad, id: t, type: {{component: float16, length: 2}}, buffer: a}}
{program}
"""
OPERATIONS = {
    "if": "{op: If, condition: {literal: 0, inv: 1}}",
    "else": "{op: Else}",
    "end": "{op: EndIf}",
    "outer": "{op: VectorOuterProductAccumulate, a: t, b: t, matrix: g, interpretation: float16}",
}


def arms(program: str) -> Case:
    return loads_case(ARMS.format(program="\n".join(f"  - {OPERATIONS[word]}" for word in program.split())))


@pytest.mark.parametrize(
    ("program", "holds"),
    [
        ("outer if outer end outer", False),
        ("if else outer end", False),
        ("if outer else end if outer end", False),
        ("if outer else outer end", True),
        ("if outer else if outer end end", True),
        ("if if else outer end else outer end", True),
        ("if else if outer end end", False),
    ],
)
def test_outer_products_in_nested_arms(program: str, holds: bool) -> None:
    assert CONDITIONS["vector-outer-products-in-arms"](arms(program)) == holds
