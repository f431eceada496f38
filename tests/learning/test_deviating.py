"""Deviations that are learnt from a finding, and entries that are added to a baseline."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from cts.base.errors import BadInput
from cts.base.memory import GUARD_BYTES
from cts.case.model import Case, loads_case
from cts.case.oracle.deviation import Step
from cts.features.deviations import parse_deviation
from cts.findings.learning.deed import Deed
from cts.findings.learning.deeds import deeds
from cts.findings.learning.deviating import DeviationLearner, Evidence, LearntDeviation, Ran, rivals
from cts.findings.learning.models import Model, models, places_of
from cts.judging.deviations import leaves
from cts.judging.judge import judge
from cts.judging.known import baseline, entries
from cts.judging.verdict import Verdict
from cts.plugins import registry
from cts.running import corpus
from cts.running.opening import open_driver

#: Small cases with conversions of several kinds, of which a bug in one kind shows in some.
CASES = [
    f"conversions.{name}"
    for name in (
        "transpose.square", "transpose.rectangle", "transpose.tall", "transpose.bytes", "use.widened_to_a",
        "use.narrowed_to_b", "use.same_width", "use.convert_int8_to_a", "use.convert_float16_to_b", "integer.s8_to_s32",
        "transpose.one_tile", "transpose.partial_tiles", "transpose.workgroup_scope", "transpose.in_a_multiplication",
    )
]  # fmt: skip


def read(name: str) -> Case:
    return corpus.read(corpus.find_one(name), registry.oracle())


def learnt(mutant: str, finding: str, budget: int = 60) -> LearntDeviation | None:
    driver, oracle = open_driver(f"emulator:mutant={mutant}"), registry.oracle()

    def run(cases: Sequence[Case]) -> list[Ran | None]:
        attempts = [judge(driver, case, oracle.expect(case)) for case in cases]
        return [(a.verdict is Verdict.FAIL, a.outcome.memory) if a.outcome is not None else None for a in attempts]

    first = judge(driver, read(finding), oracle.expect(read(finding)))
    assert first.verdict is Verdict.FAIL and first.outcome is not None
    others = iter([read(name) for name in CASES if name != finding])
    return DeviationLearner(read(finding), first.outcome.memory, others, run, budget).learn()


def test_a_deviation_is_learnt_with_its_condition() -> None:
    found = learnt("transpose-not-applied", "conversions.transpose.rectangle")
    assert found is not None
    assert (found.text, found.condition) == (
        "wrong(MatrixTranspose, result=operand(matrix))",
        "some(MatrixTranspose)",
    )
    assert found.explained == found.failing >= 4 and found.right == found.predicted
    assert found.runs <= len(CASES)


def test_a_model_that_others_have_refuted_is_no_rival() -> None:
    def evidence(name: str, explained: int, right: int, unexplained: int = 0) -> Evidence:
        model = Model("MatrixLoad", Deed("result", (Step(name),)), (0,))
        return Evidence(model, right={(case, 0) for case in range(right)}, explained=explained, unexplained=unexplained)

    best, refuted, doubtful = evidence("zero", 3, 0), evidence("first", 3, 6), evidence("negated", 3, 5)
    worse = evidence("before", 3, 0, unexplained=9)
    assert rivals([refuted, worse, doubtful, best]) == [best, doubtful]
    assert rivals([refuted, doubtful, evidence("magnitude", 3, 1)])[1:] == [doubtful, refuted]
    assert rivals([evidence("magnitude", 3, 9), evidence("before", 3, 1)])[1:] == []


def test_nothing_is_learnt_of_what_the_vocabulary_cannot_say() -> None:
    assert learnt("output-gets-element", "per_element.outputs.places_of_elements") is None


def test_a_model_leaves_the_memory_of_its_case() -> None:
    driver, oracle, case = open_driver("emulator:mutant=transpose-not-applied"), registry.oracle(), read(CASES[0])
    outcome = judge(driver, case, oracle.expect(case)).outcome
    assert outcome is not None
    texts = {f"{one.kind} {one.deed.text}" for one in models(case, outcome.memory)}
    assert "MatrixTranspose result=operand(matrix)" in texts
    assert "MatrixTranspose result=zero" not in texts and "MatrixLoad result=transposed" in texts


@pytest.mark.parametrize(
    ("mutant", "name", "text"),
    [
        (
            "conversion-source-columns-ignored",
            "vector_conversions.layout.columns_to_rows",
            "Conversion source_layout=RowMajor",
        ),
        ("conversions-repeated", "vector_training.outer.two_dispatches", "Case conversions=repeated"),
    ],
)
def test_conversions_by_command_have_models(mutant: str, name: str, text: str) -> None:
    driver, oracle, case = open_driver(f"emulator:mutant={mutant}"), registry.oracle(), read(name)
    attempt = judge(driver, case, oracle.expect(case))
    assert attempt.verdict is Verdict.FAIL and attempt.outcome is not None
    assert text in {f"{one.kind} {one.deed.text}" for one in models(case, attempt.outcome.memory)}


@pytest.mark.parametrize(
    ("mutant", "name", "text"),
    [
        ("repeat-one-period", "clamp.repeat_has_period_of_the_dimension", "MatrixLoadTensor, address=clamped(once)"),
        ("mirror-one-bounce", "clamp.mirrored_2d_deep", "MatrixLoadTensor, address=clamped(once)"),
        ("mirror-edge-twice", "block.mirrored", "MatrixLoadTensor, address=clamped(edge_twice)"),
        ("mirror-period-odd", "block.mirrored", "MatrixLoadTensor, address=clamped(odd_period)"),
        ("repeat-span", "clamp.repeat_1d_deep", "MatrixLoadTensor, address=clamped(by_span)"),
        ("edge-low-unclamped", "constness.dimensions_spec", "MatrixLoadTensor, address=clamped(high_alone)"),
        ("view-index-64-bit", "wrap.view_index", "MatrixLoadTensor, address=through_view(wide)"),
        ("view-outermost-unreduced", "view.one_dimension", "MatrixLoadTensor, address=through_view(unreduced)"),
        ("decode-of-clipped", "view.clip", "MatrixLoadTensor, address=through_view(clipped_first)"),
        (
            "reduce-extreme-starts-finite",
            "max.zeros_and_infinities",
            "MatrixReduce, matrix=instead(negative_infinity, greatest)",
        ),
        (
            "subgroup-matrix-shared",
            "scopes.subgroups_to_workgroup",
            "MatrixLoad, result.scope == Subgroup, case.scopes == Workgroup, result=first_of_each(0)",
        ),
        (
            "vector-optimal-first-four",
            "layout.inferencing_128_columns",
            "VectorMatrixMul, matrix=[from_column(64), columns_of_each(16, 4)]",
        ),
        ("unpacked-sign-lost", "microscaling.mxfp4", "MatrixLoadTensor, body=[inside(float4_e2m1), magnitude]"),
        ("store-low-written", "store.corner_of_five_dimensions", "MatrixStoreTensor, address=clamped(high_alone)"),
        ("store-high-written", "clamp.constant_high_store", "MatrixStoreTensor, address=clamped(low_alone)"),
        ("store-edge-clamps", "clamp.edge_high_store", "MatrixStoreTensor, address=clamped(as_load)"),
        ("decode-pointer-pointee-scaled", "address.blocks_of_columns", "MatrixLoadTensor, address=advancing(0)"),
        ("decode-coordinates-before-clamp", "clamp.edge_q4_0", "MatrixLoadTensor, coordinates=before"),
        ("decode-coordinates-reversed", "address.blocks_of_columns", "MatrixLoadTensor, coordinates=reversed"),
        ("output-only-first", "outputs.several_in_a_loop", "MatrixPerElement, outputs=once"),
        ("output-index-swapped", "outputs.in_the_next_dispatch", "MatrixPerElement, outputs=transposed"),
        ("table-of-first-workgroup", "tables.in_workgroup_memory", "MatrixPerElement, memory=first_instance"),
        ("loop-outer-is-inner", "return.in_a_nested_loop", "Case, operands=inner_iteration"),
        ("break-continues", "loop.break_by_turn", "Break, op=Continue"),
        ("continue-breaks", "loop.continue_first", "Continue, op=Break"),
        ("per-element-swapped", "applied_twice", "MatrixPerElement, coordinates=swapped(0, 1)"),
        ("coordinate-use-b-swapped", "coordinates.b_int8", "MatrixComponents, coordinates=swapped(0, 1)"),
        ("vector-loop-carries-two", "divergence.carried_on_with_continue", "EndLoop, next=at_most(2)"),
        ("outer-product-swapped", "outer.beyond_half", "VectorOuterProductAccumulate, a=exchanged(b)"),
        (
            "vector-negation-unwrapped",
            "integers.negated_and_widened",
            "VectorConvert, result=beside(vector, least, negated)",
        ),
        ("vector-negation-unwrapped", "integers.negated_and_widened", "VectorConvert, result=unwrapped(SNegate)"),
        (
            "copy-memory-first-words",
            "copies.copymemory_float16",
            "MatrixCopy, result=[dealt(tiles_8x8), before_in_second_half]",
        ),
        (
            "component-literal-before",
            "copies.last_sure_component",
            "MatrixCopy, component=[dealt(tiles_8x8), plus(-1)]",
        ),
        ("helper-first-arguments", "helpers.called_twice", "MatrixPerElement, body=[inside(call), first_alike]"),
        (
            "callback-abs-keeps-zero",
            "body.magnitude_of_zeros",
            "MatrixPerElement, body=[inside(abs), beside(a, negative_zero, negated)]",
        ),
        ("vector-tanh-overflows", "floats.tanh", "VectorArithmetic, result=beside(a, exp_of_twice_overflows, nan)"),
        ("vector-rows-whole-pieces", "memory.infinity_between_rows", "VectorMatrixMul, terms=whole_pieces(16)"),
        ("subgroup-in-3-bits", "sizes.nine_subgroups", "Case, operands=counted(sg, 3)"),
        ("loop-in-3-bits", "sizes.nine_turns", "Case, operands=counted(loop, 3)"),
        ("least-normal-flushed", "edges.floats_at_the_ends", "MatrixArithmetic, result=instead(smallest, zero)"),
        ("loop-index-frozen", "condition.in_a_loop", "Case, operands=first_iteration"),
        ("atomic-add-elected", "atomic.integers_wrap", "VectorAtomicAdd, result=elected(32)"),
        ("conversion-through-bfloat16", "types.float32_to_float16", "Conversion, source=rounded(bfloat16)"),
        ("float8-types-of-a", "mul_add.e4m3_e5m2", "MatrixMulAdd, b=read_as(a)"),
        ("function-scalars-of-first", "outputs.read_after_a_barrier", "MatrixPerElement, scalars=of_first(function)"),
        ("loop-reduce-hoisted", "kernel.flash_attention", "MatrixReduce, result=first_iteration"),
        ("reduce-both-rows-only", "add.both_of_20x12", "MatrixReduce, mode=Row"),
        ("transposing-within-tiles", "transposed.a_float32", "MatrixConvertUse, result=tiles_swapped(8)"),
        (
            "vector-tail-uncomputed",
            "floats.exponentials_of_half",
            "VectorArithmetic, result=[in_place(a), before_beyond_columns(2)]",
        ),
        ("vector-transpose-ignored", "layout.transposed", "VectorMatrixMul, transpose=False"),
        (
            "float8-infinity-saturates",
            "float8.infinity_to_e5m2",
            "MatrixConvert, result=beside(matrix, infinity, greatest)",
        ),
        (
            "partial-tile-not-loaded",
            "arm.rows_of_words",
            "MatrixLoad, result=[before_beyond_rows(8), before_beyond_columns(8)]",
        ),
        ("vector-input-integers-ties-away", "float.integer_input", "VectorMatrixMul, input=rounded_away(float16)"),
    ],
)
def test_a_deviation_leaves_the_memory_of_a_planted_bug(mutant: str, name: str, text: str) -> None:
    """Each is tried for the case, and leaves other memory than the right one."""
    areas = {"tensor_addressing", "block_loads", "per_element", "matrix_programs", "matrix_arithmetic"}
    areas |= {"vector_arithmetic", "vector_training", "vector_multiply", "matrix_memory"}
    areas |= {"conversions", "reductions", "vector_conversions"}
    (entry,) = [one for one in corpus.entries() if one.name.partition(".")[::2] in {(area, name) for area in areas}]
    case, driver, oracle = (
        corpus.read(entry, registry.oracle()),
        open_driver(f"emulator:mutant={mutant}"),
        registry.oracle(),
    )
    attempt = judge(driver, case, oracle.expect(case))
    assert attempt.verdict is Verdict.FAIL and attempt.outcome is not None
    deviation = parse_deviation(f"wrong({text})")
    assert leaves(case, deviation.at(case), attempt.outcome.memory)
    call = ast.parse(f"wrong({text})", mode="eval").body
    assert isinstance(call, ast.Call)
    (how,) = call.keywords
    deed = f"{how.arg}={ast.unparse(how.value)}"
    assert deed in {one.text for place in places_of(case, deviation.kind) for one in deeds(case, place)}


def test_a_selector_and_literals_are_compared_in_their_low_bits() -> None:
    case, oracle = read("matrix_programs.switch.far_literals"), registry.oracle()
    attempt = judge(open_driver("emulator:mutant=switch-literals-in-16-bits"), case, oracle.expect(case))
    assert attempt.verdict is Verdict.FAIL and attempt.outcome is not None
    for text, right in (
        ("wrong(Switch, selector=low_bits(16)) and wrong(Branch, literals=low_bits(16))", True),
        ("wrong(Branch, literals=low_bits(16))", False),
    ):
        assert leaves(case, parse_deviation(text).at(case), attempt.outcome.memory) is right
    branch = next(n for n, one in enumerate(case.program) if type(one).__name__ == "Branch")
    assert "literals=low_bits(16)" in {one.text for one in deeds(case, branch)}


def test_what_overflows_by_a_deviation_is_known_whatever_modes_a_module_has() -> None:
    # FastMathNone, by which such elements are judged, implies this mode, and excludes it.
    convert = """
