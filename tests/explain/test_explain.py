"""What an explanation says: of drivers that show their matrices, of devices that do not, of crashes and of nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import ModuleType

import msgspec
import pytest

from cts.base.errors import BadInput
from cts.case.model import Case, MatrixMulAdd, MatrixStore, initial_bits, loads_case
from cts.case.oracle.trace import StepKind
from cts.device.driver import Fault, Job, Outcome, Status
from cts.findings.explain import Explanation, explain
from cts.findings.explain.instrument import instrumented, points
from cts.findings.explain.locate import locate
from cts.findings.explain.model import INSTRUMENTED, MEMORY, SHORTENED, SHOWN
from cts.findings.explain.needed import needed
from cts.findings.explain.other_contents import other_contents
from cts.findings.explain.text import lines
from cts.findings.explain.tried import Tried, explaining
from cts.judging.judge import OpenDriver, judge
from cts.judging.sentences import step_parts
from cts.judging.verdict import Verdict
from cts.running.opening import open_driver
from tests.case_builder import corpus_case
from tests.explain.drivers import ORACLE, debugged, device

MIRRORED = "tensor_addressing.clamp.mirrored_two_rows"
CLIPPED = """
schema: 1
name: clipped
buffers:
  src: {type: float16, shape: [16, 8], data: {iota: {}}}
  dst: {type: float16, shape: [16, 16], data: {fill: -5}}
program:
  - {op: TensorLayout, id: t, dim: 2, clamp: Constant}
  - {op: TensorLayoutSetDimension, id: t1, of: t, dims: [16, 8]}
  - {op: TensorLayoutSlice, id: t2, of: t1, offset: [0, 0], span: [16, 16]}
  - {op: TensorLayoutSetClampValue, id: t3, of: t2, value: 0x3c00}
  - {op: TensorView, id: v, dim: 2, has_dimensions: false, permutation: [0, 1]}
  - {op: TensorViewSetClip, id: w, of: v, row_offset: 0, row_span: 12, col_offset: 0, col_span: 16}
  - {op: MatrixConstant, id: z, type: {component: float16, scope: Subgroup, rows: 16, cols: 16, use: A}, value: -7}
  - {op: MatrixLoadTensor, id: m, object: z, buffer: src, layout: t3, view: w}
  - {op: MatrixStore, matrix: m, buffer: dst, stride: 16}