schema: 1
name: overflow
float_modes: {float32: [SignedZeroInfNanPreserve]}
buffers:
  src: {type: uint32, shape: [8], data: {fill: 4294904064}}
  dst: {type: float16, shape: [64], data: {fill: 0}}
program:
  - {op: MatrixLoad, id: m, type: {component: uint32, scope: Subgroup, rows: 8, cols: 8, use: Accumulator}, buffer: src, stride: 0}
  - {op: MatrixConvert, id: n, matrix: m, operation: ConvertSToF, component: float16}
  - {op: MatrixStore, matrix: n, buffer: dst, stride: 8}
"""  # noqa: E501
    case, wrong = loads_case(convert), loads_case(convert.replace("ConvertSToF", "ConvertUToF"))
    outcome = judge(open_driver("emulator"), wrong, registry.oracle().expect(wrong)).outcome
    assert outcome is not None
    assert leaves(case, parse_deviation("wrong(MatrixConvert, operation=ConvertUToF)").at(case), outcome.memory)
    assert not leaves(case, parse_deviation("wrong(MatrixConvert, result=zero)").at(case), outcome.memory)


@pytest.mark.parametrize(("left", "known"), [(0xFFC00000, True), (0x7F800000, True), (0x3F800000, False)])
def test_overflow_in_another_order_is_known_where_float_controls_deviate(left: int, known: bool) -> None:
    case = loads_case("""
schema: 1
name: order
float_controls: FastMathNone
buffers:
  src: {type: float32, shape: [8], data: {fill: '0x7f7fffff'}}
  dst: {type: float32, shape: [64], data: {fill: 1}}
program:
  - {op: MatrixLoad, id: m, type: {component: float32, scope: Subgroup, rows: 8, cols: 8, use: Accumulator}, buffer: src, stride: 0}
  - {op: MatrixNull, id: z, type: {component: float32, scope: Subgroup, rows: 8, cols: 8, use: Accumulator}}
  - {op: MatrixArithmetic, id: p, operation: FMul, a: m, b: z}
  - {op: MatrixTimesScalar, id: s, matrix: p, scalar: 2}
  - {op: MatrixStore, matrix: s, buffer: dst, stride: 8}
""")  # noqa: E501
    outcome = judge(open_driver("emulator"), case, registry.oracle().expect(case)).outcome
    assert outcome is not None
    memory = {name: bytes_.copy() for name, bytes_ in outcome.memory.items()}
    memory["dst"][GUARD_BYTES : GUARD_BYTES + 4].view(np.uint32)[0] = left
    deviation = parse_deviation("wrong(Case, float_controls=Undecorated)")
    assert leaves(case, deviation.at(case), memory) is known


@pytest.mark.parametrize(
    "name", [CASES[0], "reductions.add.row_f32", "tensor_addressing.slice.four_deep", "vector_multiply.packed.spare"]
)
def test_deeds_are_deviations_that_can_be_written(name: str) -> None:
    """What is tried can be read back as text, so that each could be an entry."""
    case = read(name)
    for place, instruction in enumerate(case.program):
        for deed in deeds(case, place):
            deviation, *_ = parse_deviation(f"wrong({type(instruction).__name__}, {deed.text})").at(case)
            assert (deviation.part, deviation.word) == (deed.part, deed.word)
            assert [step.name for step in deviation.steps] == [step.name for step in deed.steps]


ENTRY = {"match": {"condition": "some(MatrixReduce)"}, "verdict": "fail", "reason": "wrong: see [link], 'quoted'"}


def test_entries_are_added_to_a_file_that_is_made(tmp_path: Path) -> None:
    path = tmp_path / "known.yaml"
    for count in (1, 2):
        entries.append(path, ENTRY)
        rules = baseline.load(path)[0].rules
        assert [rule.reason for rule in rules] == [ENTRY["reason"]] * count


def test_comments_and_order_of_a_file_stay(tmp_path: Path) -> None:
    path = tmp_path / "known.yaml"
    head = "# Mine.\nschema: 1\nconditions:\n  a: some(MatrixReduce)\n"
    before = head + "entries:\n  # First.\n  - {match: {condition: a}, verdict: fail, reason: b}\n"
    path.write_text(before)
    entries.append(path, ENTRY)
    assert path.read_text().startswith(before) and len(baseline.load(path)[0].rules) == 2


def test_an_empty_list_is_a_place_for_entries(tmp_path: Path) -> None:
    path = tmp_path / "known.yaml"
    path.write_text("schema: 1\nentries: []\n")
    entries.append(path, ENTRY)
    assert len(baseline.load(path)[0].rules) == 1


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("schema: 1\nentries:\n  - {match: {cases: a}, verdict: fail, reason: b}\nconditions: {}\n", "baseline-order"),
        ("schema: 1\nentries: [{match: {cases: a}, verdict: fail, reason: b}]\n", "baseline-order"),
        ("schema: 2\nentries: []\n", "quarantine-invalid"),
    ],
)
def test_a_file_that_nothing_can_be_added_to_is_refused_and_stays(tmp_path: Path, text: str, code: str) -> None:
    path = tmp_path / "known.yaml"
    path.write_text(text)
    with pytest.raises(BadInput) as caught:
        entries.append(path, ENTRY)
    assert caught.value.code == code and path.read_text() == text


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        entries.check(tmp_path / "none" / "known.yaml")
    assert caught.value.code == "baseline-unwritable"