"""


def explained(name: str, driver: str) -> Explanation:
    return explain(corpus_case(name), open_driver(driver), ORACLE)


def text(explanation: Explanation) -> str:
    return "\n".join(line for line, _ in lines(explanation))


def test_a_wrong_load() -> None:
    found = explained(MIRRORED, "emulator:mutant=mirror-edge-twice")
    assert (found.verdict, found.instruction, found.op, found.result) == (Verdict.FAIL, 4, "MatrixLoadTensor", "m")
    assert (found.how, found.wrong, found.total) == (SHOWN, 216, 256)
    assert found.facts[0] == "TA-035"
    first = found.elements[0]
    assert (first.row, first.col, first.expected, first.actual) == (0, 0, "0x0000 (0.0)", "0x3c00 (1.0)")
    assert first.read_instead == "src[0, 1], byte 2"
    assert [s.fact for s in first.steps] == [
        "CM-010", "TA-010", "TA-014", "TA-016", "TA-031", "TA-034", "TA-035", "TA-035", "TA-030", "TA-036", "CM-010",
    ]  # fmt: skip
    assert len(found.picture) == 16
    assert found.picture[0] == "XXX.XXXX...XXXX."


def test_a_product_is_read_from_none_of_its_factors() -> None:
    """Element (0, 1) is 2, as one of the inputs is, by chance; the sum is that of row 0."""
    found = explained("vector_multiply.memory.stride_read_by_two", "emulator:mutant=vector-stride-of-lane-four")
    assert (found.op, found.elements[0].actual) == ("VectorMatrixMul", "0x4000 (2.0)")
    assert {e.read_instead for e in found.elements} == {""}
    assert "match this mistake:\n  the stride of program[1] VectorMatrixMul is 0: CV-018" in text(found)
    assert found.facts[0] == "CV-018"


def test_a_mistake_that_leaves_all_memory_is_said_once() -> None:
    case, driver = corpus_case("conversions.transpose.bytes"), open_driver("emulator:mutant=transpose-not-applied")
    alone, found = (explain(case, driver, ORACLE, deviations=most) for most in (0, 40))
    words = "the result of program[1] MatrixTranspose is its operand matrix"
    assert f"match each of these mistakes:\n  {words}: CM-052" in text(alone)
    assert words in {one.what for one in found.as_if} and "these mistakes" not in text(found)
    assert "wrong(MatrixTranspose, result=operand(matrix))" in {one.text for one in found.leaves}


def test_everything_survives_json() -> None:
    found = explained(MIRRORED, "emulator:mutant=mirror-edge-twice")
    assert msgspec.json.decode(msgspec.json.encode(found), type=Explanation) == found


def test_the_interpreter_shows_its_matrices_as_well() -> None:
    case = loads_case(CLIPPED)
    shown = explain(case, open_driver("emulator:mutant=object-ignored"), ORACLE)
    assert (shown.how, shown.op, shown.facts[0]) == (SHOWN, "MatrixLoadTensor", "TA-038")
    assert explain(case, open_driver("interpreter"), ORACLE).verdict is Verdict.PASS


def test_a_picture_tells_clipped_from_clamped() -> None:
    found = explain(loads_case(CLIPPED), open_driver("emulator:mutant=object-ignored"), ORACLE)
    assert found.picture[0] == "." * 8 + "k" * 8
    assert found.picture[-1] == "C" * 16
    assert "C wrong, and clipped" in text(found)
    found = explain(loads_case(CLIPPED), open_driver("emulator:mutant=clamp-value-zero"), ORACLE)
    assert found.picture[0] == "." * 8 + "K" * 8
    assert found.picture[-1] == "c" * 16
    assert found.as_if[0].exact
    assert found.facts[:2] == ("TA-017", "TA-038")


def test_elements_that_were_asked_for() -> None:
    driver = open_driver("emulator:mutant=mirror-edge-twice")
    found = explain(corpus_case(MIRRORED), driver, ORACLE, [(0, 3), (15, 15)])
    assert [(e.row, e.col, e.right) for e in found.elements] == [(0, 3, True), (15, 15, False)]
    assert found.elements[0].read_instead == ""
    with pytest.raises(BadInput, match="16 rows and 16 columns"):
        explain(corpus_case(MIRRORED), driver, ORACLE, [(16, 0)])


def test_a_store_that_does_nothing() -> None:
    found = explained("tensor_addressing.store.to_the_last_byte", "emulator:mutant=store-invocation-idle")
    assert found.op.startswith("MatrixStore")
    assert any("U" in line for line in found.picture)
    assert "not written: holds its old value" in text(found)


def test_a_product_lists_its_terms() -> None:
    found = explained("matrix_arithmetic.mul_add.s8", "emulator:mutant=a-sign-ignored")
    assert found.op == "MatrixMulAdd"
    steps = [step_parts(s)[0] for s in found.elements[0].steps if s.kind is StepKind.PRODUCT]
    assert len(steps) == 16
    assert found.as_if[0].what == "the operands of program[3] MatrixMulAdd are without MatrixASigned"


def test_a_loop_names_its_iteration() -> None:
    found = explained("matrix_programs.loop.multiply_add", "emulator:mutant=k-last-dropped")
    assert (found.op, found.how, found.iterations) == ("MatrixMulAdd", INSTRUMENTED, (0,))
    assert "iteration 0" in text(found)


# Devices that show nothing but memory.


def test_a_device_shows_intermediate_results_by_storing_them() -> None:
    found = explain(corpus_case(MIRRORED), device("mirror-edge-twice"), ORACLE)
    assert (found.op, found.result, found.how, found.wrong) == ("MatrixLoadTensor", "m", INSTRUMENTED, 216)
    assert found.facts[0] == "TA-035"


def test_a_bug_that_disappears_when_all_is_stored_is_sought_with_one_at_a_time() -> None:
    def broken(case: Case) -> bool:
        return debugged(case) == 0 or sum(isinstance(i, MatrixStore) for i in case.program) == 2

    found = explain(corpus_case(MIRRORED), device("mirror-edge-twice", broken), ORACLE)
    assert (found.op, found.how) == ("MatrixLoadTensor", INSTRUMENTED)
    assert any("disappears when every intermediate result is stored" in note for note in found.notes)


def test_a_bug_that_always_disappears_is_told_from_memory() -> None:
    found = explain(corpus_case(MIRRORED), device("mirror-edge-twice", lambda case: debugged(case) == 0), ORACLE)
    assert (found.op, found.how) == ("MatrixStore", MEMORY)
    assert any("disappears as well whichever" in note for note in found.notes)
    assert any("is assumed to be right" in note for note in found.notes)


def test_vectors_and_their_scalars_are_stored() -> None:
    found = explain(corpus_case("vector_arithmetic.parts.dynamic_extract"), device("vector-index-off-by-one"), ORACLE)
    assert (found.op, found.how, found.facts) == ("VectorExtract", INSTRUMENTED, ("CV-011",))


@pytest.mark.parametrize(
    "name",
    [
        "matrix_programs.loop.nested_carry", "matrix_programs.condition.per_subgroup",
        "matrix_programs.kernel.flash_attention", "reductions.scope.workgroup_both", "vector_networks.experts",
        "vector_arithmetic.divergence.loop_counts", "tensor_addressing.clamp.mirrored_two_rows",
    ],
)  # fmt: skip
@pytest.mark.parametrize("driver", ["emulator", "interpreter"])
def test_a_case_with_every_result_stored_is_valid_and_passes(name: str, driver: str) -> None:
    case = corpus_case(name)
    every, left = points(case)
    made = instrumented(case, every)
    assert left == []
    assert ORACLE.violations(made.case) == []
    expectation = ORACLE.expect(made.case)
    attempt = judge(open_driver(driver), made.case, expectation)
    assert attempt.verdict is Verdict.PASS, attempt.detail
    assert attempt.outcome is not None
    results = made.results(expectation, attempt.outcome.memory)
    assert len(results) >= len(every)
    assert not any(r.wrong.any() for r in results)


def test_a_result_in_a_loop_of_many_iterations_is_left_out() -> None:
    text_ = """
schema: 1
name: x
buffers: {d: {type: float32, shape: [256], data: {fill: 0}}}
program:
  - {op: MatrixNull, id: z, type: {component: float32, scope: Subgroup, rows: 16, cols: 16, use: Accumulator}}
  - {op: Loop, count: 100, carry: [{id: a, init: z}]}
  - {op: MatrixCopy, id: b, matrix: a, through: CopyObject}
  - {op: EndLoop, next: [b]}
  - {op: MatrixStore, matrix: a, buffer: d, stride: 16}
"""
    every, left = points(loads_case(text_))
    assert "'b' is not stored: it is in a loop of more than 64 iterations" in left
    assert {p.name for p in every} == {"z", "a"}


# Crashes.


class Crashing:
    """Crashes where a program multiplies; else the emulator."""

    name = "crashing"

    def __init__(self) -> None:
        self.plain = open_driver("emulator")

    def run(self, job: Job) -> Outcome:
        if any(isinstance(i, MatrixMulAdd) for i in job.case.program):
            return Outcome(Status.CRASH, detail="signal 11", fault=Fault("signal", "signal 11", "compile_mul_add"))
        return self.plain.driver.run(job)

    def close(self) -> None:
        pass


def test_a_crash_is_followed_to_its_instruction() -> None:
    driver = Crashing()
    opened = OpenDriver("crashing", driver, driver.plain.capabilities)  # type: ignore[arg-type]
    found = explain(corpus_case("matrix_programs.kernel.flash_attention"), opened, ORACLE)
    assert (found.verdict, found.op, found.how) == (Verdict.CRASH, "MatrixMulAdd", SHORTENED)
    assert "the driver says where: compile_mul_add" in found.notes
    assert found.facts[0] == "NU-010"
    assert found.picture == ()


def test_an_access_outside_of_memory() -> None:
    found = explained("tensor_addressing.clamp.edge_low_load", "emulator:mutant=edge-low-unclamped")
    assert (found.verdict, found.op) == (Verdict.CRASH, "MatrixLoadTensor")
    assert {"TA-035", "TA-030", "TA-036"} <= set(found.facts)


def test_a_driver_that_never_answers(fakes: ModuleType) -> None:
    driver = open_driver("fake:timeout")
    found = explain(corpus_case(MIRRORED), driver, ORACLE)
    assert (found.verdict, found.instruction, found.how) == (Verdict.TIMEOUT, 0, SHORTENED)


def test_nothing_to_explain() -> None:
    found = explained(MIRRORED, "emulator")
    assert (found.verdict, found.instruction, found.facts) == (Verdict.PASS, None, ())
    assert "nothing to explain" in text(found)
    driver = open_driver("emulator")
    nothing = replace(driver, capabilities=replace(driver.capabilities, features=frozenset()))
    with pytest.raises(BadInput, match="does not run the case"):
        explain(corpus_case(MIRRORED), nothing, ORACLE)


@pytest.mark.parametrize("mutant", ["store-invocation-idle", "stride-rounded-up"])
def test_a_store_that_stores_less_is_not_laid_to_what_it_stores(mutant: str) -> None:
    case = loads_case(
        """
schema: 1
name: t.a
buffers: {dst: {type: int8, shape: [96], data: {fill: 99}}}
program:
  - {op: MatrixConstant, id: c, type: {component: int8, scope: Subgroup, rows: 3, cols: 3, use: Accumulator}, value: 7}
  - {op: MatrixStore, matrix: c, buffer: dst, stride: 9}
"""
    )
    assert explain(case, device(mutant), ORACLE).op == "MatrixStore"


#: Rows of 12 bytes; in the smallest element all sums and products are alike.
REDUCED = """
schema: 1
name: t.b
functions: {f: {kind: Combine, type: uint32, body: 'max(x, y)'}}
buffers:
  src: {type: uint32, shape: [9], data: {iota: {}}}
  dst: {type: uint32, shape: [9], data: {fill: 99}}
program:
  - op: MatrixLoad
    id: m
    type: {component: uint32, scope: Subgroup, rows: 3, cols: 3, use: Accumulator}
    buffer: src
    stride: 3
  - {op: MatrixReduce, id: r, matrix: m, mode: [Row], combine: f}
  - {op: MatrixStore, matrix: r, buffer: dst, stride: 3}
"""


def test_matrices_of_short_rows_are_stored() -> None:
    found = explain(loads_case(REDUCED), device("reduce-row-as-column"), ORACLE)
    assert (found.op, found.how, found.facts[0]) == ("MatrixReduce", INSTRUMENTED, "CM-022")


def test_other_contents_have_no_two_neighbours_alike_and_other_signs() -> None:
    small, other = (case.buffers["src"] for case in other_contents(loads_case(REDUCED)))
    assert [initial_bits(b)[:3].tolist() for b in (small, other)] == [[1, 2, 3], [2**32 - 65521 + n for n in range(3)]]


def seen(case: Case, driver: OpenDriver) -> Sequence[Tried]:
    """What explains a failing case by itself, without other contents."""
    expectation = ORACLE.expect(case)
    attempt = judge(driver, case, expectation)
    located = locate(case, driver, ORACLE, expectation, attempt)
    assert located.result is not None and attempt.outcome is not None
    return explaining(case, ORACLE, located.result, located.result.index, attempt.outcome.memory)


def test_a_change_that_other_contents_refute_is_dropped() -> None:
    """Where the source repeats itself, an offset of 4 is as good as one of 0."""
    case = loads_case(
        """
schema: 1
name: t.c
buffers:
  src: {type: uint32, shape: [8], data: {cycle: [1, 2, 3, 4]}}
  dst: {type: uint32, shape: [2], data: {fill: 99}}
program:
  - op: MatrixLoad
    id: m
    type: {component: uint32, scope: Subgroup, rows: 1, cols: 2, use: Accumulator}
    buffer: src
    stride: 2
    offset: 2
  - {op: MatrixStore, matrix: m, buffer: dst, stride: 2}
"""
    )
    driver = open_driver("emulator:mutant=load-aligned-to-16")
    refuted = "the offset of program[0] MatrixLoad is 2 times as much"
    assert refuted in {one.as_if.what for one in seen(case, driver)}
    offset = "the offset of program[0] MatrixLoad is"
    assert {a.what for a in explain(case, driver, ORACLE).as_if} == {f"{offset} 0", f"{offset} divided by 4"}


@pytest.mark.parametrize(
    ("name", "fact"),
    [
        ("tensor_addressing.memory.physical_offsets", "TA-036"),
        ("per_element.tables.two_tables", "CM-032"),
        ("vector_multiply.packed.bias", "CV-034"),
    ],
)
def test_what_is_left_in_a_case_speaks_for_its_fact(name: str, fact: str) -> None:
    assert fact in [n.fact for n in needed(corpus_case(name))]
    assert fact not in [n.fact for n in needed(loads_case(REDUCED))]


def test_what_is_in_a_case_of_many_stores_says_nothing() -> None:
    assert not list(needed(corpus_case("matrix_programs.return.by_subgroup")))
